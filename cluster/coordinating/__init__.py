"""How `coordinator` is played, on what plays `partition`: leadership of `__consumer_offsets` moves, and clients commit.

Floor 7.
"""
