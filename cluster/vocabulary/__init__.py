"""Kafka's own names: its settings with defaults by release, and entries with where they were written.

Floor 1.
"""
