"""The commands about real brokers: `reproduce`, `kafka`, `observe`, `validate` and `exercise`.

Floor 9.
"""
