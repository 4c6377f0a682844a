"""A share group (KIP-932): records that are locked, delivered, counted and acknowledged one by one, and what is kept of it.

Floor 4.
"""
