"""The quorum of KRaft controllers, which keeps Kafka's metadata: a Raft in which followers fetch, with voters that change.

Floor 4.
"""
