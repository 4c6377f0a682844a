"""Proof by induction: what is proved, and that it fails where it must."""

from __future__ import annotations

import os
import signal

import pytest

from acked.base.processes import Limits, ProcessPool
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import INITIAL, ObligationVerdict, ProofResult, Reachability
from acked.checker.question.observer import Observer, ProofProgress
from acked.checker.question.question import Question
from acked.checker.question.result import Verdict
from acked.checker.symmetry.check import check_symmetry
from acked.invariants.proofs import lemmas_for, needs_of
from acked.invariants.property import Kind, Property
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.quantify import ite
from acked.model.language.state import Struct, field
from acked.model.language.values import Bool, Id, Int
from acked.model.replication.common import presumes_leadership
from acked.model.replication.state import Replica, State
from tests.checker.proof.asked import GOALS, KNOWN, LIMITS, question
from tests.killing import opened_pools


def verdicts(result: ProofResult) -> dict[str, ObligationVerdict]:
    assert result.induction is not None
    return {action.name: action.verdict for action in result.induction.actions}


def breaking(result: ProofResult) -> dict[str, tuple[str, ...]]:
    """What each action breaks, for those that break something."""
    assert result.induction is not None
    return {action.name: action.broken for action in result.induction.actions if action.broken}


# -- proofs ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(3, 2, 2, 2), pytest.param((2, 3, 2, 3), marks=pytest.mark.long)], ids=str)
def test_kip320_keeps_its_promises_in_runs_of_any_length(numbers: tuple[int, ...]) -> None:
    asked = question("kip320", numbers, PROPERTIES)
    lemmas = lemmas_for(asked.instance.protocol, PROPERTIES)
    assert lemmas is not None
    result = prove_by_induction(asked, lemmas, LIMITS)
    assert result.verdict is Verdict.HOLDS
    assert result.exit_code == 0
    actions = [action.name for action in asked.instance.protocol.actions]
    assert verdicts(result) == dict.fromkeys([INITIAL, *actions], ObligationVerdict.PROVED)
    assert result.induction is not None
    assert not any(action.never_fires for action in result.induction.actions), "nothing is proved of what cannot fire"
    assert result.induction.symmetry == "", "renaming was checked, not assumed"


LONG = [pytest.mark.slow, pytest.mark.long]


@pytest.mark.long
@pytest.mark.parametrize(
    "numbers", [(5, 3, 3, 3), (3, 4, 4, 4), (5, 5, 5, 5), (7, 7, 7, 7), (9, 8, 8, 8)], ids=str
)
def test_kip320_keeps_its_promises_at_larger_constants(numbers: tuple[int, ...]) -> None:
    result = prove_by_induction(question("kip320", numbers), KIP320_LEMMAS, Limits(2, 3600.0))
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    assert result.induction.symmetry == "", "renaming was checked, not assumed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        # The three in between have the same lemmas as the oldest, and no more.
        *(pytest.param(name, (2, 2, 2, 1), marks=[] if name == "truncate-to-hw" else LONG) for name in PROTOCOLS),
        pytest.param("kip320", (2, 1, 1, 1), marks=LONG),
    ],
)
def test_every_property_is_proved_with_the_lemmas_that_it_names(name: str, numbers: tuple[int, ...]) -> None:
    protocol = PROTOCOLS[name]
    lemma_names = {item.name for item in KIP320_LEMMAS}
    for item in needs_of(protocol):
        if item not in lemma_names:
            lemmas = lemmas_for(protocol, [KNOWN[item]])
            assert lemmas is not None
            result = prove_by_induction(question(name, numbers, [KNOWN[item]]), lemmas, LIMITS)
            assert result.verdict is Verdict.HOLDS, (item, breaking(result))


