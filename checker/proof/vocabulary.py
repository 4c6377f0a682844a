"""A protocol's own words: conditions on a state and a few ids and numbers, out of which conjuncts are made.

An atom is a predicate that the protocol's own rules can call (a function of a state and typed arguments that returns a Bool,
found in the modules of its actions), or compares two things that its state holds: numbers of one unit, ids of one type, sets
and their members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, permutations, product
from typing import Any, get_type_hints

from acked.base.frozen import frozen
from acked.model.language.context import Constant, Size
from acked.model.language.domain import (
    BoolDomain,
    Domain,
    EnumDomain,
    IdDomain,
    OptionalDomain,
    PresentDomain,
    Range,
    SetDomain,
)
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import each
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.values import Bool, Enum, Id, Int, OptionalValue

Binding = Mapping[str, Any]
"""The value of every variable, by its name."""

_Getter = Callable[[Any, Binding], Any]
"""Finds a value in a traced state, whose type is the protocol's own, and the values of the variables."""


@frozen
class Variable:
    """A universally quantified variable."""

    name: str
    over: type[Any]


@frozen
class Atom:
    """A condition; `holds` makes it of a state and the variables' values. `is_own` says that the protocol itself names it.

    `predicate` is the same as specs write it, empty where predicates have no word for it.
    """

    text: str
    variables: tuple[Variable, ...]
    holds: Callable[[Any, Binding], Bool]
    is_own: bool = False
    predicate: str = ""


@frozen
class _Thing:
    """Something that a state holds, or a variable; `kind` is number, name, id, set, bool or log, `item` its unit or type."""

    text: str
    kind: str
    item: type[Any]
    variables: tuple[Variable, ...]
    get: _Getter
    is_optional: bool = False


def variables_of(protocol: Protocol) -> tuple[Variable, ...]:
    """Two variables of every type of ids, one of every unit that numbers an array or a log.

    They are called by the first letter of their type, with a number where there are two.
    """
    types: dict[type[Any], None] = {}

    def walk(domain: Domain) -> None:
        if isinstance(domain, StructDomain):
            for inner in domain.struct.domains().values():
                walk(inner)
        elif isinstance(domain, ArrayDomain):
            index = domain.index
            if isinstance(index, (IdDomain, Range)):
                types[index.item] = None
            walk(domain.element)
        elif isinstance(domain, LogDomain):
            types[domain.offset] = None
        elif isinstance(domain, (IdDomain, SetDomain, OptionalDomain)) and issubclass(domain.item, Id):
            types[domain.item] = None

    walk(StructDomain(protocol.state))
    made: list[Variable] = []
    for item in types:
        letter = item.__name__[0].lower()
        name = letter if letter not in {variable.name[0] for variable in made} else item.__name__.lower()
        names = (f"{name}1", f"{name}2") if issubclass(item, Id) else (name,)
        made += [Variable(each_name, item) for each_name in names]
    return tuple(made)


def loop_over(variable: Variable) -> str:
    """What a predicate's `for` goes through to say the values of a variable; empty if no constant bounds them from 0 on."""
    over = variable.over
    if issubclass(over, Id):
        return over.size.name if isinstance(over.size, Constant) else ""
    if not issubclass(over, Int) or issubclass(over, Enum) or over.lo != 0:
        return ""
    if isinstance(over.hi, Constant):
        return f"range({over.hi.name} + 1)"
    return over.hi.constant.name if isinstance(over.hi, Size) and over.hi.offset == -1 else ""


def bindings(variables: tuple[Variable, ...]) -> list[Binding]:
    """Every choice of values, under the constants of the current trace."""
    return [
        {item.name: value for item, value in zip(variables, values, strict=True)}
        for values in product(*(each(item.over) for item in variables))
    ]


def atoms_of(protocol: Protocol) -> tuple[Atom, ...]:
    """All atoms over the variables, those that the protocol names first."""
    variables = variables_of(protocol)
    things = [_variable(item) for item in variables]
    things += _things(StructDomain(protocol.state), "", (), lambda s, _: s, variables)
    made = [*_predicates(protocol, variables), *_comparisons(things, variables)]
    return tuple({item.text: item for item in made}.values())


def _variable(item: Variable) -> _Thing:
    kind = "id" if issubclass(item.over, Id) else "number"
    return _Thing(item.name, kind, item.over, (item,), lambda _, values: values[item.name])


def _things(
    domain: Domain,
    text: str,
    used: tuple[Variable, ...],
    get: _Getter,
    variables: tuple[Variable, ...],
) -> Iterator[_Thing]:
    """What stands below a place in the state."""
    if isinstance(domain, StructDomain):
        for name, inner in domain.struct.domains().items():
            path = f"{text}.{name}" if text else name
            yield from _things(inner, path, used, _attribute(get, name), variables)
    elif isinstance(domain, ArrayDomain):
        for item in _variables_of_type(variables, getattr(domain.index, "item", None), used):
            yield from _things(domain.element, f"{text}[{item.name}]", (*used, item), _element(get, item), variables)
    elif isinstance(domain, LogDomain) and not isinstance(domain.end, PresentDomain):
        yield _Thing(text, "log", domain.offset, used, get)
        yield _Thing(f"{text}.end", "number", domain.offset, used, _attribute(get, "end"))
        for item in _variables_of_type(variables, domain.offset, used):
            yield from _things(
                domain.content, f"{text}.at({item.name})", (*used, item), _record(get, item), variables
            )
    elif isinstance(domain, OptionalDomain):
        kind = "id" if issubclass(domain.item, Id) else "number"
        yield _Thing(text, kind, domain.item, used, get, is_optional=True)
    elif isinstance(domain, Range):
        yield _Thing(text, "name" if isinstance(domain, EnumDomain) else "number", domain.item, used, get)
    elif isinstance(domain, (IdDomain, SetDomain)):
        yield _Thing(text, "id" if isinstance(domain, IdDomain) else "set", domain.item, used, get)
    elif isinstance(domain, BoolDomain):
        yield _Thing(text, "bool", Bool, used, get)


