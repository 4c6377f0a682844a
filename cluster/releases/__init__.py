"""Which releases can be started, their jars, and the Java that runs them.

Floor 1.
"""
