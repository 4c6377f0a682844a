"""One request or response on its way between two nodes."""

from __future__ import annotations

import struct
from enum import StrEnum, unique
from functools import cached_property

from acked.base.frozen import frozen
from acked.cluster.wire.apis import api_name
from acked.cluster.wire.facts import Facts, request_facts, response_facts

Address = tuple[str, int]


@unique
class Phase(StrEnum):
    """Which way a frame goes: requests from the source of a link to its target, responses back."""

    REQUEST = "request"
    RESPONSE = "response"


@unique
class LinkKind(StrEnum):
    """Which protocol a link carries."""

    KAFKA = "kafka"
    ZOOKEEPER = "zookeeper"


@frozen
class Link:
    """A directed pair of nodes: what connects to `listen` is the source, and is led to the target at `forward`."""

    source: int
    target: int
    listen: Address
    forward: Address
    kind: LinkKind = LinkKind.KAFKA


@frozen(eq=False)
class Frame:
    """A frame without its length. `api` is the opcode on links to ZooKeeper, and None for what has no key: a greeting."""

    link: Link
    connection: int
    phase: Phase
    api: int | None
    version: int
    correlation: int
    payload: bytes

    @property
    def source(self) -> int:
        """The node that opened the connection, of responses too."""
        return self.link.source

    @property
    def target(self) -> int:
        """The node that the connection leads to."""
        return self.link.target

    @cached_property
    def facts(self) -> Facts:
        """What the frame says of replication."""
        if self.link.kind is not LinkKind.KAFKA or self.api is None:
            return None
        return (
            request_facts(self.payload)
            if self.phase is Phase.REQUEST
            else response_facts(self.api, self.version, self.payload)
        )

    def __str__(self) -> str:
        name = api_name(self.api) if self.link.kind is LinkKind.KAFKA else f"zookeeper {self.api}"
        return f"{self.source} to {self.target}: {name} v{self.version} {self.phase}"


_CREATE, _SET_DATA, _MULTI, _CREATE_2 = 1, 5, 14, 15
_NOTIFICATION = struct.pack(">i", -1)
"""The request number of a watch that fires, which answers no request."""


def writes(frame: Frame, path: str) -> bool:
    """Whether a request to ZooKeeper creates or changes a node, alone or among other writes in one."""
    is_write = frame.api in (_CREATE, _SET_DATA, _MULTI, _CREATE_2)
    return _is_of_zookeeper(frame, Phase.REQUEST) and is_write and _path_bytes(path) in frame.payload


def notifies(frame: Frame, path: str) -> bool:
    """Whether ZooKeeper tells that something has happened to a node."""
    is_told = frame.payload.startswith(_NOTIFICATION) and _path_bytes(path) in frame.payload
    return _is_of_zookeeper(frame, Phase.RESPONSE) and is_told


def _is_of_zookeeper(frame: Frame, phase: Phase) -> bool:
    return frame.link.kind is LinkKind.ZOOKEEPER and frame.phase is phase


def _path_bytes(path: str) -> bytes:
    """A path as ZooKeeper's protocol writes it, after its length."""
    return struct.pack(">i", len(path)) + path.encode()


CLOSE_SESSION = -11
_NOT_AN_XID = 0x7FFFFFF0


def close_session() -> bytes:
    """What ends the ZooKeeper session of the connection on which it is sent, as its expiry would."""
    return struct.pack(">iii", 8, _NOT_AN_XID, CLOSE_SESSION)
