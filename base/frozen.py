"""Frozen dataclasses whose classes are made quickly.

Python's own decorator compiles six texts for every class, and a command imports a hundred classes. Here one text is compiled
for all classes that are alike but for the names of their fields; each has a copy of its code, with its own names.
"""

from __future__ import annotations

import builtins
import sys
from abc import update_abstractmethods
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, is_dataclass
from functools import cache
from reprlib import recursive_repr
from types import FunctionType
from typing import Any, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(cls: builtins.type[T], /) -> builtins.type[T]: ...
@overload
def frozen(*, eq: bool = True, order: bool = False, repr: bool = True) -> Callable[[builtins.type[T]], builtins.type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, eq: bool = True, order: bool = False, repr: bool = True) -> Any:
    """As `dataclasses.dataclass(frozen=True, …)`, to whose module it is one of its own; both inherit from each other.

    It has no `InitVar` (TypeError). Two are equal as in Python 3.12: fields that are the same object are equal.
    """
    return (lambda each: _decorated(each, eq, order, repr)) if cls is None else _decorated(cls, eq, order, repr)


def _decorated(cls: Any, eq: bool, order: bool, repr: bool) -> Any:
    if order and not eq:
        raise ValueError("eq must be true if order is true")
    own = {name for name in vars(cls) if name != "__hash__" or cls.__hash__ is not None or "__eq__" not in vars(cls)}
    cls.__doc__ = cls.__doc__ or cls.__name__  # Python's own would look for the signature, slowly.
    inherits = any(map(is_dataclass, cls.__mro__[1:]))
    dataclass(init=False, repr=False, eq=False, frozen=inherits)(cls)  # Where it inherits, this refuses what it may not.
    flags = vars(cls)["__dataclass_params__"]
    flags.init, flags.repr, flags.eq, flags.order, flags.frozen = True, repr, eq, order, True
    if any(item._field_type.name == "_FIELD_INITVAR" for item in vars(cls)["__dataclass_fields__"].values()):
        raise TypeError(f"{cls.__name__} has an InitVar, for which it needs dataclasses.dataclass")
    every = fields(cls)
    shown, compared, hashed = ([], [], [])
    for at, item in enumerate(every):
        shown += [at] * item.repr
        compared += [at] * item.compare
        hashed += [at] * (item.compare if item.hash is None else item.hash)
    texts = {"__repr__": f"(self):return self.__class__.__qualname__+_text%{_tuple('self', shown)}"} if repr else {}
    for name, sign in [("__eq__", "==")] * eq + _SIGNS * order:
        same = f"{_tuple('self', compared)}{sign}{_tuple('other', compared)}"
        texts[name] = f"(self,other):return {same} if other.__class__ is self.__class__ else NotImplemented"
    if eq:
        texts["__hash__"] = f"(self):return hash({_tuple('self', hashed)})"
    methods = _methods(cls, every, texts, f"({', '.join([f'{every[at].name}=%r' for at in shown])})")
    if not inherits:  # Else Python's own has written them.
        methods |= _refusals(cls, {item.name for item in every})
    for name, method in methods.items():
        if name not in own:
            method.__name__, method.__qualname__, method.__module__ = name, f"{cls.__qualname__}.{name}", cls.__module__
            setattr(cls, name, recursive_repr()(method) if name == "__repr__" else method)
        elif name not in ("__init__", "__repr__", "__eq__", "__hash__"):
            raise TypeError(f"Cannot overwrite attribute {name} in class {cls.__name__}")
    update_abstractmethods(cls)
    return cls


_SIGNS = [("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">=")]


def _tuple(owner: str, places: Sequence[int]) -> str:
    return f"({','.join([f'{owner}._{at}' for at in places])},)" if places else "()"


class _Factory:
    """What a signature shows of a default that is made anew each time."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _methods(cls: Any, every: Sequence[Field[Any]], texts: Mapping[str, str], text: str) -> dict[str, Any]:
    """Methods of these texts, in which the field at place 3 is called _3, and what sets all that is given or made anew."""
    cells = {"_set": object.__setattr__, "_factory": _FACTORY, "_text": text}
    lines, by_place, by_name = [], ["_self"], ["*"]
    defaults: list[object] = []
    of_names: dict[str, object] = {}
    for at, item in enumerate(every):
        default = item.default
        if item.default_factory is not MISSING:
            cells[f"_make{at}"], default = item.default_factory, _FACTORY
            lines.append(f"  _set(_self,'_{at}',_make{at}()" + (f" if _{at} is _factory else _{at})" if item.init else ")"))
        elif item.init:
            lines.append(f"  _set(_self,'_{at}',_{at})")
        if item.init:
            (by_name if item.kw_only else by_place).append(f"_{at}")
            if item.kw_only and default is not MISSING:
                of_names[item.name] = default
            elif default is not MISSING:
                defaults.append(default)
            elif defaults and not item.kw_only:
                raise TypeError(f"non-default argument {item.name!r} follows default argument")
    if hasattr(cls, "__post_init__"):
        lines.append("  _self.__post_init__()")
    arguments, lines = by_place + (by_name if by_name[1:] else []), lines or ["  pass"]
    texts = {"__init__": "\n".join([f"({','.join(arguments)}):", *lines]), **texts}
    made = _maker(",".join(cells), "\n".join([f" def {name}{rest}" for name, rest in texts.items()]), ",".join(texts))
    names = {f"_{at}": item.name for at, item in enumerate(every)}
    names["_self"] = "__dataclass_self__" if "self" in names.values() else "self"
    methods: dict[str, Any] = {each.__name__: _named(each, names, cls) for each in made(*cells.values())}
    methods["__init__"].__defaults__, methods["__init__"].__kwdefaults__ = tuple(defaults), of_names
    methods["__init__"].__annotations__ = {item.name: item.type for item in every if item.init} | {"return": None}
    return methods


@cache
def _maker(cells: str, texts: str, names: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(f"def make({cells}):\n{texts}\n return {names},", namespace)
    return cast(Callable[..., Any], namespace["make"])


def _named(method: FunctionType, names: Mapping[str, str], cls: Any) -> FunctionType:
    """The method with other names, in the class's module."""
    code = method.__code__
    consts, used, local = (tuple(map(names.get, each, each)) for each in (code.co_consts, code.co_names, code.co_varnames))
    # A debugger of 3.11 writes variables back by name: what is of the text has none that a field could have.
    free = tuple([f".{name}" for name in code.co_freevars])
    code = code.replace(co_consts=consts, co_names=used, co_varnames=local, co_freevars=free)
    return FunctionType(code, vars(sys.modules.get(cls.__module__, builtins)), closure=method.__closure__)


def _refusals(cls: Any, names: Collection[str]) -> dict[str, Any]:
    def set_attribute(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": set_attribute, "__delattr__": delete_attribute}
