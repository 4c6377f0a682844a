"""The programs behind `acked reproduce` that are more than one run."""
