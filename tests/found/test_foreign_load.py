"""Foreign load (gallery row 96) on Kafka's own `CoordinatorRuntime`, as its releases are, with a loader that the test holds,
and on unmodified brokers, of which nothing is held.

The control of the first is that the second load ends, the one that the coordinator began itself; that of brokers, that
leadership does not go away and come back.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.cluster import Cluster
from tests.cluster.conftest import real_plan, users_cache
from tests.found.foreign_load import HAS_IT, LOADS, NO_OFFSET, NOT_HERE, begin, plan, play
from tests.found.java import SOURCES, compiled, kafka, mended, mended_home, ran

__all__ = ["users_cache"]
pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1", "4.2.2", "4.1.2", "4.0.0"])
def test_a_coordinator_becomes_active_with_the_load_of_a_former_one_and_has_no_offsets_and_the_mended_one_loads(
    version: str, users_cache: None, tmp_path: Path
) -> None:
    jars = kafka(version)
    compiled(jars.class_path, [SOURCES / "ForeignLoad.java"], tmp_path)
    assert answers((tmp_path, jars.class_path)) == {"first": "2 loads; null", "second": "2 loads; offset 42"}
    own_load = (tmp_path, mended("OwnLoad", jars, tmp_path), jars.class_path)
    assert answers(own_load) == {"first": "2 loads; CoordinatorLoadInProgressException", "second": "2 loads; offset 42"}


def answers(class_path: tuple[Path | str, ...]) -> dict[str, str]:
    """What the read is answered, by the load that ends before it."""
    done = {ended: ran(class_path, "ForeignLoad", ended) for ended in ("first", "second")}
    assert {one.returncode for one in done.values()} == {0}, done
    return {ended: one.stdout.strip() for ended, one in done.items()}


@pytest.mark.parametrize("version", ["4.4.0", "4.3.1"])
def test_brokers_say_that_a_group_has_no_offset_and_its_consumer_skips_records_and_without_the_moves_do_not(
    version: str, users_cache: None
) -> None:
    real_plan(version, {})  # Skips where there are none, and fetches the jars.
    with Cluster(add_archive(plan(version))) as cluster:
        begin(cluster)
        kept = play(cluster, moves_back_and_forth=False)
        print(version, "without the moves", kept)
        lost = play(cluster, moves_back_and_forth=True)
        print(version, lost)
    assert kept.answers == (NOT_HERE, LOADS, HAS_IT)
    assert kept.read[0] == "r7"
    assert lost.answers == (NOT_HERE, LOADS, NOT_HERE, LOADS, NO_OFFSET, HAS_IT)
    assert len(lost.read) == 1  # The one that was written last: r7 to the one before it are skipped.


def test_brokers_with_the_mended_class_say_that_they_load_until_the_offset_is_there(
    users_cache: None, tmp_path: Path
) -> None:
    version = "4.4.0"
    real_plan(version, {})
    with Cluster(plan(version, mended_home("OwnLoad", version, tmp_path))) as cluster:
        begin(cluster)
        kept = play(cluster, moves_back_and_forth=True)
        print(version, "mended", kept)
    assert kept.answers == (NOT_HERE, LOADS, NOT_HERE, LOADS, HAS_IT)
    assert kept.read[0] == "r7"
