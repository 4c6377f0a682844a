"""Self-contained HTML pages: of a run, of the gallery, of reports.

Floor 3.
"""
