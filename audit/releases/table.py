"""Which releases of Kafka keep which promises: proved for all constants, refuted by a search, or open.

A cell is a release on a control plane, what may go wrong, and a promise. *Proved* is a promise that follows from clauses
which z3 proved to be kept (`checker/allconstants/closure.py`). *Refuted* is one that a search of a shipped spec under the
release's rules violates, with no more going wrong than the cell allows. Everything else is open, with what is missing.

Every cell has acks=all, clean elections, and a producer that retries, is idempotent and gives up after delivery.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum, unique
from typing import Any

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.allconstants.closure import is_proved, missing_for
from acked.checker.allconstants.proof import (
    AllConstantsOptions,
    AllConstantsProof,
    Keeper,
    SolverVerdict,
    prove_all_constants,
)
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Answered, Runner, answer_all
from acked.checker.batch.outcome import Task
from acked.checker.solver.lemma_sets import CoreFile, shipped_sets
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.resolve import bind_constants, settle
from acked.checker.spec.spec import Spec, load_spec
from acked.model.language.context import Constant
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.model.partition.rules.conflicts import MAX_IN_FLIGHT, MAX_IN_FLIGHT_AT_FIRST
from acked.model.partition.rules.settings import (
    CIRCUMSTANCES,
    CLEAN_CRASHES,
    LOSSY_CRASHES,
    LOSSY_OUTSIDE_ISR,
    NO_CRASHES,
    RULES,
)
from acked.model.partition.rules.versions import KRAFT, ZOOKEEPER
from acked.reports.shell.bundled import bundled_of

Release = tuple[str, str]
"""A release and its control plane."""

RELEASES: tuple[Release, ...] = (
    ("0.11", ZOOKEEPER), ("2.0.1", ZOOKEEPER), ("2.5", ZOOKEEPER), ("2.8", ZOOKEEPER),
    ("3.3", ZOOKEEPER), ("3.3", KRAFT), ("3.6", ZOOKEEPER), ("3.6", KRAFT), ("3.9", ZOOKEEPER), ("3.9", KRAFT),
    ("4.0", KRAFT), ("4.1", KRAFT), ("4.4", KRAFT), (LATEST, KRAFT),
)  # fmt: skip
"""The rows of the table, oldest first."""

PRODUCER: Mapping[str, Any] = {"retries": True, "idempotence": True, "delivery_timeout": True}
"""What the producer may do; with it, it may do all that one without retries does."""
_CONFIGURED: Mapping[str, Any] = {"acks": "all", "unclean_election": False, **PRODUCER}

MOST_STATES = 6_000_000
"""Distinct states at which a search for a violation is given up."""

EFFORT = 6_000_000
"""How long z3 may think about an obligation with a known lemma set, in its own count of steps."""


@unique
class FaultClass(Enum):
    """What may go wrong, as constants of `partition`; the names are for tables."""

    CLEAN = "brokers crash and keep their logs"
    OUTSIDE = "whoever crashes and cannot be elected loses any part of its log"
    SESSIONS = "brokers crash and keep their logs, or lose their session and do not know"
    MOVES = "brokers crash and keep their logs, and leadership moves while the leader lives"
    MACHINE = "one machine dies and its broker loses what was not flushed; at least 2 replicas and min.insync.replicas of 2"

    @property
    def constants(self) -> dict[str, int]:
        """The circumstances that are switched on."""
        return dict(_FAULTS[self])


_FAULTS: Mapping[FaultClass, Mapping[str, int]] = {
    FaultClass.CLEAN: {"crashes": CLEAN_CRASHES},
    FaultClass.OUTSIDE: {"crashes": LOSSY_OUTSIDE_ISR},
    FaultClass.SESSIONS: {"crashes": CLEAN_CRASHES, "zombies": 1},
    FaultClass.MOVES: {"crashes": CLEAN_CRASHES, "leadership_moves": 1},
    FaultClass.MACHINE: {"crashes": LOSSY_CRASHES, "lossy_crashes": 1, "kills": 0},
}


@frozen
class Refuter:
    """A bundled spec by name, and the rule for want of which it loses a record; without one it is asked of every release.

    It is asked where the rule has another value than in the newest release with every known fix. `changes` are made in it.
    """

    spec: str
    rule: Constant | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)

    def concerns(self, rules: Mapping[str, int]) -> bool:
        """Whether the spec may refute a promise under these rules."""
        return self.rule is None or rules[self.rule.name] != self.rule.default


@unique
class Kept(Enum):
    """What is promised; the names are for tables."""

    ACKED = "acknowledged records stay"
    ONCE = "no record is there twice"
    ORDER = "records are in order"

    @property
    def goals(self) -> tuple[str, ...]:
        """The properties that state it; all of them are proved, or one of them is refuted."""
        return _GOALS[self]

    @property
    def refuters(self) -> tuple[Refuter, ...]:
        """The specs that are asked under the release's rules, cheap ones first."""
        return _REFUTERS[self]


