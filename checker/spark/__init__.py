"""The same search over Spark's executors.

Floor 6.
"""
