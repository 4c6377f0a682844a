"""Whole clusters: their topics in groups, the audits of all groups, the settings of a running one and what its brokers
cannot tell.

Floor 3.
"""
