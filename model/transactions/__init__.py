"""Transactions with their coordinator, producers, markers and late requests, every rule a switch, from 0.11 to 4.x.

Floor 4.
"""
