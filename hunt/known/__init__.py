"""What is known to be lost: rows of the gallery, findings, and what a setting or a fault costs, each with what prevents it.

Floor 1.
"""
