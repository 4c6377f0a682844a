"""Which releases keep which promises: proved for all constants, refuted by a search, or open; and the table of it.

Floor 5.
"""
