"""The lemmas of `partition`, by what they speak of; `catalogue` has their names.

Floor 1.
"""
