"""Constants, and the context in which a protocol's functions are traced.

`Constant` (declared once, bound per run) and `Context`, the dynamic scope that gives the free functions of the language
(`require`, `every`, `ite`) their pool and the constants' values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from enum import Enum, unique
from typing import TYPE_CHECKING, Any, NoReturn

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr, Pool


def _needs_value(sign: str) -> Callable[..., object]:
    def refuse(self: _Unbound, other: object = 0) -> object:
        if isinstance(other, (int, _Unbound)):
            raise ModelError(
                f"{_name_of(self)} stands before or after `{sign}` and has no value yet; write .value {sign} … in an action, "
                "and a bound as a sum or a difference of constants and numbers"
            )
        return NotImplemented

    return refuse


class _Unbound:
    """A number that only a spec's constants make one: Python may neither compare it nor ask whether it is 0."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            raise ModelError(f"{_name_of(self)} is compared with {other} before it has a value; write .value == {other}")
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    if not TYPE_CHECKING:  # Beside a symbolic number it is that which compares and computes.
        __lt__, __le__, __gt__, __ge__ = map(_needs_value, ("<", "<=", ">", ">="))
        __mul__, __floordiv__, __mod__, __truediv__, __neg__ = map(_needs_value, ("*", "//", "%", "/", "-"))
        __rmul__, __rfloordiv__, __rmod__, __rsub__ = map(_needs_value, ("*", "//", "%", "-"))

    # Of a symbolic number the sum is symbolic: its own type makes it.
    def __add__(self, other: int | _Unbound) -> Computed:
        return Computed(_Sum(self, other, 1)) if isinstance(other, (int, _Unbound)) else NotImplemented

    def __sub__(self, other: int | _Unbound) -> Computed:
        return Computed(_Sum(self, other, -1)) if isinstance(other, (int, _Unbound)) else NotImplemented

    def __radd__(self, other: int) -> Computed:
        return self + other if isinstance(other, int) else NotImplemented

    def under(self, constants: Mapping[str, int]) -> int:
        """The number under these constants."""
        raise NotImplementedError

    @property
    def value(self) -> int:
        """The number under the constants of the current trace."""
        return resolve(self)

    def __index__(self) -> int:
        return resolve(self)

    def __bool__(self) -> NoReturn:
        raise ModelError(f"{_name_of(self)} is always true to Python, whatever its value; write .value, or .on of a switch")

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


def _name_of(bound: _Unbound) -> str:
    constant = bound.constant if isinstance(bound, Size) else bound
    return f"constant {constant.name}" if isinstance(constant, Constant) else "a computed number"


@frozen(eq=False)
class Constant(_Unbound):
    """A number that a spec chooses: `lo <= value <= hi`. Usable as a bound of types and inside actions.

    `default` is what a spec that does not name it gets (None: it must); `names`, if any, are what the values lo, lo + 1, …
    are called in specs and answers.

    >>> replicas = Constant("replicas", 1, 5, "brokers that hold a copy", default=3)
    >>> replicas.range, replicas.default
    ('an integer from 1 to 5', 3)
    """

    name: str
    lo: int
    hi: int
    doc: str
    default: int | None = None
    names: tuple[str, ...] = ()

    def under(self, constants: Mapping[str, int]) -> int:
        try:
            value = constants[self.name]
        except KeyError:
            raise ModelError(f"constant {self.name} is used but the protocol does not declare it") from None
        # What is kept of proofs goes by the numbers of their terms, and 0 has always been one here.
        return value if isinstance(value, int) else value + 0

    def read(self, given: object) -> int:
        """The number that a spec's value stands for; `ModelError` if it stands for none."""
        if isinstance(given, str) and given in self.names:
            return self.lo + self.names.index(given)
        if isinstance(given, bool) or not isinstance(given, int) or not self.lo <= given <= self.hi:
            raise ModelError(f"constant {self.name} is {given!r} and must be {self.range}")
        return given

    @property
    def range(self) -> str:
        """What the values are, in words."""
        if self.names:
            return "one of " + ", ".join(f'"{name}"' for name in self.names)
        return f"an integer from {self.lo} to {self.hi}"

    def show(self, value: int) -> int | str:
        """A value as a spec writes it."""
        return self.names[value - self.lo] if self.names else value

    def __add__(self, other: int | _Unbound) -> Size | Computed:  # type: ignore[override]
        return Size(self, other) if isinstance(other, int) else super().__add__(other)

    def __sub__(self, other: int | _Unbound) -> Size | Computed:  # type: ignore[override]
        return Size(self, -other) if isinstance(other, int) else super().__sub__(other)


@frozen(eq=False)
class Switch(Constant):
    """A rule that is on or off: true or false in a spec, 1 or 0 here."""

    @property
    def on(self) -> bool:
        """Whether the rule is on under the constants of the current trace."""
        return bool(resolve(self))

    def read(self, given: object) -> int:
        """Like `Constant.read`, of true and false."""
        if isinstance(given, bool) or given in (0, 1):
            return int(given)
        raise ModelError(f"constant {self.name} is {given!r} and must be {self.range}")

    @property
    def range(self) -> str:
        """What the values are, in words."""
        return "true or false"

    def show(self, value: int) -> int | str:
        """A value as a spec writes it."""
        return bool(value)


def switch(name: str, doc: str, default: bool | None = None) -> Switch:
    """Declares a `Switch`.

    >>> flushes = switch("flushes", "whether a record is on disk before it is acknowledged", default=False)
    >>> flushes.range
    'true or false'
    """
    return Switch(name, 0, 1, doc, None if default is None else int(default))


