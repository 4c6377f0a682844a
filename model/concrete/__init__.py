"""Protocols read with concrete values, one state at a time: logs of any length, real epochs, steps as Python
functions.

Floor 3.
"""
