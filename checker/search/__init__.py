"""Exhaustive search in this process, in memory and beyond it, and what only the whole graph of states decides.

Floor 7.
"""
