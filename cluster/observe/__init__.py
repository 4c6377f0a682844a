"""What real brokers did: segments, checkpoints and log lines on disk, the metadata log as the controller's order, copies
of directories against one another, what was acknowledged, and ZooKeeper's state.

Floor 2.
"""
