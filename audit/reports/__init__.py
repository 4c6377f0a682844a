"""An audit and the durability table: terminal, Markdown, page, SARIF.

Floor 5.
"""
