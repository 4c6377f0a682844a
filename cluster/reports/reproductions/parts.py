"""Parts of a saved reproduction: plain numbers and texts of a given kind; anything else is refused with `SpecUnreadable`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from acked.base.errors import SpecUnreadable

T = TypeVar("T")
_MOST = 1000
"""Of brokers, records and lines in one step; a file with more is none of ours."""
_KINDS: Mapping[type, str] = {dict: "a JSON object", list: "a JSON array", str: "a text", object: "there"}


def refuse(key: str, kind: str) -> NoReturn:
    """Says that a part is not of a kind."""
    raise SpecUnreadable(f"not a reproduction: {key!r} is missing or is not {kind}")


def part(document: Any, key: str, kind: type[T]) -> T:
    """A part that is a JSON object, an array, a text, or anything."""
    if not isinstance(document, dict) or key not in document or not isinstance(document[key], kind):
        refuse(key, _KINDS[kind])
    found: T = document[key]
    return found


def choice(document: Mapping[str, Any], key: str, known: list[str]) -> str:
    """A text that is one of those known."""
    found = part(document, key, str)
    if found not in known:
        refuse(key, f"one of {', '.join(known)}")
    return found


def number(document: Mapping[str, Any], key: str) -> float:
    """A number from 0 on."""
    found = document.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1e9:
        refuse(key, "a number")
    return float(found)


def integer(document: Mapping[str, Any], key: str) -> int:
    """A whole number."""
    found = document.get(key) if isinstance(document, dict) else None
    if type(found) is not int:
        refuse(key, "a number")
    return found


def integer_or_none(document: Mapping[str, Any], key: str) -> int | None:
    """A whole number, where there is one."""
    found = document.get(key)
    return found if type(found) is int else None


def integers(document: Mapping[str, Any], key: str) -> list[int]:
    """Whole numbers."""
    found = few(document, key)
    if not all(type(one) is int for one in found):
        refuse(key, "an array of numbers")
    return found


def few(document: Mapping[str, Any], key: str, what: str = "") -> list[Any]:
    """An array of no more than a person looks at; `what` names its items."""
    found = part(document, key, list)
    if len(found) > _MOST:
        raise SpecUnreadable(f"not a reproduction: it has more than {_MOST} {what or key} in one place")
    return found


def lines(document: Mapping[str, Any]) -> tuple[str, ...]:
    """What brokers have said."""
    return tuple(map(str, few(document, "lines")))


def numbered_entries(
    document: Mapping[str, Any], key: str, letter: str, what: str, kind: type | None = None
) -> dict[int, Any]:
    """By the number in its name what an object has, of a kind; `letter` begins the names, `what` is what they name."""
    found = {}
    for name, value in part(document, key, dict).items():
        digits = name.removeprefix(letter)
        if not (name.startswith(letter) and digits.isdecimal() and name.isascii() and len(digits) < 5):
            raise SpecUnreadable(f"not a reproduction: {name!r} is not {what}, such as {letter}0")
        if kind in (None, type(value)):
            found[int(digits)] = value
    return found
