"""Real Kafka brokers on loopback, driven step by step: releases, nodes, proxies between them, and what can be observed."""
