"""One partition of Kafka as people configure it: producers, brokers, controllers and consumers, every rule a switch.

Floor 4.
"""
