"""The version of acked, where the lowest floor can read it."""

__version__ = "0.1.0"
