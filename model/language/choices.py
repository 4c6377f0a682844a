"""What a function may be given: its parameters, and the choices that it makes where it uses them; and all their bindings.

A choice is a parameter that is declared where it is used: every value of its type is tried. A struct is given as its single
fields, each of which has a name of its own: `message.source`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, TypeVar, get_type_hints, overload

from acked.base.names import is_name
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Context, active, literal
from acked.model.language.domain import Domain, LeafDomain, path_name
from acked.model.language.semantics import Guard, tracing
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct, Typed
from acked.model.language.storage.composites import StructDomain, as_domain
from acked.model.language.storage.messages import MessagesView
from acked.model.language.storage.views import struct_of
from acked.model.language.values import Enum, I, V, Value

S = TypeVar("S", bound=Struct)
T = TypeVar("T")

Domains = Mapping[str, LeafDomain]


@overload
def choose(name: str, over: type[S]) -> S: ...
@overload
def choose(name: str, over: type[V]) -> V: ...
@overload
def choose(name: str, over: Enum) -> Enum: ...
@overload
def choose(name: str, over: SetValue[I]) -> I: ...
@overload
def choose(name: str, over: MessagesView[S]) -> S: ...
@overload
def choose(name: str, over: Typed[T, Any]) -> T: ...
def choose(name: str, over: Any) -> Any:
    """Some value of a type, or some member of a set: a step for each of them, as of a parameter.

    >>> @action()
    ... def fetch_or_fail(s: State, follower: Broker) -> None:
    ...     is_lost = choose("is_lost", Bool)
    ...     s.end[follower] = ite(is_lost, s.end[follower], s.end[s.leader])
    >>> lossy = Protocol("lossy", State, title="fetches may fail", source="acked", constants=(brokers, records),
    ...                  initial=lambda s: None, actions=[fetch_or_fail])
    >>> [step.label for step in lossy.instantiate({"brokers": 1, "records": 1}).actions]
    ['FetchOrFail(follower=0, is_lost=False)', 'FetchOrFail(follower=0, is_lost=True)']
    """
    chooser = tracing().chooser
    if chooser is None:
        raise ModelError("choose(…) belongs in an action, or in the initial state")
    if not isinstance(name, str) or not is_name(name):
        raise ModelError(f'a choice has a name before its type, choose("is_lost", Bool), and this is {name!r}')
    if isinstance(over, (SetValue, MessagesView)):
        value = given(name, as_domain(over.item), chooser)
        guards, caller = tracing().guards, sys._getframe(1)
        if guards is not None:
            guards.append(Guard(f"{name} is a member", over.contains(value).expr, caller.f_code.co_filename, caller.f_lineno))
        return value
    domain = over.domain if isinstance(over, Typed) else as_domain(over)
    return given(name, domain, chooser)


def given(name: str, domain: Domain, value_of: Callable[[str, LeafDomain], Any]) -> Any:
    """What a function is given under a name: one value, or a struct of one for each of its fields."""
    if isinstance(domain, LeafDomain):
        return value_of(name, domain)
    assert isinstance(domain, StructDomain)
    parts = {field: given(f"{name}.{field}", part, value_of) for field, part in domain.struct.domains().items()}
    return struct_of(domain)(**parts)


def leaves(name: str, domain: Domain) -> Iterator[tuple[str, LeafDomain]]:
    """The single values that a parameter or a choice is given as; `ModelError` if it cannot be enumerated."""
    if isinstance(domain, LeafDomain):
        yield name, domain
        return
    if not isinstance(domain, StructDomain):
        raise ModelError("an array or a log")
    yield from ((f"{name}.{path_name(path)}", part) for path, part in domain.single_fields("a choice: it"))


def declared(function: Callable[..., None], where: str) -> dict[str, Domain]:
    """The domain of every parameter of a function after its first, the state; `where` begins what errors say.

    One with a default is Python's way to hand a function a value, and none of them.
    """
    signature = inspect.signature(function).parameters.values()
    names = [item.name for item in signature if item.default is inspect.Parameter.empty]
    if not names:
        raise ModelError(f"{where}: the first parameter is the state, such as `s: State`")
    names = names[1:]
    try:
        hints = get_type_hints(function) if names else {}
    except NameError as error:
        raise ModelError(f"{where}: a parameter's type is unknown here ({error}); import it") from error
    domains: dict[str, Domain] = {}
    for name in names:
        if name not in hints:
            raise ModelError(f"{where}: parameter {name!r} needs a type, such as `leader: Replica`")
        try:
            domains[name] = hints[name].domain if isinstance(hints[name], Typed) else as_domain(hints[name])
            _ = [*leaves(name, domains[name])]
        except ModelError as error:
            kind = getattr(hints[name], "__name__", repr(hints[name]))
            raise ModelError(
                f"{where}: parameter {name!r} has a type that cannot be enumerated, {kind}; a parameter is of a subclass "
                "of Int, Id or Enum, a Bool, a struct of such fields, or a set of ids: SetOf(Broker)"
            ) from error
    return domains


class Choices:
    """What a function asks to choose while it is traced, in order; those that are not among the `codes` are 0 so far."""

    def __init__(self, codes: Mapping[str, int]) -> None:
        self._codes = codes
        self.asked: dict[str, LeafDomain] = {}

    @property
    def is_complete(self) -> bool:
        """Whether all that there are codes for has been asked."""
        return self.asked.keys() >= self._codes.keys()

    def __call__(self, name: str, domain: LeafDomain) -> Value:
        if name in self.asked:
            raise ModelError(f"two choices or parameters are named {name!r}; give each its own name")
        self.asked[name] = domain
        return domain.wrap(literal(self._codes.get(name, 0)))


def each_binding(
    trace: Callable[[Mapping[str, int]], tuple[T, Domains]], known: Domains, context: Context, is_again: bool
) -> Iterator[tuple[T, dict[str, int]]]:
    """What tracing a function yields for all values of what it asks for, in order of their codes (`is_again`: backwards).

    `trace` is given codes by name, of the `known` at first, and answers what the function asked for, too.
    """
    is_settled = False
    while True:
        with active(context):
            sizes = [domain.cardinality(context.constants) for domain in known.values()]
        values = (range(size)[:: -1 if is_again else 1] for size in sizes)
        for numbers in product(*values):
            codes = dict(zip(known, numbers, strict=True))
            made, asked = trace(codes)
            if asked.keys() != known.keys():
                break
            yield made, codes
            is_settled = True
        else:
            return
        if is_settled:
            names = ", ".join(sorted(asked.keys() ^ known.keys()))
            raise ModelError(f"{names} is chosen with some values of the parameters and not with others; choose it always")
        known, is_settled = asked, True
