"""Makes audit/decision/shipped.xz, the answers that ship: what `acked audit` asks of the commonest settings and releases.

    python tools/answers/shipped.py [--jobs N] [--minutes N] [--deeper STATES] [--list] [--count N]

Settings are audited as `acked audit` and `acked audit --ask loss` do, with advice, the commonest first. What ships counts,
and what was searched since is kept in build/shipped.jsonl, so the script goes on where it was stopped, and asks anew only
what a change of the model made another question. At the end, and after `--minutes`, everything is packed: with `--minutes 0`
what ships is compared with the model as it is, and nothing searched. `--deeper` searches what is undecided of three
replicas, two of them in sync, and acks=all, with so many states. `--count` says how many of the first so many cases need
no search, and what they take, each in a process as a command is.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.audit.clusters.units import groups_of_units, units_of  # noqa: E402
from acked.audit.decision.audit import Audit, Auditor  # noqa: E402
from acked.audit.decision.faults import BY_DEFAULT, AuditQuestion, AuditVerdict  # noqa: E402
from acked.audit.decision.gather import RefusedByKafka, recognise  # noqa: E402
from acked.audit.decision.joint import SHIPPED, Searches  # noqa: E402
from acked.audit.decision.release import contexts  # noqa: E402
from acked.base.files import replace_text  # noqa: E402
from acked.base.plain import from_plain, to_plain  # noqa: E402
from acked.base.processes import Lost  # noqa: E402
from acked.checker.batch.cache import ResultCache  # noqa: E402
from acked.checker.batch.local import BatchLimits, KeptProcesses, Runner, answer_all  # noqa: E402
from acked.checker.batch.outcome import Outcome, Task  # noqa: E402
from acked.checker.batch.shipped import ShippedAnswers, pack, stamp  # noqa: E402
from acked.checker.question.result import StopReason  # noqa: E402
from acked.cluster.vocabulary import keys  # noqa: E402
from acked.cluster.vocabulary.entry import OPTION, REPLICATION_FACTOR, SettingEntry  # noqa: E402
from acked.model.language.tracings import Tracings  # noqa: E402

KEPT = ROOT / "build" / "shipped.jsonl"

RELEASES: Sequence[tuple[str, str, str | None]] = (
    ("4.1", "kraft", "1"), ("3.9", "kraft", None), ("4.4", "kraft", "1"), ("4.0", "kraft", "0"), ("3.9", "zookeeper", None),
    ("3.7", "kraft", None), ("3.6", "zookeeper", None), ("3.4", "zookeeper", None), ("3.5", "zookeeper", None),
    ("2.8", "zookeeper", None), ("3.6", "kraft", None), ("3.2", "zookeeper", None), ("3.0", "zookeeper", None),
    ("3.1", "zookeeper", None), ("3.5", "kraft", None), ("3.4", "kraft", None), ("4.1", "kraft", "0"), ("4.4", "kraft", "0"),
)  # fmt: skip
"""One of those with equal rules, on a control plane, with eligible leader replicas on or off where it has the feature."""

_ALL = {keys.ACKS: "all", keys.IDEMPOTENCE: "true"}
_ONE = {keys.ACKS: "1", keys.IDEMPOTENCE: "false"}
_UNCLEAN = {keys.UNCLEAN: "true"}
SETTINGS: Sequence[tuple[int, int, Mapping[str, str]]] = (
    (3, 2, _ALL), (3, 1, _ALL), (3, 2, _ONE), (3, 1, _ONE), (1, 1, _ALL), (1, 1, _ONE), (2, 1, _ALL), (2, 1, _ONE),
    (2, 2, _ALL), (2, 2, _ONE), (3, 3, _ALL), (3, 3, _ONE), (3, 2, _ALL | _UNCLEAN), (3, 2, _ONE | _UNCLEAN),
    (3, 2, {keys.ACKS: "all", keys.IDEMPOTENCE: "false"}), (3, 2, {keys.ACKS: "0", keys.IDEMPOTENCE: "false"}),
    (3, 1, _ALL | _UNCLEAN), (3, 1, _ONE | _UNCLEAN), (2, 1, _ALL | _UNCLEAN), (2, 1, _ONE | _UNCLEAN),
    (2, 2, _ALL | _UNCLEAN), (2, 2, _ONE | _UNCLEAN), (3, 3, _ALL | _UNCLEAN), (3, 3, _ONE | _UNCLEAN), (5, 3, _ALL),
    (5, 2, _ALL),
)  # fmt: skip
"""Replicas, min.insync.replicas, and what else is set; a running cluster's topics are asked about with acks=1, too."""

