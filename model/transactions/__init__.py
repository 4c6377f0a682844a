"""Transactions: one transactional id with its coordinator, the partitions it writes to, and requests that are late."""
