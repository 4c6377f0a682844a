"""What runs in a z3 process, and what is sent to it."""
