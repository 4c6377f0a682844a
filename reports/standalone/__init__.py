"""What a page is given so that it steps through a protocol by itself: its formulas as data, its words as JavaScript.

Floor 2.
"""
