"""Plans: what kafka-reassign-partitions takes, with moves that are alike, steps of a quorum, and what each can lose.

Floor 4.
"""
