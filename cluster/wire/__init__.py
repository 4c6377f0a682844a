"""Kafka's protocol, to ask one given broker and to read what two say to each other.

Floor 1.
"""
