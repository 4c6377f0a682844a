"""The inductive proof for all constants at once, and its certificates.

Floor 8.
"""
