"""A topic on a running cluster: its life, all that is seen of it at one moment, and what differs from a state of the model.

Floor 4.
"""
