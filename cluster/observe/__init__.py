"""What real brokers did: their log segments, checkpoints and own log lines, and ZooKeeper's state."""
