"""Dataclasses: those whose methods are written when they are first called, and any as plain data for JSON, and back.

Python's own compiles a handful of texts for each class, which a command that imports hundreds of classes, and makes some,
waits for.
"""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True, repr: bool = True) -> Any:
        """As `dataclasses.dataclass`; fields, and all that asks for them, are there at once."""
        if cls is None:
            return lambda each: dataclass(each, frozen=frozen, eq=eq, repr=repr)
        # Python's own sees to it that what is frozen inherits from what is.
        inherits = any(map(dataclasses.is_dataclass, cls.__bases__))
        own = dict(vars(cls))
        if cls.__doc__ is None:
            cls.__doc__ = cls.__name__  # which Python's own would look for a signature for
        dataclasses.dataclass(init=False, repr=False, eq=False, frozen=frozen and inherits)(cls)
        if frozen and not inherits:
            cls.__setattr__, cls.__delattr__ = _refusals(cls)
        # What it is, for a class that inherits from it.
        vars(cls)["__dataclass_params__"].frozen = frozen
        hashed = eq and (own.get("__hash__") is None if "__eq__" in own else "__hash__" not in own)
        if hashed and not frozen:
            cls.__hash__ = None
        wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": hashed and frozen}
        for name, is_wanted in wanted.items():
            if is_wanted and (name not in own or name == "__hash__"):
                setattr(cls, name, _late(cls, name, frozen))
        return cls


_MADE: Final = {"init": "__init__", "repr": "__repr__", "eq": "__eq__", "unsafe_hash": "__hash__"}
_FEW: Final = 250
"""Instances that are made without a text of the class's own: writing it takes as long as to make hundreds."""


def _late(cls: type, name: str, frozen: bool) -> Callable[..., Any]:
    """What writes a method of a class, puts it in its own place, and does what it does."""
    fill = _fill(cls) if name == "__init__" else None
    made = 0

    def method(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if fill is not None and made <= _FEW and fill(self, given, named):
            return None
        fields = vars(cls)["__dataclass_fields__"]
        parts = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__, **fields}
        parts["__annotations__"] = {each.name: each.type for each in fields.values()}
        if hasattr(cls, "__post_init__"):
            parts["__post_init__"] = None
        wanted = {what: written == name for what, written in _MADE.items()}
        frozen_too = frozen and name == "__init__"  # which then assigns in a way of its own
        written = vars(dataclasses.dataclass(**wanted, frozen=frozen_too)(type(cls.__name__, (), parts)))[name]
        setattr(cls, name, written)
        return written(self, *given, **named)

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    return method


def _fill(cls: type) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], bool] | None:
    """What fills a new instance with what its class is called with; False, and nothing done, if that is not for all fields
    or for others. None of a class with fields of other kinds than most.
    """
    fields = dataclasses.fields(cls)
    if len(fields) < len(vars(cls)["__dataclass_fields__"]) or not all(each.init and not each.kw_only for each in fields):
        return None
    names = [each.name for each in fields]
    defaults = {each.name: each.default for each in fields if each.default is not dataclasses.MISSING}
    factories = {each.name: each.default_factory for each in fields if each.default_factory is not dataclasses.MISSING}

    def fill(self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
        values = dict(zip(names, given))  # noqa: B905  # more than there are fields are told below
        if len(given) > len(names) or not values.keys().isdisjoint(named):
            return False
        known = {**defaults, **values, **named}
        known |= {name: make() for name, make in factories.items() if name not in known}
        if known.keys() != dict.fromkeys(names).keys():
            return False
        vars(self).update((name, known[name]) for name in names)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()
        return True

    return fill


def _refusals(cls: type) -> tuple[Callable[..., None], Callable[..., None]]:
    """What refuses assignments to the fields of frozen instances, and new attributes of all but those of subclasses."""
    fields = vars(cls)["__dataclass_fields__"]

    def refuse(self: object, name: str, what: str) -> None:
        if type(self) is cls or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")

    def set_attribute(self: object, name: str, value: object) -> None:
        refuse(self, name, "assign to")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    def delete_attribute(self: object, name: str) -> None:
        refuse(self, name, "delete")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return set_attribute, delete_attribute


# -- as plain data --------------------------------------------------------------------------------------------------------

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


def from_plain(kind: builtins.type[T], plain: object) -> T:
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
