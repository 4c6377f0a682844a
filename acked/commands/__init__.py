"""The commands, a module each; one is imported when it is asked for.

Floor 9.
"""
