"""Writes docs/proof_mutations.json: every guard clause of the newest rules left out, and what proof and search say then.

    python tools/proof_mutations.py [--jobs N] [--again]

docs/proof_mutations.md is made from it by `tools/made.py`. A run asks what is not answered there, so an interrupted one loses
nothing; `--again` also asks what was answered under other rules or lemmas. The script fails if the proof for all constants
holds without a clause without which a search violates a promise.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.audit.releases.table import PRODUCER  # noqa: E402
from acked.base.bounds import default_workers  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.base.processes import Limits  # noqa: E402
from acked.base.release import LATEST  # noqa: E402
from acked.checker.allconstants.obligations import Obligations  # noqa: E402
from acked.checker.batch.local import BatchLimits, answer_all  # noqa: E402
from acked.checker.batch.outcome import Task  # noqa: E402
from acked.checker.question.coverage import clauses_of  # noqa: E402
from acked.checker.question.result import StopReason  # noqa: E402
from acked.checker.spec.question_text import QuestionText  # noqa: E402
from acked.invariants.proofs import argument_of  # noqa: E402
from acked.model.partition.protocol import partition  # noqa: E402
from tools.parts.mutated_proof import without_each  # noqa: E402

GIVEN: Mapping[str, Any] = {
    **PRODUCER, "acks": "all", "unclean_election": False, "crashes": "lossy outside the ISR", "zombies": True,
    "leadership_moves": True,
}  # fmt: skip
"""Everything goes wrong at once for which the lemmas are meant."""

SIZES: Sequence[Mapping[str, int]] = (
    {"replicas": 2, "log_size": 1, "records": 1, "min_insync_replicas": 1},
    {"replicas": 2, "log_size": 2, "records": 2, "min_insync_replicas": 1},
)
"""The instances that are searched, until one has a violation."""

MOST_STATES = 300_000
"""Distinct states at which a search is given up."""

ANSWERS = ROOT / "docs" / "proof_mutations.json"

Clause = tuple[str, str]


def bound(sizes: Mapping[str, int]) -> dict[str, int]:
    """All constants of an instance of the newest rules."""
    profile = {name: item.value for name, item in partition.profile(LATEST, None).items()}
    return partition.bind({**profile, **GIVEN, **sizes})


def switches() -> dict[str, int]:
    """The constants that the proof keeps."""
    return {name: value for name, value in bound(SIZES[0]).items() if name not in partition.sizes}


@cache
def clauses() -> tuple[Clause, ...]:
    """Every guard clause, in the protocol's order."""
    return tuple(clauses_of(partition.instantiate(bound(SIZES[0]))))


def fingerprint() -> str:
    """Of every rule and every lemma as read, so that an answer tells what it was found for."""
    argument = argument_of(partition, switches())
    assert argument is not None
    return Obligations(partition, argument, (), switches()).fingerprint


class Answers:
    """What is known without each clause, by its name; whatever is found is kept in the file at once.

    An answer in `known` has `search` and `proof`, and as `rules` the fingerprint that it was found for. `found` has searches
    for the rules as they are now whose proof is still to come.
    """

    def __init__(self, path: Path, rules: str = "") -> None:
        self._path = path
        document = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self.rules: str = rules or document.get("rules", "")
        self.known: dict[str, dict[str, Any]] = document.get("clauses", {})
        self.found: dict[str, dict[str, Any]] = document.get("searched", {}) if self.rules == document.get("rules") else {}

    def is_current(self, clause: Clause) -> bool:
        """Whether the clause was answered under the rules as they are."""
        return self.known.get(": ".join(clause), {}).get("rules") == self.rules

    def searched(self, clause: Clause) -> dict[str, Any]:
        """What searches say without the clause; empty if none was made."""
        return self.found.get(": ".join(clause), {})

    def keep_search(self, clause: Clause, answer: Mapping[str, Any]) -> None:
        """What one more search says."""
        whole = [*self.searched(clause).get("whole", []), *([answer["sizes"]] if answer.get("is_whole") else [])]
        self._keep(clause, self.found, {**answer, "whole": whole})

    def keep_proof(self, clause: Clause, answer: Mapping[str, Any]) -> None:
        """What the proof says; then the clause is answered."""
        search = self.found.pop(": ".join(clause))
        self._keep(clause, self.known, {"rules": self.rules, "search": search, "proof": answer})

    def save(self) -> None:
        """Writes the file, in the order of the protocol."""
        told = {name: self.known[name] for name in map(": ".join, clauses()) if name in self.known}
        document = {"rules": self.rules, "clauses": told, "searched": self.found}
        write_text(self._path, json.dumps(document, indent=1) + "\n", "answers")

    def _keep(self, clause: Clause, where: dict[str, dict[str, Any]], answer: dict[str, Any]) -> None:
        name = ": ".join(clause)
        where[name] = answer
        self.save()
        print(f"{name}: {answer}", file=sys.stderr, flush=True)


def searched(left: Sequence[Clause], number: int, jobs: int) -> Iterator[tuple[Clause, dict[str, Any]]]:
    """What a search of one instance says without each of the clauses."""
    argument = argument_of(partition, switches())
    assert argument is not None
    constants = tuple(bound(SIZES[number]).items())
    tasks = [
        Task(QuestionText("partition", constants, argument.goals, (clause,)), max_states=MOST_STATES) for clause in left
    ]
    for answered in answer_all(tasks, BatchLimits.default(jobs)):
        clause, outcome = left[answered.task], answered.outcome
        if outcome is None and not answered.is_overflow:
            raise SystemExit(f"{': '.join(clause)} has no answer: {answered.failure}")
        if outcome is None:
            yield clause, {"violates": "domains", "steps": 0, "sizes": number}
        elif outcome.violations:
            first = outcome.violations[0]
            yield clause, {"violates": first.property, "steps": first.trace_length - 1, "sizes": number}
        else:
            yield clause, {"violates": "", "is_whole": outcome.stopped is StopReason.COMPLETE, "sizes": number}


