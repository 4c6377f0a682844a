"""Answers that are tables: after a search, listings, coverage, differences, profiles, rows of a query.

Floor 4.
"""
