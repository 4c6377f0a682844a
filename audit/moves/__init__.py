"""Plans of reassignment: what kafka-reassign-partitions is told, and whether it can lose data."""
