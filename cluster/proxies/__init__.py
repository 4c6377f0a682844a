"""A TCP proxy for every directed pair of nodes, and gates that hold single frames.

Floor 2.
"""
