"""A log replicated by majorities (Raft; KRaft in Kafka's own metadata), asked what is asked of a Kafka partition.

Floor 4.
"""
