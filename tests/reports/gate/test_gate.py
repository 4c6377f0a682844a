"""The gate in the terminal, and the tables of coverage and ablation: what is said, hostile names made harmless."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from acked.checker.batch.outcome import Outcome, Task
from acked.checker.gate.ablation import Ablated, Ablation, ablate
from acked.checker.gate.gate import Candidate, Chosen, GateEntry, GateReport
from acked.checker.question.coverage import ClauseCoverage
from acked.checker.question.result import ActionCount, StopReason, Verdict
from acked.checker.spec.expectation import Departure, Reason
from acked.checker.spec.spec import load_spec
from acked.reports.console import open_console
from acked.reports.gate.ablation import ablation_document, ablation_markdown, print_ablation
from acked.reports.gate.gate import GateProgress, gate_document, print_gate
from acked.reports.gate.job_summary import gate_markdown
from acked.reports.gate.junit import junit_xml
from acked.reports.tables.coverage import print_coverage
from tests.places import SPECS

SPEC = load_spec(SPECS / "counts" / "kip320-2111.toml")
HOLDS = Outcome(Verdict.HOLDS, StopReason.COMPLETE, 277, 500, 12, {"LeaderWrite": ActionCount(3, 3)}, (), {}, 0.01, "f")


def entry(name: str, *departures: Departure, is_cached: bool = False) -> GateEntry:
    return GateEntry(Candidate(Path(name), SPEC), HOLDS, departures, is_cached)


def shown(report: GateReport, width: int = 100) -> str:
    stream = io.StringIO()
    print_gate(open_console(stream, width), report, [])
    return stream.getvalue()


def test_a_green_gate_says_how_many_and_how_many_were_cached() -> None:
    report = GateReport((entry("a.toml"), entry("b.toml", is_cached=True)), (), "", (), 2.0)
    assert "green: 2 specs as expected (1 from the cache), in 2.00 s" in shown(report)


def test_a_gate_without_specs_is_red_and_says_why() -> None:
    report = GateReport((), (), "no spec found under x; a spec is a file that ends with .toml", ())
    assert not report.is_green
    assert "red: no spec found under x" in shown(report)


def test_a_gate_with_nothing_run_is_red_even_without_a_reason() -> None:
    assert not GateReport((), (), "", ()).is_green


def test_every_finished_spec_is_a_line_at_once_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with GateProgress(stream) as progress:
        progress.observer.begins(Chosen((), ()))
        progress.observer.finished(entry("specs/\x1b[31m.toml", Departure(Reason.COUNT, "depth is 12, expected 13")))
        text = stream.getvalue()
    assert "specs/\\x1b[31m.toml  holds  277 distinct states" in text
    assert "    count: depth is 12, expected 13" in text


def test_a_line_is_due_also_while_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acked.reports.progress.PLAIN_INTERVAL", 0.001)
    stream = io.StringIO()
    with GateProgress(stream) as progress:
        progress.observer.begins(Chosen((), ()))
        time.sleep(0.01)
        progress.update()
    assert set(stream.getvalue().splitlines()) == {"0 of 0 specs"}


def test_nothing_is_shown_beside_a_document() -> None:
    stream = io.StringIO()
    with GateProgress(stream, is_silent=True) as progress:
        progress.observer.begins(Chosen((), ()))
        progress.observer.finished(entry("a.toml"))
    assert stream.getvalue() == ""


def test_warnings_and_specs_that_were_left_out_are_told_each_with_its_reason() -> None:
    left_out = (Candidate(Path("s.toml"), replace(SPEC, slow=True)), Candidate(Path("l.toml"), SPEC))
    report = GateReport((entry("a.toml"),), left_out, "", ("the cache entry x is damaged",))
    text = shown(report)
    assert "skipped because it is slow: s.toml (--slow runs it)" in text
    assert "skipped because it is large: l.toml (without --up-to it is run)" in text
    assert "warning: the cache entry x is damaged" in text
    assert "green: 1 spec as expected; 1 slow spec skipped; 1 large spec skipped" in text
    assert gate_document(report, [])["left_out"] == ["s.toml", "l.toml"]
    page = gate_markdown(report, [], {})
    assert "Skipped because they are slow: `s.toml`.\n\nSkipped because they are large: `l.toml`." in page
    skipped = re.findall(r'<skipped message="([^"]+)"', junit_xml(report, []))
    assert skipped == ["slow; add --slow", "large; leave --up-to out"]


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        (ClauseCoverage("LeaderWrite", "x", True, True), "decisive"),
        (ClauseCoverage("LeaderWrite", "x", True, False), "false, but never the only one"),
        (ClauseCoverage("LeaderWrite", "x", False, False), "never false"),
        (ClauseCoverage("LeaderWrite", "x", False, False, True), "decided by the parameters"),
    ],
)
def test_coverage_tells_four_kinds_of_clauses_apart(clause: ClauseCoverage, words: str) -> None:
    stream = io.StringIO()
    actions = {"LeaderWrite": ActionCount(3, 3), "Idle": ActionCount()}
    print_coverage(open_console(stream, 100), "kip320", actions, [clause])
    lines = stream.getvalue().splitlines()
    assert next(line for line in lines if line.strip().startswith("x ")).strip().removeprefix("x").strip() == words
    assert any("Idle" in line and "never fired" in line for line in lines)


def test_ablation_never_calls_an_undecided_clause_needless() -> None:
    task = Task.of(SPEC)
    incomplete = Outcome(Verdict.INCOMPLETE, StopReason.MAX_STATES, 9, 9, 2, {}, (), {}, 0.0, "f")
    clauses = (
        Ablated("A", "idle", task, HOLDS, ""),
        Ablated("A", "bound", task, None, "a field leaves its domain", is_bound=True),
        Ablated("A", "open", task, incomplete, ""),
        Ablated("A", "lost", task, None, "the search process was killed by SIGKILL"),
    )
    found = Ablation(SPEC, HOLDS, clauses, ())
    states = {item["clause"]: item["state"] for item in ablation_document(found)["clauses"]}
    assert states == {"A: idle": "idle", "A: bound": "bounds", "A: open": "undecided", "A: lost": "undecided"}
    stream = io.StringIO()
    print_ablation(open_console(stream, 100), found, with_stories=False)
    text = stream.getvalue()
    assert "no property of this spec is violated without: A: idle\n" in text
    assert "killed by SIGKILL" in text


@pytest.mark.slow
def test_a_bound_on_states_makes_no_clause_look_needed_that_is_not() -> None:
    """kip279 violates WeakIsr with all its clauses, 113,212 states deep, where no bounded search comes."""
    found = ablate(load_spec(SPECS / "kip279.toml"), max_states=1_000)
    assert found.whole.violated
    assert not any(item.property in found.whole.violated for clause in found.clauses for item in clause.broken)
    incomplete = replace(HOLDS, stopped=StopReason.MEMORY)
    task = Task.of(SPEC)
    clauses = (Ablated("A", "open", task, None, "with all clauses the answer is incomplete, too: memory"),)
    assert ablation_document(Ablation(SPEC, incomplete, clauses, ()))["clauses"][0]["state"] == "undecided"


def test_the_markdown_of_an_ablation_shows_a_hostile_title_and_clause_as_text() -> None:
    spec = replace(SPEC, title="<img src=x> @team [x](y)")
    clauses = (Ablated("A", "a | b `c`", Task.of(SPEC), HOLDS, ""),)
    text = ablation_markdown(Ablation(spec, HOLDS, clauses, ()))
    assert "&lt;img src=x&gt; @&#8203;team \\[x\\]\\(y\\)." in text
    assert "| A: a \\| b \\`c\\` | nothing |" in text
