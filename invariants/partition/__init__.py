"""The properties of `partition`, and the lemmas behind their proofs.

Floor 1.
"""
