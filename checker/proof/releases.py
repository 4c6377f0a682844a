"""Which releases of Kafka keep which promises: proved for all constants, refuted by a search, or open.

A cell is a release on a control plane, what may go wrong, and a promise. *Proved* is a promise that follows from clauses
which z3 proved to be kept (`checker/allconstants/closure.py`). *Refuted* is one that a search of a shipped spec under the
release's rules violates, with no more going wrong than the cell allows. Everything else is open, with what is missing.

Every cell has acks=all, clean elections, and a producer that retries, is idempotent and gives up after delivery.timeout.ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

from acked.checker.allconstants.closure import is_proved, missing_for
from acked.checker.allconstants.proof import AllConstantsOptions, AllConstantsProof, Keeper, prove_all_constants
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Answered, Runner, answer_all
from acked.checker.batch.outcome import Task
from acked.checker.errors import SystemFailure
from acked.checker.files import PACKAGE
from acked.checker.processes import Limits
from acked.checker.solver.lemma_sets import CoreFile, shipped_sets
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.spec import Spec, load_spec
from acked.model.partition.protocol import partition
from acked.model.partition.settings import (
    CIRCUMSTANCES,
    CLEAN_CRASHES,
    LOSSY_CRASHES,
    LOSSY_OUTSIDE_ISR,
    NO_CRASHES,
    RULES,
)
from acked.model.partition.versions import KRAFT, LATEST, ZOOKEEPER

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
    MACHINE = "one machine dies and its broker loses what was not flushed; min.insync.replicas=2"

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
    def refuters(self) -> tuple[str, ...]:
        """The specs, below `specs/`, that are asked under the release's rules, cheap ones first."""
        return _REFUTERS[self]


_GOALS: Mapping[Kept, tuple[str, ...]] = {
    Kept.ACKED: ("AckedRecordsSurvive", "AckedRecordsInIsr", "CommittedInIsr", "HwWithinIsr"),
    Kept.ONCE: ("NoDuplicates",),
    Kept.ORDER: ("NoReordering",),
}
_REFUTERS: Mapping[Kept, tuple[str, ...]] = {
    Kept.ACKED: (
        "gallery/kip903-bug", "gallery/kip966-bug", "claims/acks-all-min-2-in-0-10", "gallery/kafka13141-bug",
        "gallery/stale-ends-bug", "claims/acks-all-min-2-in-2-1",
    ),
    Kept.ONCE: ("claims/idempotence-mends",),
    Kept.ORDER: ("claims/idempotence-keeps-order",),
}  # fmt: skip


