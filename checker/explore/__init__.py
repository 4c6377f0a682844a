"""Looking around a state space: nearest states, depths, small graphs, random runs.

Floor 9.
"""
