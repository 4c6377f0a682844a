"""A run of `transactions` played on real brokers."""
