"""The library's tables, comparisons and pages: what the commands of the same names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import acked
from acked.checker.gate.ablation import ablate as by_the_command

HOLDS = "two_phase_commit-holds"


@pytest.fixture(scope="module")
def spec() -> acked.Spec:
    return acked.load_spec(HOLDS, participants=2)


@pytest.mark.slow
def test_the_table_of_states_has_each_once_with_its_level(spec: acked.Spec) -> None:
    table = acked.states(spec)
    result = acked.check(spec)
    assert len(set(table["id"].to_pylist())) == table.num_rows == result.distinct_states
    assert [table["level"].to_pylist().count(level) for level in range(1, result.depth + 1)] == [*result.level_sizes]
    phases = {phase for phases in table["phase"].to_pylist() for phase in phases}
    assert phases == {"working", "prepared", "committed", "aborted"}


def test_what_no_state_satisfies_is_a_table_without_rows_and_the_same_columns(spec: acked.Spec) -> None:
    wanted = 'phase[0] == "{}" and decision == "none"'
    some, none = (acked.states(spec, where=wanted.format(phase)) for phase in ("prepared", "committed"))
    assert (some.num_rows > 0, none.num_rows) == (True, 0)
    assert none.column_names == some.column_names


def test_states_are_written_where_they_are_wanted_with_their_transitions(spec: acked.Spec, tmp_path: Path) -> None:
    table = acked.states(spec, tmp_path / "states", transitions=True, levels=[1, 2])
    assert pq.read_table(tmp_path / "states" / "states").num_rows == table.num_rows
    assert pq.read_table(tmp_path / "states" / "transitions").num_rows > 0
    with pytest.raises(acked.ConfigurationError, match="is there already"):
        acked.states(spec, tmp_path / "states")


@pytest.mark.slow
def test_a_clause_is_for_what_the_command_says_that_it_is_for(spec: acked.Spec) -> None:
    mine = {name: result and result.violated for name, result in acked.ablate(spec).items()}
    found = by_the_command(spec).clauses
    theirs = {item.name: None if item.is_bound else item.outcome and item.outcome.violated for item in found}
    assert mine == theirs
    assert any(mine.values())


def test_what_a_bound_leaves_undecided_is_refused(spec: acked.Spec) -> None:
    for study in (acked.ablate, acked.coverage):
        with pytest.raises(acked.ConfigurationError, match="give it more room"):
            study(spec, bounds=acked.Bounds(max_states=3))
    with pytest.raises(acked.ConfigurationError, match="the question has no properties"):
        acked.ablate(acked.ask(spec.protocol, participants=2))


def test_a_function_of_one_s_own_is_compared_where_the_state_is_the_same(spec: acked.Spec) -> None:
    @acked.invariant
    def nothing_decided(s: Any) -> acked.Bool:
        is_open: acked.Bool = s.decision == "none"
        return is_open

    asked = acked.ask(spec.protocol, nothing_decided, participants=2)
    found = acked.diff(asked, acked.ask(spec.protocol, participants=2, asks_everybody=False))
    assert found.verdicts == {"NothingDecided": (2, 2)}
    with pytest.raises(acked.ConfigurationError, match="no trace of this side"):
        acked.Trace.of(found.sides[0])
    assert len(repr(found)) < 1000
    with pytest.raises(acked.ConfigurationError, match="different state fields"):
        acked.diff(asked, "kip320-2111")


@pytest.mark.slow
def test_a_page_of_what_holds_shows_how_large_its_space_of_states_is(spec: acked.Spec, tmp_path: Path) -> None:
    page = acked.view(spec)
    assert "Kept in all" in page.html
    assert page.write(tmp_path / "kept.html").read_text("utf-8") == page.html
    assert "object at 0x" not in repr(page)
    assert "Consistent promises" in acked.view(acked.check("two_phase_commit-bug")).html
    assert acked.explore(spec)._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(acked.ConfigurationError, match="the answer is incomplete"):
        acked.view(acked.check(spec, bounds=acked.Bounds(max_states=3)))
