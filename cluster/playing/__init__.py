"""The player: a run of the model as a script, played on brokers step by step, seen and compared after each; how it ended, and
whether what the brokers logged is a behaviour. What it has to know of a protocol is one description.

Floor 5.
"""
