"""The readers, one for each format in which people have settings: each a record in one list (`read`).

Floor 1.
"""
