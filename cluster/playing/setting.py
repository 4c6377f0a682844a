"""What a question is played with: replicas, Kafka's settings, and in which rules its spec is not like the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.base.release import release
from acked.checker.question.question import Question
from acked.cluster.releases.release import Mode, Release, mode_of
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.language.words import says_list
from acked.model.partition.protocol import partition
from acked.model.partition.rules.controllers import are_many
from acked.model.partition.rules.settings import (
    ACKS_0,
    ACKS_1,
    RULES,
    acks,
    eligible_leader_replicas,
    idempotence,
    min_insync_replicas,
    unclean_election,
)
from acked.model.partition.rules.versions import plane_of, profile, rules_of

FOR_PLAYING: Mapping[str, str] = {
    "replica.fetch.max.bytes": "1",  # A fetch brings the first batch, however large, and no other.
    "replica.high.watermark.checkpoint.interval.ms": "100",
}
"""What makes steps of brokers as small as those of the model."""

LAG_SECONDS = 10
"""After so long a follower is too slow, where a leader of the run removes one, else never. A run takes less until then."""
_ELIGIBLE_LEADERS, _FIRST_WITH_ELIGIBLE_LEADERS, _ON_BY_DEFAULT = "eligible.leader.replicas.version", (4,), (4, 1)
_ACKS = {ACKS_0: 0, ACKS_1: 1}
_OF_PRODUCERS = [acks.name, "enable.idempotence"]
OF_TOPICS = frozenset([
    "cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
    "delete.retention.ms", "errors.deadletterqueue.group.enable", "file.delete.delay.ms", "flush.messages", "flush.ms",
    "follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
    "local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.decompressed.message.bytes",
    "max.message.bytes", "message.downconversion.enable", "message.format.version", "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms", "message.timestamp.difference.max.ms", "message.timestamp.type",
    "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate", "remote.copy.lag.bytes",
    "remote.copy.lag.ms", "remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable",
    "retention.bytes", "retention.ms", "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms",
    "unclean.leader.election.enable",
])  # fmt: skip
"""Settings of topics: `TopicConfig` of kafka-clients 3.9.2, 4.0.1 and 4.4.0, and `QuotaConfig`. Older releases have some."""


@dataclass(frozen=True)
class Setting:
    """What is asked of brokers and producers. `topic` are settings of the topic, `brokers` of all nodes.

    `has_eligible_leaders`: whether the feature of KIP-966 is on, of releases that have it; None: as the release has it.
    `sessions_expire`: nobody tells the controller that a broker is dead. `is_idempotent`: records carry a producer id.
    `rivals`: brokers without replicas that may be the controller, beside the first. `compares_eligible`: another set of
    eligible leaders is another way. In a control it is none: it follows from the setting or the release by itself, before the
    run has come to what is mended, and where it matters another leader is elected.
    """

    replicas: int
    acks: int
    topic: Mapping[str, str]
    brokers: Mapping[str, str] = field(default_factory=lambda: dict(FOR_PLAYING))
    has_eligible_leaders: bool | None = None
    sessions_expire: bool = False
    is_idempotent: bool = False
    rivals: int = 0
    compares_eligible: bool = True

    def changed(self, key: str, value: str) -> Setting:
        """The same with another setting of the topic, or of producers; `ConfigurationError` for what Kafka does not have."""
        if key == acks.name:
            known = {"0": 0, "1": 1, "all": ALL_REPLICAS, "-1": ALL_REPLICAS}
            if value not in known:
                raise ConfigurationError(f"acks={value} is not a setting of producers; it is 0, 1 or all")
            return replace(self, acks=known[value])
        if key == "enable.idempotence":
            if value not in ("true", "false"):
                raise ConfigurationError(f"enable.idempotence={value} is not a setting of producers; it is true or false")
            return replace(self, is_idempotent=value == "true")
        _check_topic(key, value)
        return replace(self, topic={**self.topic, key: value})

    def timed(self) -> Setting:
        """The same with leaders that remove followers from the ISR which are too slow."""
        return replace(self, brokers={**self.brokers, "replica.lag.time.max.ms": str(1000 * LAG_SECONDS)})

    def features(self, chosen: Release) -> dict[str, int]:
        """KRaft's features, as far as they are not the release's own."""
        is_on = chosen.number >= _ON_BY_DEFAULT
        if chosen.number < _FIRST_WITH_ELIGIBLE_LEADERS or self.has_eligible_leaders in (None, is_on):
            return {}
        return {_ELIGIBLE_LEADERS: int(self.has_eligible_leaders)}


def _check_topic(key: str, value: str) -> None:
    """Refuses what brokers would refuse once they have started: an unknown setting, or a value that it cannot have."""
    if key not in OF_TOPICS:
        hint = near(key, [*_OF_PRODUCERS, *sorted(OF_TOPICS)])
        raise ConfigurationError(
            f"{key} is no setting of Kafka's topics{hint}; of producers there are {says_list(_OF_PRODUCERS)}"
        )
    try:
        if key in KEYS:
            KEYS[key].read(value)
    except ValueError as error:
        raise ConfigurationError(f"{key}={value} is not a setting of topics; it is {error}") from None


@dataclass(frozen=True)
class OtherRule:
    """A rule that the spec has in another way than the release: the constant and both values in words."""

    constant: str
    spec: str
    release: str


def setting_of(question: Question) -> Setting:
    """What a question's constants are to Kafka."""
    constants = question.instance.constants
    topic = {
        "min.insync.replicas": str(constants[min_insync_replicas.name]),
        "unclean.leader.election.enable": "true" if constants[unclean_election.name] else "false",
    }
    return Setting(constants["replicas"], _ACKS.get(constants[acks.name], ALL_REPLICAS), topic,
                   has_eligible_leaders=bool(constants[eligible_leader_replicas.name]),
                   is_idempotent=bool(constants[idempotence.name]),
                   rivals=constants["candidates"] - 1 if are_many(constants) else 0)  # fmt: skip


def mode_for(question: Question, chosen: Release, asked: Mode | None) -> Mode:
    """The mode in which a release plays a question: that of the question's rules, where the release has it.

    `ConfigurationError` if another is asked for then, or one that the release does not have.
    """
    if question.instance.protocol is not partition:
        return mode_of(chosen, asked)
    rules = Mode(plane_of(question.instance.constants))
    if rules not in chosen.modes:
        return mode_of(chosen, asked)
    if mode_of(chosen, asked or rules) is not rules:
        raise ConfigurationError(
            f"the rules are those of {rules}, and --control-plane is {asked}; leave it out, or name with --kafka-version "
            f"the release whose rules with {asked} are meant"
        )
    return rules


def other_rules(question: Question, chosen: Release, mode: Mode) -> tuple[OtherRule, ...]:
    """The rules in which the spec is not like the release that plays it."""
    return rules_unlike(question.instance.constants, chosen, mode)


def rules_unlike(constants: Mapping[str, int], chosen: Release, mode: Mode) -> tuple[OtherRule, ...]:
    """The same of constants alone."""
    has = profile(rules_of(release(chosen.version)), mode.value)
    found = []
    for rule in RULES:
        if rule is eligible_leader_replicas and chosen.number >= _FIRST_WITH_ELIGIBLE_LEADERS:
            continue  # A feature, which is switched as the trace has it.
        if rule.name in has and has[rule.name].value != constants[rule.name]:
            found.append(
                OtherRule(rule.name, str(rule.show(constants[rule.name])), str(rule.show(has[rule.name].value)))
            )
    return tuple(found)
