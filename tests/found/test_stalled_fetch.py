"""A fetch that is checked in one leader epoch and counted in another, on Kafka's own `Partition` and on brokers.

Two mended classes: that of stale log ends (gallery row 36) prevents nothing here; with `ReplicaOfEpoch` a partition has other
`Replica`s in each leader epoch, and only the one that it has now may join the ISR.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.conftest import real_plan, users_cache
from tests.found.playing.java import SOURCES, compiled, kafka, mended, mended_home, ran
from tests.found.playing.stalled_fetch import play

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]

COMMITS = """\
counted in epoch 2: log end of 1 1, high watermark 0
2 has the record: log end of 1 1, high watermark 1
"""
WAITS = """\
counted in epoch 2: log end of 1 -1, high watermark 0
2 has the record: log end of 1 -1, high watermark 0
"""
ASKED = "isrWithBrokerEpoch=[BrokerState(brokerId=0, brokerEpoch=1), BrokerState(brokerId=1, brokerEpoch=1), BrokerState("
ADMITS = "counted in epoch 2: log end of 1 0, high watermark 1\n"


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_a_leader_counts_a_fetch_of_a_former_epoch_unless_each_epoch_has_replicas_of_its_own(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars, classes = kafka(version), tmp_path / "classes"
    classes.mkdir()
    sources = [SOURCES / f"{name}.java" for name in ("Filled", "StalledFetch", "StaleLogEnds")]
    compiled(jars.class_path, [*sources, SOURCES / "4.3" / "Registered.java"], classes)
    for first in ((), (mended("Partition", jars, tmp_path),)):
        commits = ran((classes, *first, jars.class_path), "StalledFetch", "commits")
        assert commits.stdout == COMMITS, commits.stderr
        admits = ran((classes, *first, jars.class_path), "StalledFetch", "admits")
        assert ASKED in admits.stdout, admits.stderr  # Broker 1 is to join the ISR; of its log end 0 is known.
        assert admits.stdout.endswith(ADMITS), admits.stderr
    both = (classes, mended("ReplicaOfEpoch", jars, tmp_path), jars.class_path)
    commits, admits = ran(both, "StalledFetch", "commits"), ran(both, "StalledFetch", "admits")
    assert (commits.stdout, admits.stdout) == (WAITS, ADMITS), (commits.stderr, admits.stderr)
    stale = ran(both, "StaleLogEnds")  # The other finding is mended by it, too.
    assert stale.returncode == 0, stale.stderr


def test_brokers_let_an_empty_follower_into_the_isr_and_lose_a_record_and_with_the_mended_class_do_not(
    users_cache: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    lost = play(version)
    print(lost)
    assert lost.acknowledged == {1: 0}  # r1, at offset 0.
    assert (lost.asked, lost.leader, lost.left) == ((0, 1, 2), 1, ())
    assert lost.broken >= {"AckedRecordsSurvive", "AckedRecordsExist"}
    home = mended_home("ReplicaOfEpoch", version, tmp_path)
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))  # A class archive of these jars is of no use later.
    kept = play(version, home)
    print(kept)
    assert kept.acknowledged == {1: 0}
    assert (kept.asked, kept.leader, kept.left) == ((), 0, ("r1",))
    assert kept.broken == set()
