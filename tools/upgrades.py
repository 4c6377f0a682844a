"""Looks for an upgrade during which an answer is worse than before it and after it; docs/upgrading.md has what it asked.

    python tools/upgrades.py --faults clean --faults one-machine --span 1
    python tools/upgrades.py --count

Every release is upgraded to each of the next ones (`--span` of them), with acks=all and acks=1, with and without idempotence,
with min.insync.replicas 1 and 2, of two replicas unless `--replicas` says otherwise. The five questions are asked under each
class of faults before and after the upgrade; where both are no, under every mixture of rules that `acked audit upgrade --to`
asks about. A search that passes `--max-states` is undecided. Exit code 12 if an answer is worse only in between.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked import __version__  # noqa: E402
from acked.audit.decision.faults import CLASSES, Assumptions, AuditVerdict, Faults, read_faults  # noqa: E402  # noqa: E402
from acked.audit.decision.gather import RefusedByKafka, recognise, settle  # noqa: E402
from acked.audit.decision.joint import Searches  # noqa: E402
from acked.audit.decision.questions import QUESTIONS, SizedQuestion, reply_of, task_of, worst_of  # noqa: E402
from acked.audit.decision.settings import Configuration, configure  # noqa: E402
from acked.audit.decision.upgrade import Rules, Stage, stages_of  # noqa: E402
from acked.base.cache import cache_folder  # noqa: E402
from acked.base.release import LATEST, release  # noqa: E402
from acked.checker.batch.cache import ResultCache  # noqa: E402
from acked.checker.batch.local import BatchLimits, KeptProcesses  # noqa: E402
from acked.checker.batch.outcome import Task  # noqa: E402
from acked.cluster.vocabulary.entry import OPTION, SettingEntry  # noqa: E402
from acked.model.partition.rules.versions import VERSIONS, planes_of  # noqa: E402

BETWEEN = (Stage.MIXED, Stage.SOFTWARE, Stage.RAISING)


@dataclass(frozen=True)
class Case:
    """One question under one class of faults about one upgrade: the searches before, after and in between."""

    upgrade: str
    settings: str
    question: SizedQuestion
    faults: Faults
    before: Task
    after: Task
    between: tuple[tuple[Rules, Task], ...]

    def __str__(self) -> str:
        return f"{self.upgrade}, {self.settings}: {self.question.asked.value} under {self.faults.name}"


def settings_of(replicas: int) -> Iterator[dict[str, str]]:
    """All settings that are asked about."""
    for acks, idempotence, least in product(("all", "1"), ("true", "false"), ("1", "2")):
        yield {
            "acks": acks, "enable.idempotence": idempotence, "min.insync.replicas": least,
            "replication.factor": str(replicas), "retries": "2147483647", "max.in.flight.requests.per.connection": "5",
        }  # fmt: skip


def upgrades(span: int) -> Iterator[tuple[str, str, str]]:
    """A release, one of the next so many that run on the same control plane, and that."""
    for plane in ("zookeeper", "kraft"):
        known = [version for version in VERSIONS if version != LATEST and plane in planes_of(version)]
        for number, old in enumerate(known):
            for new in known[number + 1 : number + 1 + span]:
                yield old, new, plane


def configuration_of(given: dict[str, str], old: str, plane: str) -> Configuration | None:
    """The settings in a release; None where it has no such settings or refuses them."""
    wanted = dict(given)
    if not release(old).since("0.11") and wanted.pop("enable.idempotence") == "true":
        return None
    entries = [SettingEntry(key, value, OPTION, 0) for key, value in wanted.items()]
    try:
        return configure(settle(recognise([], entries, False), None, ()), release(old), plane)
    except RefusedByKafka:
        return None


def cases(span: int, replicas: int, asked_faults: Sequence[Faults], max_states: int) -> Iterator[Case]:
    """Every case there is."""
    assumed = Assumptions(tuple(asked_faults), max_states=max_states, max_states_besides=max_states)
    for (old, new, plane), given in product(upgrades(span), [*settings_of(replicas)]):
        configuration = configuration_of(given, old, plane)
        if configuration is None:
            continue
        _, stages, _ = stages_of(configuration, release(new))
        said = f"acks={given['acks']}, idempotence={given['enable.idempotence']}, min ISR {given['min.insync.replicas']}"
        for question, faults in product(QUESTIONS, asked_faults):
            before, after = (
                task_of(question, configuration, assumed, faults, rules)
                for stage in (Stage.BEFORE, Stage.FINISHED)
                for rules in stages[stage]
            )
            tasks: dict[Task, Rules] = {}
            for rules in sorted((rules for stage in BETWEEN for rules in stages[stage]), key=len):
                tasks.setdefault(task_of(question, configuration, assumed, faults, rules), rules)
            others = tuple((rules, task) for task, rules in tasks.items() if task not in (before, after))
            if others:
                yield Case(f"{old} to {new} ({plane})", said, question, faults, before, after, others)


def main() -> int:
    """Asks, and prints what was asked and what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--span", type=int, default=2, help="to how many of the next releases each is upgraded (2)")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--faults", action="append", help="a class of faults, as of acked audit (all that it asks about)")
    parser.add_argument("--max-states", type=int, default=300_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--count", action="store_true", help="only say how many searches there are")
    asked = parser.parse_args()
    faults = [read_faults(text) for text in asked.faults or ()] or [*CLASSES]
    wanted = [*cases(asked.span, asked.replicas, faults, asked.max_states)]
    ends = dict.fromkeys(task for case in wanted for task in (case.before, case.after))
    print(f"{len({case.upgrade for case in wanted})} upgrades, {len(wanted)} cases, {len(ends)} searches before and after")
    if asked.count:
        print(f"{len({task for case in wanted for _, task in case.between} - ends.keys())} others, if all have to be asked")
        return 0
    with KeptProcesses(BatchLimits.default(asked.jobs)) as runner:
        folder = cache_folder("results")
        cache = None if folder is None else ResultCache(folder, __version__)
        searches = Searches(runner, cache, lambda done, total: print(f"\r{done}/{total} ", end="", file=sys.stderr))
        searches.decide(ends)
        answers = {task: reply_of(searches[task].outcome) for task in ends}
        counts = Counter(worst_of([answers[case.before], answers[case.after]]) for case in wanted)
        print("worse of before and after: " + ", ".join(f"{counts[reply]} {reply.value}" for reply in AuditVerdict))
        safe = [case for case in wanted if answers[case.before] is answers[case.after] is AuditVerdict.NO]
        between = dict.fromkeys(task for case in safe for _, task in case.between)
        print(f"{len(safe)} cases that are no before and after, {len(between)} searches in between", flush=True)
        searches.decide(between)
        replies = Counter(reply_of(searches[task].outcome) for task in between)
        print("in between: " + ", ".join(f"{replies[reply]} {reply.value}" for reply in AuditVerdict))
        found = [(case, rules) for case in safe for rules, task in case.between
                 if reply_of(searches[task].outcome) is AuditVerdict.YES]  # fmt: skip
    for case, rules in found:
        print(f"worse only in between: {case}: with {', '.join(rules)}")
    return 12 if found else 0


if __name__ == "__main__":
    sys.exit(main())
