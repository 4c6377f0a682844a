"""Any dataclass as plain data for JSON, and back: what is kept, sent or printed has one form in every room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_plain(value: object) -> Any:
    """Dataclasses as objects of their fields, enums as their values, tuples as arrays; the rest as it is."""
    if is_dataclass(value):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def from_plain(kind: type[T], plain: object) -> T:
    """What `to_plain` made plain, of this type; KeyError, TypeError or ValueError if it is something else.

    Of a union of several types besides None, and of Any, nothing is checked.
    """
    return cast(T, _value(kind, plain))


def _value(kind: Any, plain: Any) -> Any:
    of = get_args(kind)
    if kind is Any:
        return plain
    if get_origin(kind) in (Union, UnionType):
        several = [item for item in of if item is not NoneType]
        return plain if (plain is None and len(several) < len(of)) or len(several) > 1 else _value(several[0], plain)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: _value(hint, plain[name]) for name, hint in field_types(kind).items()})
    if get_origin(kind) is tuple:
        kinds = of[:1] * len(plain) if of[-1] is ... else of
        return tuple(_value(item, part) for item, part in zip(kinds, _check(list, plain), strict=True))
    if get_origin(kind) is Mapping:
        return {_value(of[0], key): _value(of[1], item) for key, item in plain.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(plain)
    return _float(_check((int, float), plain)) if kind is float else _check(kind, plain)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("a whole number is too large for a number of this kind") from None


def _check(kind: Any, plain: Any) -> Any:
    if not isinstance(plain, kind) or (isinstance(plain, bool) and kind is not bool):
        raise TypeError(f"{plain!r} is not {getattr(kind, '__name__', 'a number')}")
    return plain


@cache
def field_types(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields by name, evaluated."""
    hints = get_type_hints(kind)
    return {item.name: hints[item.name] for item in fields(kind)}
