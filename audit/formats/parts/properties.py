"""Java's properties: a file of them, or a text within another file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import INSTEAD, Scope, SettingEntry

_NAME = re.compile(r"[A-Za-z_](?:[\w.\-$%/+@\[\]\"]|(?<=-)>)*", re.ASCII)
"""As Kafka, Spring, MirrorMaker (`A->B.enabled`) and Quarkus (`outgoing."orders".acks`) have names."""
_LINE_END = re.compile(r"\r\n?|\n")
_NOTHING = re.compile(r"[ \t\f]*(?:[#!]|$)")
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*([ \t\f]*[=:]|[ \t\f])[ \t\f]*")


def property_entries(
    name: str, text: str, first: int = 1, scope: Scope | None = None, entity: str | None = None
) -> Iterator[SettingEntry]:
    """The settings of a text whose first line is line `first` of the file `name`."""
    import javaproperties

    # Kafka does not mind where a file ends, but half an escape is an error.
    try:
        for line, key, value in _pairs(text, first):
            told = javaproperties.unescape(key)
            if not _NAME.fullmatch(told):
                raise SpecUnreadable(f"{name}:{line}: {told[:200]!r} is not the name of a setting; {INSTEAD}")
            yield SettingEntry(told, javaproperties.unescape(value).strip(), name, line, scope, entity)
    except javaproperties.InvalidUEscapeError as error:
        raise SpecUnreadable(f"{name}: the escape {error.escape} is not \\uXXXX; write four hexadecimal digits") from None


def _pairs(text: str, first: int) -> Iterator[tuple[int, str, str]]:
    """Keys and values with the lines at which they begin, still escaped, as `java.util.Properties.load` has it.

    A value that goes on over many lines is joined once: javaproperties joins it anew with every line.
    """
    lines = enumerate(_LINE_END.split(text), first)
    for line, said in lines:
        if _NOTHING.match(said):
            continue
        parts = [said.lstrip(" \t\f")]
        while _goes_on(parts[-1]):
            parts[-1] = parts[-1][:-1]
            _, following = next(lines, (0, ""))
            parts.append(following.lstrip(" \t\f"))
        whole = "".join(parts)
        found = _SEPARATOR.search(whole)
        if found is not None:
            yield line, whole[: found.start(1)], whole[found.end() :]
        elif whole:
            yield line, whole, ""


def _goes_on(line: str) -> bool:
    """Whether a line ends with a backslash that is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1
