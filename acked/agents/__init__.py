"""The server for agents, its command, and what agents are offered.

Floor 9.
"""
