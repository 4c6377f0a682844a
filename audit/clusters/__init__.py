"""Whole clusters: their topics in groups, the audits of all groups, and the settings of a running one."""
