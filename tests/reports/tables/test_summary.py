"""The tables after a search claim what was decided and no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import ActionCount, Result, StopReason, Verdict
from acked.checker.search.local import Bounds, search
from acked.model.catalogue import PROTOCOLS
from acked.reports import units
from acked.reports.tables.summary import print_expectation, print_result

Drawn = Callable[..., Any]


def line_with(text: str, *words: str) -> str:
    return next(line for line in text.splitlines() if all(word in line for word in words))


def test_a_proof_says_that_every_reachable_state_was_seen(drawn: Drawn, searched) -> None:
    result = searched("kip320", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
    text = drawn(print_result, "title", result, 1.5).text
    assert f"✓ holds: every reachable state was seen ({result.distinct_states:,} distinct states)" in text
    assert "✓ holds" in line_with(text, "CommittedRecordsStay", "step property")
    assert "1.50 s in all" in text
    assert f"{result.generated_states:,}" in line_with(text, "generated states")


def test_a_violation_names_the_property_and_leaves_the_others_open(drawn: Drawn, violated: Result) -> None:
    text = drawn(print_result, "title", violated, 0.1).text
    assert "✗ violated: WeakIsr in 8 steps" in text
    assert "violated in 8 steps" in line_with(text, "WeakIsr", "invariant")
    assert "not violated so far" in line_with(text, "CommittedRecordsStay")


def test_an_incomplete_search_says_why_it_stopped_and_what_it_covered(drawn: Drawn, searched) -> None:
    result = searched("kip320", (2, 2, 2, 1), "WeakIsr", max_depth=3)
    text = drawn(print_result, "title", result, 0.1).text
    covered = f"covered: 3 complete levels, {result.distinct_states} distinct states"
    assert f"? incomplete: the depth bound was reached; {covered}" in text
    assert "holds" not in text


def test_a_search_that_was_asked_nothing_proves_nothing(drawn: Drawn, searched) -> None:
    text = drawn(print_result, "title", searched("kip320", (2, 2, 2, 0)), 0.1).text
    assert "? incomplete: every reachable state was seen, but no property was checked" in text


@pytest.mark.parametrize("reason", [reason for reason in StopReason if reason is not StopReason.VIOLATION])
def test_every_reason_to_stop_is_said_in_its_words(drawn: Drawn, searched, reason: StopReason) -> None:
    result = dataclasses.replace(searched("kip320", (2, 2, 2, 0), "WeakIsr"), stopped=reason)
    assert reason.value in " ".join(drawn(print_result, "title", result, 0.1).text.split())


def test_actions_that_never_fired_are_marked_and_listed(drawn: Drawn, searched) -> None:
    result = searched("kip320", (1, 2, 2, 1), "WeakIsr")
    text = drawn(print_result, "title", result, 0.1).text
    assert "never fired" in line_with(text, "FencedFollowerFetch", "0")
    assert "never fired" not in line_with(text, "ControllerElectLeader ")
    assert "✗ never fired: " in text


def test_what_has_not_fired_in_a_search_that_stopped_early_is_no_finding(drawn: Drawn, searched) -> None:
    result = searched("kip320", (2, 2, 2, 1), "WeakIsr", max_depth=2)
    text = drawn(print_result, "title", result, 0.1).text
    assert "never fired" not in text
    assert "? not fired so far: BecomeLeader, LeaderWrite" in text


@pytest.mark.parametrize("width", [60, 100])
def test_the_tables_stay_within_the_width_and_keep_every_name_whole_or_folded(
    drawn: Drawn, searched, width: int
) -> None:
    result = searched("truncate-to-hw", (2, 2, 2, 1), "HwWithinQuorumIsr", max_depth=2)
    actions = {**result.actions, "Z" * 120: ActionCount(10**12, 7)}
    screen = drawn(print_result, "title", dataclasses.replace(result, actions=actions), 0.1, width=width)
    assert max(map(len, screen.lines)) <= width
    assert "1,000,000,000,000" in screen.text
    assert screen.text.count("Z") == 120


def test_a_result_without_states_or_seconds_divides_by_nothing(drawn: Drawn, violated: Result) -> None:
    empty = dataclasses.replace(violated, distinct_states=0, generated_states=0, seconds=0.0)
    assert "0 (-)" in drawn(print_result, "title", empty, 0.0).text


def test_markup_in_titles_and_notes_is_text(drawn: Drawn, violated: Result) -> None:
    result = dataclasses.replace(violated, notes=("[bold]note[/bold]",))
    text = drawn(print_result, "[red]title[/red]", result, 0.0).text
    assert "[red]title[/red]" in text
    assert "note: [bold]note[/bold]" in text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (units.count(1234567), "1,234,567"),
        (units.plural(1, "state"), "1 state"),
        (units.short_count(999), "999"),
        (units.short_count(999_999), "1.00 M"),
        (units.short_count(7_512_000), "7.51 M"),
        (units.rate(5, 0.0), "-"),
        (units.size(120), "120 B"),
        (units.size(1023), "1.00 KiB"),
        (units.size(3 << 30), "3.00 GiB"),
        (units.duration(0.0042), "4.2 ms"),
        (units.duration(0.9999), "1.00 s"),
        (units.duration(59.99), "1 min 00 s"),
        (units.duration(185), "3 min 05 s"),
        (units.duration(7440), "2 h 04 min"),
    ],
)
def test_numbers_are_written_for_people(written: str, expected: str) -> None:
    assert written == expected


def test_an_expectation_is_met_or_its_differences_are_listed(drawn: Drawn) -> None:
    assert drawn(print_expectation, Verdict.HOLDS, []).text.strip() == "✓ holds, as the spec expects"
    assert drawn(print_expectation, Verdict.VIOLATED, []).text.strip() == "✓ violated, as the spec expects"
    text = drawn(print_expectation, Verdict.HOLDS, ["verdict is holds, expected violated", "[b]depth[/b] is 3"]).text
    assert "✗ not as the spec expects:" in text
    assert "  - verdict is holds, expected violated" in text
    assert "  - [b]depth[/b] is 3" in text


def test_an_answer_about_a_weakened_protocol_says_what_was_dropped(drawn: Drawn) -> None:
    protocol = PROTOCOLS["kip320"]
    constants = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
    instance = protocol.instantiate(constants, [("LeaderWrite", "room in the log")])
    result = search(Question(instance, ()), Bounds(workers=1, max_depth=2))
    text = " ".join(drawn(print_result, "title", result, 0.1).text.split())
    assert "weakened, without 'LeaderWrite: room in the log'" in text
