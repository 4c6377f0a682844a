"""Protocols read as first-order logic, for all constants at once.

Floor 3.
"""
