"""Spec files, the protocols that they name, and what they expect.

Floor 7.
"""
