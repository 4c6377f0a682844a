"""What `frozen` decorates is what Python's own decorator makes: the same answers, the same errors in the same words."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import pickle
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import FrozenInstanceError, dataclass, field
from itertools import product
from types import FrameType
from typing import Any, ClassVar, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acked.base.frozen import _maker, frozen

NAMES = ("a", "self", "_set", "_1", "hash", "other", "_make0", "_text")
"""Names of fields, some of which the texts of methods use themselves."""

SIGNS = (operator.lt, operator.ge, *[operator.eq] * (sys.version_info < (3, 13)))
"""What is compared: since 3.13 Python asks whether both are one, and then field by field, so that `frozen` differs for a NaN."""

METHODS: dict[str, Callable[..., Any] | None] = {
    "__eq__": lambda self, other: isinstance(other, type(self)),
    "__hash__": lambda self: 7,
    "__repr__": lambda self: "its own",
    "__post_init__": lambda self: vars(self).update(after=sorted(vars(self))),
    "__setattr__": lambda self, name, value: None,
    "unhashable": None,
}

FIELDS = st.fixed_dictionaries(
    {"of": st.sampled_from(["given", "default", "factory"])},
    optional={"init": st.just(False), "repr": st.just(False), "compare": st.just(False), "kw_only": st.just(True)}
    | {"hash": st.sampled_from([None, True, False])},
)
CLASSES = st.tuples(
    st.lists(st.tuples(st.sampled_from(NAMES), FIELDS), max_size=5, unique_by=lambda pair: pair[0]),
    st.sets(st.sampled_from(sorted({*METHODS} - {"__setattr__"})), max_size=2) | st.just({"__setattr__"}),
    st.sampled_from([{}, {}, {"eq": False}, {"repr": False}, {"order": True}, {"order": True, "eq": False}]),
)


def fields_of(drawn: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, Any]]:
    for name, how in drawn:
        of = {"given": {}, "default": {"default": 3}, "factory": {"default_factory": list}}[how["of"]]
        yield name, field(**of, **{key: value for key, value in how.items() if key != "of"})


def built(decorate: Callable[..., Any], family: list[Any]) -> Any:
    """Each class of the family below the one before it, all of the same name."""
    made: type = object
    for drawn, methods, how in family:
        parts = {"__module__": __name__, "__doc__": "Something.", **dict(fields_of(drawn))}
        parts["__annotations__"] = {name: "int" for name, _ in drawn} | {"kind": "ClassVar[str]"}
        parts |= {"__hash__" if name == "unhashable" else name: METHODS[name] for name in sorted(methods)}
        made = decorate(**how)(type("Thing", (made,), parts))
    return made


def told(work: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
    """What comes of it, or what is said, without places in memory."""
    try:
        found = work(*given, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found.partition(" object at 0x")[0] if isinstance(found, str) else found


def calls(cls: Any) -> list[Any]:
    """Instances, made with all, with some and with none of what may be given."""
    names = [item.name for item in dataclasses.fields(cls) if item.init]
    some = [told(cls, *range(many)) for many in range(len(names) + 2)]
    some += [told(cls, **dict.fromkeys(names[at:], at)) for at in range(len(names))]
    return [*some, told(cls, nothing=1)]


def answers(cls: Any) -> Iterator[Any]:
    """All that a class and its instances say to whom they are asked by."""
    yield str(inspect.signature(cls)), getattr(cls, "__match_args__", None), cls.__doc__, cls.__hash__ is None
    yield [repr(item) for item in dataclasses.fields(cls)], cls.__init__.__annotations__, cls.__init__.__qualname__
    yield [name in vars(cls) for name in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")]
    some = calls(cls)
    yield [each if isinstance(each, str) else sorted(vars(each).items()) for each in some]
    made = [each for each in some if not isinstance(each, str)]
    yield [[told(sign, one, other) for other in [*made, 1] for sign in SIGNS] for one in made]
    for one in made:
        yield told(repr, one), told(dataclasses.asdict, one), told(hash, one) if cls.__hash__ is not object.__hash__ else None
        yield [told(setattr, one, name, 1) for name in (*NAMES, "new")], [told(delattr, one, name) for name in (*NAMES, "new")]
        yield [told(repr, told(dataclasses.replace, one, **{name: 9})) for name in NAMES]
        yield sorted(vars(copy.copy(one)).items()), sorted(vars(copy.deepcopy(one)).items()), one.__reduce_ex__(4)[2]


def same_as_pythons(family: list[Any]) -> None:
    mine, theirs = (told(built, decorate, family) for decorate in (frozen, lambda **how: dataclass(frozen=True, **how)))
    if isinstance(mine, str):
        assert isinstance(theirs, str)
        both = any("__setattr__" in methods for _, methods, _ in family) and "Cannot overwrite attribute" in mine
        assert theirs.startswith(mine) or both  # Of two mistakes either may be told.
        return
    for one, other in zip(answers(mine), answers(theirs), strict=True):
        assert one == other


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(CLASSES, min_size=1, max_size=3))
def test_any_class_is_what_pythons_own_decorator_makes_of_it(family: list[Any]) -> None:
    same_as_pythons(family)


GIVEN, DEFAULT, FACTORY = ({"of": of} for of in ("given", "default", "factory"))
NAMED = {"kw_only": True}


@pytest.mark.parametrize(
    "family",
    [
        [([("a", GIVEN), ("_set", DEFAULT), ("_1", FACTORY)], {"__post_init__"}, {})],
        [([("self", GIVEN), ("a", DEFAULT | NAMED), ("other", GIVEN), ("hash", FACTORY | {"init": False})], set(), {})],
        [([("a", GIVEN | {"compare": False}), ("_set", GIVEN | {"hash": False})], set(), {}), ([("a", DEFAULT)], {"__eq__"}, {})],
        [([("a", DEFAULT)], set(), {"eq": False}), ([("_set", GIVEN)], set(), {})],
        [([("a", GIVEN), ("other", GIVEN)], set(), {"order": True})],
        [([], {"__hash__"}, {"repr": False}), ([], {"unhashable"}, {})],
    ],
    ids=["defaults", "by name", "inherited", "a default before", "in order", "no fields"],
)  # fmt: skip
def test_a_class_is_what_pythons_own_decorator_makes_of_it(family: list[Any]) -> None:
    same_as_pythons(family)


@frozen
class Base:
    """One that others inherit from."""

    kind: ClassVar[str] = "base"
    a: int
    within: Any = None


@frozen
class Derived(Base):
    """One more field, and a base whose fields stay its own."""

    b: list[int] = field(default_factory=list)


def test_what_inherits_leaves_its_base_alone_and_goes_through_pickle() -> None:
    one = pickle.loads(pickle.dumps(Derived(1, b=[2])))
    assert (one, repr(one), one == Base(1)) == (Derived(1, None, [2]), "Derived(a=1, within=None, b=[2])", False)
    assert (Base(1), repr(Base(1)), {Base(1)}) == (Base(1), "Base(a=1, within=None)", {Base(1)})
    assert [item.name for item in dataclasses.fields(Base)] == ["a", "within"]
    assert (Derived.__init__.__module__, get_type_hints(Derived.__init__)["b"]) == (__name__, list[int])
    match one:
        case Derived(a, None, b):
            assert (a, b) == (1, [2])


def test_what_holds_itself_is_written_once() -> None:
    around: list[Any] = []
    one = Base(1, around)
    around.append(one)
    assert repr(one) == "Base(a=1, within=[...])"


def test_a_field_is_set_by_nobody() -> None:
    one = Derived(1)
    for change in (lambda: setattr(one, "a", 2), lambda: setattr(one, "new", 2), lambda: delattr(one, "b")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert vars(one) == {"a": 1, "within": None, "b": []}


def test_it_and_pythons_own_inherit_from_each_other_unless_one_of_them_changes() -> None:
    mine: list[Callable[..., Any]] = [frozen, dataclass(frozen=True)]
    for family in product(mine, repeat=3):
        made = object
        for at, decorate in enumerate(family):
            made = decorate(type("Thing", (made,), {"__annotations__": {f"of{at}": "int"}, "__module__": __name__}))
        one: Any = made(1, 2, 3)  # type: ignore[call-arg]
        assert (repr(one), one == made(1, 2, 3), hash(one)) == ("Thing(of0=1, of1=2, of2=3)", True, hash((1, 2, 3)))  # type: ignore[call-arg]
        with pytest.raises(FrozenInstanceError):
            one.of0 = 2
        with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
            dataclass(type("Other", (made,), {}))
    changing = dataclass(type("Changing", (), {"__annotations__": {"a": "int"}}))
    for kind in (changing, type("Between", (changing,), {})):
        with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):
            frozen(type("Other", (kind,), {}))


def test_what_it_writes_is_abstract_no_more() -> None:
    @frozen
    class Thing(Hashable):
        a: int

    assert hash(Thing(1)) == hash((1,))


def test_a_debugger_that_reads_the_variables_changes_none() -> None:
    family = [([("_set", GIVEN), ("_factory", GIVEN), ("_make0", FACTORY)], set(), {})]
    cls = built(frozen, family)

    def look(frame: FrameType, *_: object) -> Any:
        assert frame.f_locals is not None
        return look

    sys.settrace(look)
    try:
        one = cls(1, 2)
    finally:
        sys.settrace(None)
    assert vars(one) == {"_set": 1, "_factory": 2, "_make0": []}


def test_a_value_for_the_beginning_alone_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Other has an InitVar, for which it needs dataclasses\.dataclass"):
        frozen(type("Other", (), {"__annotations__": {"a": "dataclasses.InitVar[int]"}, "__module__": __name__}))


def test_a_text_is_compiled_once_for_all_classes_that_have_as_many_fields() -> None:
    family = [([("a", GIVEN), ("other", GIVEN)], set(), {})]
    built(frozen, family)
    before = _maker.cache_info().misses
    built(frozen, [([("_set", GIVEN), ("hash", GIVEN)], set(), {})])
    assert _maker.cache_info().misses == before
