"""What rules of every concern speak of: words and messages of steps, the assignment, and candidates for /controller."""
