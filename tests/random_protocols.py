"""Hypothesis strategies for small protocols: random fields, guards, updates and properties.

Recipes (nested tuples that Hypothesis draws and prints well) and their reading as typed symbolic values. A recipe never
leaves a domain: numbers are reduced by `%` to their target's range, ids come from parameters and fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as data_field
from typing import Any

from hypothesis import strategies as st

from acked.checker.question.question import DEADLOCK, Question
from acked.invariants.property import Kind, Property
from acked.model.language.action import action, require
from acked.model.language.choices import choose
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, implies, ite, some
from acked.model.language.state import Array, Bag, Between, Log, Optional, Queue, SetOf, Struct, field
from acked.model.language.values import Bool, Enum, Id, Int

Recipe = tuple[Any, ...]
SLOTS = 2


class Number(Int, lo=0, hi=3, name="number"):
    """The unit of every number here."""


class Node(Id, size=3):
    """The sort of every id here."""


class Entry(Struct):
    """What logs hold."""

    value = field(Between(Number, 0, 1))
    by = field(Optional(Node))


class Phase(Enum, names=("idle", "busy", "done")):
    """The names here."""


@dataclass(frozen=True)
class Plan:
    """A drawn protocol: `numbers` are the ranges of the fields n0, n1, …; the flags add a field of every other kind.

    It begins in every state in which the first number is one of the `beginnings` first of its range, from its initial one on.
    """

    numbers: tuple[tuple[int, int], ...]
    has_log: bool
    has_array: bool
    initial: tuple[int, ...]
    actions: tuple[tuple[int, tuple[Recipe, ...], tuple[Recipe, ...]], ...]
    properties: tuple[Recipe, ...]
    deadlock_at: int | None
    has_queue: bool = False
    has_messages: bool = False
    has_phase: bool = False
    beginnings: int = 1

    @property
    def words(self) -> set[str]:
        """The words that actions use, to say how often they are drawn."""
        return {recipe[0] for _, _, updates in self.actions for recipe in updates}


@dataclass
class Scope:
    """What a recipe may name: states (one, or before and after) and ids."""

    plan: Plan
    states: tuple[Any, ...]
    ids: list[Any] = data_field(default_factory=list)

    def with_id(self, member: Any) -> Scope:
        return Scope(self.plan, self.states, [*self.ids, member])


# -- reading recipes ---------------------------------------------------------------------------------------------------


def number(recipe: Recipe, scope: Scope) -> Any:
    """A recipe as a `Number`."""
    match recipe:
        case ("const", value):
            return Number(scope_literal(value))
        case ("field", which, at):
            return getattr(state_of(scope, at), f"n{which % len(scope.plan.numbers)}")
        case ("element", who, at):
            return state_of(scope, at).array[node(who, scope)] if scope.plan.has_array else number(("field", 0, at), scope)
        case ("end", at):
            return state_of(scope, at).log.end if scope.plan.has_log else number(("field", 1, at), scope)
        case ("entry", offset, at):
            if not scope.plan.has_log:
                return number(("field", 2, at), scope)
            return state_of(scope, at).log.at(number(offset, scope) % SLOTS).value
        case ("+", a, b):
            return number(a, scope) + number(b, scope)
        case ("-", a, b):
            return number(a, scope) - number(b, scope)
        case ("*", a, by):
            return number(a, scope) * by
        case ("//", a, by):
            return number(a, scope) // by
        case ("%", a, by):
            return number(a, scope) % by
        case ("ite", test, a, b):
            return ite(truth(test, scope), number(a, scope), number(b, scope))
    raise AssertionError(recipe)


def truth(recipe: Recipe, scope: Scope) -> Any:
    """A recipe as a `Bool`."""
    match recipe:
        case ("flag", at):
            return state_of(scope, at).flag
        case ("<", a, b):
            return number(a, scope) < number(b, scope)
        case ("<=", a, b):
            return number(a, scope) <= number(b, scope)
        case ("==", a, b):
            return number(a, scope) == number(b, scope)
        case ("is", a, b):
            return node(a, scope) == node(b, scope)
        case ("leads", who, at):
            return state_of(scope, at).leader == node(who, scope)
        case ("leaderless", at):
            return state_of(scope, at).leader.is_none
        case ("in", who, at):
            return state_of(scope, at).members.contains(node(who, scope))
        case ("size", at, least):
            return state_of(scope, at).members.size >= least
        case ("has", offset, at):
            log = state_of(scope, at).log if scope.plan.has_log else None
            return truth(("flag", at), scope) if log is None else log.has(number(offset, scope))
        case ("phase", which, at):
            return state_of(scope, at).phase == Phase.names[which] if scope.plan.has_phase else truth(("flag", at), scope)
        case ("sent", who, at) if scope.plan.has_messages:
            message = Entry(value=1, by=node(who, scope))
            return state_of(scope, at).sent.contains(message) | (state_of(scope, at).copies.count(message) > 1)
        case ("queued", at) if scope.plan.has_queue:
            return ~state_of(scope, at).queue.is_empty & (state_of(scope, at).queue.first.value == 1)
        case ("sent", _, at) | ("queued", at):
            return truth(("flag", at), scope)
        case ("not", a):
            return ~truth(a, scope)
        case ("and", a, b):
            return truth(a, scope) & truth(b, scope)
        case ("or", a, b):
            return truth(a, scope) | truth(b, scope)
        case ("implies", a, b):
            return implies(truth(a, scope), truth(b, scope))
        case ("every", body):
            return every(Node, lambda member: truth(body, scope.with_id(member)))
        case ("some", at, body):
            return some(state_of(scope, at).members, lambda member: truth(body, scope.with_id(member)))
    raise AssertionError(recipe)


def node(which: int, scope: Scope) -> Any:
    """An id: a bound one, or the field `owner`."""
    choices = [*scope.ids, scope.states[0].owner]
    return choices[which % len(choices)]


def state_of(scope: Scope, at: int) -> Any:
    """The state before or, in step properties, after."""
    return scope.states[at % len(scope.states)]


def scope_literal(value: int) -> Any:
    """A literal of the trace that is under way."""
    from acked.model.language.context import literal

    return literal(value)


def update(recipe: Recipe, scope: Scope) -> None:
    """A recipe as an assignment that stays in the domain."""
    plan, s = scope.plan, scope.states[0]
    match recipe:
        case ("number", which, value):
            lo, hi = plan.numbers[which % len(plan.numbers)]
            setattr(s, f"n{which % len(plan.numbers)}", lo + number(value, scope) % (hi - lo + 1))
        case ("step", which, by):
            # Walks a few values up from the initial one and starts again, however wide the range.
            at = which % len(plan.numbers)
            old, least = getattr(s, f"n{at}"), plan.initial[at]
            most = min(plan.numbers[at][1], least + 3 * by)
            setattr(s, f"n{at}", ite(old <= most - by, old + by, Number(scope_literal(least))))
        case ("leader", who):
            s.leader = None if who is None else node(who, scope)
        case ("owner", who):
            s.owner = node(who, scope)
        case ("join", who):
            s.members = s.members.add(node(who, scope))
        case ("leave", who):
            s.members = s.members.remove(node(who, scope))
        case ("toggle", who):
            member = node(who, scope)
            s.members = ite(s.members.contains(member), s.members.remove(member), s.members.add(member))
        case ("flag", value):
            s.flag = truth(value, scope)
        case ("element", who, value) if plan.has_array:
            s.array[node(who, scope)] = number(value, scope) % 2
        case ("append", value, who) if plan.has_log:
            require("room", s.log.end < SLOTS)
            s.log.append(Entry(value=number(value, scope) % 2, by=node(who, scope)))
        case ("truncate", offset) if plan.has_log:
            s.log.truncate(number(offset, scope) % (SLOTS + 1))
        case ("send", value, who) if plan.has_queue:
            require("place", ~s.queue.is_full)
            s.queue.send(Entry(value=number(value, scope) % 2, by=node(who, scope)))
        case ("receive",) if plan.has_queue:
            require("came", ~s.queue.is_empty)
            s.leader = s.queue.receive().by
        case ("post", who) if plan.has_messages:
            message = choose("message", Entry)
            require("posted by", message.by == node(who, scope))
            require("few copies", s.copies.count(message) < 2)
            s.sent.add(message)
            s.copies.add(message)
        case ("drop",) if plan.has_messages:
            message = choose("dropped", Entry)
            require("a copy", s.copies.contains(message))
            s.copies.remove(message)
            s.sent.remove(message)
        case ("phase", is_chosen) if plan.has_phase:
            s.phase = choose("phase", Phase) if is_chosen else ite(s.phase == "idle", Phase(scope_literal(1)), s.phase)
        case ("elect",):
            s.leader = choose("elected", s.members)
        case _:
            s.flag = ~s.flag


# -- drawing recipes ---------------------------------------------------------------------------------------------------

_AT = st.integers(0, 1)
_WHO = st.integers(0, 3)
_CONST = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 200])
_LEAF_NUMBERS = st.one_of(
    st.tuples(st.just("const"), _CONST),
    st.tuples(st.just("field"), st.integers(0, 3), _AT),
    st.tuples(st.just("element"), _WHO, _AT),
    st.tuples(st.just("end"), _AT),
)
_LEAF_TRUTHS = st.one_of(
    st.tuples(st.just("flag"), _AT),
    st.tuples(st.just("leads"), _WHO, _AT),
    st.tuples(st.just("leaderless"), _AT),
    st.tuples(st.just("in"), _WHO, _AT),
    st.tuples(st.just("is"), _WHO, _WHO),
    st.tuples(st.just("size"), _AT, st.integers(0, 3)),
    st.tuples(st.just("phase"), st.integers(0, 2), _AT),
    st.tuples(st.just("sent"), _WHO, _AT),
    st.tuples(st.just("queued"), _AT),
)


def _numbers(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    small = st.integers(1, 5)
    return st.one_of(
        st.tuples(st.just("entry"), inner, _AT),
        st.tuples(st.sampled_from("+-"), inner, inner),
        st.tuples(st.just("*"), inner, st.integers(0, 3)),
        st.tuples(st.sampled_from(["//", "%"]), inner, small),
        st.tuples(st.just("ite"), _LEAF_TRUTHS, inner, inner),
    )


NUMBERS: st.SearchStrategy[Recipe] = st.recursive(_LEAF_NUMBERS, _numbers, max_leaves=4)


def _truths(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
    return st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or", "implies"]), inner, inner),
        st.tuples(st.just("every"), inner),
        st.tuples(st.just("some"), _AT, inner),
    )


TRUTHS: st.SearchStrategy[Recipe] = st.recursive(
    st.one_of(
        _LEAF_TRUTHS,
        st.tuples(st.sampled_from(["<", "<=", "=="]), NUMBERS, NUMBERS),
        st.tuples(st.just("has"), NUMBERS, _AT),
    ),
    _truths,
    max_leaves=3,
)
MESSAGES: st.SearchStrategy[Recipe] = st.one_of(
    st.tuples(st.just("send"), NUMBERS, _WHO),
    st.tuples(st.just("receive")),
    st.tuples(st.just("post"), _WHO),
    st.tuples(st.sampled_from(["drop", "elect"])),
    st.tuples(st.just("phase"), st.booleans()),
)
"""What is done with messages, names and choices."""
UPDATES: st.SearchStrategy[Recipe] = st.one_of(
    st.tuples(st.just("number"), st.integers(0, 3), NUMBERS),
    st.tuples(st.just("step"), st.integers(0, 3), st.integers(1, 3)),
    st.tuples(st.just("leader"), st.one_of(st.none(), _WHO)),
    st.tuples(st.just("owner"), _WHO),
    st.tuples(st.sampled_from(["join", "leave"]), _WHO),
    st.tuples(st.just("flag"), TRUTHS),
    st.tuples(st.just("element"), _WHO, NUMBERS),
    st.tuples(st.just("append"), NUMBERS, _WHO),
    st.tuples(st.just("truncate"), NUMBERS),
    MESSAGES,
)
_RANGES = st.one_of(
    st.tuples(st.integers(-3, 2), st.integers(1, 4)),
    st.tuples(st.just(0), st.just(1)),  # one value: a field without bits
    st.tuples(st.integers(-9, 5), st.sampled_from([130, 300, 70_000])),  # lanes of 16 and 32 bits
    st.tuples(st.just(0), st.sampled_from([1 << 20, 1 << 33, (1 << 45) - 7])),  # more words
).map(lambda drawn: (drawn[0], drawn[0] + drawn[1] - 1))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A protocol of two to four actions."""
    ranges = draw(st.lists(_RANGES, min_size=1, max_size=4).map(tuple))
    actions = draw(
        st.lists(
            st.tuples(
                st.integers(0, 2),
                st.lists(TRUTHS, max_size=2).map(tuple),
                st.lists(UPDATES, min_size=1, max_size=3).map(tuple),
            ),
            max_size=3,
        ).map(tuple)
    )
    # Something must move, or most spaces would be a handful of states.
    drivers: list[Recipe] = draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("step"), st.integers(0, 3), st.integers(1, 3)),
                st.tuples(st.just("append"), NUMBERS, _WHO),
                st.tuples(st.just("leader"), _WHO),
                st.tuples(st.just("truncate"), NUMBERS),
                MESSAGES,
            ),
            min_size=1,
            max_size=3,
        )
    )
    actions = ((1, (), (("toggle", 0), drivers[0])), (0, (), tuple(drivers[1:] or drivers)), *actions)[:4]
    properties = draw(st.lists(st.tuples(st.sampled_from(["state", "step"]), TRUTHS), max_size=3).map(tuple))
    return Plan(
        numbers=ranges,
        has_log=draw(st.booleans()),
        has_array=draw(st.booleans()),
        initial=tuple(draw(st.integers(lo, min(hi, lo + 200))) for lo, hi in ranges),
        actions=actions,
        properties=properties,
        deadlock_at=draw(st.one_of(st.none(), st.integers(0, 3))),
        has_queue=draw(st.booleans()),
        has_messages=draw(st.booleans()),
        has_phase=draw(st.booleans()),
        beginnings=draw(st.integers(1, 3)),
    )


