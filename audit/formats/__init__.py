"""The formats in which people have settings: each module reads one of them as settings with lines."""
