"""Partitions as they are now, from a running cluster or from what kafka-topics described.

Floor 1.
"""
