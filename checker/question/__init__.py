"""What is asked, and the form of an answer: properties, predicates, fairness, symmetry, the ledger of levels.

Floor 1.
"""
