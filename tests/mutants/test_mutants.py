"""Faulty brokers: what docs/kafka_mutants.json says of each, and that one of them is convicted today.

`tests.mutants.kafka_mutants.py` measures the rows.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from acked.cluster.exercising.exercise import DATA, REPLICAS, TOPIC, Exercise, acknowledged_file
from acked.cluster.observe.acknowledgements import write_acknowledged
from acked.cluster.observe.directories import META
from acked.cluster.observe.disk import EpochStart, partition_folder, write_epochs
from tests.cluster.conftest import real_plan, users_cache
from tests.cluster.observe.test_directories import batch
from tests.found.playing.java import kafka
from tests.mutants.kafka_mutants import CONTROL, FAULTS, convicted, disturb, in_words, judged, rows, wrong_on_disks
from tests.mutants.mutants import KINDS, counts, mutant_home, mutants, mutate
from tests.places import CHECKOUT

__all__ = ["users_cache"]

VERSION, MUTANTS = mutants()
ROWS = {name: row for (version, name), row in rows().items() if version == VERSION}
WHOLE = tuple(batch(offset, 0, f"r{offset}") for offset in range(3))
"""A replica of three records."""


def test_rows_are_those_of_known_mutants_and_the_control_leads() -> None:
    assert list(ROWS) == [CONTROL, *(name for name in MUTANTS if name in ROWS)]
    assert all(row["breaks"] == MUTANTS[name].breaks for (_, name), row in rows().items() if name != CONTROL)


def test_no_two_mutants_change_the_same_place() -> None:
    places = [(one.owner, one.method, one.call, one.which) for one in MUTANTS.values()]
    assert len(set(places)) == len(MUTANTS)
    assert {one.kind for one in MUTANTS.values()} == set(KINDS)
    assert all(1 <= one.which <= one.among and one.every >= 1 for one in MUTANTS.values())


def test_nothing_convicts_the_release_as_it_is() -> None:
    control = ROWS[CONTROL]
    assert (control["convicted"], control["lines"], control["disks"], control["failed"]) == ("neither", "valid", [], "")
    assert control["acknowledged"] > 1000


def test_at_least_twelve_mutants_were_reached_and_each_verdict_is_that_of_its_lines_and_disks() -> None:
    assert {name: convicted(row) for name, row in ROWS.items()} == {name: row["convicted"] for name, row in ROWS.items()}
    assert sum(row["differed"] > 0 for row in ROWS.values()) >= 11
    assert all(row["differed"] <= row["reached"] for row in ROWS.values())
    assert all(bool(row["sentence"]) == (row["lines"] != "valid") for row in ROWS.values())


def test_what_neither_lines_nor_disks_convict_says_why() -> None:
    assert {name for name, one in MUTANTS.items() if one.unseen and name in ROWS} == {
        name for name, row in ROWS.items() if row["convicted"] == "neither" and name != CONTROL
    }


@pytest.mark.parametrize(
    ("differed", "lines", "disks", "expected"),
    [
        (1, "valid", [], "neither"),
        (1, "not explained", [], "lines"),
        (1, "refused", [], "refused"),
        (1, "promise broken", ["a record is not there"], "both"),
        (1, "valid", ["a record is not there"], "disks"),
        (0, "valid", [], "no difference"),
    ],
)
def test_a_mutant_is_convicted_by_lines_that_are_not_valid_and_by_disks_that_differ(
    differed: int, lines: str, disks: list[str], expected: str
) -> None:
    assert convicted({"mutant": "lost_write", "reached": 1, "differed": differed, "lines": lines, "disks": disks}) == expected


def disks(folder: Path, batches: Sequence[bytes], epochs: Sequence[EpochStart] = (EpochStart(0, 0),)) -> Path:
    """What an exercise leaves: broker 2 has these batches, and the others `WHOLE`."""
    for broker in REPLICAS:
        partition = partition_folder(folder / DATA / str(broker), TOPIC)
        partition.mkdir(parents=True)
        (partition / "00000000000000000000.log").write_bytes(b"".join(batches if broker == 2 else WHOLE))
        write_epochs(partition, epochs)
        (folder / DATA / str(broker) / META).write_text(f"node.id={broker}\n", "utf-8")
    write_acknowledged(folder / acknowledged_file(0), {0: b"r0", 1: b"r1"})
    return folder


def test_disks_that_agree_with_what_was_acknowledged_say_nothing(tmp_path: Path) -> None:
    assert wrong_on_disks(disks(tmp_path, WHOLE), True) == []


def test_a_record_that_is_another_on_a_replica_and_an_epoch_that_begins_elsewhere_are_found_on_disks(tmp_path: Path) -> None:
    differs, missing = wrong_on_disks(disks(tmp_path / "another", [WHOLE[0], batch(1, 0, "x"), WHOLE[2]]), True)
    assert differs.startswith("below the high watermark 3 the replicas differ: broker 0 has offsets 1 to 1")
    assert missing.startswith("broker 2, which is in sync: 1 acknowledged record is not there")
    other = wrong_on_disks(disks(tmp_path / "elsewhere", WHOLE, (EpochStart(0, 1),)), True)
    assert len(other) == 3
    assert all(": leader-epoch-checkpoint says epoch 0 from 1" in text for text in other)


def test_the_page_has_the_counts_that_were_measured() -> None:
    page = (CHECKOUT / "docs" / "validate.md").read_text("utf-8")
    counted = Counter(row["convicted"] for name, row in ROWS.items() if name != CONTROL)
    assert in_words(counted) in page.replace("\n", " ")


@pytest.mark.real
@pytest.mark.slow
def test_every_change_fits_exactly_one_place_of_the_release(users_cache: None, tmp_path: Path) -> None:
    real_plan(VERSION, {})  # Skips where there are none, and fetches the jars.
    folder = mutate(MUTANTS.values(), kafka(VERSION), tmp_path)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.class")} == {
        f"{name}/{one.owner}.class" for name, one in MUTANTS.items()
    }


@pytest.mark.real
@pytest.mark.slow
def test_a_high_watermark_ahead_of_the_isr_is_convicted_by_the_lines(
    users_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real_plan(VERSION, {})  # Skips where there are none, and fetches the jars.
    jars, [name, logs] = kafka(VERSION), ["hw_without_isr", tmp_path / "logs"]
    mutate([MUTANTS[name]], jars, tmp_path)
    home = mutant_home(name, jars, tmp_path)
    logs.mkdir()
    monkeypatch.setenv("ACKED_CACHE_DIR", f"{os.devnull}/none")  # A class archive of these jars is of no use later.
    disturbed = disturb(name, Exercise(VERSION, 0.2, 334, FAULTS, 60.0, home=home), logs)
    row = judged(MUTANTS[name].breaks, disturbed, logs)
    print(row)
    assert counts(home).differed > 0
    assert (row["convicted"], row["lines"]) == ("lines", "not explained")
    assert "notes fetch" in row["sentence"]
