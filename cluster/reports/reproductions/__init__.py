"""What real brokers did beside what the model says: for the terminal, and as a document."""
