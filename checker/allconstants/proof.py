"""Proofs for all constants at once: any number of replicas, offsets, records and leader epochs.

The proof as a whole (`prove_all_constants`), what became of every obligation, the lemma sets that ship, and the proof as text
for other solvers.

An obligation is proved, refuted by a step of a small instance, or left open; all but the first make the verdict `incomplete`.
A refutation starts in a state in which all clauses hold, which need not be a reachable one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, unique
from importlib.metadata import version
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from acked.base.errors import ExitCode
from acked.base.frozen import frozen
from acked.base.names import near
from acked.base.processes import Limits, Lost, Note, ProcessPool, Service
from acked.checker.allconstants.obligations import AFTERWARDS, PROMISES, TERMS, GeneralObligation, Obligations
from acked.checker.allconstants.own import own_argument
from acked.checker.allconstants.texts import text_name
from acked.checker.allconstants.ways import WAYS
from acked.checker.question.result import Verdict
from acked.checker.solver.lemma_sets import (
    Core,
    CoreFile,
    StepCounterexample,
    add_older_sets,
    add_sets_alike,
    shipped_file,
)
from acked.checker.solver.tasks import FiringTask, FirstOrderProblem, ObligationAnswer, ObligationTask, OwnClauses
from acked.invariants.proofs import Argument, argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol

LEMMA_SEARCH = Service("acked.checker.allconstants.lemma_search:LemmaProcess", "solver", ("z3",))
"""Processes in which z3 decides obligations, and finds lemma sets for them."""

PROOF_EFFORT = 40_000_000
"""How long z3 may think about a proof with a known lemma set, in its own count of steps: ten times what the hardest takes.

A count and not a time, so that the verdict does not depend on how busy the machine is.
"""

MOST_NEAR = 5
"""How many lemma sets of other steps are tried."""

NOT_FOUND = "neither a proof nor a counterexample was found within the limits"
"""Why an obligation is open if no limit in seconds is to blame: on any machine it would be."""


@unique
class SolverVerdict(Enum):
    """`UNSAT` proves an obligation; `REFUTED` comes with a step of a small instance; `UNKNOWN` is never a pass."""

    UNSAT = "unsat"
    REFUTED = "sat"
    UNKNOWN = "unknown"


@frozen
class ObligationResult:
    """What became of an obligation: the verdict, the lemmas that were assumed, the solver's time, and why it is open."""

    subject: str
    clause: str
    verdict: SolverVerdict
    seconds: float
    lemmas: tuple[str, ...]
    way: int = 0
    counterexample: StepCounterexample | None = None
    reason: str = ""

    @property
    def key(self) -> str:
        """`BecomeLeader|WeakIsr`."""
        return f"{self.subject}|{self.clause}"

    @property
    def used(self) -> frozenset[str]:
        """The clauses that were assumed, before the step or after it."""
        return frozenset(name.removesuffix(AFTERWARDS) for name in self.lemmas)


@frozen
class AllConstantsProof:
    """Every obligation with its verdict. `seconds` is the whole time, reading the protocol included.

    `goals` are the promises that it is all for; `switches` the constants that are no sizes: the proof is about this setting.
    `vacuous` names actions that are not seen to be possible where all clauses hold, but for those in `never`, of which the
    argument says why. `found` are the obligations whose lemma sets were not known before or did not suffice. If
    `interrupted`, obligations are missing; if `is_partial`, some were not asked for.
    """

    protocol: str
    goals: tuple[str, ...]
    switches: Mapping[str, int]
    drop: tuple[tuple[str, str], ...]
    fingerprint: str
    obligations: tuple[ObligationResult, ...]
    vacuous: tuple[str, ...]
    found: tuple[str, ...]
    solver: str
    seconds: float
    interrupted: bool = False
    is_partial: bool = False
    never: Mapping[str, str] = field(default_factory=dict)

    @property
    def open(self) -> tuple[ObligationResult, ...]:
        """The obligations that are not proved."""
        return tuple(item for item in self.obligations if item.verdict is not SolverVerdict.UNSAT)

    @property
    def refuted(self) -> tuple[ObligationResult, ...]:
        """The obligations that a step of a small instance refutes."""
        return tuple(item for item in self.obligations if item.verdict is SolverVerdict.REFUTED)

    @property
    def holds(self) -> bool:
        """Whether every obligation is proved, and none for want of a state in which its action can happen."""
        is_whole = bool(self.obligations) and not self.interrupted and not self.is_partial
        return is_whole and not self.open and not self.vacuous

    @property
    def verdict(self) -> Verdict:
        """It holds, or is incomplete: a step that refutes an obligation need not be reachable."""
        return Verdict.HOLDS if self.holds else Verdict.INCOMPLETE

    @property
    def exit_code(self) -> ExitCode:
        """By verdict."""
        if self.interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.HOLDS if self.holds else ExitCode.TOO_LARGE

    def cores(self, known: CoreFile) -> CoreFile:
        """The lemma sets with which obligations were proved, and for those that were left open the ones known before."""
        proved = {item.key: Core(item.lemmas, item.way) for item in self.obligations if item.verdict is SolverVerdict.UNSAT}
        left = {item.key for item in self.obligations if item.verdict is SolverVerdict.UNKNOWN} & set(known.cores)
        keys = [item.key for item in self.obligations if item.key in proved or item.key in left]
        return CoreFile(self.fingerprint, {key: proved.get(key) or known.cores[key] for key in keys})

    def document(self) -> dict[str, Any]:
        """The proof as plain data for JSON."""
        return {
            "protocol": self.protocol,
            "promises": list(self.goals),
            "constants": dict(self.switches),
            "drop": [f"{action}: {label}" for action, label in self.drop],
            "method": "induction for all constants",
            "verdict": self.verdict.value,
            "interrupted": self.interrupted,
            "solver": self.solver,
            "fingerprint": self.fingerprint,
            "seconds": round(self.seconds, 3),
            "solver_seconds": round(sum(item.seconds for item in self.obligations), 3),
            "proved": len(self.obligations) - len(self.open),
            "open": [f"{item.subject}: {item.clause}" for item in self.open],
            "vacuous": list(self.vacuous),
            "never": dict(self.never),
            "lemma_sets_found": list(self.found),
            "obligations": [_result_document(item) for item in self.obligations],
        }


