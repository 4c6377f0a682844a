"""The providers of shipped protocols, a module each, and what those that have logs, or are of Kafka, share."""
