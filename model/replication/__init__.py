"""The replication family: one state, five sets of rules, from truncating to the high watermark to KIP-320.

Floor 4.
"""
