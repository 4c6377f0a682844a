"""The readers, one for each format in which people have settings.

Floor 1.
"""
