"""Kafka's releases: their numbers, which are known here, and which of a list is the newest that is not newer.

A release's rules, defaults and jars are told by those that have them (`model`, `audit`, `cluster`); what a release *is*, and
which is the newest, is told here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen

LATEST = "latest"
"""The name of the newest rules with every known fix, of which some are not in a release yet."""

LINES = (
    "0.8", "0.9", "0.10", "0.11", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8",
    "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4",
)  # fmt: skip
"""The lines of releases that are known here, oldest first: a line's first two numbers are those of its patch releases."""

NEWEST = LINES[-1]
"""The newest line that is known here."""


@cache
def numbers(name: str) -> tuple[int, ...]:
    """The numbers of a release's name, to compare: (0, 10, 2, 2)."""
    return tuple(map(int, name.split(".")))


@frozen(order=True)
class Release:
    """A release by its numbers; `latest` comes after all.

    >>> release("2.8.1").since("2.8"), release("3.9.2").newest_of(("3.9", "3.9.1", "4.0"))
    (True, '3.9.1')
    """

    numbers: tuple[int, ...]
    name: str

    def newest_of(self, versions: Iterable[str]) -> str:
        """The newest of some versions that is not newer than this; for `latest`, and where all are newer, itself."""
        known = [version for version in versions if version != LATEST and self.since(version)]
        return LATEST if self.name == LATEST else max(known, key=numbers, default=self.name)

    def since(self, version: str) -> bool:
        """Whether this release is that one or a later one."""
        return self.numbers >= numbers(version)


def release(text: str) -> Release:
    """The release that a user names, such as 2.8, 3.6.1 or latest; `ConfigurationError` where it is none that is known."""
    wanted = text.strip().lower()
    if wanted == LATEST:
        return Release((1 << 30,), LATEST)
    match = re.fullmatch(r"v?(\d{1,4}(?:\.\d{1,4}){1,3})(?:-iv\d+|-(?:ccs|cp\d*|rc\d+))?", wanted)
    hint = f"name one from {LINES[0]} to {NEWEST}, such as 3.6 or 2.8.1, or {LATEST}"
    if match is None:
        raise ConfigurationError(f"{text!r} is not a version of Kafka; {hint}")
    found = numbers(match[1])
    if found[:2] not in map(numbers, LINES):
        raise ConfigurationError(f"Kafka {text} is not known here; {hint}")
    return Release(found, match[1])
