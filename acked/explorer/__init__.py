"""The explorer: what it answers, its server, and everything that the server refuses.

Floor 8.
"""