_GOALS: Mapping[Kept, tuple[str, ...]] = {
    Kept.ACKED: ("AckedRecordsSurvive", "AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr", "ReadsStay"),
    Kept.ONCE: ("NoDuplicates",),
    Kept.ORDER: ("NoReordering",),
}
_REFUTERS: Mapping[Kept, tuple[Refuter, ...]] = {
    Kept.ACKED: (
        Refuter("gallery/kip903-bug", settings.isr_checks_broker_epoch),
        Refuter("gallery/kip966-bug", settings.eligible_leader_replicas),
        Refuter("gallery/kafka13141-bug", settings.diverging_fetch_ignored),
        Refuter("gallery/stale-ends-bug", settings.reelection_forgets_ends),
        # The claim is about moves alone; where crashes suffice, the log ends that a leader keeps have no part in it.
        Refuter(
            "claims/acks-all-min-2-in-2-1",
            settings.fetch_fencing,
            {settings.leadership_moves.name: False, settings.reelection_forgets_ends.name: False},
        ),
    ),
    Kept.ONCE: (Refuter("claims/idempotence-mends"),),
    Kept.ORDER: (Refuter("claims/idempotence-keeps-order"),),
}


@unique
class ReleaseVerdict(Enum):
    """What is known of a cell."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"
    NOT_ASKED = "not asked"


Place = tuple[Release, FaultClass, Kept]
"""Where a cell stands."""


@frozen
class Refutation:
    """A search that violated a promise: the spec's name, what was changed in it, what it violated, and in how many steps."""

    spec: str
    release: Release
    changes: Mapping[str, Any]
    violated: str
    steps: int

    @property
    def command(self) -> str:
        """What asks the same again."""
        changed = "".join(f" -c {name}={_option_text(value)}" for name, value in self.changes.items())
        version, plane = self.release
        return f"acked check {self.spec} --kafka-version {version} --control-plane {plane}{changed}"


@frozen
class ReleaseCell:
    """One answer.

    `obligations` counts those that were proved for the promises of the cell's release and faults together; `missing` has
    those that an open cell lacks, as `step: clause`, up to the first clause that is not kept; `broken` are those of them
    that a step of a small instance refutes, from a state in which all clauses hold.
    """

    release: Release
    faults: FaultClass
    promise: Kept
    verdict: ReleaseVerdict
    obligations: int = 0
    missing: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    refutation: Refutation | None = None


def switches_of(release: Release, *faults: FaultClass) -> dict[str, int]:
    """The constants of a cell that are no sizes; of several faults those where all of them may happen."""
    profile = {name: setting.value for name, setting in partition.profile(*release).items()}
    bound = partition.bind({**profile, **_CONFIGURED, **all_at_once(faults)})
    return {name: value for name, value in bound.items() if name not in partition.sizes}


