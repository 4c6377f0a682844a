"""Plans of reassignment: what kafka-reassign-partitions takes, the moves in it that are alike, and what each can lose.

Floor 4.
"""
