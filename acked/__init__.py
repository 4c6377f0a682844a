"""Does your Kafka keep what it acknowledged? A model checker for replication protocols, as a library.

A protocol is ordinary Python over a typed state. This one is a replicated log in small; every example of the library is
about it, and has its names.

    >>> from acked import *
    >>> brokers = Constant("brokers", 1, 5, "brokers that hold a copy of the log")
    >>> records = Constant("records", 1, 8, "records that the client sends")
    >>> class Broker(Id, size=brokers):
    ...     "A broker."
    >>> class Count(Int, lo=0, hi=records):
    ...     "How many records, from the first on."
    >>> class State(Struct):
    ...     end = field(Array(Broker, Count), "how many records each broker holds")
    ...     leader = field(Broker, "which broker is leader")
    ...     acked = field(Count, "how many records were acknowledged")

Whatever `initial` does not assign is zero: empty logs, and broker 0 is leader. An action may happen in every state in which
all its `require`s hold.

    >>> toylog = Protocol("toylog", State, title="a toy log", source="acked", constants=(brokers, records),
    ...                   initial=lambda s: None)
    >>> @toylog.action(says=lambda t: f"broker {t.before.leader} appends record {t.before.end[t.before.leader]}")
    ... def append(s: State) -> None:
    ...     require("records are left", s.end[s.leader] < records.value)
    ...     s.end[s.leader] = s.end[s.leader] + 1
    >>> @toylog.action(says=lambda t: f"broker {t.follower} copies a record from broker {t.before.leader}")
    ... def fetch(s: State, follower: Broker) -> None:
    ...     require("behind the leader", s.end[follower] < s.end[s.leader])
    ...     s.end[follower] = s.end[follower] + 1
    >>> @toylog.action(says=lambda t: f"broker {t.before.leader} acknowledges record {t.before.acked}")
    ... def acknowledge(s: State) -> None:
    ...     require("every broker holds it", every(Broker, lambda b: s.acked < s.end[b]))
    ...     s.acked = s.acked + 1
    >>> @toylog.action(says=lambda t: f"broker {t.winner} becomes leader, and every log is cut to its length")
    ... def elect(s: State, winner: Broker) -> None:
    ...     require("another one", winner != s.leader)
    ...     s.leader = winner
    ...     for b in each(Broker):
    ...         s.end[b] = smaller(s.end[b], s.end[winner])

A property holds in every reachable state or is violated, and then a shortest trace shows how.

    >>> nothing_lost = invariant("NothingLost", "all(acked <= end[b] for b in brokers if leader == b)")
    >>> everybody_holds = invariant("EverybodyHolds", "all(acked <= end[b] for b in brokers)")
    >>> nobody_lags = invariant("NobodyLags", "all(end[b] == end[0] for b in brokers)")
    >>> question = ask(toylog, nothing_lost, everybody_holds, brokers=3, records=3)
    >>> check(question).verdict, check(question).distinct_states
    (<Verdict.HOLDS: 'holds'>, 150)
    >>> [step.sentence for step in Trace.of(check(ask(toylog, nobody_lags, brokers=3, records=3)))]
    ['the initial state', 'broker 0 appends record 0']

The names are imported when they are first used: `import acked` itself costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acked.base.version import __version__ as __version__

if TYPE_CHECKING:
    from acked.api import Page, Step, Trace, ask, check, find, invariant, load_spec, prove, simulate, step_property
    from acked.base.bounds import Bounds
    from acked.base.errors import AckedError, ConfigurationError, ExitCode, SpecUnreadable, SystemFailure
    from acked.checker.diagnosis.difference import Comparison, Side
    from acked.checker.explore.simulate import Simulation
    from acked.checker.proof.result import ProofResult
    from acked.checker.question.coverage import ClauseCoverage
    from acked.checker.question.ledger import StopPolicy
    from acked.checker.question.observer import Observer
    from acked.checker.question.question import Question
    from acked.checker.question.result import Result, StopReason, Verdict, Violation
    from acked.checker.question.user_properties import liveness, recoverable
    from acked.checker.spec.spec import Spec
    from acked.invariants.property import Kind, Property
    from acked.model.formulas.errors import DomainOverflow, ModelError
    from acked.model.language.action import action, require
    from acked.model.language.choices import choose
    from acked.model.language.context import Constant, choice, literal, switch
    from acked.model.language.protocol import Protocol
    from acked.model.language.quantify import (
        count,
        each,
        every,
        for_each,
        greatest,
        implies,
        ite,
        least,
        one_of,
        smaller,
        some,
        some_of,
        those,
    )
    from acked.model.language.sets import SetValue
    from acked.model.language.state import (
        Array,
        Bag,
        Between,
        Log,
        Optional,
        Present,
        Queue,
        SetOf,
        Struct,
        all_of,
        field,
        none_of,
    )
    from acked.model.language.telling import CLIENT, CONSUMER, CONTROLLER, PRODUCER, Course, Fault, Role, Tells, Those, asks
    from acked.model.language.values import Bool, Enum, Id, Int
    from acked.study import ablate, coverage, diff, explore, states, view

__all__ = [
    "CLIENT",
    "CONSUMER",
    "CONTROLLER",
    "PRODUCER",
    "AckedError",
    "Array",
    "Bag",
    "Between",
    "Bool",
    "Bounds",
    "ClauseCoverage",
    "Comparison",
    "ConfigurationError",
    "Constant",
    "Course",
    "DomainOverflow",
    "Enum",
    "ExitCode",
    "Fault",
    "Id",
    "Int",
    "Kind",
    "Log",
    "ModelError",
    "Observer",
    "Optional",
    "Page",
    "Present",
    "ProofResult",
    "Property",
    "Protocol",
    "Question",
    "Queue",
    "Result",
    "Role",
    "SetOf",
    "SetValue",
    "Side",
    "Simulation",
    "Spec",
    "SpecUnreadable",
    "Step",
    "StopPolicy",
    "StopReason",
    "Struct",
    "SystemFailure",
    "Tells",
    "Those",
    "Trace",
    "Verdict",
    "Violation",
    "ablate",
    "action",
    "all_of",
    "ask",
    "asks",
    "check",
    "choice",
    "choose",
    "count",
    "coverage",
    "diff",
    "each",
    "every",
    "explore",
    "field",
    "find",
    "for_each",
    "greatest",
    "implies",
    "invariant",
    "ite",
    "least",
    "literal",
    "liveness",
    "load_spec",
    "none_of",
    "one_of",
    "prove",
    "recoverable",
    "require",
    "simulate",
    "smaller",
    "some",
    "some_of",
    "states",
    "step_property",
    "switch",
    "those",
    "view",
]

_PLACES = {
    "acked.api": "Page Step Trace ask check find invariant load_spec prove simulate step_property",
    "acked.base.bounds": "Bounds",
    "acked.base.errors": "AckedError ConfigurationError ExitCode SpecUnreadable SystemFailure",
    "acked.checker.diagnosis.difference": "Comparison Side",
    "acked.checker.explore.simulate": "Simulation",
    "acked.checker.question.observer": "Observer",
    "acked.checker.proof.result": "ProofResult",
    "acked.checker.question.coverage": "ClauseCoverage",
    "acked.checker.question.ledger": "StopPolicy",
    "acked.checker.question.question": "Question",
    "acked.checker.question.result": "Result StopReason Verdict Violation",
    "acked.checker.question.user_properties": "liveness recoverable",
    "acked.checker.spec.spec": "Spec",
    "acked.invariants.property": "Kind Property",
    "acked.model.formulas.errors": "DomainOverflow ModelError",
    "acked.model.language.action": "action require",
    "acked.model.language.choices": "choose",
    "acked.model.language.context": "Constant choice literal switch",
    "acked.model.language.protocol": "Protocol",
    "acked.model.language.quantify": "count each every for_each greatest implies ite least one_of smaller some some_of those",
    "acked.model.language.sets": "SetValue",
    "acked.model.language.state": "Array Bag Between Log Optional Present Queue SetOf Struct all_of field none_of",
    "acked.model.language.telling": "CLIENT CONSUMER CONTROLLER PRODUCER Course Fault Role Tells Those asks",
    "acked.model.language.values": "Bool Enum Id Int",
    "acked.study": "ablate coverage diff explore states view",
}
"""The public names by the module that has them: what the imports above are to type checkers."""

if not TYPE_CHECKING:  # For a type checker a name that does not exist stays an error.

    def __getattr__(name: str) -> Any:
        """A public name, imported when it is first asked for."""
        from importlib import import_module

        for module, names in _PLACES.items():
            if name in names.split():
                found = globals()[name] = getattr(import_module(module), name)
                return found
        raise AttributeError(f"module 'acked' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
