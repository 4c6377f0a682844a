"""Conjuncts that are proposed: true where they must be, false in counterexamples, and enough to complete a proof."""

from __future__ import annotations

import random
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from acked import load_spec
from acked.base.processes import Limits
from acked.checker.proof.induction import prove_by_induction
from acked.checker.proof.suggest import Suggestion, suggest
from acked.checker.proof.vocabulary import atoms_of, variables_of
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.question.user_properties import written_invariant
from acked.checker.search.local import search
from acked.invariants.property import Kind, Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, implies
from acked.model.language.state import Optional, SetOf, Struct, field
from acked.model.language.values import Bool, Id
from acked.model.replication.kip320 import kip320
from tests.e2e.driver import call

LIMITS = Limits(1, 300.0)
EXAMPLES = Path(__file__).resolve().parents[3] / "specs" / "examples"

nodes = Constant("nodes", 1, 9, "who may want the lock")


class Node(Id, size=nodes):
    """Who may want the lock."""


class Lock(Struct):
    """A lock as its server sees it, and who is where it guards."""

    holder = field(Optional(Node), "whom the server gave it")
    inside = field(SetOf(Node), "who is inside")


locking = Protocol("locking", Lock, title="", source="", constants=[nodes], initial=lambda s: None)


def is_inside(s: Lock, node: Node) -> Bool:
    """The node is where the lock guards."""
    return s.inside.contains(node)


@locking.action()
def enter(s: Lock, node: Node) -> None:
    """A node gets the lock and goes inside."""
    require("free", s.holder.is_none)
    s.holder = node
    s.inside = s.inside.add(node)


@locking.action()
def leave(s: Lock, node: Node) -> None:
    """A node goes and gives the lock back."""
    require("inside", is_inside(s, node))
    s.inside = s.inside.remove(node)
    s.holder = None


def alone(s: Lock) -> Bool:
    """No two are inside."""
    return every(Node, lambda a: every(Node, lambda b: implies(is_inside(s, a) & is_inside(s, b), a == b)))


ALONE = Property("Alone", Kind.STATE, alone, "no two are inside", "this test", "")


def locks(count: int) -> Question:
    return Question(locking.instantiate({"nodes": count}), (ALONE,))


def proposed(question: Question, lemmas: list[Property]) -> Suggestion:
    found = suggest(question, lemmas, LIMITS, explore=100_000)
    assert found is not None
    return found


@cache
def proposed_of_three() -> Suggestion:
    return proposed(locks(3), [])


@pytest.mark.slow
def test_the_missing_fact_about_a_lock_is_found() -> None:
    assert prove_by_induction(locks(3), (), LIMITS).verdict is Verdict.INCOMPLETE
    found = proposed_of_three()
    assert found.completes
    texts = [item.text for item in found.conjuncts]
    assert texts in (
        ["for all Node n1: if is_inside(n1), then n1 == holder"],
        ["for all Node n1: if is_inside(n1), then holder == n1"],
        ["for all Node n1: if holder is none, then not is_inside(n1)"],
    )


@pytest.mark.slow
def test_with_what_is_proposed_the_proof_succeeds_also_where_it_was_not_looked_for() -> None:
    found = proposed_of_three()
    added = [item.property for item in found.conjuncts]
    assert prove_by_induction(locks(6), added, LIMITS).verdict is Verdict.HOLDS


@pytest.mark.slow
def test_what_is_proposed_holds_in_every_reachable_state() -> None:
    found = proposed_of_three()
    asked = Question(locking.instantiate({"nodes": 5}), tuple(item.property for item in found.conjuncts))
    assert search(asked).verdict is Verdict.HOLDS
    assert (found.searched, found.is_complete) == (4, True)


def test_a_proof_that_succeeds_needs_no_conjunct() -> None:
    free = Property("Held", Kind.STATE, lambda s: s.holder.is_none | s.holder.is_some, "", "this test", "")
    assert suggest(Question(locking.instantiate({"nodes": 2}), (free,)), (), LIMITS, explore=0) is None


@pytest.mark.slow
def test_a_lemma_that_does_not_hold_is_left_out() -> None:
    wrong = Property("Empty", Kind.STATE, lambda s: s.inside.is_empty, "wrong on purpose", "this test", "never")
    assert proposed(locks(2), [wrong]).completes


