"""Which releases keep which promises for all constants, as docs/releases.json has it, and what stands behind its cells."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from click import Context

from acked.audit.releases import table as releases
from acked.audit.releases.table import (
    RELEASES,
    FaultClass,
    Kept,
    Release,
    ReleaseCell,
    ReleaseVerdict,
    ReleaseWork,
    attempts,
    fill_table,
    questions_of,
    refuted_cells,
    switches_of,
)
from acked.base.processes import Limits
from acked.base.release import LATEST
from acked.checker.batch.local import BatchLimits
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.cli import cli
from acked.commands.check import check
from acked.commands.proving.prove import prove
from acked.model.partition.protocol import partition
from acked.model.partition.rules.settings import CLEAN_CRASHES, RULES
from acked.model.partition.rules.versions import KRAFT, VERSIONS, ZOOKEEPER, planes_of
from acked.reports.shell.options import AskedSpec
from tests.oracle import Space
from tests.places import CHECKOUT
from tools.proofs import RELEASES as ANSWERS
from tools.proofs import cells as kept_cells

PAGE = CHECKOUT / "docs" / "releases.md"
KEPT = {(cell.release, cell.faults, cell.promise): cell for cell in kept_cells()}
"""What docs/releases.json has."""


def said_to_be_refuted() -> list[tuple[Release, FaultClass, Kept]]:
    return [place for place, cell in KEPT.items() if cell.verdict is ReleaseVerdict.REFUTED]


def test_the_page_has_a_cell_for_every_release_fault_and_promise() -> None:
    assert list(KEPT) == [(release, faults, promise) for promise in Kept for release in RELEASES for faults in FaultClass]
    assert {cell.verdict for cell in KEPT.values()} == {ReleaseVerdict.PROVED, ReleaseVerdict.REFUTED, ReleaseVerdict.OPEN}
    assert all((cell.refutation is not None) == (cell.verdict is ReleaseVerdict.REFUTED) for cell in KEPT.values())
    assert all(bool(cell.missing) == (cell.verdict is ReleaseVerdict.OPEN) for cell in KEPT.values())


def test_acknowledged_records_are_proved_to_stay_in_every_kraft_release_from_3_6() -> None:
    since = VERSIONS.index("3.6")
    rows = [item for item in RELEASES if item[1] == KRAFT and VERSIONS.index(item[0]) >= since]
    assert len(rows) >= 6
    found = {KEPT[release, FaultClass.CLEAN, promise].verdict for release in rows for promise in Kept}
    assert found == {ReleaseVerdict.PROVED}


def test_the_rows_are_releases_on_their_control_planes() -> None:
    assert all(plane in planes_of(version) for version, plane in RELEASES)
    assert list(RELEASES) == sorted(RELEASES, key=lambda item: (VERSIONS.index(item[0]), item[1] == KRAFT))
    assert RELEASES[-1] == (LATEST, KRAFT)


def test_what_may_refute_has_the_releases_rules_and_nothing_worse_going_wrong() -> None:
    asked = 0
    for release in RELEASES[::5]:
        for faults in FaultClass:
            cell = switches_of(release, faults)
            for promise in Kept:
                for task, _ in questions_of(release, faults, promise):
                    given = dict(task.asked.constants)
                    assert {item.name: given[item.name] for item in RULES} == {item.name: cell[item.name] for item in RULES}
                    worse = ("zombies", "leadership_moves", "unnoticed_restarts", "late_answers", "producer_restarts")
                    assert all(given[name] <= cell[name] for name in (*worse, "crashes"))
                    if given["crashes"] > CLEAN_CRASHES and cell["lossy_crashes"]:
                        assert 0 < given["lossy_crashes"] <= cell["lossy_crashes"]
                    assert all(given[name] == cell[name] for name in ("acks", "retries", "idempotence", "unclean_election"))
                    asked += 1
    assert asked > 20


@pytest.mark.slow
def test_a_command_of_the_page_asks_what_refuted_the_cell() -> None:
    """Also of 0.11, where an idempotent producer has one request in flight (KAFKA-5494) and a spec may name three."""
    asked = {refutation.command: task for place in said_to_be_refuted() for task, refutation in questions_of(*place)}
    commands = {cell.refutation.command for cell in KEPT.values() if cell.refutation is not None}
    assert len(commands) > 20
    assert any("idempotence-keeps-order --kafka-version 0.11" in command for command in commands)
    for command in commands:
        _, _, name, *options = shlex.split(command)
        given = check.make_context("check", [name, *options], Context(cli, **cli.context_settings)).params
        changed = AskedSpec.from_options(**{key: given[key] for key in ("name", "constants", "version", "control_plane")})
        assert changed.load().constants == dict(asked[command].asked.constants), command


@pytest.mark.slow
def test_an_interrupted_table_has_what_was_found_and_says_what_was_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(releases, "prove_cell", interrupted)
    counts: list[int] = []
    work = ReleaseWork(Limits(1, 60.0), BatchLimits.default(1), filled=counts.append)
    cells = fill_table((("2.5", ZOOKEEPER),), (FaultClass.MACHINE,), work)
    assert [item.verdict for item in cells] == [ReleaseVerdict.REFUTED, *[ReleaseVerdict.NOT_ASKED] * 2]
    assert counts == [1]


def test_the_page_was_written_by_the_command_that_it_names() -> None:
    (line,) = (line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("`acked prove"))
    asked, _, file = line.split("`")[1].partition(" > ")
    _, name, *options = shlex.split(asked)
    context = prove.make_context(name, options)
    given = context.params
    assert context.command.name == "releases"
    assert ANSWERS.samefile(CHECKOUT / file)
    assert given["version"] is given["control_plane"] is None


def reachable(release: Release, *faults: FaultClass) -> list[dict[str, Any]]:
    """Every state within eight steps, with two brokers, one offset and one record."""
    sizes = {"replicas": 2, "log_size": 1, "records": 1}
    instance = partition.instantiate({**switches_of(release, *faults), **sizes})
    space = Space(Question(instance, ()), max_depth=9)
    return [instance.schema.decode(instance.schema.unpack(words)) for level in space.levels for words in level]


def without_others(state: Any, like: Any) -> Any:
    """A state with only the fields that another one has."""
    if isinstance(like, dict):
        return {name: without_others(state[name], value) for name, value in like.items()}
    if isinstance(like, list) and like and isinstance(like[0], dict):
        return [without_others(item, like[0]) for item in state]
    return state


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("release", [("2.5", ZOOKEEPER), ("3.6", KRAFT), (LATEST, KRAFT)], ids=lambda item: " ".join(item))
@pytest.mark.parametrize("fault", [item for item in FaultClass if item is not FaultClass.MACHINE])
def test_a_fault_that_may_happen_takes_no_state_away(release: Release, fault: FaultClass) -> None:
    """So that a proof for several faults at once is one for each of them."""
    together, *_ = attempts([item for item in FaultClass if item is not FaultClass.MACHINE])
    alone = reachable(release, fault)
    like = alone[0]
    found = {json.dumps(without_others(state, like)) for state in reachable(release, *together)}
    assert {json.dumps(state) for state in alone} <= found
    assert len(alone) > 300


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "faults"),
    [
        pytest.param(("3.3", KRAFT), FaultClass.OUTSIDE, id="a request overtakes the loss of a log"),
        pytest.param(("4.0", KRAFT), FaultClass.MACHINE, id="the last replica standing", marks=pytest.mark.long),
        pytest.param(("2.8", ZOOKEEPER), FaultClass.CLEAN, id="a fetch that diverges", marks=pytest.mark.long),
    ],
)
def test_a_refuted_cell_has_a_trace_of_the_length_that_the_page_says(release: Release, faults: FaultClass) -> None:
    (task, _), *_ = questions_of(release, faults, Kept.ACKED)
    (violation,) = search(task.question(), policy=task.policy).violations
    assert violation.property.name in Kept.ACKED.goals
    refutation = KEPT[release, faults, Kept.ACKED].refutation
    assert refutation is not None
    assert refutation.steps == violation.trace_length - 1


@pytest.mark.slow
@pytest.mark.long
def test_every_refuted_cell_is_refuted_again() -> None:
    """As the table asks it: where clean crashes suffice, nothing that goes wrong besides is looked at."""
    found = refuted_cells(said_to_be_refuted(), ReleaseWork(Limits(2, 600.0), BatchLimits.default(2)))
    assert steps_of(found) == steps_of({place: KEPT[place] for place in said_to_be_refuted()})


def steps_of(cells: Mapping[Any, ReleaseCell]) -> dict[Any, int]:
    """How long the traces are that refute cells."""
    return {place: cell.refutation.steps for place, cell in cells.items() if cell.refutation is not None}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("faults", FaultClass)
def test_every_cell_of_the_page_is_what_the_command_finds(faults: FaultClass) -> None:
    cells = fill_table(RELEASES, (faults,), ReleaseWork(Limits(2, 600.0), BatchLimits.default(2)))
    found = {(item.release, item.faults, item.promise): item.verdict.value for item in cells}
    assert found == {place: cell.verdict.value for place, cell in KEPT.items() if cell.faults is faults}
