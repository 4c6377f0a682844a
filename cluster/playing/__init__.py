"""A run of the model, played on real brokers step by step, and compared with what they did after every step."""
