"""The properties of `transactions`, and the lemmas behind their proofs.

Floor 1.
"""
