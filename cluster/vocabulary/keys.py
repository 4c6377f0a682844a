"""What Kafka calls the settings that decide about acknowledged records, their values, and their defaults by release.

Sources: the configuration classes at the release tags; KIPs and JIRA ids where a default changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from acked.base.release import Release
from acked.cluster.vocabulary.entry import IMAGE, REPLICATION_FACTOR, STATED, Scope
from acked.model.language.context import Constant
from acked.model.partition.rules import settings

MAX_INT = (1 << 31) - 1
MAX_LONG = (1 << 63) - 1


@dataclass(frozen=True)
class Default:
    """A default and the release since which it is so."""

    since: str
    value: str
    source: str


@dataclass(frozen=True)
class Key:
    """A setting: whose it can be, how to read a value (the text in its usual form; ValueError says what it must be).

    `constant` is the one of `partition` that it decides, if it alone decides one.
    """

    name: str
    scopes: tuple[Scope, ...]
    read: Callable[[str], str]
    defaults: tuple[Default, ...]
    since: str = "0.8"
    constant: Constant | None = None

    def to_constant(self, value: str) -> int:
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


def _any(text: str) -> str:
    return text


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

_BROKER, _TOPIC = (Scope.BROKER, Scope.DYNAMIC_BROKER), (Scope.TOPIC,)
_PRODUCER, _CONSUMER = (Scope.PRODUCER,), (Scope.CONSUMER,)

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        Key(
            ACKS,
            _PRODUCER,
            _acks,
            (
                Default("0.8", "1", "ProducerConfig to 2.8: 1"),
                Default("3.0", "all", "KIP-679: all from 3.0"),
            ),
            constant=settings.acks,
        ),
        Key(
            RETRIES,
            _PRODUCER,
            _integer(0, MAX_INT),
            (
                Default("0.8", "0", "ProducerConfig to 2.0: 0"),
                Default("2.1", str(MAX_INT), "KIP-91: no bound from 2.1"),
            ),
            constant=settings.retries,
        ),
        Key(
            IDEMPOTENCE,
            _PRODUCER,
            _boolean,
            (
                Default("0.11", "false", "KIP-98: false to 2.8, and in effect to 3.1.0 (KAFKA-13598)"),
                Default("3.0.1", "true", "KIP-679, KAFKA-13598: true in effect from 3.0.1"),
                Default("3.1", "false", "KAFKA-13598: 3.1.0 did not switch on what it documents"),
                Default("3.1.1", "true", "KIP-679, KAFKA-13598: true in effect from 3.1.1"),
            ),
            since="0.11",
            constant=settings.idempotence,
        ),
        Key(
            IN_FLIGHT,
            _PRODUCER,
            _integer(1, MAX_INT),
            (Default("0.8", "5", "ProducerConfig: 5"),),
            constant=settings.in_flight,
        ),
        Key(TRANSACTIONAL_ID, _PRODUCER, _any, (), since="0.11"),
        Key(TRANSACTION_VERSION, _BROKER, _integer(0, 2), (), since="4.0"),
        Key(VERIFICATION, _BROKER, _boolean, (), since="3.6"),
        Key(
            MIN_ISR,
            (*_BROKER, *_TOPIC),
            _integer(1, MAX_INT),
            (Default("0.8", "1", "KafkaConfig: 1 (a setting since 0.8.2)"),),
            constant=settings.min_insync_replicas,
        ),
        Key(
            DEFAULT_FACTOR, _BROKER, _integer(1, 32767), (Default("0.8", "1", "KafkaConfig: default.replication.factor=1"),)
        ),
        Key(REPLICATION_FACTOR, _TOPIC, _integer(1, 32767), (), constant=settings.replicas),
        Key(
            UNCLEAN,
            (*_BROKER, *_TOPIC),
            _boolean,
            (
                Default("0.8", "true", "KafkaConfig to 0.10.2: true"),
                Default("0.11", "false", "KIP-106: false from 0.11"),
            ),
            constant=settings.unclean_election,
        ),
        Key(
            FLUSH_MESSAGES,
            _BROKER,
            _integer(1, MAX_LONG),
            (
                Default("0.8", str(MAX_LONG), "KafkaConfig: no bound"),
            ),
        ),
        Key(TOPIC_FLUSH_MESSAGES, _TOPIC, _integer(1, MAX_LONG), ()),
        Key(
            ELR,
            (*_BROKER, *_TOPIC),
            _integer(0, 1),
            (
                Default("4.0", "0", "KIP-966: off in 4.0"),
                Default("4.1", "1", "KIP-966: on for new clusters from 4.1"),
            ),
            since="4.0",
            constant=settings.eligible_leader_replicas,
        ),
        Key(SELECTOR, _BROKER, _any, (), since="2.4"),
        Key(
            ISOLATION,
            _CONSUMER,
            _isolation,
            (Default("0.11", "read_uncommitted", "ConsumerConfig: read_uncommitted"),),
            since="0.11",
        ),
        Key(CLIENT_RACK, _CONSUMER, _any, (), since="2.4"),
        Key(OFFSET_RESET, _CONSUMER, _offset_reset, ()),
        Key(AUTO_COMMIT, _CONSUMER, _boolean, (), since="0.9"),
        Key(GROUP_INSTANCE, _CONSUMER, _any, (), since="2.3"),
        Key(IBP, _BROKER, _any, ()),
        Key(METADATA_VERSION, _BROKER, _any, ()),
        Key(IMAGE, _BROKER, _any, ()),
        Key(STATED, _BROKER, _any, ()),
        Key(ROLES, _BROKER, _any, (), since="2.8"),
        Key(ZOOKEEPER_CONNECT, _BROKER, _any, ()),
    )
}
"""The settings that this audit reads."""
