"""One run for people: view, sentences, terminal, still pictures, documents, and the packet that pages read.

Floor 2.
"""
