"""Kafka's own names: its settings with defaults by release, entries with where they were written, faults in words.

Floor 1.
"""
