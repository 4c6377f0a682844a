"""Strict reading of TOML: a table becomes the dataclass that declares its keys; every refusal names file, line and key."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.names import choices, near
from acked.base.plain import field_types
from acked.checker.spec.variants import document_of, file_and_variant, lines_of, place_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

Names = tuple[str, ...]
"""What is written as a name in quotes or as a list of them."""

_WANTED = {str: "text in quotes", bool: "true or false", int: "an integer"}


def parse(text: str, path: Path) -> dict[str, Any]:
    """The document of a file's text; `SpecUnreadable` if it is not TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpecUnreadable(f"{path} is not valid TOML for acked: it is nested too deeply") from None
    except ValueError as error:  # A TOMLDecodeError, or a number of more digits than Python reads.
        unreadable = SpecUnreadable(f"{path} is not valid TOML: {str(error).partition(';')[0]}")
        if place := re.search(r"\(at line (\d+), ", str(error)):
            unreadable.line = int(place[1])
        raise unreadable from None


class Reader:
    """Reads one document, or one variant of it as if it were one; every refusal is a `ConfigurationError`.

    `known` are the keys at the top.
    """

    def __init__(self, text: str, path: Path, known: Collection[str]) -> None:
        self.path = path
        file, self.variant = file_and_variant(path)
        document = parse(text, file)
        self.lines = _lines(text)
        try:
            self.document = document_of(document, path, known)
        except ConfigurationError as error:
            self.refuse_as("", error)
        self.lines = lines_of(self.lines, path)

    def refuse(self, key: str, message: str) -> NoReturn:
        """Ends the reading with a sentence about a key."""
        line = self.lines.get(key)
        error = ConfigurationError(place_of(self.path, line) + message)
        error.line = line
        raise error

    def refuse_as(self, key: str, error: ConfigurationError) -> NoReturn:
        """Ends it with what went wrong further down, which may know the key better."""
        self.refuse(error.key or key, str(error))

    def table(self, name: str, hint: str = "") -> dict[str, Any]:
        """A table of the document, empty if it is not there; `hint` is what a user would write under it."""
        outer, _, inner = name.rpartition(".")
        value = (self.table(outer) if outer else self.document).get(inner, {})
        if not isinstance(value, dict):
            self.refuse(name, f"{name} must be a table: write [{name}]{hint}")
        return value

    def read(self, name: str, into: type[T], others: Iterable[str] = ()) -> T:
        """A table as a dataclass whose fields are its keys: their types, their defaults, and which of them must be there.

        A field is of type str, bool, int or `Names`, or one of the first three or None. Its metadata may have `allowed`, a
        tuple of values, and `least`. `others` are keys that are not this dataclass's business. The empty name is
        the document itself.
        """
        table = self.table(name) if name else self.document
        fields = dataclasses.fields(into)
        known = (*(item.name for item in fields), *others)
        for key in table:
            if key not in known:
                place = f"[{name}]" if name else "the top of the file"
                place += f" or [{self.variant}]" if self.variant and not name else ""
                hint = f"unknown key {key!r} in {place}{near(key, known)}; known are {choices(known)}"
                self.refuse(f"{name}.{key}".lstrip("."), hint)
        kinds = field_types(into)
        given = {}
        for item in fields:
            key = f"{name}.{item.name}".lstrip(".")
            if item.name in table:
                given[item.name] = self._value(key, table[item.name], kinds[item.name], item.metadata)
            elif item.default is dataclasses.MISSING:
                self.refuse(name or key, f"{key} is missing")
        return into(**given)

    def text(self, key: str) -> str:
        """A text that must be there, of a table with names of the user's own."""
        table, _, name = key.rpartition(".")
        value = self._value(key, self.table(table)[name], str, {})
        assert isinstance(value, str)
        return value

    def _value(self, key: str, value: object, kind: object, rules: Mapping[str, Any]) -> object:
        if kind == Names:
            listed = [value] if isinstance(value, str) else value
            if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
                self.refuse(key, f"{key} must be a name in quotes or a list of names in quotes")
            return tuple(listed)
        [wanted] = [item for item in get_args(kind) or (kind,) if item is not NoneType]
        if type(value) is not wanted:
            self.refuse(key, f"{key} is {value!r} and must be {_WANTED[wanted]}")
        if (allowed := rules.get("allowed")) and value not in allowed:
            self.refuse(key, f"{key.rpartition('.')[2]} {value!r} is not one of {choices(allowed)}")
        if isinstance(value, int) and value < rules.get("least", value):
            self.refuse(key, f"{key} is {value} and must be at least {rules['least']}")
        return value


_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")


def _lines(text: str) -> dict[str, int]:
    """The line of every table and key, for messages: tomllib says nothing about lines once a file has parsed."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _TABLE.match(line):
            table = match[1]
            lines.setdefault(table, number)
        elif match := _KEY.match(line):
            lines.setdefault(f"{table}.{match[1]}".lstrip("."), number)
    return lines
