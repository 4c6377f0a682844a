"""What must hold: state invariants and step properties, each documented with its promise and its source.

Floor 3.
"""
