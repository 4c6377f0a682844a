"""The rules of Kafka as constants: settings, what follows from them, releases, and settings that contradict each other."""
