"""What only the commands of `acked/` share: explained violations, the pages that a gallery made before, working copies.

Floor 8.
"""