def _variables_of_type(variables: tuple[Variable, ...], over: object, used: tuple[Variable, ...]) -> list[Variable]:
    return [item for item in variables if item.over is over and item not in used]


def _attribute(get: _Getter, name: str) -> _Getter:
    return lambda s, values: getattr(get(s, values), name)


def _element(get: _Getter, item: Variable) -> _Getter:
    return lambda s, values: get(s, values)[values[item.name]]


def _record(get: _Getter, item: Variable) -> _Getter:
    return lambda s, values: get(s, values).at(values[item.name])


def _comparisons(things: list[_Thing], variables: tuple[Variable, ...]) -> Iterator[Atom]:
    for a in things:
        if a.is_optional:
            yield _atom(f"{a.text} is none", lambda x, _: x.is_none, a, a, "{0} is None")
        if a.kind == "bool":
            yield _atom(a.text, lambda x, _: x, a, a, "{0}")
        for name in getattr(a.item, "names", ()) if a.kind == "name" else ():
            text = f'{a.text} == "{name}"'
            yield _atom(text, lambda x, _, name=name: x == name, a, a, f'{{0}} == "{name}"')  # type: ignore[misc]
        if a.kind == "log":
            for item in _variables_of_type(variables, a.item, a.variables):
                yield _atom(f"{a.text}.has({item.name})", lambda x, o: x.has(o), a, _variable(item), "{1} < {0}.end")
    for a, b in combinations(things, 2):
        if a.item is not b.item and not (a.kind == b.kind == "log"):
            continue
        match a.kind, b.kind:
            case "number", "number":
                yield _atom(f"{a.text} == {b.text}", _equal, a, b, "{0} == {1}")
                yield _atom(f"{a.text} < {b.text}", _less, a, b, _ORDER[a.is_optional, b.is_optional])
            case ("id", "id") | ("name", "name"):
                yield _atom(f"{a.text} == {b.text}", _equal, a, b, "{0} == {1}")
            case "set", "set":
                yield _atom(f"{a.text} within {b.text}", lambda x, y: x.issubset(y), a, b, _WITHIN)
                yield _atom(f"{b.text} within {a.text}", lambda x, y: x.issubset(y), b, a, _WITHIN)
            case "log", "log":
                for item in _variables_of_type(variables, a.item, ()):
                    text = f"{a.text} and {b.text} hold the same record at {item.name}"
                    yield _same_record(text, a, b, item)
    for member, group in product(things, things):
        if member.kind == "id" and group.kind == "set" and not member.is_optional and member.item is group.item:
            yield _atom(f"{member.text} in {group.text}", lambda x, y: y.contains(x), member, group, "{0} in {1}")


_ORDER = {
    (False, False): "{0} < {1}",
    (False, True): "{0} < {1}",
    (True, False): "({0} is None or {0} < {1})",
    (True, True): "({0} is None and {1} is not None or {0} < {1})",
}
"""In a protocol none is below every value, in a predicate it is below nothing; by which of the two may be none."""

_WITHIN = "all(x in {1} for x in {0})"


def _atom(text: str, make: Callable[[Any, Any], Bool], a: _Thing, b: _Thing, predicate: str) -> Atom:
    """An atom of two things; `predicate` is its form, which what is in a record has not: past its log's end that is None."""
    used = tuple(dict.fromkeys((*a.variables, *b.variables)))
    is_said = ".at(" not in a.text + b.text
    written = predicate.format(a.text, b.text) if is_said else ""
    return Atom(text, used, lambda s, values: make(a.get(s, values), b.get(s, values)), predicate=written)


def _same_record(text: str, a: _Thing, b: _Thing, at: Variable) -> Atom:
    used = tuple(dict.fromkeys((*a.variables, *b.variables, at)))
    return Atom(text, used, lambda s, values: a.get(s, values).same_record_at(b.get(s, values), values[at.name]))


def _equal(a: Any, b: Any) -> Bool:
    made: Bool = b == a if isinstance(b, OptionalValue) else a == b
    return made


def _less(a: Any, b: Any) -> Bool:
    made: Bool = b > a if isinstance(b, OptionalValue) else a < b
    return made


def _predicates(protocol: Protocol, variables: tuple[Variable, ...]) -> Iterator[Atom]:
    """The predicates that the functions of the protocol's actions can call, applied to different variables."""
    found: dict[str, Callable[..., Bool]] = {}
    for action in protocol.actions:
        for name, item in vars(action.function).get("__globals__", action.function.__globals__).items():
            if callable(item) and hasattr(item, "__annotations__") and not name.startswith("_"):
                found.setdefault(name, item)
    for name, function in sorted(found.items()):
        try:
            hints = get_type_hints(function)
        except (NameError, TypeError):
            continue
        result = hints.pop("return", None)
        types = list(hints.values())
        if result is not Bool or not types or types[0] is not protocol.state:
            continue
        if not all(isinstance(item, type) and issubclass(item, (Id, Int)) for item in types[1:]):
            continue
        for chosen in permutations(variables, len(types) - 1):
            if all(item.over is over for item, over in zip(chosen, types[1:], strict=True)):
                text = f"{name}({', '.join(item.name for item in chosen)})"
                yield Atom(text, chosen, _application(function, chosen), is_own=True)


def _application(function: Callable[..., Bool], chosen: tuple[Variable, ...]) -> Callable[[Any, Binding], Bool]:
    return lambda s, values: function(s, *(values[item.name] for item in chosen))
