"""What real brokers did beside what the model says: terminal, page and JSON, which is read back to be shown again; the
releases that can be started.
"""
