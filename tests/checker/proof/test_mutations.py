"""Guard clauses of `latest` left out, as docs/proof_mutations.md has it: the proof is refused where a search refutes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from acked.checker.search.local import search
from acked.checker.solver.lemma_sets import shipped_sets
from acked.checker.spec.question_text import QuestionText
from acked.invariants.proofs import argument_of
from acked.model.partition.protocol import partition
from tools import proof_mutations as tool
from tools.parts.mutated_proof import Mutated, MutationSetup, without_clause


@cache
def sections() -> dict[str, dict[str, list[str]]]:
    """By heading, the clauses below it with the other columns of their rows."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in tool.part():
        if line.startswith("## "):
            found[line.removeprefix("## ")] = {}
        elif found and (named := re.match(r"[|-] `([^`]+)`", line)):
            found[list(found)[-1]][named[1]] = [cell.strip() for cell in line.strip("|").split("|")[1:]]
    return found


LOST, REFUSED, IDLE, LEFT = (
    "A search refutes a promise, and the proof is refused",
    "The proof is refused, and no search violates a promise",
    "Not needed for these promises",
    "Not asked yet",
)


def test_the_page_has_every_guard_clause_of_the_newest_rules_once() -> None:
    named = [clause for section in sections().values() for clause in section]
    assert sorted(named) == sorted(": ".join(clause) for clause in tool.clauses())
    assert [name for name in sections() if name != LEFT] == [LOST, REFUSED, IDLE]
    assert all(sections().values())


def test_the_proof_holds_nowhere_where_a_search_refutes() -> None:
    lemmas = {item.name for item in argument_of(partition, tool.switches()).clauses}  # type: ignore[union-attr]
    for *_, broken in sections()[LOST].values():
        assert broken in lemmas or broken.startswith("Domain(")


def test_answers_are_about_clauses_that_there_are() -> None:
    assert set(tool.Answers(tool.ANSWERS).known) <= {": ".join(clause) for clause in tool.clauses()}


def test_an_interrupted_run_goes_on_with_what_was_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    most = 0

    def searched(left: Sequence[tuple[str, str]], number: int, jobs: int) -> Iterator[Any]:
        yield from ((clause, {"violates": "", "is_whole": not number, "sizes": number}) for clause in left)

    def proved(protocol: str, switches: object, left: Sequence[tuple[str, str]], limits: object) -> Iterator[Mutated]:
        for clause in left:
            if len(asked) == most:
                raise KeyboardInterrupt
            asked.append(clause)
            yield Mutated(clause, "RecordEpoch", 0)

    monkeypatch.setattr(tool, "searched", searched)
    monkeypatch.setattr(tool, "without_each", proved)
    left = tool.clauses()[:4]

    def run(rules: str) -> tuple[tuple[str, str], ...]:
        asked.clear()
        answers = tool.Answers(tmp_path / "answers.json", rules)
        with suppress(KeyboardInterrupt):
            tool.ask(answers, [clause for clause in left if not answers.is_current(clause)], 1)
        return tuple(asked)

    most = 2
    assert run("these") == left[:2]
    most = 9
    assert run("these") == left[2:]
    assert run("these") == ()
    most = 3
    assert run("others") == left[:3]  # What was found under other rules stays until there is another answer.
    answers = tool.Answers(tmp_path / "answers.json")
    assert [answers.known[": ".join(clause)]["rules"] for clause in left] == ["others"] * 3 + ["these"]
    (seen,) = {str(item["search"]["whole"]) for item in answers.known.values()}
    assert seen == "[0]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "clause",
    [
        "ElectLeader: candidate",
        pytest.param("FetchRecord: logs agree", marks=pytest.mark.long),
        pytest.param("MoveLeadership: in the ISR", marks=pytest.mark.long),
    ],
)
def test_a_promise_is_violated_without_the_clause_as_the_page_says(clause: str) -> None:
    violated, steps, sizes, _ = sections()[LOST][clause]
    (number,) = [at for at in range(len(tool.SIZES)) if tool._sizes(at) == sizes]
    action, _, label = clause.partition(": ")
    goals = argument_of(partition, tool.switches()).goals  # type: ignore[union-attr]
    asked = QuestionText("partition", tuple(tool.bound(tool.SIZES[number]).items()), goals, ((action, label),))
    found = search(asked.question()).violations[0]
    assert (found.property.name, str(found.trace_length - 1)) == (violated, steps)


EIGHT = (
    "Produce: next in sequence",
    "AskToExpand: caught up to HW and epoch",
    "CommitAlterPartition: partition epoch is current",
    "BecomeLeader: the controller's leader",
    "FetchRecord: same leader epoch",
    "FetchDiverging: follows",
    "Crash: an electable replica keeps its log",
    "ElectLeader: candidate",
)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("clause", EIGHT)
def test_the_proof_is_refused_without_the_clause_at_the_lemma_that_the_page_says(clause: str) -> None:
    setup = MutationSetup("partition", tuple(tool.switches().items()), shipped_sets(partition))
    action, _, label = clause.partition(": ")
    found = without_clause(setup, (action, label))
    told = {**sections()[LOST], **sections()[REFUSED]}[clause]
    assert found.broken in told
    assert found.step.startswith(action)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("clause", ["FetchRecord: another broker", "Produce: not sent yet"])
def test_the_proof_goes_through_without_a_clause_that_no_promise_needs(clause: str) -> None:
    setup = MutationSetup("partition", tuple(tool.switches().items()), shipped_sets(partition))
    action, _, label = clause.partition(": ")
    assert clause in sections()[IDLE]
    assert without_clause(setup, (action, label)).holds