# -- protocols of plans ------------------------------------------------------------------------------------------------


def protocol_of(plan: Plan) -> Protocol:
    """The protocol that a plan describes."""
    fields: dict[str, Any] = {f"n{i}": field(Between(Number, lo, hi)) for i, (lo, hi) in enumerate(plan.numbers)}
    fields |= {"owner": field(Node), "leader": field(Optional(Node)), "members": field(SetOf(Node)), "flag": field(Bool)}
    if plan.has_array:
        fields["array"] = field(Array(Node, Between(Number, 0, 1)))
    if plan.has_log:
        fields["log"] = field(Log(Entry, Number, SLOTS))
    if plan.has_queue:
        fields["queue"] = field(Queue(Entry, SLOTS))
    if plan.has_messages:
        fields |= {"sent": field(SetOf(Entry)), "copies": field(Bag(Entry, 2))}
    if plan.has_phase:
        fields["phase"] = field(Phase)
    state = type("State", (Struct,), fields)

    def initial(s: Any) -> None:
        for i, value in enumerate(plan.initial):
            setattr(s, f"n{i}", value)
        if plan.beginnings > 1:
            most = min(plan.numbers[0][1], plan.initial[0] + plan.beginnings - 1)
            s.n0 = choose("n0", Between(Number, plan.initial[0], most))

    made = Protocol("random", state, title="random", source="Hypothesis", constants=(), initial=initial)
    for position, (parameters, guards, updates) in enumerate(plan.actions):
        made.actions += (action()(_function(plan, position, parameters, guards, updates)),)
    return made


