"""Why a property is violated, and what would have prevented it.

Floor 9.
"""
