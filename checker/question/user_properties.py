"""Properties that specs and users write themselves, as predicates: invariants, and states that are looked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from acked.checker.predicate.parse import PredicateError, meaning
from acked.checker.question.question import Probe
from acked.invariants.property import Kind, Liveness, Property
from acked.model.formulas.expr import Expr, Pool
from acked.model.language.context import current
from acked.model.language.protocol import Instance
from acked.model.language.quantify import vacuously
from acked.model.language.state import Struct, leaves_of, store_of
from acked.model.language.storage.layout import Schema
from acked.model.language.values import Bool

SOUGHT = "Sought"
"""The name of a predicate that was typed without a name."""

_RECOVERABLE, _WITHOUT = "recoverable", " without "
"""What the names of such promises begin with."""

_REACHES = "reaches: "

ALWAYS = "True"
"""The predicate of every state."""


def written_invariant(name: str, text: str, doc: str = "") -> Property:
    """The promise that a predicate holds in every reachable state."""
    return Property(name, Kind.STATE, _state_predicate(text), doc or text, "", "", text)


def sought(name: str, text: str) -> Property:
    """What `find` looks for: a state in which a predicate holds."""
    return Property(name, Kind.REACH, _state_predicate(text), text, "", "", text)


def recoverable(text: str, without: Sequence[str] = ()) -> Property:
    """A property: from every reachable state some continuation leads to a state in which the predicate `text` holds.

    Continuations that take an action named in `without` do not count: what only these would repair is not recoverable.

    >>> all_acked = recoverable("acked == records")
    >>> [check(ask(toylog, item, brokers=2, records=1)).verdict.value for item in (all_acked, recoverable("acked == 0"))]
    ['holds', 'violated']
    """
    aid = f", without {', '.join(without)}," if without else ""
    promise = f"from every state that can be reached, the cluster can still get{aid} to one in which {text}"
    name = f"{_RECOVERABLE}{_WITHOUT if without else ''}{', '.join(without)}: {text}"
    return Property(name, Kind.RECOVERABLE, _state_predicate(text), promise, "the spec itself", "", text, tuple(without))


def recoverable_named(name: str) -> Property | None:
    """The promise that `recoverable` gave this name; None if it gave it to none."""
    head, colon, text = name.partition(": ")
    if not colon or not (head == _RECOVERABLE or head.startswith(_RECOVERABLE + _WITHOUT)):
        return None
    without = head.removeprefix(_RECOVERABLE).removeprefix(_WITHOUT)
    return recoverable(text, without.split(", ") if without else ())


def liveness(
    name: str, trigger: str | None, goal: str, fairness: tuple[Sequence[str], Sequence[str]] = ((), ()), doc: str = ""
) -> Property:
    """A property: every state in which `trigger` holds is followed, at once or later, by one in which `goal` holds.

    Without a trigger, such a state is reached at least once. It is about the traces that are fair to the actions of
    `fairness`: weakly fair to the first ones, strongly fair to the second ones.

    >>> acks_come = liveness("AcksCome", None, "acked == records", (["Append"], []))
    >>> trace = Trace.of(check(ask(toylog, acks_come, brokers=2, records=1)))
    >>> trace.violates.name, trace.run.loop is None
    ('AcksCome', False)
    """
    asks = "sooner or later" if trigger is None else f"after every state in which {trigger}, at once or later,"
    if trigger == ALWAYS:
        asks = "again and again"
    kinds = zip(("weakly", "strongly"), fairness, strict=True)
    fair = [f"{kind} fair to {', '.join(texts)}" for kind, texts in kinds if texts]
    runs = f"in every run that is {' and '.join(fair)}" if fair else "in every run, one that stands still for ever included"
    promise = f"{asks} a state comes in which {goal}, {runs}"
    promised = Liveness(_state_predicate(goal), trigger, goal, *map(tuple, fairness))
    asked = _state_predicate(trigger or ALWAYS)
    return Property(name, Kind.LIVENESS, asked, doc or promise, "the spec itself", "", liveness=promised)


def check_texts(properties: Iterable[Property], schema: Schema) -> None:
    """`PredicateError` if the text of one means nothing of such states; names the property."""
    pool = Pool()
    codes = [pool.field(at, leaf.cardinality) for at, leaf in enumerate(schema.leaves)]
    for item in properties:
        for text in item.texts:
            try:
                meaning(text, schema, codes)
            except PredicateError as error:
                name = "" if item.name == SOUGHT else f"{item.name}: "
                raise PredicateError(f"{name}{error}") from None


def reach_probes(wanted: Iterable[Property]) -> tuple[Probe, ...]:
    """Probes that are met where what is sought is reached."""
    return tuple(_probe(item) for item in wanted)


def reach_lengths(met: Iterable[tuple[str, int | None]]) -> dict[str, int | None]:
    """By name of what a spec seeks: the states of the shortest run there, from the probes of a search."""
    return {name.removeprefix(_REACHES): level for name, level in met if name.startswith(_REACHES)}


def _probe(item: Property) -> Probe:
    def in_state(instance: Instance) -> Expr:
        return instance.state_predicate(item.name, item.predicate)

    return Probe(_REACHES + item.name, in_state, is_sought=True)


def _state_predicate(text: str) -> Callable[[Struct], Bool]:
    def predicate(state: Struct) -> Bool:
        store: Any = store_of(state)
        if store.is_of_functions:
            # Only proofs for all constants read states so, and every command would load what reads them.
            from acked.checker.predicate.firstorder import first_order_meaning
            from acked.model.firstorder.values import formula

            return formula(first_order_meaning(text, store, current().constants))
        meant = meaning(text, *leaves_of(state))
        return Bool(meant.true) if meant.silent is None else vacuously(Bool(meant.true), Bool(meant.silent))

    return predicate