@pytest.mark.slow
def test_symmetry_changes_the_number_of_queries_and_nothing_else() -> None:
    lemmas = lemmas_for(PROTOCOLS["kip320"], GOALS)
    assert lemmas is not None
    one = prove_by_induction(question("kip320", (2, 1, 1, 1)), lemmas, LIMITS)
    all_of_them = prove_by_induction(question("kip320", (2, 1, 1, 1)), lemmas, LIMITS, InductionOptions(use_symmetry=False))
    assert verdicts(one) == verdicts(all_of_them)
    assert one.induction is not None
    assert all_of_them.induction is not None
    count = len(all_of_them.question.instance.actions)
    assert len(all_of_them.induction.obligations) == 1 + count
    assert len(one.induction.obligations) < 1 + count
    assert sum(item.instances for item in one.induction.obligations) == 1 + count


@pytest.mark.slow
def test_minimizing_finds_lemmas_that_suffice_and_leaves_out_what_is_not_needed() -> None:
    asked = question("kip320", (2, 2, 2, 2), [KNOWN["LogEpochsAscend"]])
    result = prove_by_induction(asked, KIP320_LEMMAS, LIMITS, InductionOptions(minimize=True))
    assert result.verdict is Verdict.HOLDS
    assert result.induction is not None
    needed = result.induction.needed
    assert needed is not None
    assert {"LeaderHasEpoch", "RecordEpoch", "FollowerPrefix", "LogMatching"} <= set(needed)
    assert not {"CommitRequest", "StaleLeader", "HwInEpoch"} & set(needed)
    fewer = [item for item in KIP320_LEMMAS if item.name in needed]
    assert prove_by_induction(asked, fewer, LIMITS).verdict is Verdict.HOLDS


# -- proofs that must fail ---------------------------------------------------------------------------------------------

EPOCH = "FencedBecomeFollowerAndTruncate"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "label", "replicas", "broken"),
    [
        (
            "FencedLeaderIncHighWatermark",
            "every ISR member follows in this epoch and holds the offset",
            2,
            {"CommitQuorum", "CommitRequest", "WeakIsr", "StrongIsr"},
        ),
        # Of those that break a lemma the first stands for the next four, which the mutations of the proof have, too.
        pytest.param("FencedLeaderExpandIsr", "HW in this epoch", 3, {"CommitQuorum"}, marks=pytest.mark.long),
        pytest.param(
            "FencedFollowerFetch", "follows in this epoch", 2, {"LogMatching", "RecordEpoch"}, marks=pytest.mark.long
        ),
        pytest.param(EPOCH, "leader is in the request's epoch", 2, {"LeaderFirst"}, marks=pytest.mark.long),
        pytest.param("BecomeLeader", "newer leader epoch", 2, {"LeaderFirst"}, marks=pytest.mark.long),
        ("LeaderWrite", "room in the log", 2, {"log[0].end stays in its domain"}),
    ],
)
def test_without_a_guard_the_proof_fails_and_names_the_action(
    action: str, label: str, replicas: int, broken: set[str]
) -> None:
    asked = question("kip320", (replicas, 2, 2, 2), drop=[(action, label)])
    result = prove_by_induction(asked, KIP320_LEMMAS, LIMITS, InductionOptions(every_claim=True))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.exit_code == 152
    assert list(breaking(result)) == [action]
    assert broken <= set(breaking(result)[action])


@pytest.mark.slow
@pytest.mark.parametrize(
    "missing", ["LogMatching", *(pytest.param(name, marks=pytest.mark.long) for name in ("IsrHasLeader", "CommitRequest"))]
)
def test_without_a_needed_lemma_the_proof_fails(missing: str) -> None:
    lemmas = [item for item in KIP320_LEMMAS if item.name != missing]
    result = prove_by_induction(question("kip320", (3, 2, 2, 2)), lemmas, LIMITS)
    assert result.verdict is Verdict.INCOMPLETE
    assert breaking(result)


