"""Which rules and settings hold for a topic's partitions: constants of the model, for each release that may run.

The settings are gathered as an audit gathers them; of what was not read nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from acked.audit.clusters.live import assume_producers
from acked.audit.clusters.several import is_unclean_open
from acked.audit.clusters.topics import TopicGroup, groups_of
from acked.audit.decision.faults import CrashKind, Faults
from acked.audit.decision.gather import Given, Recognised, RefusedByKafka
from acked.audit.decision.questions import constants_of
from acked.audit.decision.release import Deployment, contexts
from acked.audit.decision.settings import MAX_REPLICAS, configure
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OPTION, REPLICATION_FACTOR, Scope, SettingEntry
from acked.model.partition.rules import settings

Constants = tuple[tuple[str, int], ...]

_NO_MIN_ISR = (
    f"its {keys.MIN_ISR} was not read; name what kafka-configs --describe --all prints, or say it with {OPTION} "
    f"{keys.MIN_ISR}=1"
)


@frozen
class TopicRules:
    """What holds for a topic under the lead of `brokers` (any, if none is named); of a `refusal` nothing can be said.

    `certain` are the constants that count; `maybe` are others that may count instead, with why.
    """

    certain: Constants = ()
    maybe: tuple[tuple[Constants, str], ...] = ()
    brokers: tuple[str, ...] = ()
    refusal: str = ""

    def holds_under(self, leader: int | None) -> bool:
        """Whether that is what counts where this broker leads."""
        return not self.brokers or leader is None or str(leader) in self.brokers


def rules_of_topics(
    found: Recognised, sizes: Mapping[str, Iterable[int]], version: str | None, plane: str | None, entities: Sequence[str]
) -> dict[str, list[TopicRules]]:
    """The rules for topics, of which `sizes` has the numbers of replicas; `ConfigurationError` where no release is named."""
    rules: dict[str, list[TopicRules]] = {topic: [] for topic in sizes}
    # Partitions of one topic may have other numbers, as one that is moved; of each its own counts.
    found = replace(found, known=tuple(entry for entry in found.known if entry.key != REPLICATION_FACTOR))
    groups = groups_of(found, None, tuple(entities), with_internal=True)
    if not any(entry.scope is Scope.PRODUCER for entry in found.known):
        groups = [group for group in assume_producers(groups) if group.decides]
    known: dict[tuple[int, int], TopicRules] = {}
    for at, group in enumerate(groups):
        for topic in group.topics:
            for size in dict.fromkeys(sizes.get(topic, ())):
                if (at, size) not in known:
                    known[at, size] = _rules(group, size, version, plane)
                rules[topic].append(known[at, size])
    return rules


def _rules(group: TopicGroup, size: int, version: str | None, plane: str | None) -> TopicRules:
    if group.refusal:
        return TopicRules(brokers=group.brokers, refusal=group.refusal)
    if size > MAX_REPLICAS:
        text = f"{size} replicas are more than can be asked about, which is {MAX_REPLICAS}"
        return TopicRules(brokers=group.brokers, refusal=text)
    if keys.MIN_ISR not in group.given.entries:
        return TopicRules(brokers=group.brokers, refusal=_NO_MIN_ISR)
    factor = SettingEntry(REPLICATION_FACTOR, str(size), "the partition", 0, Scope.TOPIC)
    given = replace(group.given, entries={**group.given.entries, REPLICATION_FACTOR: factor})
    found = contexts(given, version, plane)
    if not found.is_named:
        raise ConfigurationError("which failures lose a record differs by release, and nothing names yours; name it with "
                                 "--kafka-version")  # fmt: skip
    try:
        certain = _constants(given, found.first)
        others = [(_constants(given, context), f"the brokers may run {context.words}") for context in found.others]
    except RefusedByKafka as error:
        return TopicRules(brokers=group.brokers, refusal=str(error))
    maybe = {constants: why for constants, why in reversed(others) if constants != certain}
    if is_unclean_open(given):
        other = {**dict(certain), settings.unclean_election.name: 1}
        maybe[tuple(sorted(other.items()))] = f"the controllers' own {keys.UNCLEAN} was not read"
    return TopicRules(certain, tuple(maybe.items()), group.brokers)


def _constants(given: Given, context: Deployment) -> Constants:
    configuration = configure(given, context.release, context.plane)
    return tuple(sorted(constants_of(configuration, Faults(CrashKind.ONE_MACHINE)).items()))
