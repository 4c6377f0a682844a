"""A log that is compacted and cut: segments, the cleaner's passes, transaction markers, and where the log starts.

Floor 4.
"""