def test_a_property_that_is_violated_gets_no_conjunct_that_completes_the_proof() -> None:
    never = Property("Empty", Kind.STATE, lambda s: s.inside.is_empty, "", "this test", "")
    found = suggest(Question(locking.instantiate({"nodes": 2}), (never,)), (), LIMITS, explore=1000)
    assert found is not None
    assert not found.completes


def test_the_vocabulary_is_the_protocols_own_predicates_and_what_its_state_compares() -> None:
    texts = {item.text: item for item in atoms_of(locking)}
    assert texts["is_inside(n1)"].is_own
    assert {"holder is none", "n1 == n2", "n2 in inside"} <= set(texts)
    assert [item.name for item in variables_of(locking)] == ["n1", "n2"]
    kafka = {item.text: item for item in atoms_of(kip320)}
    assert kafka["follows_in_epoch(r2, r1)"].is_own
    assert kafka["is_sent(e)"].is_own
    assert {"log[r1].end < replica[r1].hw", "r1 in replica[r2].isr", "replica[r1].leader is none"} <= set(kafka)
    assert "log[r1] and log[r2] hold the same record at o" in kafka


@pytest.mark.long
@pytest.mark.parametrize(
    ("missing", "proposal"),
    [
        ("IsrHasLeader", "for all Replica r1, Replica r2: if follows(r1, r2), then r1 in replica[r2].isr"),
        ("RequestIsrHasLeader", "for all Epoch e, Replica r1: if r1 == requests[e].leader, then r1 in requests[e].isr"),
    ],
)
def test_a_lemma_of_kip320_that_is_left_out_is_proposed_again(missing: str, proposal: str) -> None:
    goals = tuple(item for item in PROPERTIES if item.name in ("WeakIsr", "StrongIsr"))
    constants = {item.name: 2 for item in kip320.constants}
    lemmas = [item for item in KIP320_LEMMAS if item.name != missing]
    found = proposed(Question(kip320.instantiate(constants), goals), lemmas)
    assert found.completes
    assert [item.text for item in found.conjuncts] == [proposal]
    assert (found.reachable, found.searched, found.is_complete) == (5_973, 5_973, True)


@pytest.mark.slow
def test_conjuncts_are_written_as_a_spec_has_them_and_mean_the_same_there() -> None:
    """A suggestion used to end for a protocol with names: an Enum has no `<`."""
    spec = load_spec(str(EXAMPLES / "two_phase_commit.toml#holds"))
    question = spec.question()
    found = suggest(question, (), LIMITS, 1000)
    assert found is not None
    texts = [item.predicate for item in found.conjuncts]
    assert 'all(implies(phase[p1] == "committed", decision == "commit") for p1 in participants)' in texts
    assert all(texts)
    instance, source = question.instance, random.Random(40)
    pairs = [(item.property, written_invariant("Pasted", item.predicate)) for item in found.conjuncts]
    roots = [instance.state_predicate(item.name, item.predicate) for pair in pairs for item in pair]
    value = Evaluator(roots)
    for _ in range(300):
        said = value([source.randrange(leaf.cardinality) for leaf in instance.schema.leaves])
        assert said[::2] == said[1::2]


@pytest.mark.slow
def test_what_is_pasted_back_completes_a_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLES / "two_phase_commit.py", tmp_path)
    text = (EXAMPLES / "two_phase_commit.toml").read_text("utf-8").replace("participants = 3", "participants = 2")
    mine, spec = tmp_path / "mine.toml", f"{tmp_path / 'mine.toml'}#holds"
    mine.write_text(re.sub(r"\[lemmas.HeardIsSent\]\n.*\n", "", text).replace("distinct_states = 288", ""))
    assert call(capsys, "prove", "induction", spec, "--quiet").returncode == 152
    shown = call(capsys, "prove", "suggest", spec, "--quiet").stdout
    assert "with 1 conjunct more the proof succeeds" in shown
    pasted = "\n".join(line for line in shown.splitlines() if line.startswith(("[lemmas.", "holds = ")))
    mine.write_text(mine.read_text().replace("[check]", f"{pasted}\n[check]"))
    assert call(capsys, "prove", "induction", spec, "--quiet").returncode == 0
