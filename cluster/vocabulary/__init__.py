"""Kafka's own names: its settings with defaults by release; entries and notes, each with where it was written.

Floor 1.
"""