@pytest.mark.slow
def test_a_claim_that_is_false_initially_is_a_violation() -> None:
    led = Property("Led", Kind.STATE, lambda s: s.quorum.leader.is_some, "wrong on purpose", "this test", "never")
    result = prove_by_induction(question("kip320", (2, 1, 1, 1), [led]), KIP320_LEMMAS, LIMITS)
    assert result.verdict is Verdict.VIOLATED
    assert verdicts(result)[INITIAL] is ObligationVerdict.REFUTED
    assert [item.trace_length for item in result.violations] == [1]


@pytest.mark.slow
def test_a_counterexample_satisfies_everything_assumed_and_breaks_what_it_says() -> None:
    asked = question("kip101", (2, 2, 2, 1))
    result = prove_by_induction(asked, KIP320_LEMMAS, LIMITS, InductionOptions(every_claim=True))
    assert result.induction is not None
    instance = asked.instance
    items = [one for item in result.induction.obligations for one in item.counterexamples]
    assert items
    for item in items:
        before, after = (instance.schema.unpack(words) for words in item.run.states)
        step = item.run.actions[0]
        assert Evaluator([step.guard])(before) == [1]
        assert instance.fire(step, before) == after
        for claim in (*GOALS, *KIP320_LEMMAS):
            holds = instance.state_predicate(claim.name, claim.predicate)
            assert Evaluator([holds])(before) == [1]
            if claim.name in item.claims:
                assert Evaluator([holds])(after) == [0]


# -- solvers that fail -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_solver_without_time_proves_nothing() -> None:
    result = prove_by_induction(question("kip320", (2, 2, 2, 2)), KIP320_LEMMAS, Limits(2, 0.001))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.exit_code == 152
    undecided = {name for name, verdict in verdicts(result).items() if verdict is ObligationVerdict.UNDECIDED}
    assert "FencedLeaderIncHighWatermark" in undecided
    assert result.induction is not None
    left_open = [item for item in result.induction.obligations if item.verdict is ObligationVerdict.UNDECIDED]
    assert all(item.reason and item.open_claims and item.label for item in left_open)


@pytest.mark.slow
def test_a_killed_solver_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = opened_pools(monkeypatch)

    class Killer(Observer):
        killed = False

        def decided(self, now: ProofProgress) -> None:
            if not self.killed:
                self.killed = True
                os.kill(pools[0].pids[0], signal.SIGKILL)

    result = prove_by_induction(question("kip320", (2, 2, 2, 1)), KIP320_LEMMAS, Limits(1, 300.0), observer=Killer())
    assert result.induction is not None
    lost = [item for item in result.induction.obligations if item.verdict is ObligationVerdict.UNDECIDED]
    assert len(lost) == 1
    assert "SIGKILL" in lost[0].reason
    proved = [item for item in result.induction.obligations if item.verdict is ObligationVerdict.PROVED]
    assert len(proved) == len(result.induction.obligations) - 1 > 8
    assert result.verdict is Verdict.INCOMPLETE


@pytest.mark.slow
@pytest.mark.usefixtures("started_workers")
def test_a_solver_without_memory_is_reported() -> None:
    result = prove_by_induction(question("kip320", (2, 2, 2, 1)), KIP320_LEMMAS, Limits(2, 60.0, 64 << 20))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.induction is not None
    assert all(item.reason for item in result.induction.obligations if item.subject != INITIAL)


