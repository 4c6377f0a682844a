"""Predicates that people type, read as expressions over a protocol's fields.

Floor 1.
"""
