"""Kafka's wire protocol, as much of it as is asked of one given broker or seen in a frame between two."""