@unique
class ReleaseVerdict(Enum):
    """What is known of a cell."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


Place = tuple[Release, FaultClass, Kept]
"""Where a cell stands."""


@dataclass(frozen=True)
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
        changed = "".join(f" -c {name}={_told(value)}" for name, value in self.changes.items())
        version, plane = self.release
        return f"acked check {self.spec} --kafka-version {version} --control-plane {plane}{changed}"


@dataclass(frozen=True)
class ReleaseCell:
    """One answer. Of a proof: how many obligations there were; of an open cell: those that are missing, as `step: clause`."""

    release: Release
    faults: FaultClass
    promise: Kept
    verdict: ReleaseVerdict
    obligations: int
    missing: tuple[str, ...] = ()
    refutation: Refutation | None = None


def switches_of(release: Release, faults: FaultClass) -> dict[str, int]:
    """The constants of a cell that are no sizes."""
    profile = {name: setting.value for name, setting in partition.profile(*release).items()}
    bound = partition.bind({**profile, **_CONFIGURED, **faults.constants})
    return {name: value for name, value in bound.items() if name not in partition.sizes}


@dataclass(frozen=True)
class ReleaseWork:
    """What the table may take, and where answers are kept; `tell` is called as the table grows: what, verdict, seconds."""

    limits: Limits
    runner: Runner | None = None
    keeper: Keeper | None = None
    cache: ResultCache | None = None
    tell: Callable[[str, str, float], None] = lambda *_: None


def fill_table(
    releases: Sequence[Release], faults: Sequence[FaultClass], work: ReleaseWork
) -> tuple[ReleaseCell, ...]:
    """Every cell of some releases and some faults, in their order; what was interrupted raises `KeyboardInterrupt`."""
    cells: dict[Place, ReleaseCell] = {}
    known = shipped_sets(partition)
    for fault in faults:
        for release in releases:
            proof = prove_cell(release, fault, work, known)
            # What one release needed may do for the next.
            known = CoreFile(known.fingerprint, {**known.cores, **proof.cores(known).cores})
            for promise in Kept:
                cells[release, fault, promise] = _of_proof(release, fault, promise, proof)
            told = ", ".join(f"{promise.value}: {cells[release, fault, promise].verdict.value}" for promise in Kept)
            work.tell(f"{' '.join(release)}, {fault.value}: {told}", "", proof.seconds)
    left = [place for place, cell in cells.items() if cell.verdict is ReleaseVerdict.OPEN]
    for place, found in refuted(left, work).items():
        cells[place] = ReleaseCell(*place, ReleaseVerdict.REFUTED, cells[place].obligations, (), found)
    return tuple(cells[release, fault, promise] for release in releases for fault in faults for promise in Kept)


def prove_cell(
    release: Release, faults: FaultClass, work: ReleaseWork, known: CoreFile | None = None
) -> AllConstantsProof:
    """The proof of all promises of a release under some faults, for all constants; with the known lemma sets first."""
    options = AllConstantsOptions(known, effort=EFFORT, keeper=work.keeper)

    def tell(result: Any, done: int, total: int) -> None:
        work.tell(f"{done} of {total}: {result.subject}: {result.clause}", result.verdict.value, result.seconds)

    proof = prove_all_constants(partition, work.limits, options, (), tell, switches_of(release, faults))
    if proof.interrupted:
        raise KeyboardInterrupt
    return proof


def _of_proof(release: Release, faults: FaultClass, promise: Kept, proof: AllConstantsProof) -> ReleaseCell:
    number = len(proof.obligations)
    if is_proved(proof, promise.goals):
        return ReleaseCell(release, faults, promise, ReleaseVerdict.PROVED, number)
    missing = tuple(f"{item.subject}: {item.clause}" for item in missing_for(proof, promise.goals))
    vacuous = tuple(f"{name}: not seen to be possible" for name in proof.vacuous)
    return ReleaseCell(release, faults, promise, ReleaseVerdict.OPEN, number, (*missing, *vacuous))


# -- what refutes ------------------------------------------------------------------------------------------------------

def refuted(places: Iterable[Place], work: ReleaseWork) -> dict[Place, Refutation]:
    """The first spec for each place that violates its promise, in rounds of one spec for each."""
    waiting = {place: questions_of(*place) for place in places}
    found: dict[Place, Refutation] = {}
    while waiting:
        asked = [(place, questions[0]) for place, questions in waiting.items() if questions]
        tasks = [task for _, (task, _) in asked]
        for answered in answer_all(tasks, work.runner, work.cache):
            place, (_, asking) = asked[answered.task]
            refutation = _read(answered, asking)
            if refutation is not None:
                found[place] = refutation
            verdict = "undecided" if refutation is None else f"refuted in {refutation.steps} steps"
            work.tell(asking.command, verdict, answered.outcome.seconds if answered.outcome is not None else 0.0)
        waiting = {
            place: questions[1:] for place, questions in waiting.items() if place not in found and len(questions) > 1
        }
    return found


def _read(answered: Answered, asking: Refutation) -> Refutation | None:
    if answered.outcome is None:
        raise SystemFailure(f"{asking.command} has no answer: {answered.failure}")
    if not answered.outcome.violations:
        return None
    first = answered.outcome.violations[0]
    return Refutation(asking.spec, asking.release, asking.changes, first.property, first.trace_length - 1)


def questions_of(release: Release, faults: FaultClass, promise: Kept) -> list[tuple[Task, Refutation]]:
    """What may refute a promise: each spec with the release's rules and nothing going wrong that the faults do not allow."""
    made = []
    for name in promise.refuters:
        spec = load_spec(PACKAGE / "specs" / f"{name}.toml")
        # A known bug brings what must go wrong for it; what is not known to break is asked with all that may.
        is_bug = promise is Kept.ACKED
        if is_bug and not _is_within(spec, faults):
            continue
        changes = dict(PRODUCER) if is_bug else {**PRODUCER, **_beyond(spec, faults)}
        task = Task(_asked(spec, release, changes), max_states=MOST_STATES)
        made.append((task, Refutation(spec.name, release, _shown(spec, changes), "", 0)))
    return made


def _asked(spec: Spec, release: Release, changes: Mapping[str, Any]) -> QuestionText:
    profile = {name: setting.value for name, setting in partition.profile(*release).items()}
    bound = partition.bind({**profile, **spec.given, **changes})
    return QuestionText(
        spec.asked.protocol, tuple(bound.items()), spec.asked.properties, symmetry=spec.asked.symmetry
    )


def _is_within(spec: Spec, faults: FaultClass) -> bool:
    """Whether the spec has no rule of its own, and lets nothing go wrong that the faults do not."""
    if {item.name for item in RULES} & set(spec.given):
        return False
    allowed, asked = switches_of(RELEASES[-1], faults), spec.constants
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


def _shown(spec: Spec, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes as a command line has them, without those that change nothing."""
    named = {item.name: item for item in partition.constants}
    bound = {name: named[name].read(value) for name, value in changes.items()}
    return {name: named[name].show(value) for name, value in bound.items() if spec.constants[name] != value}


def _told(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}'" if " " in text else text
