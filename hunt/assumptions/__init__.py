"""What the model of a release takes for granted: each guard clause, and each sentence about what brokers do, dropped in turn.

Floor 4.
"""
