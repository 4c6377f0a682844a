"""A run of `transactions` played on brokers: its script, a step for every action that can be brought about, what is seen
in the model's terms, and how it ended.

Floor 5.
"""
