"""From the answers about partitions to verdicts about brokers, and the order in which they may be rolled.

Floor 2.
"""
