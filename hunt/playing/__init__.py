"""A loss on real brokers: its trace, or the shortest of its question that can be played, beside a run one event apart.

Floor 4.
"""
