"""Names in error messages: the choices there are, and the one that was probably meant."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable


def choices(names: Iterable[str]) -> str:
    """A list of names for an error message."""
    return ", ".join(names)


def repeated(names: Iterable[str]) -> list[str]:
    """The names that come more than once, in order of the alphabet."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def near(name: str, names: Iterable[str]) -> str:
    """` (did you mean …?)`, if something is close."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
