"""What a roll answers, as text and as a document.

Floor 3.
"""
