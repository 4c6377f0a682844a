"""The family's properties, their domains' lemmas, and the lemmas of kip320's proof.

Floor 1.
"""
