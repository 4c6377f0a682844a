"""What only the commands of `acked/` share: explained violations, states as data, pages that a gallery made before, working
copies.

Floor 8.
"""
