"""Kafka's own settings, from files to answers, and the durability table."""
