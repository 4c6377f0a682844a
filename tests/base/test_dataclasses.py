"""Late dataclasses are those of Python, whichever method is called first, and however often."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from acked.base import plain


class Point:
    """Fields of every kind that a default may be of."""

    x: int
    y: tuple[int, ...] = (1,)
    z: list[int] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(default=3, repr=False, compare=False)
    kind: ClassVar[str] = "point"


class Plain:
    """Fields without any."""

    a: int
    b: int = 2

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("below 0")


class Own:
    """Methods of its own."""

    a: int

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "own"


class Kept:
    """A field that nobody gives."""

    a: int
    made: int = dataclasses.field(default=7, init=False)


CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((1,), {}), ((1, 2), {}), ((), {"a": 1}), ((), {"x": 1}), ((), {}), ((1, 2, 3, 4, 5), {}), ((1,), {"x": 2}),
    ((1,), {"a": 2}), ((1,), {"q": 2}), ((-1,), {}), ((1, (2,), [3]), {"hidden": 4}),
)  # fmt: skip


def made(decorate: Callable[..., Any], kind: type, **how: bool) -> Any:
    """The class once more, decorated."""
    parts = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    return decorate(**how)(type(kind.__name__, (), parts))


def told(work: Callable[..., object], *given: object, **named: object) -> str:
    try:
        return repr(work(*given, **named))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def same_as_copy(one: object) -> tuple[bool, bool]:
    return one == copy.copy(one), hash(one) == hash(copy.copy(one))


def all_told(cls: Any) -> list[str]:
    """What instances answer, those that are made first and those that are made later."""
    times = plain._FEW // len(CALLS) + 2
    said = [told(cls, *given, **named) for _ in range(times) for given, named in CALLS]
    some = [cls(*given, **named) for given, named in CALLS if "Error" not in told(cls, *given, **named)]
    for one in some:
        said += [told(work, one) for work in (vars, same_as_copy, dataclasses.replace, dataclasses.asdict)]
        said += [told(setattr, one, name, 1) for name in ("a", "x", "other")]
        said += [told(delattr, one, "a"), *(told(operator.eq, one, other) for other in (*some, 1))]
    said += [repr([(each.name, each.type, each.default) for each in dataclasses.fields(cls)]), repr(cls.__match_args__)]
    return [*said, repr(cls.__dataclass_params__.frozen), *(repr(getattr(cls, name, None)) for name in ("hidden", "kind"))]


HOW: tuple[dict[str, bool], ...] = ({}, {"frozen": True}, {"frozen": True, "eq": False}, {"frozen": True, "repr": False})


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("kind", [Point, Plain, Own, Kept])
def test_a_late_dataclass_answers_as_one_of_python(kind: type, how: dict[str, bool]) -> None:
    if not how.get("repr", True):  # which has a place in memory
        kind = Plain if kind in (Point, Kept) else kind
    mine, theirs = all_told(made(plain.dataclass, kind, **how)), all_told(made(dataclasses.dataclass, kind, **how))
    places = [" object at 0x" in text for text in theirs]
    assert [one for one, place in zip(mine, places, strict=True) if not place] == [
        one for one, place in zip(theirs, places, strict=True) if not place
    ]


@plain.dataclass(frozen=True)
class Base:
    """One that others inherit from."""

    a: int


@plain.dataclass(frozen=True)
class Derived(Base):
    """One more field."""

    b: int = 1


@dataclasses.dataclass(frozen=True)
class OfPython(Base):
    """Python's own, of a late one."""

    b: int = 1


@pytest.mark.parametrize("kind", [Derived, OfPython])
def test_what_inherits_has_the_fields_of_both_and_refuses_to_change_any(kind: Any) -> None:
    one = pickle.loads(pickle.dumps(kind(1)))
    assert (one, repr(one), {one}) == (kind(1, 1), f"{kind.__name__}(a=1, b=1)", {kind(1)})
    assert one != kind(1, 2)
    assert one != Base(1)
    for name in ("a", "b", "c"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(one, name, 2)


def test_frozen_and_changing_classes_inherit_from_their_like_alone() -> None:
    for frozen, base in ((False, Base), (True, made(plain.dataclass, Plain))):
        with pytest.raises(TypeError, match="cannot inherit"):
            plain.dataclass(frozen=frozen)(type("Other", (base,), {"__annotations__": {"c": "int"}, "c": 1}))


def test_a_method_is_written_when_it_is_called_and_once() -> None:
    cls = made(plain.dataclass, Plain, frozen=True)
    first = [vars(cls)[name] for name in ("__init__", "__repr__", "__eq__", "__hash__")]
    assert [repr(cls(1)), cls(1) == cls(1), hash(cls(1)) == hash(cls(1))] == ["Plain(a=1, b=2)", True, True]
    then = [vars(cls)[name] for name in ("__init__", "__repr__", "__eq__", "__hash__")]
    assert [one is other for one, other in zip(first, then, strict=True)] == [True, False, False, False]
    assert vars(cls)["__eq__"] is then[2]
