"""Expressions over Bool and bounded Int, and their plain evaluation, which every engine is held against.

Floor 1.
"""