ALONE = replace(BY_DEFAULT, besides=(), of_loss_besides=())
"""What is asked besides: the question of lost records alone, whose search has no consumer."""

ONCE = 1.0
"""Processor seconds in which what ships should answer."""

Case = tuple[int, int, Mapping[str, str], tuple[str, str, str | None]]


def cases() -> Iterator[Case]:
    """Settings and a release, the commonest first."""
    order = [(at + 2 * of, at, of) for at in range(len(SETTINGS)) for of in range(len(RELEASES))]
    for _, at, of in sorted(order):
        yield (*SETTINGS[at], RELEASES[of])


def in_words(case: Case) -> str:
    """`3 replicas, 2 in sync, acks=all, …; Kafka 4.1 kraft`."""
    replicas, least, more, (version, plane, feature) = case
    said = [f"{replicas} replicas, {least} in sync", *(f"{key}={value}" for key, value in more.items())]
    return ", ".join(said) + f"; Kafka {version} {plane}" + ("" if feature is None else f", eligible leaders {feature}")


Told = TypeVar("Told")


def told(what: str, answers: Sequence[Told]) -> Iterator[Told]:
    """Answers that are compared with the model as it is, which takes minutes: it says how many are."""
    for at, answer in enumerate(answers, 1):
        yield answer
        if at % 100 == 0 or at == len(answers):
            print(f"compared {at:,} of {len(answers):,} answers {what}", flush=True)


