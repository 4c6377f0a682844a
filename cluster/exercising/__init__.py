"""A cluster that is used and disturbed at random: the course that a seed decides, what is done to brokers, producers, a group
of consumers, and the run.

Floor 5.
"""
