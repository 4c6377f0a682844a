"""Proofs and what they lack, in the terminal and as documents.

Floor 4.
"""
