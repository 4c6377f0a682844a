"""What `acked audit` does with its answer."""
