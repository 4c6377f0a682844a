"""What must hold of transactions."""
