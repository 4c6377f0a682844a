"""Interchangeable ids: whether a protocol and claims are closed under renaming them, and the orbits of its states.

Floor 1.
"""
