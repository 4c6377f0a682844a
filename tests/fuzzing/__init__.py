"""Readers of what others wrote, and a hundred thousand inputs for each."""