def _function(
    plan: Plan, position: int, parameters: int, guards: tuple[Recipe, ...], updates: tuple[Recipe, ...]
) -> Callable[..., None]:
    def run(s: Any, *ids: Any) -> None:
        scope = Scope(plan, (s,), list(ids))
        for i, guard in enumerate(guards):
            require(f"guard {i}", truth(guard, scope))
        seen = set()
        for recipe in updates:
            if recipe[0] in seen and recipe[0] in ("append", "send", "receive", "post", "drop", "phase", "elect"):
                continue  # its guard has a label, its choice a name, and these are unique
            seen.add(recipe[0])
            update(recipe, scope)

    def none(s: Any) -> None:
        run(s)

    def one(s: Any, a: Any) -> None:
        run(s, a)

    def two(s: Any, a: Any, b: Any) -> None:
        run(s, a, b)

    chosen = (none, one, two)[parameters]
    chosen.__name__ = f"act_{position}"
    chosen.__annotations__ = {"a": Node, "b": Node} if parameters == 2 else {"a": Node} if parameters == 1 else {}
    return chosen


def question_of(plan: Plan) -> Question:
    """The plan's protocol and properties."""
    made: list[Property] = []
    for i, (kind, recipe) in enumerate(plan.properties):
        predicate = _predicate(plan, recipe)
        made.append(Property(f"P{i}", Kind.STATE if kind == "state" else Kind.STEP, predicate, "", "", ""))
    if plan.deadlock_at is not None:
        made.insert(plan.deadlock_at, DEADLOCK)
    return Question(protocol_of(plan).instantiate({}), tuple(made))


def _predicate(plan: Plan, recipe: Recipe) -> Callable[..., Bool]:
    def holds(*states: Any) -> Bool:
        return Bool(Bool.lift(truth(recipe, Scope(plan, states))))

    return holds
