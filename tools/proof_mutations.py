"""Writes docs/proof_mutations.md: every guard clause of the newest rules left out, and what proof and search say then.

    python tools/proof_mutations.py [STATE]

STATE (default: proof_mutations.json in the cache folder) keeps the answers, so that an interrupted run goes on. The script
fails if the proof for all constants holds without a clause without which a search violates a promise.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.checker.batch.local import BatchLimits, answer_all  # noqa: E402
from acked.checker.batch.outcome import Task  # noqa: E402
from acked.checker.bounds import default_workers  # noqa: E402
from acked.checker.cache import cache_folder  # noqa: E402
from acked.checker.files import write_text  # noqa: E402
from acked.checker.processes import Limits  # noqa: E402
from acked.checker.proof.mutations import without_each  # noqa: E402
from acked.checker.proof.releases import PRODUCER  # noqa: E402
from acked.checker.question.coverage import clauses_of  # noqa: E402
from acked.checker.question.result import StopReason  # noqa: E402
from acked.checker.spec.question_text import QuestionText  # noqa: E402
from acked.invariants.proofs import argument_of  # noqa: E402
from acked.model.partition.protocol import partition  # noqa: E402
from acked.model.partition.versions import LATEST  # noqa: E402

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

Clause = tuple[str, str]


def bound(sizes: Mapping[str, int]) -> dict[str, int]:
    """All constants of an instance of the newest rules."""
    profile = {name: item.value for name, item in partition.profile(LATEST, None).items()}
    return partition.bind({**profile, **GIVEN, **sizes})


def switches() -> dict[str, int]:
    """The constants that the proof keeps."""
    return {name: value for name, value in bound(SIZES[0]).items() if name not in partition.sizes}


def clauses() -> list[Clause]:
    """Every guard clause, in the protocol's order."""
    return clauses_of(partition.instantiate(bound(SIZES[0])))


def searched(left: Sequence[Clause], number: int) -> Iterator[tuple[Clause, dict[str, Any]]]:
    """What a search of one instance says without each of the clauses."""
    argument = argument_of(partition, switches())
    assert argument is not None
    constants = tuple(bound(SIZES[number]).items())
    tasks = [
        Task(QuestionText("partition", constants, argument.goals, (clause,)), max_states=MOST_STATES) for clause in left
    ]
    for answered in answer_all(tasks, BatchLimits.default()):
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


def main(path: Path) -> None:
    """Asks what is not known yet, and writes the page."""
    known: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    every = clauses()

    def keep(clause: Clause, kind: str, answer: Any) -> None:
        known.setdefault(": ".join(clause), {})[kind] = answer
        write_text(path, json.dumps(known, indent=1), "state")
        print(f"{': '.join(clause)}: {kind} {answer}", file=sys.stderr, flush=True)

    def search(asked: Sequence[Clause], number: int) -> None:
        left = [item for item in asked if not _is_decided(known.get(": ".join(item), {}), number)]
        for clause, answer in searched(left, number):
            whole = [*_whole(known, clause), *([number] if answer.get("is_whole") else [])]
            keep(clause, "search", {**answer, "whole": whole})

    for number in range(len(SIZES)):
        search(every, number)
    left = [item for item in every if "proof" not in known.get(": ".join(item), {})]
    # What a search refutes first: there the proof must not hold.
    left.sort(key=lambda item: not known[": ".join(item)]["search"]["violates"])
    try:
        for found in without_each("partition", switches(), left, Limits(default_workers(), 600.0)):
            keep(found.clause, "proof", {"broken": found.broken, "step": found.step, "sizes": dict(found.sizes)})
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
    write_text(ROOT / "docs" / "proof_mutations.md", "\n".join(page(every, known)) + "\n", "page")
    if wrong := [item for item in every if _is_wrong(known[": ".join(item)])]:
        raise SystemExit(f"the proof holds where a search refutes: {wrong}; this is a defect of acked")


