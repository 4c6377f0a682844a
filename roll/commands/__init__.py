"""The command `roll`.

Floor 4.
"""
