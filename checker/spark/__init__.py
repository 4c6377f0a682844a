"""The breadth-first search over Spark's executors.

Floor 7.
"""