@frozen
class ReleaseWork:
    """What the table may take, and where answers are kept.

    `tell` is called as the work goes on: what, verdict, seconds; `filled` with how many cells have their answer.
    """

    limits: Limits
    runner: Runner | None = None
    keeper: Keeper | None = None
    cache: ResultCache | None = None
    tell: Callable[[str, str, float], None] = lambda *_: None
    filled: Callable[[int], None] = lambda _: None


def fill_table(releases: Sequence[Release], faults: Sequence[FaultClass], work: ReleaseWork) -> tuple[ReleaseCell, ...]:
    """Every cell of some releases and some faults, in their order; once interrupted, the rest is `NOT_ASKED`."""
    cells: dict[Place, ReleaseCell] = {}
    try:
        # What is known to be lost there needs no attempt at a proof; of the other promises nothing is known to break.
        cells |= refuted_cells([(release, fault, Kept.ACKED) for fault in faults for release in releases], work)
        work.filled(len(cells))
        known = dict.fromkeys((False, True), shipped_sets(partition))
        # What rests on few lemmas first.
        for promises in ((Kept.ONCE, Kept.ORDER), (Kept.ACKED,)):
            for release in reversed(releases):
                # Lemma sets ship for the newest rules; what one release needs besides may do for the one before.
                prove_promises(release, faults, promises, cells, work, known)
        left = [at for at, cell in cells.items() if cell.verdict is ReleaseVerdict.OPEN and at[2] is not Kept.ACKED]
        cells |= refuted_cells(left, work)
    except KeyboardInterrupt:
        work.tell("interrupted: what was not asked yet stays out", "", 0.0)
    places = [(release, fault, promise) for release in releases for fault in faults for promise in Kept]
    return tuple(cells.get(place) or ReleaseCell(*place, ReleaseVerdict.NOT_ASKED) for place in places)


def prove_promises(
    release: Release,
    faults: Sequence[FaultClass],
    promises: Sequence[Kept],
    cells: dict[Place, ReleaseCell],
    work: ReleaseWork,
    known: dict[bool, CoreFile],
) -> None:
    """Adds the cells of promises that are proved together, where they have none, and the lemma sets that are known then.

    Whether a machine dies decides which of them are of use: sets of the one kind take the place of the other's in vain.
    """
    for together in attempts([fault for fault in faults if (release, fault, promises[0]) not in cells]):
        if all((release, fault, promises[0]) in cells for fault in together):
            continue
        dies = FaultClass.MACHINE in together
        proof = prove_cell(release, together, promises, work, known[dies])
        found = proof.cores(known[dies]).cores
        known[dies] = CoreFile(known[dies].fingerprint, {**known[dies].cores, **found})
        made = _proof_cells(release, together, promises, proof)
        cells |= {place: cell for place, cell in made.items() if place not in cells}
        work.filled(len(cells))
        told = ", ".join(f"{at[2].value}, {at[1].value}: {cell.verdict.value}" for at, cell in made.items())
        work.tell(f"{' '.join(release)}: {told or 'not proved for all at once'}", "", proof.seconds)


def attempts(faults: Sequence[FaultClass]) -> tuple[tuple[FaultClass, ...], ...]:
    """Which faults are tried together: all that only add steps to each other, then each by itself.

    A proof for several at once is one for each: a fault that may happen and does not is as if it could not.
    """
    joined = tuple(fault for fault in faults if fault is not FaultClass.MACHINE)
    return (*((joined,) if len(joined) > 1 else ()), *((fault,) for fault in faults))


def all_at_once(faults: Iterable[FaultClass]) -> dict[str, int]:
    """The circumstances of several faults together: of each the worst."""
    worst: dict[str, int] = {}
    for fault in faults:
        for name, value in fault.constants.items():
            worst[name] = max(value, worst.get(name, 0))
    return worst