def _is_decided(answers: Mapping[str, Any], number: int) -> bool:
    found = answers.get("search")
    return found is not None and (bool(found["violates"]) or found["sizes"] >= number)


def _whole(known: Mapping[str, Mapping[str, Any]], clause: Clause) -> list[int]:
    return list(known.get(": ".join(clause), {}).get("search", {}).get("whole", []))


def _is_wrong(answers: Mapping[str, Any]) -> bool:
    return bool(answers["search"]["violates"]) and "proof" in answers and not answers["proof"]["broken"]


def page(every: Sequence[Clause], known: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The page, line by line."""
    named = [": ".join(item) for item in every]
    rows = [(name, known[name]) for name in named if "proof" in known.get(name, {})]
    missing = [name for name in named if "proof" not in known.get(name, {})]
    lost = [row for row in rows if row[1]["search"]["violates"]]
    refused = [row for row in rows if row[1]["proof"]["broken"] and not row[1]["search"]["violates"]]
    idle = [row for row in rows if not row[1]["proof"]["broken"] and not row[1]["search"]["violates"]]
    yield "# Does the proof notice a missing guard?"
    yield ""
    yield "A proof that also went through for a broken protocol would be worth nothing. For those who rely on"
    yield "[the proof for all constants](partition_proof.md#for-all-constants): each of the"
    yield f"{len(every)} labelled guard clauses of `latest` left out in turn, and what a search and the proof say then."
    yield "Everything goes wrong at once for which the lemmas are meant (lost sessions, moves of leadership, crashes that"
    yield "lose the log outside the ISR), and the producer retries, is idempotent and gives up. The promises are"
    yield "AckedRecordsSurvive, AckedRecordsInIsr, CommittedInIsr, HwWithinIsr, NoDuplicates and NoReordering. Written by"
    yield "`python tools/proof_mutations.py`, which fails if the proof holds where a search refutes."
    yield ""
    sizes = "; ".join(_sizes(number) for number in range(len(SIZES)))
    yield f"Searched were the instances (brokers, offsets, records; min.insync.replicas) {sizes}, up to {MOST_STATES:,}"
    yield "states each. [What the guards are for](guards.md) asks larger ones, and other releases and properties."
    yield f"{len(lost)} clauses are needed by a promise, {len(refused)} by the proof, {len(idle)} by neither."
    yield ""
    yield "## A search refutes a promise, and the proof is refused"
    yield ""
    yield "“Domains” in the second column: a field leaves its domain, since the clause bounds the model."
    yield ""
    yield "| without the clause | violated | in steps | at | the action does not keep |"
    yield "|---|---|--:|---|---|"
    for name, answers in lost:
        found = answers["search"]
        steps = found["steps"] or ""
        proof = answers["proof"]["broken"] or "**nothing: a defect**"
        yield f"| `{name}` | {found['violates']} | {steps} | {_sizes(found['sizes'])} | {proof} |"
    yield ""
    yield "## The proof is refused, and no search violates a promise"
    yield ""
    yield "A step from a state in which all lemmas hold breaks a lemma. Whether larger instances lose something is not known;"
    yield "some of these clauses only keep the state as the lemmas describe it."
    yield ""
    yield "| without the clause | the action does not keep | seen completely |"
    yield "|---|---|---|"
    for name, answers in refused:
        how = "" if answers["proof"]["step"] else " (not proved)"
        yield f"| `{name}` | {answers['proof']['broken']}{how} | {_seen(answers)} |"
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
        yield from ("", "## Not asked yet", "", "The run that wrote this page was ended before these.", "")
        yield from (f"- `{name}`" for name in missing)


def _sizes(number: int) -> str:
    item = SIZES[number]
    return f"({item['replicas']}, {item['log_size']}, {item['records']}; {item['min_insync_replicas']})"


def _seen(answers: Mapping[str, Any]) -> str:
    return ", ".join(map(_sizes, answers["search"]["whole"]))


if __name__ == "__main__":
    folder = cache_folder()
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else (folder or Path()) / "proof_mutations.json")
