"""What stands on a log: a coordinator whose state is a partition of records, and the offsets of a group as its first.

Floor 4.
"""
