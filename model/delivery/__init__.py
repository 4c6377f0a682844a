"""Delivery: what a group of consumers that process records and write results makes of every input."""
