"""Reachable states as Parquet, and SQL over them: counts here, the rest by Spark.

Floor 9.
"""
