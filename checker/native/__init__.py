"""Machine code for guards, successors and loops."""
