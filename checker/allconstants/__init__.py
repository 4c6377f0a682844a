"""The inductive proof for all constants at once."""
