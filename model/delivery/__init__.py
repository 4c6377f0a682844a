"""A group of consumers that process records and commit offsets before, after, by themselves or in transactions.

Floor 4.
"""
