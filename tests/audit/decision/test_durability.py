"""The durability table: what is known of it, and that nothing undecided is taken for safe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acked.audit.decision.durability import Axes, DurabilityTable, Filled, State, check, fill, read_table, set_axis
from acked.audit.decision.faults import CrashKind
from acked.base.errors import AckedError, ConfigurationError
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits
from tests.audit.decision.kept import KEPT

pytestmark = pytest.mark.slow

KINDS = (CrashKind.CLEAN, CrashKind.ONE_MACHINE, CrashKind.ONE_LOSSY)
SMALL = DurabilityTable(Axes(("2.8.1", "4.1"), ("1", "all"), (1, 2, 3), (2,), (False, True), KINDS))


@pytest.fixture(scope="module")
def small() -> Filled:
    return fill(SMALL, KEPT)


def states(filled: Filled, **wanted: object) -> set[State]:
    return {
        cell.state for cell in filled.cells if all(getattr(cell.place, name) == value for name, value in wanted.items())
    }


def test_acks_1_loses_records_whatever_else_is_set(small: Filled) -> None:
    assert states(small, acks="1") == {State.BREAKS}


def test_acks_all_with_clean_elections_keeps_them_through_clean_crashes(small: Filled) -> None:
    kept = states(small, acks="all", unclean_election=False, crashes=CrashKind.CLEAN, min_insync_replicas=2)
    assert kept == {State.KEEPS}


def test_one_lossy_crash_is_survived_only_with_eligible_leaders_two_in_sync_and_orderly_shutdowns(small: Filled) -> None:
    lossy = {"acks": "all", "unclean_election": False, "min_insync_replicas": 2}
    assert states(small, version="2.8.1", crashes=CrashKind.ONE_MACHINE, **lossy) == {State.BREAKS}
    assert states(small, version="4.1", crashes=CrashKind.ONE_MACHINE, **lossy) == {State.KEEPS}
    assert states(small, version="4.1", crashes=CrashKind.ONE_LOSSY, **lossy) == {State.BREAKS}


def test_more_in_sync_replicas_than_there_are_make_a_partition_unwritable_until_3_7(small: Filled) -> None:
    wanted = {"acks": "all", "min_insync_replicas": 3, "unclean_election": False, "crashes": CrashKind.CLEAN}
    assert states(small, version="2.8.1", **wanted) == {State.UNWRITABLE}
    assert states(small, version="4.1", **wanted) == {State.KEEPS}


def test_a_cell_that_met_its_bound_is_undecided_and_so_is_the_table() -> None:
    axes = Axes(("4.1",), ("all",), (2,), (2,), (False,), (CrashKind.CLEAN,))
    filled = fill(DurabilityTable(axes, max_states=20), KEPT)
    assert [cell.state for cell in filled.cells] == [State.UNDECIDED]
    assert not filled.is_decided


def test_an_interrupted_table_goes_on_where_it_stopped(tmp_path: Path) -> None:
    axes = Axes(("4.1",), ("1",), (1, 2), (2,), (False,), (CrashKind.CLEAN,))

    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    one = ResultCache(tmp_path, "test")
    with pytest.raises(Stop):
        fill(DurabilityTable(axes), BatchLimits(1, 1 << 30), one, stop)
    stored = list((tmp_path / "answers").iterdir())
    assert stored
    before = {path: path.stat().st_mtime_ns for path in stored}
    filled = fill(DurabilityTable(axes), KEPT, ResultCache(tmp_path, "test"))
    assert filled.is_decided
    assert {path: path.stat().st_mtime_ns for path in stored} == before, "what was stored is not searched again"


def test_a_file_gives_axes_and_bounds(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(
        'property = "ReadsStay"\n[axes]\nacks = ["all", "-1"]\nunclean_election = [true]\ncrashes = ["lossy"]\n'
        'version = ["3.9:zookeeper"]\n[bounds]\nlog_size = 2\n'
    )
    table = read_table(file)
    assert table.axes.acks == ("all", "all")
    assert (table.axes.unclean_election, table.axes.crashes) == ((True,), (CrashKind.LOSSY,))
    assert (table.property, table.log_size, table.records) == ("ReadsStay", 2, 2)
    with pytest.raises(ConfigurationError, match="twice"):
        check(table)
    check(replace(table, axes=set_axis(table.axes, "acks", ["all"])))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("axes = 1", "must be a table"),
        ("[axes]\nack = [1]", "did you mean"),
        ("[axes]\nacks = 1", "must be a list"),
        ("[axes]\ncrashes = ['lossey']", "choose from"),
        ("[axes]\nreplicas = [true]", "not a number"),
        ("[axes]\nunclean_election = [2]", "neither on nor off"),
        ("[bounds]\nlog_sizes = 1", "no bound"),
        ("[bounds]\nlog_size = 0", "from 1"),
        ("propety = 'x'", "did you mean"),
        ("x", "not valid TOML"),
        ("\0", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text(text)
    with pytest.raises(AckedError, match=reason):
        read_table(file)


@pytest.mark.parametrize(
    ("axis", "values", "reason"),
    [("replicas", ["6"], "from 1 to 5"), ("acks", ["2"], "acks"), ("version", ["2.9"], "did you mean"),
     ("version", ["4.0:zookeeper"], "runs on kraft"), ("replicas", [], "no values"),
     ("min_insync_replicas", ["1", "1"], "twice")],
)  # fmt: skip
def test_values_that_there_are_not_are_refused(axis: str, values: list[str], reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        check(replace(DurabilityTable(), axes=set_axis(Axes(), axis, values)))


def test_a_property_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="AckedRecordsSurvive"):
        check(DurabilityTable(property="AckedRecordSurvive"))


def test_two_records_show_what_one_does_not_in_2_8_0() -> None:
    """KAFKA-13141, mended in 2.8.1: a fetch that diverges counts as one that has caught up."""
    axes = Axes(("2.8", "2.8.1"), ("all",), (2,), (3,), (False,), (CrashKind.CLEAN,))
    assert [cell.state for cell in fill(DurabilityTable(axes), KEPT).cells] == [State.BREAKS, State.KEEPS]
    assert [cell.state for cell in fill(DurabilityTable(axes, records=1), KEPT).cells] == [State.KEEPS, State.KEEPS]