@pytest.mark.slow
def test_an_interrupt_ends_every_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    leave = ProcessPool.__exit__

    def remembered(pool: ProcessPool, *error: object) -> None:
        pids.extend(pool.pids)
        leave(pool, *error)  # type: ignore[arg-type]

    monkeypatch.setattr(ProcessPool, "__exit__", remembered)

    class Interrupting(Observer):
        def decided(self, now: ProofProgress) -> None:
            raise KeyboardInterrupt

    limits = Limits(2, LIMITS.timeout)
    result = prove_by_induction(question("kip320", (2, 2, 2, 1)), KIP320_LEMMAS, limits, observer=Interrupting())
    assert result.exit_code == 130
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# -- is the counterexample reachable? ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_explicit_search_says_whether_a_counterexample_is_reachable() -> None:
    asked = question("kip320", (2, 2, 2, 1))
    result = prove_by_induction(asked, (), LIMITS, InductionOptions(explore=1_000_000))
    assert result.induction is not None
    found = {one.reachability for item in result.induction.obligations for one in item.counterexamples}
    assert found == {Reachability.UNREACHABLE}, "kip320 keeps both, so what breaks them cannot be reached"
    assert result.verdict is Verdict.INCOMPLETE
    assert any("all" in note for note in result.notes)


@pytest.mark.slow
def test_a_violation_that_the_search_meets_is_reported() -> None:
    result = prove_by_induction(
        question("truncate-to-hw", (2, 2, 2, 1)), KIP320_LEMMAS, LIMITS, InductionOptions(explore=1_000_000)
    )
    assert result.verdict is Verdict.VIOLATED
    assert [(item.property.name, item.trace_length) for item in result.violations] == [("WeakIsr", 9)]


def test_a_counterexample_that_is_reachable_is_said_to_be() -> None:
    small = Property("Small", Kind.STATE, lambda s: s.now != 9, "", "this test", "")
    not_two = Property("NotTwo", Kind.STATE, lambda s: s.now != 2, "a lemma that does not hold", "this test", "")
    asked = Question(counting.instantiate({"size": 9}), (small,))
    result = prove_by_induction(asked, (not_two,), LIMITS, InductionOptions(every_claim=True, explore=1000))
    assert result.induction is not None
    found = {
        claim: one.reachability
        for item in result.induction.obligations
        for one in item.counterexamples
        for claim in one.claims
    }
    assert found == {"Small": Reachability.UNREACHABLE, "NotTwo": Reachability.REACHABLE}


# -- k-induction -------------------------------------------------------------------------------------------------------

size = Constant("size", 1, 9, "how far it counts")


class Number(Int, lo=0, hi=size):
    """A number."""


class Counter(Struct):
    """One number."""

    now = field(Number, "where it is")


counting = Protocol("counting", Counter, title="", source="", constants=[size], initial=lambda s: None)


@counting.action()
def count(s: Counter) -> None:
    """Round and round from 0 to 2; and, where it never comes, from 6 up to 9."""
    require("on a way", (s.now < 3) | ((s.now >= 6) & (s.now < 9)))
    s.now = ite(s.now == 2, Number(s.now.expr.pool.int(0)), s.now + 1)


@pytest.mark.parametrize(("k", "verdict"), [(1, Verdict.INCOMPLETE), (3, Verdict.INCOMPLETE), (4, Verdict.HOLDS)])
def test_k_induction_needs_as_many_states_as_the_longest_wrong_way(k: int, verdict: Verdict) -> None:
    not_nine = Property("NotNine", Kind.STATE, lambda s: s.now != 9, "", "this test", "")
    asked = Question(counting.instantiate({"size": 9}), (not_nine,))
    result = prove_by_induction(asked, (), LIMITS, InductionOptions(k=k))
    assert result.verdict is verdict
    assert result.induction is not None
    for item in result.induction.obligations:
        for one in item.counterexamples:
            assert [words[0] for words in one.run.states] == list(range(9 - k, 10))


def test_k_induction_looks_at_the_first_states_of_every_run() -> None:
    not_two = Property("NotTwo", Kind.STATE, lambda s: s.now != 2, "", "this test", "")
    asked = Question(counting.instantiate({"size": 9}), (not_two,))
    result = prove_by_induction(asked, (), LIMITS, InductionOptions(k=3))
    assert result.verdict is Verdict.VIOLATED
    assert result.violations[0].trace_length == 3


