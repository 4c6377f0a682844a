"""What a hunt found: rows, and the terminal's table, the page and the document that are made of them.

Floor 5.
"""
