"""What is asked, what hears of an engine's work, and the form of an answer: properties, fairness, probes, the ledger of levels.

Floor 2.
"""
