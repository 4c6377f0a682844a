"""What nodes' own log files say about a partition: the wordings by release, lines as facts, facts of one thread joined to
events, nodes as one run, files that still grow, and how brokers are told to log it.

Floor 2.
"""
