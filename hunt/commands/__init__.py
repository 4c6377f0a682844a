"""The command `hunt`.

Floor 6.
"""
