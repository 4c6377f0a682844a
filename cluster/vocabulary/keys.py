"""What Kafka calls the settings that decide about acknowledged records, their values, and their defaults by release.

The table is `keys.toml`. Sources: the configuration classes at the release tags; KIPs and JIRA ids where a default changed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from acked.base.frozen import frozen
from acked.base.release import Release
from acked.cluster.vocabulary.entry import Scope
from acked.model.language.context import Constant
from acked.model.partition.rules import settings

MAX_INT = (1 << 31) - 1


@frozen
class Default:
    """A default and the release since which it is so."""

    since: str
    value: str
    source: str


@frozen
class Key:
    """A setting: whose it can be, how to read a value (the text in its usual form; ValueError says what it must be).

    `constant` is the one of `partition` that it decides, if it alone decides one.
    """

    name: str
    scopes: tuple[Scope, ...]
    read: Callable[[str], str]
    defaults: tuple[Default, ...]
    since: str
    constant: Constant | None

    def constant_value(self, value: str) -> int:
        """What a value is as its constant, whose range ends where more makes no difference."""
        assert self.constant is not None
        if self.constant.names:
            return self.constant.read(value)
        number = {"false": 0, "true": 1}.get(value)
        return min(int(value) if number is None else number, self.constant.hi)

    def default(self, version: Release) -> Default | None:
        """The default in a release; None where it has no such setting."""
        fitting = [item for item in self.defaults if version.since(item.since)]
        return fitting[-1] if fitting and version.since(self.since) else None


def _integer(lo: int, hi: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not re.fullmatch(r"[+-]?\d{1,20}", text) or not lo <= int(text) <= hi:
            raise ValueError(f"an integer from {lo} to {hi}")
        return str(int(text))

    return read


def _boolean(text: str) -> str:
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower()


def _acks(text: str) -> str:
    if text not in ("all", "-1", "0", "1"):
        raise ValueError("all, -1, 0 or 1")
    return "all" if text == "-1" else text


def _isolation(text: str) -> str:
    if text not in ("read_committed", "read_uncommitted"):
        raise ValueError("read_committed or read_uncommitted")
    return text


def _offset_reset(text: str) -> str:
    known = ("earliest", "latest", "none", "smallest", "largest")
    if text.lower() not in known and not re.fullmatch(r"by_duration:P[0-9A-Z.]+", text, re.IGNORECASE):
        raise ValueError("earliest, latest or none (by_duration:… from 4.0; smallest or largest to 0.8)")
    return text.lower() if text.lower() in known else text


ACKS = "acks"
RETRIES = "retries"
IDEMPOTENCE = "enable.idempotence"
IN_FLIGHT = "max.in.flight.requests.per.connection"
TRANSACTIONAL_ID = "transactional.id"
TRANSACTION_VERSION = "transaction.version"
VERIFICATION = "transaction.partition.verification.enable"
MIN_ISR = "min.insync.replicas"
DEFAULT_FACTOR = "default.replication.factor"
UNCLEAN = "unclean.leader.election.enable"
FLUSH_MESSAGES = "log.flush.interval.messages"
TOPIC_FLUSH_MESSAGES = "flush.messages"
ELR = "eligible.leader.replicas.version"
SELECTOR = "replica.selector.class"
ISOLATION = "isolation.level"
CLIENT_RACK = "client.rack"
OFFSET_RESET = "auto.offset.reset"
AUTO_COMMIT = "enable.auto.commit"
GROUP_INSTANCE = "group.instance.id"
IBP = "inter.broker.protocol.version"
METADATA_VERSION = "metadata.version"
ROLES = "process.roles"
ZOOKEEPER_CONNECT = "zookeeper.connect"

QUORUM_VOTERS = "controller.quorum.voters"
QUORUM_BOOTSTRAP = "controller.quorum.bootstrap.servers"
AUTO_JOIN = "controller.quorum.auto.join.enable"
QUORUM = frozenset({QUORUM_VOTERS, QUORUM_BOOTSTRAP, AUTO_JOIN})
"""Settings of the controllers' quorum: no answer about records hangs on them, and remarks are made on them."""

OFFSETS_FACTOR, TRANSACTIONS_FACTOR = "offsets.topic.replication.factor", "transaction.state.log.replication.factor"
TRANSACTIONS_MIN_ISR = "transaction.state.log.min.isr"
OFFSETS_ACKS, OFFSETS_RETENTION = "offsets.commit.required.acks", "offsets.retention.minutes"
GROUP_PROTOCOL = "group.protocol"
SHARE_FACTOR, SHARE_MIN_ISR = "share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr"
SHARE_RESET, REBALANCE_PROTOCOLS = "share.auto.offset.reset", "group.coordinator.rebalance.protocols"
CLEANUP, BROKER_CLEANUP = "cleanup.policy", "log.cleanup.policy"
DELETES_KEPT, BROKER_DELETES_KEPT = "delete.retention.ms", "log.cleaner.delete.retention.ms"
CLEANER_MAP = "log.cleaner.dedupe.buffer.size"
OF_COORDINATORS = frozenset({
    OFFSETS_FACTOR, TRANSACTIONS_FACTOR, TRANSACTIONS_MIN_ISR, OFFSETS_ACKS, OFFSETS_RETENTION, GROUP_PROTOCOL,
    SHARE_FACTOR, SHARE_MIN_ISR, SHARE_RESET, REBALANCE_PROTOCOLS,
    CLEANUP, BROKER_CLEANUP, DELETES_KEPT, BROKER_DELETES_KEPT, CLEANER_MAP,
})  # fmt: skip
"""Settings of what coordinators and the cleaner keep: none of the answers hangs on them, and remarks are made on them."""

_WHOSE = {
    "broker": (Scope.BROKER, Scope.DYNAMIC_BROKER), "topic": (Scope.TOPIC,), "producer": (Scope.PRODUCER,),
    "consumer": (Scope.CONSUMER,),
}  # fmt: skip
_READERS: Mapping[str, Callable[[str], str]] = {
    "acks": _acks, "any": lambda text: text, "boolean": _boolean, "isolation": _isolation, "offset-reset": _offset_reset,
}  # fmt: skip


def _key(name: str, row: Mapping[str, Any]) -> Key:
    """A setting by its row of the table."""
    lo, _, hi = row["values"].partition(" to ")
    scopes = tuple(scope for word in row["whose"].split() for scope in _WHOSE[word])
    constant = getattr(settings, row["constant"]) if "constant" in row else None
    defaults = tuple(Default(*default) for default in row.get("defaults", ()))
    return Key(name, scopes, _integer(int(lo), int(hi)) if hi else _READERS[lo], defaults, row.get("since", "0.8"), constant)


_TABLE = tomllib.loads(Path(__file__).with_name("keys.toml").read_text("utf-8"))
KEYS: dict[str, Key] = {name: _key(name, row) for name, row in _TABLE.items()}
"""The settings that this audit reads."""
