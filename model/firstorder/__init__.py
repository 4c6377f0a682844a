"""The same protocols read as first-order logic, for all constants at once: terms, the reading itself, its finite expansion, z3."""