def _result_document(item: ObligationResult) -> dict[str, Any]:
    made: dict[str, Any] = {
        "subject": item.subject,
        "clause": item.clause,
        "verdict": item.verdict.value,
        "seconds": round(item.seconds, 4),
        "lemmas": list(item.lemmas),
    }
    if item.reason:
        made["reason"] = item.reason
    if item.counterexample is not None:
        found = item.counterexample
        made["counterexample"] = {
            "constants": dict(found.constants),
            "step": found.step,
            "before": found.before,
            "after": found.after,
        }
    return made


Progress = Callable[[ObligationResult, int, int], None]
"""Called after each obligation with its result, how many are done, and how many there are."""


class Keeper(Interface):
    """Keeps the obligations and the vacuous actions of proofs, by fingerprint."""

    def get(self, fingerprint: str) -> tuple[tuple[ObligationResult, ...], tuple[str, ...]] | None:
        """What is kept of a proof; None for nothing."""
        ...

    def put(self, fingerprint: str, results: Sequence[ObligationResult], vacuous: Sequence[str]) -> None:
        """Keeps a proof that was not interrupted."""
        ...


@frozen
class AllConstantsOptions:
    """`cores` are lemma sets to begin with, those shipped if not given.

    With `search`, an obligation that its set does not prove is tried on small instances, for another set or for a
    counterexample. `effort` bounds each query in z3's own count of steps. `smt2` is a folder for the proved obligations.
    `keeper` may have the answers already; counterexamples are not kept. With `wanted`, some promises, only what these rest
    on is asked, each until a clause that it rests on is not kept (`checker/allconstants/closure.py`); with `only`, some
    obligations by their keys, nothing else is. `asked` names what is to be proved besides the goals of the argument; of a
    protocol of one's own `own` says what there is to prove.
    """

    cores: CoreFile | None = None
    search: bool = True
    effort: int = PROOF_EFFORT
    smt2: Path | None = None
    keeper: Keeper | None = None
    wanted: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    own: OwnClauses | None = None

    def argument(self, protocol: Protocol, constants: Mapping[str, object]) -> Argument:
        """What is claimed of the protocol; `ModelError` if nothing is known of one that is shipped."""
        return covering_argument(protocol, constants, self.asked) if self.own is None else own_argument(protocol, self.own)