# -- symmetry ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_family_and_its_claims_are_symmetric(name: str) -> None:
    instance = question(name, (3, 2, 2, 1)).instance
    claims = [item for item in (*PROPERTIES, *KIP320_LEMMAS) if item.kind is Kind.STATE]
    checked = check_symmetry(instance, [(item.name, instance.state_predicate(item.name, item.predicate)) for item in claims])
    assert checked.obstacle == ""
    assert len(set(checked.representative)) < len(instance.actions)


def renamed(codes: list[int], instance: Instance, to: tuple[int, ...]) -> list[int]:
    """A state with brokers renamed, by way of its decoded form."""
    state = instance.schema.decode(codes)

    def optional(value: int | None) -> int | None:
        return None if value is None else to[value]

    def part(view: dict[str, object]) -> dict[str, object]:
        view = dict(view)
        view["leader"] = optional(view["leader"])  # type: ignore[arg-type]
        view["isr"] = sorted(to[r] for r in view["isr"])  # type: ignore[attr-defined]
        return view

    count = len(to)
    back = {to[r]: r for r in range(count)}
    state["log"] = [state["log"][back[r]] for r in range(count)]
    state["replica"] = [part(state["replica"][back[r]]) for r in range(count)]
    state["quorum"] = part(state["quorum"])
    state["requests"] = [part(item) for item in state["requests"]]
    return instance.schema.encode(state)


def test_renamed_brokers_do_renamed_steps() -> None:
    instance = question("kip320", (3, 2, 2, 1)).instance
    to = (1, 2, 0)
    state = list(instance.schema.unpack(instance.initial[0]))
    for at in range(60):
        steps = instance.enabled_actions(state)
        if not steps:
            break
        targets = {tuple(renamed(instance.fire(item, state), instance, to)) for item in steps}
        mirrored = renamed(state, instance, to)
        assert targets == {tuple(instance.fire(item, mirrored)) for item in instance.enabled_actions(mirrored)}
        state = instance.fire(steps[(at * 7) % len(steps)], state)


def claim(instance: Instance, predicate: object) -> list[tuple[str, Expr]]:
    assert callable(predicate)
    return [("claim", instance.state_predicate("claim", predicate))]


def test_a_claim_about_one_broker_is_not_symmetric() -> None:
    instance = question("kip320", (3, 1, 1, 1)).instance

    def first_never_leads(s: State) -> Bool:
        return ~presumes_leadership(s, Replica(instance.pool.int(0)))

    checked = check_symmetry(instance, claim(instance, first_never_leads))
    assert "claim" in checked.obstacle
    assert checked.representative == tuple(range(len(instance.actions)))


class Node(Id, size=size):
    """A node."""


class Choice(Struct):
    """Which node is chosen."""

    chosen = field(Node, "the chosen node")
    round = field(Number, "how often")


favouring = Protocol("favouring", Choice, title="", source="", constants=[size], initial=lambda s: None)


@favouring.action()
def choose(s: Choice, node: Node) -> None:
    """Any node but number 0 is chosen."""
    require("not the first", node != Node(s.chosen.expr.pool.int(0)))
    s.chosen = node


def test_an_action_that_favours_one_id_is_not_symmetric() -> None:
    checked = check_symmetry(favouring.instantiate({"size": 3}), [])
    assert "choose" in checked.obstacle.lower()


hidden = Protocol("hidden", Choice, title="", source="", constants=[size], initial=lambda s: None)


@hidden.action()
def swap(s: Choice) -> None:
    """One node after the other, by number: the constants stand where no field says what they are."""
    s.chosen = ite(s.round == 0, Node(s.round.expr.pool.int(0)), Node(s.round.expr.pool.int(1)))


def test_constants_that_stand_for_ids_are_not_taken_for_numbers() -> None:
    checked = check_symmetry(hidden.instantiate({"size": 3}), [])
    assert "no action is what Swap() becomes when ids are renamed" in checked.obstacle


# -- files -------------------------------------------------------------------------------------------------------------
