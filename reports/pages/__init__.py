"""Self-contained HTML pages, and the pages made from specs.

Floor 3.
"""
