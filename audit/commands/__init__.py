"""The commands of the audit: `audit` and `matrix`, what they write, and clusters that are asked while they run.

Floor 7.
"""
