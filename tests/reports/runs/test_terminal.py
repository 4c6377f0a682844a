"""Traces in the terminal: readable without colour, harmless whatever names say, and within the width."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import pytest

from acked.checker.question.result import Counterexample, Result
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import TraceView, view_of

Drawn = Callable[..., Any]


@pytest.fixture
def view(violated: Result) -> TraceView:
    found = violated.violations[0]
    return view_of(Counterexample.of("truncation loses records", violated.question, found))


def test_the_three_sentences_come_before_the_steps(drawn: Drawn, view: TraceView) -> None:
    text = " ".join(drawn(print_trace, view).text.split())
    promised, happened, source = text.index("WeakIsr promises"), text.index("Step 8 of 8"), text.index("Source:")
    assert promised < happened < source < text.index("0 initially")


def test_a_broker_is_a_row_with_its_epoch_log_watermark_and_badges(drawn: Drawn, view: TraceView) -> None:
    lines = drawn(print_trace, view, width=110).lines
    rows = [line.split() for line in lines if line.startswith("    broker")]
    assert len(rows) == 9 * 2
    last_leader, last_follower = (" ".join(row) for row in rows[-2:])
    assert last_leader.startswith(
        "broker 0 e0 │ r0·e0 ║ hw 1 end 1 in ISR stale leader elected, unaware own ISR {0, 1}"
    )
    assert last_follower.startswith("broker 1 *e1 ║*× hw 0 *end 0 out of ISR follows broker 0")


def test_what_a_step_changed_is_marked_without_any_colour(drawn: Drawn, view: TraceView) -> None:
    lines = drawn(print_trace, view).lines
    written = next(at for at, line in enumerate(lines) if "appends record 0" in line)
    assert "║*r0·e0 │" in lines[written + 3]
    assert "*end 1" in lines[written + 3]
    assert "*" not in lines[written + 4]


def test_the_violation_is_said_at_its_step_and_nowhere_else(drawn: Drawn, view: TraceView) -> None:
    lines = drawn(print_trace, view).lines
    assert [line.strip() for line in lines if "is violated" in line] == ["✗ WeakIsr is violated"]
    assert lines[-1].strip() == "✗ WeakIsr is violated"


def test_offsets_that_no_step_uses_take_no_room(drawn: Drawn, view: TraceView) -> None:
    header = next(line for line in drawn(print_trace, view).lines if line.strip().startswith("offset"))
    assert header.split() == ["offset", "0"]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize(("protocol", "name"), [("truncate-to-hw", "LogEpochsAscend"), ("kip101", "WeakIsr")])
def test_no_line_is_wider_than_the_screen(drawn: Drawn, searched, width: int, protocol: str, name: str) -> None:
    result = searched(protocol, (3, 2, 2, 2), name)
    found = result.violations[0]
    screen = drawn(print_trace, view_of(Counterexample.of("t" * 150, result.question, found)), width=width)
    assert max(map(len, screen.lines)) <= width


@pytest.mark.slow
def test_cells_of_a_column_stay_below_each_other_through_the_whole_trace(drawn: Drawn, searched) -> None:
    result = searched("truncate-to-hw", (3, 2, 2, 2), "LogEpochsAscend")
    found = result.violations[0]
    for width in (60, 100):
        screen = drawn(print_trace, view_of(Counterexample.of("t", result.question, found)), width=width)
        starts = {match.start() for line in screen.lines if (match := re.search(r"r1·e1", line)) and "broker" in line}
        assert len(starts) == 1


@pytest.mark.slow
def test_a_screen_too_narrow_for_the_log_gets_it_in_bands_of_offsets(drawn: Drawn, searched) -> None:
    result = searched("truncate-to-hw", (3, 2, 2, 2), "LogEpochsAscend")
    found = result.violations[0]
    screen = drawn(print_trace, view_of(Counterexample.of("t", result.question, found)), width=32)
    headers = [line.split()[1:] for line in screen.lines if line.strip().startswith("offset")]
    assert headers[:2] == [["0"], ["1"]]
    assert "*r1·e1" in screen.text


def test_nothing_but_text_is_written_when_the_stream_is_no_terminal(
    drawn: Drawn, view: TraceView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in drawn(print_trace, view).text


def test_no_color_is_obeyed_on_a_terminal(drawn: Drawn, view: TraceView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = drawn(print_trace, view, terminal=True)
    assert re.search(r"\x1b\[[0-9;]*48;2;86;180;233", coloured.text)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = drawn(print_trace, view, terminal=True)
    assert not re.search(r"\x1b\[[0-9;]*[34]8;[25];", plain.text)
    assert not re.search(r"\x1b\[([0-9;]*;)?3[0-7]m", plain.text)
    assert plain.plain.split() == coloured.plain.split()


def test_a_stream_that_knows_only_ascii_gets_ascii(drawn: Drawn, view: TraceView) -> None:
    text = drawn(print_trace, dataclasses.replace(view, title="Größe"), encoding="ascii").text
    assert "#*r0.e0 |" in text
    assert "! WeakIsr is violated" in text
    assert "Gr\\xf6\\xdfe" in text


def test_markup_and_control_characters_in_names_are_shown_and_not_obeyed(drawn: Drawn, view: TraceView) -> None:
    step = dataclasses.replace(view.steps[1], sentence="[red]she said[/red] [/nope] :boom:\x1b[2J\n\u202e")
    hostile = dataclasses.replace(view, title="[bold]A[/bold] \x1b]0;owned\x07", steps=(step,))
    text = drawn(print_trace, hostile, terminal=True).plain
    assert "[bold]A[/bold] \\x1b]0;owned\\x07" in text
    assert "[red]she said[/red] [/nope] :boom:\\x1b[2J\\n\\u202e" in text


def test_a_trace_without_a_picture_lists_its_changed_fields(drawn: Drawn, view: TraceView) -> None:
    steps = tuple(dataclasses.replace(step, picture=None, untold=step.changes) for step in view.steps)
    lines = drawn(print_trace, dataclasses.replace(view, steps=steps)).lines
    assert any(re.fullmatch(r"    \*log\[0\]\.end +0 -> 1", line) for line in lines)
    assert not any("║" in line for line in lines)
