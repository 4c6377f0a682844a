"""What is asked, and the form of an answer: properties, fairness, probes, the ledger of levels.

Floor 2.
"""
