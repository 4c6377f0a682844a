"""What people see of real brokers: reproductions, and what nodes logged.

Floor 8.
"""
