"""Brokers, controllers and ZooKeeper as processes of this machine, and a cluster of them."""
