"""What is asked of a release: every promise under every combination of settings and faults that people run.

Floor 2.
"""
