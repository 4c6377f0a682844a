"""Acked as a library: load a spec or ask about a protocol of your own, then check, prove or simulate, and keep traces.

Every function is silent, answers with plain data, and raises what `acked.base.errors` and `ModelError` document.

Floor 8.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field as dataclass_field
from pathlib import Path
from typing import Any, overload

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.files import write_text
from acked.base.frozen import frozen
from acked.base.processes import Limits
from acked.checker.diagnosis.difference import Side
from acked.checker.explore.simulate import Plan, Simulation
from acked.checker.explore.simulate import simulate as run_at_random
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import DEFAULT_DEPTH, PROOF, ProofResult
from acked.checker.question.fairness import check_fairness
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Counterexample, Result, Run, StopReason, Violation
from acked.checker.question.user_properties import SOUGHT, check_texts, sought, written_invariant
from acked.checker.replay.trace_file import read_trace
from acked.checker.search.local import search
from acked.checker.spec.resolve import bind_constants, property_named
from acked.checker.spec.spec import Spec
from acked.invariants.catalogue import properties_of
from acked.invariants.proofs import all_lemmas, has_induction, lemmas_for
from acked.invariants.property import ONE_TRACE, Kind, Property
from acked.model.language.protocol import Protocol
from acked.model.language.values import Bool
from acked.reports.pages.page import render, trace_data
from acked.reports.runs.view import steps_of
from acked.reports.shell.output import TraceFile
from acked.reports.shell.specs import change_spec, find_spec

Subject = str | Path | Spec | Question
"""What can be asked: a spec by path or bundled name, one that is loaded, or a question."""


def load_spec(name: str | Path, **constants: int | bool | str) -> Spec:
    """Reads a spec file, or a bundled spec by name (`acked list specs`), with other constants if some are given.

    A file whose protocol is a Python file runs that file. Raises `SpecUnreadable` and `ConfigurationError`.

    >>> spec = load_spec("kip320", replicas=2)
    >>> spec.title, spec.constants["replicas"]
    ('KIP-320 fencing keeps every committed record', 2)
    """
    spec = find_spec(str(name), bool(constants))
    return change_spec(spec, constants, False) if constants else spec


def ask(protocol: Protocol, *properties: Property | str, symmetric: bool = False, **constants: int | bool | str) -> Question:
    """A question about a protocol: whether it keeps these properties under these constants.

    A property that is shipped with the protocol can be given by name, and so can "Deadlock". If `symmetric`, states that
    differ only in the names of interchangeable ids are counted once. Raises `ConfigurationError` for a name or a constant
    that does not fit, `ModelError` where the protocol itself is wrong.

    >>> question = ask(toylog, nothing_lost, brokers=2, records=1)
    >>> [item.name for item in question.properties], question.instance.constants
    (['NothingLost'], {'brokers': 2, 'records': 1})
    """
    asked = tuple(property_named(protocol, item) if isinstance(item, str) else item for item in properties)
    question = Question(protocol.instantiate(bind_constants(protocol, constants)), asked, is_symmetric=symmetric)
    check_texts(asked, question.instance.schema)
    for item in asked:
        if item.liveness is not None:
            check_fairness(protocol, item.liveness.weak, item.liveness.strong)
    question.refuse_asymmetry()
    return question


@overload
def invariant(what: Callable[[Any], Bool]) -> Property: ...
@overload
def invariant(what: str, predicate: str, doc: str = "") -> Property: ...
def invariant(what: Callable[[Any], Bool] | str, predicate: str = "", doc: str = "") -> Property:
    """A property of every reachable state: a decorated function of the state, or a name and a predicate (docs/predicates.md).

    A trace file can only name the second kind.

    >>> @invariant
    ... def leader_first(s: State) -> Bool:
    ...     "The leader's log is the longest."
    ...     return every(Broker, lambda b: s.end[b] <= s.end[s.leader])
    >>> never_acked = invariant("NeverAcked", "acked == 0")
    >>> [check(ask(toylog, item, brokers=2, records=1)).verdict.value for item in (leader_first, never_acked)]
    ['holds', 'violated']
    """
    return written_invariant(what, predicate, doc) if isinstance(what, str) else _property_of(what, Kind.STATE)


def step_property(function: Callable[[Any, Any], Bool]) -> Property:
    """A property of every step, by a function of the states before and after it.

    >>> @step_property
    ... def acks_only_grow(before: State, after: State) -> Bool:
    ...     "What was acknowledged stays acknowledged."
    ...     return before.acked <= after.acked
    >>> check(ask(toylog, acks_only_grow, brokers=2, records=2)).verdict
    <Verdict.HOLDS: 'holds'>
    """
    return _property_of(function, Kind.STEP)


def _property_of(function: Callable[..., Bool], kind: Kind) -> Property:
    name = "".join(part.capitalize() for part in function.__name__.split("_"))
    return Property(name, kind, function, (function.__doc__ or name).strip(), "", "")


def check(
    subject: Subject, *, bounds: Bounds | None = None, policy: StopPolicy | None = None, observer: Observer | None = None
) -> Result:
    """Explores every reachable state and decides the properties; a violation comes with a shortest trace.

    By default the first violation ends the search, unless a spec expects several. Ctrl-C ends it with an incomplete result.
    Raises `ConfigurationError`, `SystemFailure`, and `DomainOverflow` where an action leaves a field's domain.

    >>> result = check(ask(toylog, nothing_lost, brokers=3, records=3))
    >>> result.verdict, result.distinct_states
    (<Verdict.HOLDS: 'holds'>, 150)
    """
    asked = _load(subject)
    default = asked.policy if isinstance(asked, Spec) else StopPolicy.FIRST_VIOLATION
    return search(_question(asked), bounds, policy or default, observer)


def prove(
    subject: Subject,
    *,
    depth: int | None = None,
    timeout: float = 600,
    jobs: int | None = None,
    memory: int | None = None,
    observer: Observer | None = None,
) -> ProofResult:
    """Proves the properties by induction with z3, for traces of any length.

    With a `depth`, or where no lemmas of a shipped protocol are known, it looks for a violation of up to `depth` (8) steps
    instead, by bounded model checking; finding none is not a proof, and the result is incomplete. The properties of a
    protocol of your own serve as each other's lemmas. `timeout` is in seconds for one query, `memory` in bytes for each of
    the `jobs` processes. Raises `ConfigurationError` and `SystemFailure`.

    >>> question = ask(toylog, nothing_lost, everybody_holds, brokers=2, records=2)
    >>> prove(question).verdict
    <Verdict.HOLDS: 'holds'>
    """
    question = _question(_load(subject))
    if not question.properties:
        raise ConfigurationError("the question has no properties to prove; name some")
    PROOF.check(question)
    limits = Limits.sharing(jobs, timeout, memory)
    protocol = question.instance.protocol
    lemmas = lemmas_for(protocol, question.properties, question.instance.constants)
    if depth is not None or not has_induction(protocol, question.properties, question.instance.constants):
        return check_bounded(question, Bound(DEFAULT_DEPTH if depth is None else depth), limits, observer)
    used = all_lemmas(protocol, question.instance.constants) if lemmas is None else lemmas
    return prove_by_induction(question, used, limits, InductionOptions(every_claim=True), observer)


def simulate(
    subject: Subject,
    *,
    runs: int = 1000,
    depth: int = 100,
    seed: int = 0,
    weights: Mapping[str, int] | None = None,
    workers: int | None = None,
) -> Simulation:
    """Makes random traces of at most `depth` steps, for constants that no search reaches; finding nothing proves nothing.

    The seed alone decides which traces are made. An action's weight is 1 unless `weights` says otherwise. Raises
    `ConfigurationError`.

    >>> found = simulate(ask(toylog, nothing_lost, brokers=5, records=8), runs=100, seed=7)
    >>> found.violation, found.runs
    (None, 100)
    """
    question = _question(_load(subject))
    if other := [item.name for item in question.properties if item.kind not in ONE_TRACE]:
        raise ConfigurationError(
            f"random traces cannot decide {', '.join(other)}: that takes every reachable state; use `check`"
        )
    plain = Question(question.instance, question.properties)
    return run_at_random(plain, Plan(runs, depth, seed, dict(weights or {})), workers)


def find(subject: Subject, predicate: str, *, bounds: Bounds | None = None) -> Trace | None:
    """A shortest trace to a state in which a predicate holds (docs/predicates.md); None if no reachable state is one.

    Raises `ConfigurationError` for what is no predicate, and where a bound ends the search before it is decided.

    >>> trace = find(ask(toylog, nothing_lost, brokers=2, records=2), "acked == 1 and leader == 1")
    >>> trace.steps[-1].sentence
    'broker 1 acknowledges record 0'
    >>> find(ask(toylog, nothing_lost, brokers=2, records=2), "acked > records")
    """
    asked = _question(_load(subject))
    wanted = sought(SOUGHT, predicate)
    check_texts([wanted], asked.instance.schema)
    question = Question(asked.instance, (wanted,))
    result = search(question, bounds)
    if result.violations:
        return Trace.of(result)
    if result.stopped is StopReason.COMPLETE:
        return None
    raise ConfigurationError(f"the search ended before it was decided: {result.stopped.value}; give it more room")


@frozen
class Page:
    """A page of HTML that has everything in it and needs no network; a notebook shows it in a frame.

    >>> page = Trace.of(check(ask(toylog, nobody_lags, brokers=2, records=1))).page
    >>> page.title, page.write("lags.html")
    ('a toy log', PosixPath('lags.html'))
    """

    title: str
    """What it is about."""
    html: str = dataclass_field(repr=False)
    """Its text, without which nothing is shown."""

    def write(self, path: str | Path) -> Path:
        """Writes it to a file; `SystemFailure` if that cannot be written."""
        write_text(Path(path), self.html, "page")
        return Path(path)

    def _repr_html_(self) -> str:
        """A frame of a notebook."""
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="640" frameborder="0"></iframe>'


@frozen
class Step:
    """A step of a trace: the action and its arguments (None and nothing at step 0), and the state that it leads to.

    >>> trace = Trace.of(check(ask(toylog, nobody_lags, brokers=2, records=1)))
    >>> print(trace.steps[1].action, dict(trace.steps[1].arguments), trace.steps[1].state["end"])
    Append {} [1, 0]
    """

    index: int
    """Its number; 0 is the initial state."""
    action: str | None
    """The action that was taken."""
    arguments: Mapping[str, Any]
    """By name of a parameter: its value."""
    state: Mapping[str, Any]
    """The state after the step, by field: ids are numbers, sets are sorted lists, none is None."""
    sentence: str
    """The step in words."""


@frozen
class Trace:
    """A trace of a protocol: its steps, and the property that it violates, if it violates one.

    A trace of k steps has k + 1 states, the initial one first. `run.loop` is the state to which an infinite trace returns.

    >>> trace = Trace.of(check(ask(toylog, nobody_lags, brokers=2, records=1)))
    >>> trace.violates.name, [step.sentence for step in trace]
    ('NobodyLags', ['the initial state', 'broker 0 appends record 0'])
    >>> trace
    a toy log: NobodyLags is violated
      0  the initial state
      1  broker 0 appends record 0
    >>> trace.write("lags.json")
    >>> Trace.read("lags.json", toylog).steps == trace.steps
    True
    """

    title: str
    """What was asked, in words."""
    question: Question
    """What was asked."""
    run: Run
    """The packed states and the actions between them."""
    violates: Property | None
    """The property that the trace violates, if it violates one."""

    @classmethod
    def of(cls, answer: Result | ProofResult | Simulation | Side, property_name: str | None = None) -> Trace:
        """The trace of the first violation found, or of that of a given property; `ConfigurationError` if there is none.

        Of a side of a comparison it is the trace whose last step the other rules do not have.
        """
        if isinstance(answer, Side):
            return cls._of_side(answer)
        if isinstance(answer, Simulation):
            found: tuple[Violation, ...] = () if answer.violation is None else (answer.violation,)
        else:
            found = answer.violations
        chosen = [item for item in found if property_name in (None, item.property.name)]
        if not chosen:
            raise ConfigurationError(f"there is no violation{f' of {property_name}' if property_name else ''} to show")
        return cls(answer.question.instance.protocol.title, answer.question, chosen[0].run, chosen[0].property)

    @classmethod
    def _of_side(cls, side: Side) -> Trace:
        if side.run is None:
            raise ConfigurationError("no trace of this side has a step that the other rules do not have")
        return cls(side.result.question.instance.protocol.title, side.result.question, side.run, None)

    @classmethod
    def read(cls, path: str | Path, protocol: Protocol | None = None, *, trust: bool = False) -> Trace:
        """Reads a trace file and replays it; `SpecUnreadable` if it is not a trace of its protocol.

        A protocol that is not shipped is given, or, if you `trust` the file, run from the Python file that it names.
        """
        shown = read_trace(Path(path), protocol, trust)
        return cls(shown.title, shown.question, shown.run, shown.property)

    def write(self, path: str | Path) -> None:
        """Writes a trace file, which `acked show`, `acked view` and `Trace.read` read.

        `SystemFailure` if it cannot be written, `ConfigurationError` if a property is a function, which no file can name.
        """
        protocol = self.question.instance.protocol
        for item in self.question.properties:
            if not item.texts and item != DEADLOCK and properties_of(protocol).get(item.name) != item:
                raise ConfigurationError(
                    f"{item.name} is a Python function, which a trace file cannot name; write it as a predicate, "
                    f'invariant("{item.name}", "…")'
                )
        TraceFile(Path(path)).write(Counterexample(self.title, self.question, self.run, self.violates))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps; number 0 is the initial state."""
        seen = steps_of(self.question, self.run)
        return tuple(Step(item.index, item.action, dict(item.arguments), item.state, item.sentence) for item in seen)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.run.states)

    def __str__(self) -> str:
        """The steps in sentences; of a long trace the first and the last."""
        lines = [f"{step.index:>3}  {step.sentence}" for step in self.steps]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES // 2 : -_MOST_LINES // 2] = ["  …"]
        word = "reached" if self.violates is not None and self.violates.kind is Kind.REACH else "violated"
        violated = "" if self.violates is None else f": {self.violates.name} is {word}"
        return "\n".join([f"{self.title}{violated}", *lines])

    __repr__ = __str__

    @property
    def page(self) -> Page:
        """The viewer's page of the trace."""
        return Page(self.title, render(trace_data(Counterexample(self.title, self.question, self.run, self.violates))))

    def _repr_html_(self) -> str:
        return self.page._repr_html_()


_MOST_LINES = 16
"""Steps of a trace that are printed."""


def _load(subject: Subject) -> Spec | Question:
    return load_spec(subject) if isinstance(subject, (str, Path)) else subject


def _question(subject: Spec | Question) -> Question:
    return subject.question() if isinstance(subject, Spec) else subject


def asked(subject: Subject) -> tuple[str, str, Question]:
    """What can be asked as its title, the name of its spec or protocol, and the question."""
    loaded = _load(subject)
    if isinstance(loaded, Spec):
        return loaded.title, loaded.name, loaded.question()
    protocol = loaded.instance.protocol
    return protocol.title, protocol.name, loaded
