"""Names in error messages: the choices there are, and the one that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def choices(names: Iterable[str]) -> str:
    """A list of names for an error message."""
    return ", ".join(names)


def near(name: str, names: Iterable[str]) -> str:
    """` (did you mean …?)`, if something is close."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
