"""What a person or CI sees: terminal, JSON documents, listings, progress.

Floor 5.
"""
