"""Reachable states as Parquet, and SQL over them."""
