"""A run of the model played on brokers: what can be played, its script, the driver with a step for every action, the
comparison after each, how it ended, and whether what the brokers logged is a behaviour.

Floor 5.
"""
