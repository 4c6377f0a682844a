"""The same protocols read with concrete values: one run at a time, over logs of any length and epochs of any size."""
