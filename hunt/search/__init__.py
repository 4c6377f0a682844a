"""The hunt itself: a question decided by a process, a loss reduced and put to what is known, and the order of it all.

Floor 3.
"""
