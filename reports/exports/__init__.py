"""A run in other tools' formats, all of them made from one view model; none of them lets a text be more than text.

Floor 4.
"""
