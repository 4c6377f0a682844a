"""Plans of a controllers' quorum: its steps, at which of them a failure loses metadata or leaves no leader, and its forms.

Floor 6.
"""
