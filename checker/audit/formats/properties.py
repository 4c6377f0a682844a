"""Java's properties: a file of them, or a text within another file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acked.checker.audit.entry import INSTEAD, Scope, SettingEntry
from acked.checker.errors import SpecUnreadable

_NAME = re.compile(r"[A-Za-z_][\w.\-$%/+@\[\]]*", re.ASCII)


def property_entries(
    name: str, text: str, first: int = 1, scope: Scope | None = None, entity: str | None = None
) -> Iterator[SettingEntry]:
    """The settings of a text whose first line is line `first` of the file `name`."""
    import javaproperties

    line = first
    # Kafka does not mind where a file ends, but half an escape is an error.
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                if not _NAME.fullmatch(element.key):
                    raise SpecUnreadable(f"{name}:{line}: {element.key!r} is not the name of a setting; {INSTEAD}")
                yield SettingEntry(element.key, element.value.strip(), name, line, scope, entity)
            line += len(re.findall(r"\r\n|\r|\n", element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise SpecUnreadable(f"{name}: the escape {error.escape} is not \\uXXXX; write four hexadecimal digits") from None
