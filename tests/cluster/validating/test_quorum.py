"""What controllers' lines say of their quorum: read as Kafka words it, and each promise that lines may contradict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acked.base.errors import SpecUnreadable
from acked.cli import main
from acked.cluster.validating.quorum import judge_quorum

LEADS = (
    "Completed transition to Leader(localVoterNode=VoterNode(voterKey=ReplicaKey(id={node}, directoryId=Optional[x]), "
    "listeners=Endpoints(endpoints={{}}), supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:1]), "
    "epoch={epoch}, epochStartOffset={start}, highWatermark=Optional.empty, voterStates={{{states}}}) from CandidateState("
    "localId={node}, localDirectoryId=x, epoch={epoch}, epochElection=x, highWatermark=Optional.empty, electionTimeoutMs=1)"
)
FOLLOWS = "Completed transition to FollowerState(fetchTimeoutMs=2000, epoch={epoch}, leader=1) from Unattached(epoch={epoch})"
KNOWS = "High watermark set to {some}(offset={offset}, metadata=x) for the first time for epoch {epoch}"
VOTERS = "Latest set of voters is VoterSet(voters={{{states}}}) at offset {offset}"
STARTED = "Registered signal handlers for TERM, INT, HUP"
EMPTY = "Completed transition to UnattachedState(epoch=0, leaderId=OptionalInt.empty, x) from null"


def states(*voters: int) -> str:
    return ", ".join(f"{one}=ReplicaState(replicaKey=ReplicaKey(id={one}, directoryId=Optional[x]))" for one in voters)


def leads(node: int, epoch: int, start: int, *voters: int) -> str:
    return LEADS.format(node=node, epoch=epoch, start=start, states=states(*(voters or (0, 1, 2))))


def knows(epoch: int, offset: int, some: str = "LogOffsetMetadata") -> str:
    """A follower words it as something that may not be there."""
    return KNOWS.format(epoch=epoch, offset=offset, some=some)


def sets(offset: int, *voters: int) -> str:
    return VOTERS.format(offset=offset, states=states(*voters))


def logs(folder: Path, **nodes: list[str]) -> Path:
    """A file for each controller, with Kafka's own layout."""
    for name, lines in nodes.items():
        head = f"[2026-11-26 20:00:00,000] INFO [RaftManager id={name[1:]}] "
        (folder / f"{name}.log").write_text("".join(f"{head}{line} (o.a.k.raft.QuorumState)\n" for line in lines))
    return folder


def breaches(folder: Path) -> list[str]:
    return [one.promise for one in judge_quorum([str(folder)]).breaches]


def test_what_a_quorum_may_do_is_valid_and_told_in_both_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = logs(
        tmp_path,
        c0=[leads(0, 1, 0), knows(1, 3), sets(5, 0, 1), FOLLOWS.format(epoch=4)],
        c1=[FOLLOWS.format(epoch=1), sets(5, 0, 1), leads(1, 4, 9, 0, 1), knows(4, 10), sets(12, 0, 1, 2)],
        c2=[FOLLOWS.format(epoch=1), STARTED, EMPTY, FOLLOWS.format(epoch=4), knows(4, 13, "Optional[LogOffsetMetadata")],
    )
    command = ["kafka", "validate", str(folder), "-t", "__cluster_metadata"]
    assert main([*command, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["leaders"] == [
        {"epoch": 1, "controller": 0, "from_offset": 0}, {"epoch": 4, "controller": 1, "from_offset": 9},
    ]  # fmt: skip
    assert (document["controllers"], document["new_disks"]) == ([0, 1, 2], 1)
    assert {"controller": 1, "offset": 12, "voters": [0, 1, 2]} in document["voters"]
    assert {"epoch": 4, "controller": 2, "first": 13} in document["high_watermarks"]
    assert main(command) == 0
    assert "2 epochs with a leader" in capsys.readouterr().out


@pytest.mark.parametrize(("nodes", "promise"), [
    ({"c0": [leads(0, 3, 5)], "c1": [leads(1, 3, 5)]}, "OneLeaderPerEpoch"),
    ({"c0": [leads(0, 3, 5)], "c1": [FOLLOWS.format(epoch=2), knows(2, 6)]}, "LeaderCompleteness"),
    ({"c0": [leads(0, 3, 5), knows(3, 5)]}, "KAFKA-12619"),
    ({"c0": [FOLLOWS.format(epoch=3), FOLLOWS.format(epoch=2)]}, "epochs only grow"),
    ({"c0": [FOLLOWS.format(epoch=3), EMPTY]}, "epochs only grow"),
    ({"c0": [leads(0, 3, 5), sets(8, 1, 2, 3)]}, "one voter changes at a time"),
])  # fmt: skip
def test_what_it_may_not_do_is_told_with_the_promise_and_the_line(
    nodes: dict[str, list[str]], promise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert breaches(logs(tmp_path, **nodes)) == [promise]
    assert main(["kafka", "validate", str(tmp_path), "-t", "__cluster_metadata"]) == 12
    told = capsys.readouterr().out
    assert promise in told
    assert "c0.log:" in told.replace("\n", "").replace(" ", "")


def test_a_follower_may_find_other_sets_where_it_has_truncated(tmp_path: Path) -> None:
    assert breaches(logs(tmp_path, c0=[FOLLOWS.format(epoch=3), sets(8, 0, 1), sets(9, 0, 1, 2, 3)])) == []


def test_logs_of_no_controller_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.log").write_text("a line of a broker\n")
    with pytest.raises(SpecUnreadable, match=r"no line of .* tells of a quorum"):
        judge_quorum([str(tmp_path)])
