"""Stories on real brokers, each with a control that goes another way: the release, or the fault, is another."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.releases.release import Mode
from acked.cluster.topics.topic import SECONDS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.facts import PartitionState
from tests.cluster.conftest import real_plan
from tests.cluster.stories.scripted import STORIES, reset
from tests.cluster.stories.stage import Stage
from tests.places import CHECKOUT

pytestmark = [pytest.mark.real, pytest.mark.slow]


@dataclass(frozen=True)
class Case:
    """A story on a release, how often in a row, what is acknowledged and lost, and what the brokers' own logs say of it."""

    story: str
    version: str
    acknowledged: tuple[str, ...] = ("r0",)
    lost: tuple[str, ...] = ()
    log: tuple[str, ...] = ("r0",)
    says: str = ""
    mode: Mode | None = None
    times: int = 1

    def __str__(self) -> str:
        return f"{self.story}-{self.version}"


def loses(story: str, version: str, says: str = "", mode: Mode | None = None, times: int = 1) -> Case:
    """The record that was acknowledged is lost."""
    return Case(story, version, lost=("r0",), log=(), says=says, mode=mode, times=times)


CASES = [
    loses("kip101", "0.10.2.2", "Truncating log t1-0 to offset 0", times=2),
    Case("kip101", "0.11.0.3", says="No truncation needed", times=2),
    loses("no-epoch-yet", "2.0.0", "Truncating to offset 0", times=2),
    Case("no-epoch-yet", "2.0.1", times=2),
    Case("past-epoch", "2.4.1", ("r1",), ("r1",), ("r0",)),
    Case("past-epoch", "2.5.1", ()),
    Case("diverging", "2.8.0", ("r1",), ("r1",), ("r0",), times=2),
    Case("diverging", "2.8.2", ()),
    loses("acks-1", "4.1.0"),
    loses("alone", "0.10.2.2"),
    loses("unclean", "2.1.1"),
    Case("lost-answer", "4.1.0", log=("r0", "r0")),
    Case("lost-answer-idempotent", "4.1.0"),
    Case("library-retries", "4.1.0", log=("r0", "r0")),
    Case("library-retries-idempotent", "4.1.0"),
    Case("library-overtakes", "4.1.0", ("r0", "r2", "r1"), log=("r0", "r2", "r1")),
    Case("library-overtakes-idempotent", "4.1.0", ("r0", "r1", "r2"), log=("r0", "r1", "r2")),
    loses("kills", "4.1.0", "Truncating to offset 0"),
    Case("shutdowns", "4.1.0"),
    loses("shutdowns", "3.9.1", mode=Mode.KRAFT),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_story_ends_on_real_brokers_as_it_is_told(case: Case, users_cache: None) -> None:
    story = STORIES[case.story]
    told: list[str] = []
    with Cluster(real_plan(case.version, dict(story.settings), case.mode)) as cluster:
        pids = [str(node.jvm.pid) for node in cluster.nodes.values() if node.jvm is not None]
        for number in range(case.times):
            stage = Stage(cluster, f"t{number}", told.append)
            outcome = story.play(stage)
            seen = (tuple(stage.acknowledged), outcome.lost, outcome.log)
            assert seen == (case.acknowledged, case.lost, case.log), told
            if number < case.times - 1:
                reset(stage, cluster)
        assert case.says in "\n".join(outcome.lines), outcome.lines
    assert not cluster.folder.exists()
    assert running(pids) == [], "processes that were left"


@pytest.mark.parametrize(("version", "mode"), [("2.8.2", Mode.ZOOKEEPER), ("4.1.0", Mode.KRAFT)])
def test_a_leaders_request_for_another_isr_waits_at_a_gate(version: str, mode: Mode, users_cache: None) -> None:
    with Cluster(real_plan(version, {}, mode)) as cluster:
        stage = Stage(cluster, "t")
        stage.create([0, 1])
        stage.crash(1)
        stage.await_isr({0})
        gate = cluster.network.hold(0, CONTROLLER, Api.ALTER_PARTITION)
        stage.restart(1)
        facts = gate.wait(SECONDS).facts
        assert isinstance(facts, tuple)
        [asked] = facts
        assert isinstance(asked, PartitionState)
        assert set(asked.isr) == {0, 1}
        seen = stage.observe()
        assert seen.partition is not None
        assert (seen.partition.leader, seen.partition.isr, asked.epoch) == (0, (0,), seen.partition.epoch)
        gate.lift()
        stage.await_isr({0, 1})
        stage.move_leadership(1)
        stage.await_leader(1)


def running(pids: list[str]) -> list[str]:
    """Those of some processes that are there."""
    listed = subprocess.run(["ps", "-o", "pid=", "-p", ",".join(pids)], capture_output=True, text=True).stdout.split()
    return [pid for pid in pids if pid in listed]


DRIVER = """\
import sys, time
from pathlib import Path
from acked.cluster.nodes.archive import add_archive
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
with Cluster(add_archive(make_plan("0.11.0.3", brokers=(0,)))) as cluster:
    print(cluster.folder, *(node.jvm.pid for node in cluster.nodes.values()), flush=True)
    time.sleep(600)
"""


def test_real_brokers_do_not_outlive_a_driver_that_is_killed(users_cache: None) -> None:
    real_plan("0.11.0.3", {})
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / ".import")}
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, env=environment, text=True) as driver:
        assert driver.stdout is not None
        folder, *pids = driver.stdout.readline().split()
        assert len(pids) == 3
        assert running(pids) == pids
        driver.kill()
    wait_for(lambda: not running(pids) and not Path(folder).exists(), "the end of the brokers", 20)
