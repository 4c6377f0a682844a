"""Names in error messages: the choices there are, and the one that was probably meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

MOST_LISTED = 16
"""Names in one message; nobody reads more."""


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether `text` can name a constant, a field or an action."""
    return bool(_NAME.fullmatch(text))


def choices(names: Iterable[str]) -> str:
    """A list of names for an error message."""
    return ", ".join(names)


def choices_or(names: Collection[str], command: str) -> str:
    """The names, or where they are many the command that lists them: `it has a, b` or ``its 50 are in `acked list …` ``."""
    if len(names) <= MOST_LISTED:
        return f"it has {choices(names)}"
    return f"`{command}` lists its {len(names)}"


def first_of(names: Sequence[str], most: int) -> str:
    """The first of them, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def repeats(names: Iterable[str]) -> list[str]:
    """The names that come more than once, in order of the alphabet."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def near(name: str, names: Iterable[str]) -> str:
    """` (did you mean …?)`, if something is close: what the name abbreviates, or what is spelled like it."""
    import difflib  # here, because few commands have a name to correct

    known = list(names)
    close = [*_abbreviations(name, known)][:1] or difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _abbreviations(name: str, names: Iterable[str]) -> Iterator[str]:
    """The names of which this one is short: `min_isr` for min_insync_replicas, `min.insync` for it, too.

    Its words begin with the first word of the other, and all its letters come in the other's in this order.
    """
    words = _words(name)
    if len(words) < 2:
        return
    for other in names:
        theirs = _words(other)
        if theirs[:1] == words[:1] and len(theirs) > 1 and _comes_in("".join(words[1:]), "".join(theirs[1:])):
            yield other


def _words(name: str) -> list[str]:
    return [word for word in name.lower().replace(".", "_").replace("-", "_").split("_") if word]


def _comes_in(short: str, long: str) -> bool:
    """Whether the letters of `short` come in `long` in this order, the first of them first."""
    letters = iter(long)
    return long[:1] == short[:1] and all(letter in letters for letter in short)
