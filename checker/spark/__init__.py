"""The same search over Spark's executors."""
