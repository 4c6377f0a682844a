"""How a state and a step of each protocol are drawn, as plain data: rows, cells, badges, messages.

Floor 1.
"""
