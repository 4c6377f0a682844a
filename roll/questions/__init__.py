"""What is asked of the model: a partition in its present state, a broker that is stopped, and one thing more that fails.

Floor 1.
"""