def refuted_cells(places: Sequence[Place], work: ReleaseWork) -> dict[Place, ReleaseCell]:
    """The cells among these that a search refutes; where clean crashes suffice, nothing more is asked."""
    clean = find_refutations([place for place in places if place[1] is FaultClass.CLEAN], work)
    beside = {
        place: clean[place[0], FaultClass.CLEAN, place[2]]
        for place in places
        if place[1] is not FaultClass.MACHINE and (place[0], FaultClass.CLEAN, place[2]) in clean
    }
    left = [place for place in places if place not in beside and place[1] is not FaultClass.CLEAN]
    return {
        place: ReleaseCell(*place, ReleaseVerdict.REFUTED, refutation=found)
        for place, found in {**clean, **beside, **find_refutations(left, work)}.items()
    }


def prove_cell(
    release: Release,
    faults: Sequence[FaultClass],
    promises: Sequence[Kept],
    work: ReleaseWork,
    known: CoreFile | None = None,
) -> AllConstantsProof:
    """The proof of promises of a release, for all constants, where all the faults may happen; with known lemma sets first."""
    wanted = tuple(name for promise in promises for name in promise.goals)
    options = AllConstantsOptions(known, effort=EFFORT, keeper=work.keeper, wanted=wanted)

    def tell(result: Any, done: int, _: int) -> None:
        subject = f"{' '.join(release)}: {done}: {result.subject}: {result.clause}"
        work.tell(subject, result.verdict.value, result.seconds)

    switches = switches_of(release, *faults) | ({"consumer": settings.FROM_LEADER} if "ReadsStay" in wanted else {})
    proof = prove_all_constants(partition, work.limits, options, (), tell, switches)
    if proof.interrupted:
        raise KeyboardInterrupt
    return proof


def _proof_cells(
    release: Release, faults: Sequence[FaultClass], promises: Sequence[Kept], proof: AllConstantsProof
) -> dict[Place, ReleaseCell]:
    """The cells that a proof fills: none that is open if it was an attempt at several at once."""
    number = sum(item.verdict is SolverVerdict.UNSAT for item in proof.obligations)
    cells: dict[Place, ReleaseCell] = {}
    for fault in faults:
        for promise in promises:
            place = (release, fault, promise)
            if is_proved(proof, promise.goals):
                cells[place] = ReleaseCell(*place, ReleaseVerdict.PROVED, number)
            elif len(faults) == 1:
                lacking = missing_for(proof, promise.goals)
                missing = tuple(f"{item.subject}: {item.clause}" for item in lacking)
                broken = tuple(
                    name for name, item in zip(missing, lacking, strict=True) if item.verdict is SolverVerdict.REFUTED
                )
                vacuous = tuple(f"{name}: not seen to be possible" for name in proof.vacuous)
                cells[place] = ReleaseCell(*place, ReleaseVerdict.OPEN, number, (*missing, *vacuous), broken)
    return cells


# -- what refutes ------------------------------------------------------------------------------------------------------

def find_refutations(places: Iterable[Place], work: ReleaseWork) -> dict[Place, Refutation]:
    """The first spec for each place that violates its promise, in rounds of one spec for each."""
    waiting = {place: made for place in places if (made := questions_of(*place))}
    found: dict[Place, Refutation] = {}
    while waiting:
        asked = [(place, questions[0]) for place, questions in waiting.items() if questions]
        tasks = [task for _, (task, _) in asked]
        for answered in answer_all(tasks, work.runner, work.cache):
            place, (_, asking) = asked[answered.task]
            refutation = _refutation(answered, asking)
            if refutation is not None:
                found[place] = refutation
            verdict = "no violation found" if refutation is None else f"refuted in {refutation.steps} steps"
            work.tell(asking.command, verdict, answered.outcome.seconds if answered.outcome is not None else 0.0)
        waiting = {
            place: questions[1:] for place, questions in waiting.items() if place not in found and len(questions) > 1
        }
    return found


