"""An audit and the durability table: frozen views, and from them terminal, Markdown, pages, JSON, SARIF, JUnit.

Floor 5.
"""
