"""Brokers, controllers and ZooKeeper as processes: addresses, configuration, formatting, class archives, what ends them,
and a cluster of them.

Floor 3.
"""
