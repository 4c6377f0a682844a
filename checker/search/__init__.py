"""Exhaustive search in this process, and what only the whole graph of states decides."""
