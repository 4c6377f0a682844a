"""Which Kafka releases can be started, and their jars."""
