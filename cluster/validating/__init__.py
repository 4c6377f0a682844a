"""A whole run judged: what nodes logged, what lies on their disks, and what producers were acknowledged.

Floor 3.
"""