def _refutation(answered: Answered, asking: Refutation) -> Refutation | None:
    if answered.outcome is None:
        raise SystemFailure(f"{asking.command} has no answer: {answered.failure}")
    if not answered.outcome.violations:
        return None
    first = answered.outcome.violations[0]
    return Refutation(asking.spec, asking.release, asking.changes, first.property, first.trace_length - 1)


def questions_of(release: Release, faults: FaultClass, promise: Kept) -> list[tuple[Task, Refutation]]:
    """What may refute a promise: each spec with the release's rules and nothing going wrong that the faults do not allow."""
    made = []
    rules = switches_of(release, faults)
    for item in promise.refuters:
        if not item.concerns(rules):
            continue
        path = bundled_of(item.spec)
        assert path is not None, f"{item.spec} is missing"
        spec = load_spec(path)
        # A known bug brings what must go wrong for it; what is not known to break is asked with all that may.
        is_bug = promise is Kept.ACKED
        if is_bug and not _is_within(spec, item.changes, rules, faults):
            continue
        changes = {**PRODUCER, **(item.changes if is_bug else _beyond(spec, faults) | _most_in_flight(spec, rules))}
        task = Task(_question_text(spec, release, changes), max_states=MOST_STATES)
        made.append((task, Refutation(spec.name, release, _changed_options(spec, changes), "", 0)))
    return made


def _question_text(spec: Spec, release: Release, changes: Mapping[str, Any]) -> QuestionText:
    profile = {name: setting.value for name, setting in partition.profile(*release).items()}
    given = {**spec.given, **changes}
    bound, _ = settle(partition, given, bind_constants(partition, {**profile, **given}), release[1])
    return QuestionText(
        spec.asked.protocol, tuple(bound.items()), spec.asked.properties, symmetry=spec.asked.symmetry
    )


def _is_within(spec: Spec, changes: Mapping[str, Any], rules: Mapping[str, int], faults: FaultClass) -> bool:
    """Whether the spec, changed so, has no rule that the release has not, and lets nothing go wrong beside the faults."""
    asked = {**spec.constants, **changes}
    if any(item.name in spec.given and asked[item.name] != rules[item.name] for item in RULES):
        return False
    allowed = switches_of(RELEASES[-1], faults)
    if faults is FaultClass.MACHINE and asked["min_insync_replicas"] < 2:
        return False
    compared = {item.name for item in CIRCUMSTANCES} - {"lossy_crashes", "kills"}
    if asked["crashes"] != NO_CRASHES:
        compared.add("kills")
    if asked["crashes"] >= LOSSY_OUTSIDE_ISR and not 0 < asked["lossy_crashes"] <= allowed["lossy_crashes"]:
        return allowed["lossy_crashes"] == 0 and all(asked[name] <= allowed[name] for name in compared)
    return all(asked[name] <= allowed[name] for name in compared)


def _beyond(spec: Spec, faults: FaultClass) -> dict[str, int]:
    """What goes wrong in the cell and not in the spec."""
    wanted = {**faults.constants, **({"min_insync_replicas": 2} if faults is FaultClass.MACHINE else {})}
    return {name: value for name, value in wanted.items() if spec.constants[name] != value}


def _most_in_flight(spec: Spec, rules: Mapping[str, int]) -> dict[str, int]:
    """As many requests in flight as the release's idempotent producer may have."""
    most = MAX_IN_FLIGHT if rules[settings.five_in_flight.name] else MAX_IN_FLIGHT_AT_FIRST
    name = settings.in_flight.name
    return {name: most} if spec.constants[name] > most else {}


def _changed_options(spec: Spec, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes as a command line has them, without those that change nothing."""
    named = {item.name: item for item in partition.constants}
    bound = {name: named[name].read(value) for name, value in changes.items()}
    return {name: named[name].show(value) for name, value in bound.items() if spec.constants[name] != value}


def _option_text(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}'" if " " in text else text
