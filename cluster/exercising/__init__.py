"""A cluster under load that is disturbed at random: the course that a seed decides, the producer, and the run.

Floor 5.
"""