def ask(answers: Answers, left: Sequence[Clause], jobs: int) -> None:
    """Searches and proves without each of some clauses."""
    for number in range(len(SIZES)):
        asked = [item for item in left if not _is_decided(answers.searched(item), number)]
        for clause, answer in searched(asked, number, jobs):
            answers.keep_search(clause, answer)
    # What a search refutes first: there the proof must not hold.
    order = sorted(left, key=lambda item: not answers.searched(item)["violates"])
    for found in without_each("partition", switches(), order, Limits(jobs, 3600.0)):
        told = {"broken": found.broken, "by_step": bool(found.step), "step": found.step, "sizes": dict(found.sizes)}
        answers.keep_proof(found.clause, told)


def main() -> None:
    """Asks what is not known yet."""
    parser = argparse.ArgumentParser(description="every guard clause left out: what the proof and a search say then")
    parser.add_argument("--jobs", type=int, default=default_workers(), help="processes at a time; default: one per core")
    parser.add_argument("--again", action="store_true", help="ask again what was answered under other rules or lemmas")
    given = parser.parse_args()
    every = clauses()
    answers = Answers(ANSWERS, fingerprint())
    try:
        ask(answers, [item for item in every if ": ".join(item) not in answers.known], given.jobs)
        if given.again:
            ask(answers, [item for item in every if not answers.is_current(item)], given.jobs)
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
    answers.save()
    if wrong := [name for name, answer in answers.known.items() if _is_wrong(answer)]:
        raise SystemExit(f"the proof holds where a search refutes: {wrong}; this is a defect of acked")


def _is_decided(search: Mapping[str, Any], number: int) -> bool:
    return bool(search) and (bool(search["violates"]) or search["sizes"] >= number)


def _is_wrong(answer: Mapping[str, Any]) -> bool:
    return bool(answer["search"]["violates"]) and not answer["proof"]["broken"]


def part() -> Iterator[str]:
    """What the page has, line by line, from the file of answers."""
    every, answers = clauses(), Answers(ANSWERS)
    named, known = [": ".join(item) for item in every], answers.known
    rows = [(name, known[name]) for name in named if name in known]
    missing = [name for name in named if name not in known]
    lost = [row for row in rows if row[1]["search"]["violates"]]
    refused = [row for row in rows if row[1]["proof"]["broken"] and not row[1]["search"]["violates"]]
    idle = [row for row in rows if not row[1]["proof"]["broken"] and not row[1]["search"]["violates"]]
    sizes = "; ".join(_sizes(number) for number in range(len(SIZES)))
    yield f"Searched were the instances (brokers, offsets, records; min.insync.replicas) {sizes}, up to {MOST_STATES:,}"
    yield "states each. [What the guards are for](guards.md) asks larger ones, and other releases and properties."
    yield f"Of {len(every)} clauses {len(lost)} are needed by a promise, {len(refused)} by the proof, {len(idle)} by neither."
    if earlier := sum(told.get("rules") != answers.rules for _, told in rows):
        yield f"{earlier} of the answers were found before the text of rules or lemmas last changed."
    yield ""
    yield "## A search refutes a promise, and the proof is refused"
    yield ""
    yield "“Domains” in the second column: a field leaves its domain, since the clause bounds the model."
    yield ""
    yield "| without the clause | violated | in steps | at | the action does not keep |"
    yield "|---|---|--:|---|---|"
    for name, told in lost:
        found = told["search"]
        steps = found["steps"] or ""
        proof = told["proof"]["broken"] or "**nothing: a defect**"
        yield f"| `{name}` | {found['violates']} | {steps} | {_sizes(found['sizes'])} | {proof} |"
    yield ""
    yield "## The proof is refused, and no search violates a promise"
    yield ""
    yield "A step from a state in which all lemmas hold breaks a lemma. Whether larger instances lose something is not known;"
    yield "some of these clauses only keep the state as the lemmas describe it."
    yield ""
    yield "| without the clause | the action does not keep | seen completely |"
    yield "|---|---|---|"
    for name, told in refused:
        how = "" if told["proof"]["by_step"] else " (not proved)"
        yield f"| `{name}` | {told['proof']['broken']}{how} | {_seen(told)} |"
    yield ""
    yield "## Not needed for these promises"
    yield ""
    yield "Without the clause the proof holds, for all constants, and no search violates a promise. It decides which of"
    yield "several steps Kafka takes, keeps equal cases from being told apart, or protects a promise that is not among these."
    yield "Or others imply it: who does not lead has an empty ISR, which never has enough in-sync replicas."
    yield ""
    for name, _ in idle:
        yield f"- `{name}`"
    if missing:
        yield from ("", "## Not asked yet", "", "The run that asked was ended before these.", "")
        yield from (f"- `{name}`" for name in missing)


def _sizes(number: int) -> str:
    item = SIZES[number]
    return f"({item['replicas']}, {item['log_size']}, {item['records']}; {item['min_insync_replicas']})"


def _seen(answers: Mapping[str, Any]) -> str:
    return ", ".join(map(_sizes, answers["search"]["whole"]))


if __name__ == "__main__":
    main()
