"""A cluster under load whose brokers are disturbed at random, recorded for a validation afterwards."""
