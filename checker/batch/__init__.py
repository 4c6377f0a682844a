"""Many questions at once, in processes or Spark tasks, with a cache of answers.

Floor 8.
"""
