"""Progress: one live line on a terminal, a plain line every ten seconds elsewhere, silence if asked for."""

from __future__ import annotations

import time

import pytest

from acked.checker.question.observer import Progress
from acked.reports import progress
from acked.reports.progress import BatchProgress, LiveDisplay, ProgressReporter
from acked.reports.shell.output import Output


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def at(seconds: float, states: int = 1_500_000) -> Progress:
    return Progress(
        depth=7,
        distinct_states=states,
        generated_states=4 * states,
        frontier=1200,
        seconds=seconds,
        memory_bytes=5 << 20,
    )


def test_a_plain_line_is_written_every_ten_seconds_and_not_more_often(screen) -> None:
    stream, clock = screen(), Clock()
    with ProgressReporter(stream, clock=clock) as reporter:
        reporter.phase("searching")
        for tick in range(1, 251):
            clock.now = 100.0 + tick / 10
            reporter.progress(at(tick / 10))
    assert len(stream.lines) == 2
    assert stream.lines[0].endswith("10.0 s")
    assert stream.lines[1].endswith("20.0 s")


def test_a_line_tells_phase_depth_states_rates_frontier_memory_and_elapsed(screen) -> None:
    stream, clock = screen(), Clock()
    with ProgressReporter(stream, clock=clock) as reporter:
        reporter.phase("searching")
        clock.now += 10
        reporter.progress(at(10))
    assert stream.text == (
        "searching: depth 7, 1,500,000 distinct (150 k/s), 6,000,000 generated (600 k/s), "
        "1,200 left in this level, 5.00 MiB, 10.0 s\n"
    )


def test_rates_tell_of_the_last_seconds_and_not_of_the_whole_search(screen) -> None:
    stream, clock = screen(), Clock()
    with ProgressReporter(stream, clock=clock) as reporter:
        for seconds, states in ((10, 10_000_000), (20, 10_001_000)):
            clock.now = 100.0 + seconds
            reporter.progress(at(seconds, states))
    assert "(1.00 M/s)" in stream.lines[0]
    assert "distinct (100/s)" in stream.lines[1]


def test_a_new_phase_is_told_before_the_search_has_numbers(screen) -> None:
    stream, clock = screen(), Clock()
    with ProgressReporter(stream, clock=clock) as reporter:
        reporter.phase("compiling")
        clock.now += 12
        reporter.phase("rebuilding the shortest run")
    assert stream.text == "rebuilding the shortest run, 12.0 s\n"


def test_a_short_search_says_nothing_anywhere(screen) -> None:
    for terminal in (False, True):
        stream = screen(terminal=terminal)
        with ProgressReporter(stream) as reporter:
            reporter.phase("searching")
            reporter.progress(at(0.1))
        assert stream.text == ""


def test_quiet_says_nothing_however_long_it_takes(screen) -> None:
    stream, clock = screen(), Clock()
    with ProgressReporter(stream, quiet=True, clock=clock) as reporter:
        clock.now += 60
        reporter.progress(at(60))
    assert stream.text == ""


def test_on_a_terminal_one_line_appears_after_a_moment_and_is_cleared_at_the_end(
    screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "LIVE_DELAY", 0.01)
    stream = screen(terminal=True)
    with ProgressReporter(stream) as reporter:
        reporter.phase("searching")
        reporter.progress(at(1.0))
        deadline = time.monotonic() + 20
        while "searching" not in stream.text and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "searching" in stream.text
    assert "1.50 M distinct" in stream.text
    assert stream.text.rstrip("\r").endswith("\x1b[2K")
    assert "\x1b[?25h" in stream.text


def test_a_live_line_leaves_out_what_does_not_fit(screen) -> None:
    clock = Clock()
    reporter = ProgressReporter(screen(), clock=clock)
    reporter.phase("searching")
    reporter.progress(at(1.0))
    for width in (30, 60, 80, 200):
        assert len(reporter.short_line(width)) < width
    assert "left" not in reporter.short_line(30)
    assert "left" in reporter.short_line(100)


def test_a_dumb_terminal_gets_plain_lines(screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream, clock = screen(terminal=True), Clock()
    with ProgressReporter(stream, clock=clock) as reporter:
        clock.now += 11
        reporter.progress(at(11))
    assert len(stream.lines) == 1
    assert "\x1b" not in stream.text


def test_a_batch_says_how_many_are_done_and_only_every_ten_seconds(screen) -> None:
    stream, clock = screen(), Clock()
    with BatchProgress("searches", stream, clock=clock) as done:
        for tick in range(1, 15):
            clock.now = 100.0 + tick
            done(tick, 1400)
    assert stream.text == "10 of 1,400 searches done, 10.0 s\n"


def test_a_quiet_batch_says_nothing(screen) -> None:
    stream, clock = screen(), Clock()
    with BatchProgress("searches", stream, quiet=True, clock=clock) as done:
        clock.now += 60
        done(1, 2)
    assert stream.text == ""


class Shown(LiveDisplay):
    def line(self) -> str:
        return "plain"

    def draw(self, console: object) -> str:
        return "drawn"


def test_what_stays_is_written_at_once_and_puts_off_the_next_plain_line(screen) -> None:
    stream, clock = screen(), Clock()
    with Shown(stream, clock=clock) as display:
        clock.now += 9
        display.above(lambda console: console.print("kept"))
        clock.now += 9
        display.update()
        assert stream.text == "kept\n"
        clock.now += 1
        display.update()
    assert stream.text == "kept\nplain\n"


def test_work_that_reports_nothing_is_still_seen_to_go_on(screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.02)
    stream = screen()
    with Shown(stream):
        deadline = time.monotonic() + 20
        while stream.text.count("plain\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stream.text.count("plain\n") >= 2
    said = stream.text
    time.sleep(0.1)
    assert stream.text == said


def test_on_a_terminal_what_stays_is_above_the_live_region(screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "LIVE_DELAY", 0.01)
    stream = screen(terminal=True)
    with Shown(stream) as display:
        deadline = time.monotonic() + 20
        while "drawn" not in stream.text and time.monotonic() < deadline:
            time.sleep(0.01)
        display.above(lambda console: console.print("kept"))
    assert stream.text.index("kept") > stream.text.index("drawn")
    assert "plain" not in stream.text
    assert stream.text.rstrip("\r").endswith("\x1b[2K")


def test_a_model_that_is_built_for_long_is_told_apart_from_a_search(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow:
        """A spec whose rules take long to read."""

        def question(self) -> str:
            time.sleep(0.2)
            return "asked"

    monkeypatch.setattr(progress, "PLAIN_INTERVAL", 0.01)
    assert Output().question(Slow()) == "asked"  # type: ignore[arg-type,comparison-overlap]
    assert "building the model, " in capsys.readouterr().err
