"""The command line: the only package that knows all the others."""

__version__ = "0.1.0"
