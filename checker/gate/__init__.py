"""Specs against their expectations, and which guard clause protects what.

Floor 10.
"""