def prove_all_constants(
    protocol: Protocol,
    limits: Limits,
    options: AllConstantsOptions | None = None,
    drop: Iterable[tuple[str, str]] = (),
    on_result: Progress = lambda *_: None,
    constants: Mapping[str, object] | None = None,
) -> AllConstantsProof:
    """Every obligation of a protocol with its verdict, decided by solver processes within the limits.

    `constants` are the switches that it is proved under. `ModelError` for a shipped protocol without an argument for all
    constants, and for one of one's own that cannot be read so.
    """
    chosen = options or AllConstantsOptions()
    argument = chosen.argument(protocol, constants or {})
    started = time.perf_counter()
    results: dict[int, ObligationResult] = {}
    vacuous: tuple[str, ...] = ()
    interrupted = False
    dropped = tuple(drop)
    asked: Obligations | None = None
    switches: Mapping[str, int] = {}
    known = _known_sets(argument, chosen)
    try:
        kept = None
        if chosen.keeper is not None:
            asked = Obligations(protocol, argument, dropped, constants)
            kept = chosen.keeper.get(_kept_as(asked, chosen))
        if asked is not None and kept is not None:
            switches, vacuous = asked.switches, kept[1]
            results = dict(enumerate(kept[0]))
        else:
            with ProcessPool(limits, LEMMA_SEARCH) as pool:
                asked = asked or Obligations(protocol, argument, dropped, constants)
                switches = asked.switches
                for number, item in _decide(pool, asked, known, chosen):
                    results[number] = item
                    on_result(item, len(results), len(chosen.only or asked.all))
                told = chosen.only and {item.subject for item in results.values()}
                vacuous = _vacuous(pool, [step.name for step in asked.reading.steps if not told or step.name in told])
            # What took too long, or was lost with its process, another try may decide.
            if chosen.keeper is not None and all(item.reason in ("", NOT_FOUND) for item in results.values()):
                chosen.keeper.put(_kept_as(asked, chosen), [results[number] for number in sorted(results)], vacuous)
    except KeyboardInterrupt:
        interrupted = True
    made = tuple(results[number] for number in sorted(results))
    proved = (item for item in made if item.verdict is SolverVerdict.UNSAT and item.lemmas)
    found = (item.key for item in proved if known.cores.get(item.key, Core()).lemmas != item.lemmas)
    # Of a protocol without some clause the argument says nothing.
    never = {} if dropped else {name: argument.never[name] for name in vacuous if name in argument.never}
    return AllConstantsProof(
        protocol.name,
        argument.goals,
        switches,
        dropped,
        "" if asked is None else asked.fingerprint,
        made,
        tuple(name for name in vacuous if name not in never),
        tuple(found),
        f"z3 {version('z3-solver')}",
        time.perf_counter() - started,
        interrupted,
        bool(chosen.wanted or chosen.only),
        never,
    )


def covering_argument(protocol: Protocol, constants: Mapping[str, object], asked: Iterable[str] = ()) -> Argument:
    """The protocol's argument under these switches; `ModelError` if it has none, or that does not cover one of them.

    `asked` names what is to be proved besides its goals; of a name that it cannot prove nothing comes. A protocol of one's
    own has other rules than the one whose state it may share.
    """
    argument = argument_of(protocol, constants, asked) if PROTOCOLS.get(protocol.name) is protocol else None
    if argument is None:
        raise ModelError(
            f"no argument for all constants is known of {protocol.name}; there is one of partition, of the elections of "
            "kraft, and of the replication family (kip320 and its ancestors), as acked has them, and of a protocol of your "
            "own what its spec writes under [invariants.NAME] and [lemmas.NAME] can be proved"
        )
    for name, why in argument.uncovered.items():
        raise ModelError(f"the argument for all constants does not cover {name}: {why}; prove it at given sizes instead")
    return argument


def _known_sets(argument: Argument, options: AllConstantsOptions) -> CoreFile:
    given = CoreFile.load(shipped_file(argument)) if options.cores is None else options.cores
    # A user's file may name ways that there are not, and no hint decides whether a proof is found.
    named = {key: core for key, core in given.cores.items() if 0 <= core.way < len(WAYS)}
    return add_sets_alike(add_older_sets(CoreFile(given.fingerprint, named), argument), argument)


def _numbers(asked: Obligations, only: Iterable[str]) -> tuple[int, ...]:
    """The obligations of some keys, of none all; `ModelError` for one that there is not."""
    known = {item.key: number for number, item in enumerate(asked.all)}
    if unknown := [key for key in only if key not in known]:
        name, *names = (key.replace("|", ": ") for key in (unknown[0], *known))
        raise ModelError(f"there is no obligation {name!r}{near(name, names)}")
    return tuple(known[key] for key in only) or tuple(range(len(asked.all)))


def _decide(
    pool: ProcessPool, asked: Obligations, known: CoreFile, options: AllConstantsOptions
) -> Iterator[tuple[int, ObligationResult]]:
    """The obligations that are asked with what became of each, by number, as they are decided."""
    name = asked.protocol.name if options.own is None else asked.protocol.reference
    pool.load(FirstOrderProblem(name, asked.drop, tuple(asked.switches.items()), options.asked, options.own))

    def decide(numbers: Sequence[int]) -> Iterator[tuple[int, ObligationResult]]:
        for reply in pool.run([_task(number, asked, known, options) for number in numbers]):
            if not isinstance(reply, Note):
                number = numbers[reply.task]
                yield number, _result(asked.all[number], reply.reason if isinstance(reply, Lost) else reply.value)

    return decide_cones(asked, options.wanted, decide) if options.wanted else decide(_numbers(asked, options.only))


