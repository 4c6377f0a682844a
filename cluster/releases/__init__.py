"""Which releases can be started, and their jars.

Floor 1.
"""
