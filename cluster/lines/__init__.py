"""What brokers' and controllers' own log files say about one partition: lines, facts, events; and how they are told to log
it."""
