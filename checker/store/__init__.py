"""Completed levels on disk, and the way back through them.

Floor 6.
"""
