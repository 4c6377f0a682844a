"""Several controllers with ZooKeeper: the race for /controller, and what brokers make of their requests."""
