"""One partition of Kafka as people configure it: producers, brokers, controller and consumers, every rule a switch."""
