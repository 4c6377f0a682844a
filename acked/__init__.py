"""The command line: the only package that knows all the others. What does not live here: anything but the version."""

__version__ = "0.1.0"