def decide_cones(
    asked: Obligations,
    wanted: Iterable[str],
    decide: Callable[[Sequence[int]], Iterator[tuple[int, ObligationResult]]],
) -> Iterator[tuple[int, ObligationResult]]:
    """What some promises rest on: the obligations of their lemmas, of these lemmas' lemmas, and so on, a clause at a time.

    A promise is given up with the first clause that is not kept; all obligations of that clause are decided.
    """
    promises = set(wanted)
    of_clause: dict[str, list[int]] = {name: [] for name in asked.clauses}
    first = []
    for number, item in enumerate(asked.all):
        if item.subject == TERMS or (item.subject == PROMISES and item.clause in promises):
            first.append(number)
        elif item.clause in of_clause:
            of_clause[item.clause].append(number)
    results = {}
    for number, result in decide(first):
        results[number] = result
        yield number, result
    for number in [number for number in first if asked.all[number].subject == PROMISES]:
        cone, done = results[number].used, set[str]()
        is_kept = results[number].verdict is SolverVerdict.UNSAT
        while is_kept and (left := [name for name in asked.clauses if name in cone and name not in done]):
            for at, result in decide([at for at in of_clause[left[0]] if at not in results]):
                results[at] = result
                yield at, result
            mine = [results[at] for at in of_clause[left[0]]]
            done.add(left[0])
            cone = cone.union(*(item.used for item in mine))
            is_kept = all(item.verdict is SolverVerdict.UNSAT for item in mine)


def _kept_as(asked: Obligations, options: AllConstantsOptions) -> str:
    return " ".join((asked.fingerprint, *options.wanted, *options.only))


def _task(number: int, asked: Obligations, known: CoreFile, options: AllConstantsOptions) -> ObligationTask:
    item = asked.all[number]
    core = known.cores.get(item.key) if item.may_use else Core()
    if core is not None:
        # Under other switches there may be other lemmas; what is not one here would count as one that is not kept.
        named = item.may_name(asked.clauses)
        core = Core(tuple(name for name in core.lemmas if name in named), core.way)
    smt2 = None if options.smt2 is None else str(options.smt2 / text_name(number, item.subject, item.clause))
    lemmas, way = (None, 0) if core is None else (core.lemmas, core.way)
    # Where sets are known of the protocol and not of this obligation, it had none when they were found; and of a protocol of
    # one's own nobody knows.
    suspect = core is None and (bool(known.cores) or options.own is not None)
    return ObligationTask(number, lemmas, way, options.effort, options.search, suspect, smt2, near_sets(known, item.key))


def near_sets(known: CoreFile, key: str) -> tuple[Core, ...]:
    """What may do where the set known of an obligation does not: with it, those of the same clause at other steps.

    Where rules differ, a step may do what another one does here: with ZooKeeper a crash that shrinks the ISR takes a new
    leader epoch, as an election does. The largest first, which say most.
    """
    own = known.cores.get(key, Core())
    _, _, clause = key.partition("|")
    others = [core for name, core in known.cores.items() if name != key and name.partition("|")[2] == clause]
    joined = {
        frozenset((*own.lemmas, *core.lemmas)): Core(tuple(dict.fromkeys((*own.lemmas, *core.lemmas))), core.way)
        for core in sorted(others, key=lambda core: -len(core.lemmas))
        if not set(core.lemmas) <= set(own.lemmas)
    }
    return tuple(joined.values())[:MOST_NEAR]


def _result(item: GeneralObligation, answer: ObligationAnswer | str) -> ObligationResult:
    """What an answer, or the reason why there is none, amounts to."""
    if isinstance(answer, str):
        return ObligationResult(item.subject, item.clause, SolverVerdict.UNKNOWN, 0.0, (), reason=answer)
    verdict, reason = SolverVerdict.UNSAT, ""
    if answer.counterexample is not None:
        verdict = SolverVerdict.REFUTED
    elif not answer.is_proved:
        verdict = SolverVerdict.UNKNOWN
        reason = answer.reason or NOT_FOUND
    return ObligationResult(
        item.subject, item.clause, verdict, answer.seconds, answer.lemmas, answer.way, answer.counterexample, reason
    )


def _vacuous(pool: ProcessPool, actions: list[str]) -> tuple[str, ...]:
    """The actions that are not seen to be possible where every clause holds."""
    possible = set()
    for reply in pool.run([FiringTask(name) for name in actions]):
        if not isinstance(reply, (Note, Lost)) and reply.value:
            possible.add(actions[reply.task])
    return tuple(name for name in actions if name not in possible)
