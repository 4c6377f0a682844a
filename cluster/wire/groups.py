"""The requests of a consumer in a group: who coordinates it, who is in it, and how far it has read (classic protocol).

Every request is asked of one given broker and nothing is retried. Assignments are ours: a group of this protocol type is read
by no broker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import IntEnum, unique

from acked.base.frozen import frozen
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import Client

_PROTOCOL, _SESSION_MS = "acked", 10_000
_JOIN = 2
_NAMED = 1
"""The version in which FindCoordinator says of what a coordinator is asked for (KIP-98)."""


@unique
class Coordinates(IntEnum):
    """Of what a coordinator is asked for."""

    GROUP = 0
    TRANSACTION = 1


@frozen
class Membership:
    """A member in one generation of its group, with the partitions that it has; `error` where it is not in."""

    error: int
    member: str = ""
    generation: int = -1
    partitions: tuple[int, ...] = ()


def find_coordinator(ask: Client, key: str, of: Coordinates) -> tuple[int, int]:
    """Error and the broker that coordinates a group or a transactional id."""
    body = ask.ask(Api.FIND_COORDINATOR, {"key": key, "key_type": of.value}, _NAMED)
    return int(body.error_code), body.node_id


def send_join(
    ask: Client, group: str, member: str, protocol_type: str = _PROTOCOL, session_ms: int = _SESSION_MS
) -> None:
    """Asks to be in a group, as the member that one was or anew (""); the answer comes when all have joined."""
    asked = {"group_id": group, "session_timeout": session_ms, "rebalance_timeout": session_ms, "member_id": member,
             "protocol_type": protocol_type, "protocols": [{"name": _PROTOCOL, "metadata": b""}]}  # fmt: skip
    ask.send(Api.JOIN_GROUP, asked, _JOIN)


def join(
    ask: Client, group: str, member: str, partitions: int, protocol_type: str = _PROTOCOL, session_ms: int = _SESSION_MS
) -> Membership:
    """Joins a group; returns when all have joined and its leader has shared out the partitions, 0 to `partitions` - 1."""
    send_join(ask, group, member, protocol_type, session_ms)
    joined = ask.receive(Api.JOIN_GROUP, _JOIN)
    if joined.error_code:
        return Membership(int(joined.error_code), joined.member_id)
    shares = _shares([one.member_id for one in joined.members], partitions) if joined.leader == joined.member_id else {}
    synced = ask.ask(Api.SYNC_GROUP, {
        "group_id": group, "generation_id": joined.generation_id, "member_id": joined.member_id,
        "assignments": [{"member_id": name, "assignment": share} for name, share in shares.items()],
    }, 1)  # fmt: skip
    mine = () if synced.error_code else tuple(json.loads(synced.assignment or b"[]"))
    return Membership(int(synced.error_code), joined.member_id, joined.generation_id, mine)


def _shares(members: Sequence[str], partitions: int) -> dict[str, bytes]:
    ordered = sorted(members)
    return {name: json.dumps(list(range(at, partitions, len(ordered)))).encode() for at, name in enumerate(ordered)}


def beat(ask: Client, group: str, mine: Membership) -> int:
    """A heartbeat; an error where the member has to join again."""
    asked = {"group_id": group, "generation_id": mine.generation, "member_id": mine.member}
    return int(ask.ask(Api.HEARTBEAT, asked, 1).error_code)


def leave(ask: Client, group: str, member: str) -> int:
    """Leaves the group; returns the error."""
    return int(ask.ask(Api.LEAVE_GROUP, {"group_id": group, "member_id": member}, 1).error_code)


def commit_offsets(ask: Client, group: str, mine: Membership, topic: str, offsets: Mapping[int, int]) -> int:
    """Commits offsets by partition; returns the first error."""
    partitions = [
        {"partition_index": number, "committed_offset": offset, "committed_metadata": ""}
        for number, offset in offsets.items()
    ]
    asked = {"group_id": group, "generation_id_or_member_epoch": mine.generation, "member_id": mine.member,
             "topics": [{"name": topic, "partitions": partitions}]}  # fmt: skip
    answers = [one for answered in ask.ask(Api.OFFSET_COMMIT, asked, 2).topics for one in answered.partitions]
    return next((int(one.error_code) for one in answers if one.error_code), 0)
