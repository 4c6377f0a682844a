"""Specs as values: what a file becomes, and how a result is compared with what it expects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.checker.question.question import DEADLOCK
from acked.checker.question.result import ActionCount, Result, StopReason, Verdict
from acked.checker.search.local import search
from acked.checker.spec.expectation import Expectation
from acked.checker.spec.remarks import Claim, GalleryEntry
from acked.checker.spec.spec import Spec, parse_spec
from tests.checker.toys import always, ask, counters

TEXT = """\
# A comment
title = "small"
protocol = "kip320"

[constants]
replicas = 2
log_size = 1
max_records = 1
max_leader_epoch = 1

[check]
invariants = ["StrongIsr", "WeakIsr"]
deadlock = true

[expect]
verdict = "violated"
violates = "Deadlock"
"""


def parsed(old: str = "", new: str = "") -> Spec:
    assert old in TEXT
    return parse_spec(TEXT.replace(old, new) if old else TEXT, Path("folder/small.toml"))


def test_a_spec_keeps_the_order_in_which_properties_are_asked_and_deadlock_comes_last() -> None:
    assert [item.name for item in parsed().properties] == ["StrongIsr", "WeakIsr", "Deadlock"]


def test_deadlock_may_also_be_asked_by_name_wherever_the_spec_wants_it() -> None:
    spec = parsed('["StrongIsr", "WeakIsr"]\ndeadlock = true', '["Deadlock", "WeakIsr"]')
    assert [item.name for item in spec.properties] == ["Deadlock", "WeakIsr"]
    assert spec.properties[0] is DEADLOCK


def test_one_invariant_needs_no_brackets() -> None:
    assert [item.name for item in parsed('["StrongIsr", "WeakIsr"]', '"WeakIsr"').properties] == ["WeakIsr", "Deadlock"]


def test_constants_are_kept_in_the_protocol_s_order_whatever_the_file_s() -> None:
    spec = parsed("replicas = 2\nlog_size = 1\n", "log_size = 1\nreplicas = 2\n")
    assert list(spec.constants) == ["replicas", "log_size", "max_records", "max_leader_epoch"]


def test_a_spec_is_named_after_its_file_and_knows_its_lines() -> None:
    spec = parsed()
    assert spec.name == "small"
    assert spec.where("constants.replicas") == "folder/small.toml:6: "
    assert spec.where("check") == "folder/small.toml:11: "
    assert spec.where("nothing") == "folder/small.toml: "
    assert replace(spec, path=None).where("check") == ""


def test_what_is_not_said_has_its_default() -> None:
    spec = parsed()
    assert (spec.drop, spec.count_only, spec.slow) == (frozenset(), False, False)
    assert spec.expect == Expectation(Verdict.VIOLATED, ("Deadlock",))
    assert parse_spec(TEXT.split("[expect]")[0], Path("x.toml")).expect is None


def test_a_claim_tells_whether_its_sentence_is_true_beside_the_verdict() -> None:
    spec = parsed("[expect]", '[claim]\ntrue = false\ncorrected = "no"\nsource = "an article"\n\n[expect]')
    assert spec.claim == Claim(true=False, source="an article", corrected="no")
    assert spec.gallery is None


def test_a_part_of_a_gallery_row_tells_its_role() -> None:
    said = '[gallery]\nrow = 3\nid = "KAFKA-1"\nfixed = "0.9"\nrole = "fix"\nrule = "so"\nalso = "row 1"\n\n[expect]'
    spec = parsed("[expect]", said)
    assert spec.gallery == GalleryEntry(3, "KAFKA-1", "0.9", "fix", rule="so", also="row 1")
    assert spec.claim is None


def test_dropped_clauses_are_left_out_of_the_protocol() -> None:
    spec = parse_spec(TEXT + '[weaken]\ndrop = "BecomeLeader: newer leader epoch"\n', Path("x.toml"))
    assert spec.drop == {("BecomeLeader", "newer leader epoch")}
    labels = {guard.label for step in spec.question().instance.actions for guard in step.guards}
    assert labels == {guard.label for step in parsed().question().instance.actions for guard in step.guards}
    become = [step for step in spec.question().instance.actions if step.action.name == "BecomeLeader"]
    assert become
    assert all(guard.label != "newer leader epoch" for step in become for guard in step.guards)


def test_a_dropped_clause_that_is_not_there_is_told_with_its_line_and_the_choices() -> None:
    spec = parse_spec(TEXT + '[weaken]\ndrop = "BecomeLeader: older"\n', Path("x.toml"))
    with pytest.raises(ConfigurationError, match=r"^x\.toml:19: .*'older'.*'newer leader epoch'"):
        spec.question()


@pytest.mark.parametrize(
    ("name", "hint"), [("kip321", " (did you mean kip320?)"), ("zzz", ""), ("", ""), ("KIP320", "")]
)
def test_a_name_is_suggested_only_if_it_is_close(name: str, hint: str) -> None:
    assert near(name, ["kip101", "kip279", "kip320"]) in (hint, " (did you mean kip320?)" if name == "KIP320" else hint)


# -- comparing ---------------------------------------------------------------------------------------------------------


def result(bound: int = 9) -> Result:
    """4 states in 4 levels, and a violation in the third if the bound is 1."""
    return search(ask(counters(1, 3), always("Small", lambda s: s.n0 <= bound)), Bounds(1, 1 << 24))


def test_a_result_that_is_as_expected_has_no_differences() -> None:
    assert Expectation(Verdict.HOLDS, (), None, 4, 4, 4).differences(result()) == []
    assert Expectation(Verdict.VIOLATED, ("Small",), 3, 3, 3, 3).differences(result(1)) == []


@pytest.mark.parametrize(
    ("expectation", "differences"),
    [
        (Expectation(Verdict.HOLDS, distinct_states=5), ["distinct_states is 4, expected 5"]),
        (Expectation(Verdict.HOLDS, generated_states=3), ["generated_states is 4, expected 3"]),
        (Expectation(Verdict.HOLDS, depth=3), ["depth is 4, expected 3"]),
        (
            Expectation(Verdict.HOLDS, distinct_states=5, depth=3),
            ["distinct_states is 4, expected 5", "depth is 4, expected 3"],
        ),
        (
            Expectation(Verdict.VIOLATED, ("Small",), 3),
            [
                "verdict is holds, expected violated",
                "violated: nothing; expected: Small",
                "there is no counterexample, expected 2 steps (trace_length = 3 states)",
            ],
        ),
        (Expectation(Verdict.INCOMPLETE), ["verdict is holds, expected incomplete"]),
        (Expectation(Verdict.HOLDS, never_fired=("RaiseN0",)), ["fired: RaiseN0; expected never to fire"]),
    ],
)
def test_every_difference_is_told(expectation: Expectation, differences: list[str]) -> None:
    assert expectation.differences(result()) == differences


@pytest.mark.parametrize(
    ("expectation", "differences"),
    [
        (Expectation(Verdict.HOLDS, distinct_states=5, generated_states=6, depth=9, at_least_distinct_states=8), []),
        (Expectation(Verdict.VIOLATED, ("Small",), 3, unreachable=("Never",)), []),
        (Expectation(Verdict.HOLDS, never_fired=("RaiseN0",)), []),
        (Expectation(Verdict.HOLDS, distinct_states=3, depth=4), ["distinct_states is 4 already, expected 3"]),
    ],
)
@pytest.mark.parametrize("ended", [StopReason.INTERRUPTED, StopReason.MAX_DEPTH, StopReason.MAX_STATES])
def test_an_early_end_that_its_user_wants_makes_no_difference(
    expectation: Expectation, differences: list[str], ended: StopReason
) -> None:
    found = replace(result(), stopped=ended)
    assert found.verdict is Verdict.INCOMPLETE
    assert expectation.is_open(found)
    assert expectation.differences(found) == differences


def test_where_a_bound_is_expected_its_answer_is_compared() -> None:
    at_bound = replace(result(), stopped=StopReason.MAX_STATES)
    assert Expectation(Verdict.INCOMPLETE, distinct_states=5).differences(at_bound) == ["distinct_states is 4, expected 5"]
    seen = replace(result(), stopped=StopReason.BUDGET)
    assert not Expectation(Verdict.HOLDS).is_open(seen)
    assert Expectation(Verdict.HOLDS).differences(seen)[0].startswith("verdict is ")


def test_a_violation_that_is_not_expected_is_a_difference_whatever_came_after_it() -> None:
    found = replace(result(1), stopped=StopReason.INTERRUPTED)
    assert Expectation(Verdict.HOLDS, holds=("Small",)).differences(found) == [
        "verdict is violated, expected holds", "violated: Small; expected to hold",
    ]  # fmt: skip
    assert Expectation(Verdict.VIOLATED, ("Large",), 3).differences(found) == ["violated: Small; expected: Large"]
    assert Expectation(Verdict.VIOLATED, ("Small", "Large"), 3).differences(found) == []


def test_a_trace_of_another_length_or_property_is_a_difference() -> None:
    assert Expectation(Verdict.VIOLATED, ("Small",), 4).differences(result(1)) == [
        "the shortest counterexample has 2 steps, expected 3 steps (trace_length = 4 states)"
    ]
    assert Expectation(Verdict.VIOLATED, ("Large",), 3).differences(result(1)) == ["violated: Small; expected: Large"]
    assert Expectation(Verdict.VIOLATED, ("Small", "Large"), 3).differences(result(1)) == [
        "violated: Small; expected: Small, Large"
    ]


def test_an_action_that_never_fired_is_a_difference_unless_it_is_expected() -> None:
    silent = replace(result(), actions={"RaiseN0": ActionCount(0, 0)})
    assert Expectation(Verdict.HOLDS, never_fired=("RaiseN0",)).differences(silent) == []
    [difference] = Expectation(Verdict.HOLDS).differences(silent)
    assert difference.startswith("never fired: RaiseN0")


def test_a_result_that_memory_ends_never_meets_an_expectation_that_it_holds() -> None:
    covered = replace(result(), stopped=StopReason.MEMORY)
    assert Expectation(Verdict.HOLDS).differences(covered) == ["verdict is incomplete, expected holds"]