def choice(name: str, names: tuple[str, ...], doc: str, default: str | None = None) -> Constant:
    """Declares a constant whose values 0, 1, … have names.

    >>> acks = choice("acks", ("1", "all"), "when the leader acknowledges a record", default="all")
    >>> acks.range
    'one of "1", "all"'
    """
    return Constant(name, 0, len(names) - 1, doc, None if default is None else names.index(default), names)


def constants_in(namespace: Mapping[str, object], *groups: Sequence[Constant]) -> tuple[Constant, ...]:
    """The constants that a module has declared so far, in their order, but for those of its earlier groups.

    So a constant belongs to the group at the end of whose section it stands: `RULES = constants_in(globals(), SIZES)`.
    """
    earlier = [item for group in groups for item in group]
    return tuple(item for item in namespace.values() if isinstance(item, Constant) and item not in earlier)


@frozen
class Setting:
    """What a release of Kafka has for a constant, and the source that says so."""

    value: int
    source: str


Settle = Callable[[Mapping[str, int], Mapping[str, int], str | None], tuple[dict[str, int], tuple[str, ...]]]
"""From the constants that a spec names, all of them, and the control plane: those in effect, and warnings."""


@frozen(eq=False)
class Computed(_Unbound):
    """A bound that follows from the constants by more than an addition."""

    make: Callable[[Mapping[str, int]], int]

    def under(self, constants: Mapping[str, int]) -> int:
        note: Callable[[Callable[[Mapping[str, int]], int]], int] | None = getattr(constants, "computed", None)
        return self.make(constants) if note is None else note(self.make)

    @property
    def on(self) -> bool:
        """Whether it is not 0: of a `fact`, whether it is so under the constants of the current trace."""
        return bool(resolve(self))


@frozen
class _Sum:
    """What makes a bound of two: their sum, or with the sign -1 their difference."""

    first: _Unbound
    second: int | _Unbound
    sign: int

    def __call__(self, constants: Mapping[str, int]) -> int:
        return self.first.under(constants) + self.sign * resolve(self.second, constants)


def fact(holds: Callable[[Mapping[str, int]], object]) -> Computed:
    """What is so or not, as follows from the constants; 1 or 0."""
    return Computed(lambda constants: int(bool(holds(constants))))


@frozen(eq=False)
class Size(_Unbound):
    """A constant plus a fixed number, such as `max_leader_epoch + 1`."""

    constant: Constant
    offset: int

    def under(self, constants: Mapping[str, int]) -> int:
        return self.constant.under(constants) + self.offset


@frozen
class Context:
    """Where values are made while one function is traced: the pool of their expressions, and the constants.

    What a quantifier or an action needs beyond that is in a `Trace` (`semantics.py`), which is a context, too.
    """

    pool: Pool
    constants: Mapping[str, int]
    values: dict[object, list[Any]] = field(default_factory=dict, kw_only=True, compare=False)
    """All values of a type, once somebody has asked for them."""


_ACTIVE: ContextVar[Context | None] = ContextVar("acked_trace", default=None)


class Unknown:
    """A number that stays open, as sizes are in a proof for all constants: symbolic, wherever a number may stand."""

    __slots__ = ()


def current() -> Context:
    """The context of the trace that is under way; `ModelError` outside one."""
    context = _ACTIVE.get()
    if context is None:
        raise ModelError("this part of the language works only while an action or a property is traced")
    return context


@contextmanager
def active(context: Context) -> Iterator[Context]:
    """Make `context` current within the block."""
    token = _ACTIVE.set(context)
    try:
        yield context
    finally:
        _ACTIVE.reset(token)


def resolve(size: int | Unknown | _Unbound, constants: Mapping[str, int] | None = None) -> int:
    """The number that a bound stands for, under the given constants or those of the current trace."""
    if type(size) is int:  # Asked of every bound of every type, and most are.
        return size
    if isinstance(size, _Unbound):
        return size.under(current().constants if constants is None else constants)
    if isinstance(size, (int, Unknown)):
        return size  # type: ignore[return-value]
    raise ModelError(f"a bound is a number or a constant, not {size!r}")


@unique
class ChangeKind(Enum):
    """Who would make a change of constants: a later rule, a setting of the user's, or all rules of a release."""

    RULE = "rule"
    SETTING = "setting"
    RELEASE = "release"


@frozen
class Alternative:
    """Constants that a protocol could have instead: how specs name the change, where it comes from, and the new values."""

    kind: ChangeKind
    name: str
    source: str
    changes: Mapping[str, int]


def literal(value: int | Unknown) -> Expr:
    """The Int literal in the current pool.

    >>> @invariant
    ... def not_below_zero(s: State) -> Bool:
    ...     return Count(literal(0)) <= s.acked
    >>> check(ask(toylog, not_below_zero, brokers=2, records=1)).verdict.value
    'holds'
    """
    context = _ACTIVE.get() or current()
    return context.pool.int(value)  # type: ignore[arg-type]


def known_version(asked: str | None, versions: Sequence[str]) -> str:
    """The release that is asked for, by default the last of `versions`; `ModelError` if there is none of that name."""
    wanted = asked or versions[-1]
    if wanted not in versions:
        import difflib

        close = difflib.get_close_matches(wanted, versions, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ModelError(f"there is no version {wanted!r}{hint}; the versions are {', '.join(versions)}")
    return wanted
