"""What one worker of a search has found, with the memory that it may fill: with states, without them, and when which.

Floor 5.
"""