class Kept:
    """What ships and what was searched since, in a file of lines, in place of the cache of answers."""

    ships = True
    """So what a proof decides is not searched."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.answers: dict[Task, Outcome] = {}
        self.asked: dict[Task, None] = {}
        self._tracings = Tracings()
        self._ships = ShippedAnswers(SHIPPED)
        KEPT.parent.mkdir(exist_ok=True)
        lines = KEPT.read_text().splitlines() if KEPT.exists() else []
        for line in told("searched since", lines):
            entry = json.loads(line)
            task, outcome = from_plain(Task, entry["task"]), from_plain(Outcome, entry["outcome"])
            if entry["stamp"] == stamp() or self._is_same(task, outcome):
                self.answers[task] = outcome
        replace_text(KEPT, "".join(map(_line, self.answers, self.answers.values())))

    def _is_same(self, task: Task, outcome: Outcome) -> bool:
        return task.question(self._tracings).fingerprint == outcome.fingerprint

    def get(self, task: Task) -> Outcome | None:
        """What was found before."""
        self.asked[task] = None
        return self.known(task)

    def known(self, task: Task) -> Outcome | None:
        """The same, of what nobody asks for now."""
        return self.answers.get(task) or self._ships.get(task)

    def put(self, task: Task, outcome: Outcome) -> None:
        """Keeps what was found, if any machine would have found it."""
        if outcome.is_repeatable:
            self.answers[task] = outcome
            with KEPT.open("a") as file:
                file.write(_line(task, outcome))

    def recall(self, *_: str) -> None:
        """Nothing that is made of answers is kept: what is asked for it ships, too."""

    def keep(self, *_: object) -> None:
        """Nothing of that kind."""

    def pack(self) -> str:
        """Writes the file that ships, and says how large it is."""
        best: dict[Task, tuple[Task, Outcome]] = {}
        tasks = told("that ship", self._ships.tasks)
        shipped = ((task, outcome) for task in tasks if (outcome := self._ships.get(task)) is not None)
        for task, outcome in sorted([*shipped, *self.answers.items()], key=lambda item: _decides(item[1])):
            best[replace(task, max_states=None)] = task, outcome
        packed = pack(best.values())
        SHIPPED.write_bytes(packed)
        return f"{len(best):,} answers, {len(packed):,} bytes"


def _line(task: Task, outcome: Outcome) -> str:
    return json.dumps({"stamp": stamp(), "task": to_plain(task), "outcome": to_plain(outcome)}) + "\n"


def _decides(outcome: Outcome) -> bool:
    return outcome.stopped is not StopReason.MAX_STATES


def ask(case: Case, kept: Any, runner: Runner | None, is_alone: bool = True) -> Audit | None:
    """The audit of a case, by what is kept and, if anything is missing, by searches; None where Kafka refuses it.

    With `is_alone` that of lost records alone before it.
    """
    replicas, least, more, (version, plane, feature) = case
    values = {REPLICATION_FACTOR: str(replicas), keys.MIN_ISR: str(least), **more}
    if feature is not None:
        values[keys.ELR] = feature
    entries = [SettingEntry(key, value, OPTION, 0) for key, value in values.items()]
    (group,) = groups_of_units(units_of(recognise([], entries, False)), None, (), False)
    found = contexts(group.given, version, plane)
    try:
        auditor = Auditor(group.given, found.first.release, found.first.plane, BY_DEFAULT, others=found.others,
                          searches=Searches(runner, kept))  # fmt: skip
        if is_alone:
            # With searches of its own: what is known of lost records alone would not be searched together with others.
            replace(auditor, assumed=ALONE, searches=Searches(runner, kept)).run((AuditQuestion.LOSS,))
        return auditor.run(everywhere=(AuditQuestion.LOSS,))
    except RefusedByKafka:
        return None


def deepen(kept: Kept, runner: KeptProcesses, states: int) -> None:
    """Decides what is undecided of the commonest settings with more states; what is then still undecided is only told."""
    for case in (case for case in cases() if case[:3] == SETTINGS[0]):
        kept.asked.clear()
        ask(case, kept, runner)
        bounded = [task for task in kept.asked if (known := kept.known(task)) is not None and not _decides(known)]
        tasks = [replace(task, max_states=states) for task in bounded]
        tasks = [task for task in tasks if kept.known(task) is None]
        for answered in answer_all(tasks, runner):
            outcome, task = answered.outcome, tasks[answered.task]
            if outcome is not None and _decides(outcome):
                kept.put(task, outcome)
            said = answered.failure if outcome is None else f"{outcome.verdict.value}, {outcome.distinct_states:,} states"
            print(f"{in_words(case)}: {', '.join(task.asked.properties)}: {said}", flush=True)


class Nobody:
    """A runner that searches nothing, and remembers what it should."""

    def __init__(self) -> None:
        self.asked: list[Task] = []

    def run(self, tasks: Sequence[Task]) -> Iterator[Lost]:
        """Every task is lost."""
        self.asked += tasks
        yield from (Lost(at, "nobody searches") for at in range(len(tasks)))


def measured(case: Case) -> tuple[bool, list[str], float]:
    """Whether Kafka takes a case, what of it would be searched, and the processor seconds of this process so far."""
    nobody = Nobody()
    audit = ask(case, ResultCache(None, "", ShippedAnswers(SHIPPED)), nobody, is_alone=False)
    missing = sorted({f"{', '.join(task.asked.properties)} ({task.max_states})" for task in nobody.asked})
    return audit is not None, missing, time.process_time()


def count(every: Sequence[Case]) -> str:
    """How many of some cases are answered by what ships; what is missing of the others is printed."""
    begin, taken = time.process_time(), []
    with get_context("fork").Pool(1, maxtasksperchild=1) as processes:
        for case, (is_taken, missing, seconds) in zip(every, processes.imap(measured, every), strict=True):
            said = f"{begin + seconds:.2f} s" + "".join(f"; searched: {one}" for one in missing) if is_taken else "refused"
            print(f"{in_words(case)}: {said}", flush=True)
            taken += [(missing, begin + seconds)] if is_taken else []
    whole = [seconds for missing, seconds in taken if not missing]
    soon = sum(one <= ONCE for one in whole)
    return (f"{len(whole)} of {len(taken)} need no search, {soon} within {ONCE:g} s of processor time; "
            f"median {median(whole):.2f} s, at most {max(whole):.2f} s")  # fmt: skip


def main() -> None:
    """Asks, keeps and packs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, help="searches at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after so many")
    parser.add_argument("--deeper", type=int, metavar="STATES", help="only decide the commonest settings with more states")
    parser.add_argument("--list", action="store_true", help="only name the cases, in their order")
    parser.add_argument("--count", type=int, metavar="N", help="only count which of the first N are answered by what ships")
    options = parser.parse_args()
    every = list(cases())
    if options.count is not None:
        print(count(every[: options.count]))
        return
    if options.list:
        print("\n".join(map(in_words, every)))
        return
    kept, begin = Kept(), time.monotonic()
    with KeptProcesses(BatchLimits.default(options.jobs)) as runner:
        if options.deeper is not None:
            deepen(kept, runner, options.deeper)
            every = []
        for at, case in enumerate(every, 1):
            if time.monotonic() - begin > 60 * options.minutes:
                break
            audit = ask(case, kept, runner)
            undecided = 0 if audit is None else sum(one.reply is AuditVerdict.UNDECIDED for one in audit.answers)
            said = "refused" if audit is None else f"{len(audit.answers)} cells, {undecided} undecided"
            print(f"{at}/{len(every)} {in_words(case)}: {said}; {len(kept.answers):,} searched, "
                  f"{time.monotonic() - begin:,.0f} s", flush=True)  # fmt: skip
    print(f"{SHIPPED.relative_to(ROOT)}: {kept.pack()}")


if __name__ == "__main__":
    main()
