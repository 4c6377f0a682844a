"""What nodes' own log files say about a partition: the wordings by release and all messages by Kafka's sources, what stands
around lines, lines as facts, facts of one thread joined to events, nodes as one run, lines held against one another, many
partitions parted, files that still grow, and how brokers are told to log it.

Floor 2.
"""
