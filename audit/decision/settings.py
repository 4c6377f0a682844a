"""From the settings that count to what is in effect: what a release makes of them, and what is silent.

Defaults, Kafka's own refusals, and findings about settings that undo others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from acked.audit.decision.gather import Given, RefusedByKafka, Remark, Severity
from acked.audit.decision.release import plane_given, plane_words, planes_in, spoken_release
from acked.audit.decision.remarks import coordinator_remarks, quorum_remarks
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.release import Release, release
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OPTION, REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS, MAX_INT
from acked.model.partition.rules.conflicts import (
    MAX_IN_FLIGHT,
    MAX_IN_FLIGHT_AT_FIRST,
    conflicts_of_idempotence,
    unused_min_isr,
)
from acked.model.partition.rules.versions import KRAFT, rules_of

MAX_REPLICAS = 5
"""`partition` has no more brokers than this."""


@frozen
class SettingValue:
    """A setting in effect, and where it comes from: an entry, or a source in words."""

    key: str
    value: str
    source: str
    entry: SettingEntry | None = None

    @property
    def number(self) -> int:
        """The value of a setting that is a number."""
        return int(self.value)

    @property
    def on(self) -> bool:
        """The value of a setting that is true or false."""
        return self.value == "true"


@frozen
class Configuration:
    """What is in effect under a release and a control plane."""

    release: Release
    rules: str
    plane: str
    values: Mapping[str, SettingValue]
    findings: tuple[Remark, ...]
    reads_from_leader: bool = False

    def __getitem__(self, key: str) -> SettingValue:
        return self.values[key]


_OUTSIDE = {
    keys.OFFSET_RESET: "it says where a consumer goes on whose offset is gone; which records it then skips or reads again is "
    "between the consumer and its group, and not asked here",
    keys.AUTO_COMMIT: "when offsets are committed decides whether the application handles a record twice or never; the log "
    "keeps it all the same",
    keys.GROUP_INSTANCE: "static membership decides who of a group reads a partition, not what is in it",
}
"""Settings of consumers that are known, but about something that the questions are not about."""

_BY_RACK = "RackAwareReplicaSelector"


def reads_from_leader(given: Given, values: Mapping[str, SettingValue]) -> bool:
    """Whether the consumer of the files reads from the leader although brokers could send it elsewhere (KIP-392).

    Kafka's own selector does so for a consumer that does not say its rack. Where none is described there may be others.
    """
    selector, rack = values.get(keys.SELECTOR), values.get(keys.CLIENT_RACK)
    is_described = any(entry.scope is Scope.CONSUMER for entry in given.entries.values())
    by_rack = selector is not None and selector.value.rpartition(".")[2] == _BY_RACK
    return by_rack and is_described and (rack is None or not rack.value)


# -- what a release makes of it -----------------------------------------------------------------------------------------


def configure(given: Given, version: Release, plane: str | None = None) -> Configuration:
    """What is in effect; `RefusedByKafka` has Kafka's reason not to start, `ConfigurationError` what is missing."""
    return _Configuring(given, version, plane).run()


class _Configuring:
    """One use of `configure`."""

    def __init__(self, given: Given, version: Release, plane: str | None) -> None:
        self.given, self.version = given, version
        self.clients = given.clients or version
        self.findings = list(given.findings)
        self.values: dict[str, SettingValue] = {}
        self.rules = rules_of(version)
        self.plane = self._plane(plane)

    def run(self) -> Configuration:
        for key in KEYS.values():
            entry = self.given.entries.get(key.name)
            version = self.clients if key.scopes[0] in (Scope.PRODUCER, Scope.CONSUMER) else self.version
            if entry is not None and not version.since(key.since):
                text = f"{key.name} is new in Kafka {key.since}; {version.name} passes it over"
                self._find("not-yet", Severity.WARNING, text, entry)
                entry = None
            if entry is not None:
                self.values[key.name] = SettingValue(key.name, entry.value, entry.source, entry)
            elif (default := key.default(version)) is not None:
                self.values[key.name] = SettingValue(key.name, default.value, f"default, {default.source}")
        self._replicas()
        self._flush()
        self._producer()
        self._old_protocol()
        self._features()
        self._silent()
        self._defects()
        self.findings += quorum_remarks(self.given.quorum, self.version)
        self.findings += coordinator_remarks(self.given.coordinators, self.version, self.clients)
        leader_only = reads_from_leader(self.given, self.values)
        return Configuration(self.version, self.rules, self.plane, self.values, tuple(self.findings), leader_only)

    def _find(self, rule: str, level: Severity, text: str, entry: SettingEntry | None = None) -> None:
        self.findings.append(Remark(rule, level, text, entry))

    def _set(self, key: str, value: str, why: str) -> None:
        self.values[key] = SettingValue(key, value, why)

    def _entry(self, key: str) -> SettingEntry | None:
        value = self.values.get(key)
        return None if value is None else value.entry

    def _plane(self, wanted: str | None) -> str:
        planes = planes_in(self.version)
        plane, source = (wanted, "--control-plane") if wanted is not None else plane_given(self.given, None)
        if plane is None or plane in planes:
            return plane or planes[0]
        known = " or ".join(map(plane_words, planes))
        raise ConfigurationError(
            f"Kafka {self.version.name} is known here with {known} only, and {source} names {plane_words(plane)}; "
            "remove one of them"
        )

    def _replicas(self) -> None:
        if REPLICATION_FACTOR not in self.values:
            factor = self.values[keys.DEFAULT_FACTOR]
            if factor.entry is None:
                raise ConfigurationError(
                    f"the number of replicas is not given, and most answers depend on it; give it with {OPTION} "
                    f"{REPLICATION_FACTOR}=3, or add what kafka-topics --describe prints"
                )
            self.values[REPLICATION_FACTOR] = SettingValue(
                REPLICATION_FACTOR, factor.value, f"{keys.DEFAULT_FACTOR}: {factor.source}", factor.entry
            )
            text = f"no topic is described; {keys.DEFAULT_FACTOR}={factor.value} is taken for its replicas"
            self._find("no-topic", Severity.NOTE, text, factor.entry)
        number = self.values[REPLICATION_FACTOR].number
        if number > MAX_REPLICAS:
            raise ConfigurationError(f"{number} replicas are more than acked can ask about; it knows up to {MAX_REPLICAS}")

    def _flush(self) -> None:
        if keys.TOPIC_FLUSH_MESSAGES in self.values:
            self.values[keys.FLUSH_MESSAGES] = replace(self.values.pop(keys.TOPIC_FLUSH_MESSAGES), key=keys.FLUSH_MESSAGES)

    # -- the consumer: only whom it reads from is part of the questions -------------------------------------------------

    def _consumer(self) -> None:
        for key, what in _OUTSIDE.items():
            entry = self._entry(key)
            if entry is not None:
                text = f"{key} changes none of the five answers: {what}"
                self._find("outside-the-questions", Severity.NOTE, text, entry)
        selector, rack = self.values.get(keys.SELECTOR), self._entry(keys.CLIENT_RACK)
        if rack is not None and rack.value and selector is None:
            text = f"{keys.CLIENT_RACK} does nothing here: brokers without {keys.SELECTOR} send consumers to the leader"
            self._find("rack-unused", Severity.NOTE, text, rack)
        if selector is not None and reads_from_leader(self.given, self.values):
            text = f"{keys.SELECTOR} does nothing here: a consumer without {keys.CLIENT_RACK} reads from the leader (KIP-392)"
            self._find("selector-unused", Severity.NOTE, text, selector.entry)

    # -- the producer: what ProducerConfig makes of conflicts (KIP-98, KIP-679, KAFKA-13673) ----------------------------

    def _producer(self) -> None:
        if self.given.clients is not None and self._entry(keys.ACKS) is None:
            text = (
                "nothing names the producer's release or its acks: those of clients since 3.0 are taken (acks=all with "
                "idempotence); an older client has acks=1: ask with --producer acks=1"
            )
            self._find("client-default", Severity.NOTE, text)
        if not self.clients.since("0.11"):
            return
        is_asked = self._entry(keys.IDEMPOTENCE) is not None
        transactional = self.values.get(keys.TRANSACTIONAL_ID)
        if transactional is not None and not is_asked and not self.values[keys.IDEMPOTENCE].on:
            self._set(keys.IDEMPOTENCE, "true", f"follows from {keys.TRANSACTIONAL_ID}")
            is_asked = True
        if self.values[keys.IDEMPOTENCE].on:
            if is_asked:
                self._fill_in_for_idempotence()
            self._conflicts(is_asked)
        if transactional is not None and not self.values[keys.IDEMPOTENCE].on:
            raise RefusedByKafka(
                f"{transactional.source}: Kafka refuses this producer: a {keys.TRANSACTIONAL_ID} cannot be set without "
                f"{keys.IDEMPOTENCE}; remove one of them"
            )

    def _fill_in_for_idempotence(self) -> None:
        """What is not set follows, where the default would not do (to 2.8)."""
        most = self._most_in_flight
        for key, is_enough, value in (
            (keys.ACKS, self.values[keys.ACKS].value == "all", "all"),
            (keys.RETRIES, self.values[keys.RETRIES].number > 0, str(MAX_INT)),
            (keys.IN_FLIGHT, self.values[keys.IN_FLIGHT].number <= most, str(most)),
        ):
            if self._entry(key) is None and not is_enough:
                self._set(key, value, f"follows from {keys.IDEMPOTENCE}")

    @property
    def _most_in_flight(self) -> int:
        return MAX_IN_FLIGHT if self.clients.since("1.0") else MAX_IN_FLIGHT_AT_FIRST

    def _conflicts(self, is_asked: bool) -> None:
        acks, retries, in_flight = (self.values[key] for key in (keys.ACKS, keys.RETRIES, keys.IN_FLIGHT))
        found = conflicts_of_idempotence(acks.value, retries.number, in_flight.number, self._most_in_flight)
        conflicts = [(self.values[key], f"{key} {reason}") for key, reason in found]
        for value, reason in conflicts:
            if is_asked or (value is in_flight and self.clients.since("4.0")):
                asked = "" if is_asked else f" (from 4.0 also where {keys.IDEMPOTENCE} is not set)"
                raise RefusedByKafka(f"{value.source}: Kafka refuses this producer: {reason}{asked}; change {value.key} or "
                              f"{keys.IDEMPOTENCE}")  # fmt: skip
            text = f"{value.key}={value.value} silently switches off {keys.IDEMPOTENCE}, which would be true by default"
            self._find("idempotence-off", Severity.WARNING, text, value.entry)
        if conflicts:
            names = ", ".join(f"{value.key}={value.value}" for value, _ in conflicts)
            self._set(keys.IDEMPOTENCE, "false", f"switched off by {names}")

    # -- settings that undo others --------------------------------------------------------------------------------------

    def _old_protocol(self) -> None:
        """Brokers that speak an older release's protocol to each other have its rules (with KRaft: its level of features)."""
        key = keys.METADATA_VERSION if self.plane == KRAFT else keys.IBP
        entry = self._entry(keys.IBP)
        if self.plane == KRAFT and entry is not None and spoken_release(entry).numbers[:2] != self.version.numbers[:2]:
            text = f"{keys.IBP} says with KRaft at most how the cluster was formatted; no rule follows from it"
            self._find("old-protocol", Severity.NOTE, text, entry)
        entry = self._entry(key)
        if entry is None:
            return
        spoken = spoken_release(entry)
        if self.plane not in planes_in(spoken):
            raise ConfigurationError(f"{entry.where}: {key}={entry.value} is of a release that is not known here with "
                                     f"{plane_words(self.plane)}; finalize a later one")  # fmt: skip
        if spoken.numbers[:2] < self.version.numbers[:2] and rules_of(spoken) != self.rules:
            self.rules = rules_of(spoken)
            text = f"{key}={entry.value} keeps the brokers at the rules of {self.rules}, whatever their release"
            self._find("old-protocol", Severity.WARNING, text, entry)

    def _features(self) -> None:
        """KIP-966 needs the metadata version of 4.0: below it there are no eligible leader replicas."""
        entry, elr = self._entry(keys.METADATA_VERSION), self.values.get(keys.ELR)
        if entry is None or elr is None or elr.value == "0" or spoken_release(entry).since("4.0"):
            return
        what = f"{keys.METADATA_VERSION}={entry.value}"
        if elr.entry is not None:
            raise RefusedByKafka(
                f"{elr.source}: {keys.ELR}={elr.value} needs a {keys.METADATA_VERSION} of 4.0 (KIP-966), and {entry.where} "
                f"has {what}; remove one of them"
            )
        self._set(keys.ELR, "0", f"{what} ({entry.where}) has none")

    def _silent(self) -> None:
        acks, least, factor = (self.values[key] for key in (keys.ACKS, keys.MIN_ISR, REPLICATION_FACTOR))
        unclean = self.values[keys.UNCLEAN]
        if acks.value != "all" and least.number > 1:
            text = unused_min_isr(least.number, acks.value, self.version.since("3.7"))
            self._find("min-isr-unused", Severity.WARNING, text, least.entry or acks.entry)
        if acks.value == "all" and least.number == 1 and factor.number > 1:
            text = f"{least.key}=1 lets acks=all be answered by the leader alone, once the others have left the ISR"
            self._find("min-isr-one", Severity.WARNING, text, least.entry or acks.entry)
        if acks.value == "all" and 1 < factor.number == least.number:
            text = f"{least.key}={least.value} is the number of replicas: with one broker down nothing is accepted"
            self._find("min-isr-is-factor", Severity.WARNING, text, least.entry)
        if least.number > factor.number:
            if self.version.since("3.7"):
                text = f"{least.key}={least.value} is more than the {factor.value} replicas, and counts as {factor.value}"
            else:
                text = f"{least.key}={least.value} is more than the {factor.value} replicas: acks=all is never answered"
            self._find("min-isr-above-factor", Severity.WARNING, text, least.entry or factor.entry)
        if factor.number == 1:
            self._find("one-replica", Severity.WARNING, "there is one replica: what its broker loses is lost", factor.entry)
        if unclean.on and unclean.entry is not None and self.version.since("0.11"):
            text = f"{unclean.key}=true is set, and survives upgrades: the default has been false since 0.11"
            self._find("unclean-outlives", Severity.WARNING, text, unclean.entry)
        for key in (keys.TRANSACTIONAL_ID, keys.ISOLATION):
            value = self.values.get(key)
            if value is not None and value.entry is not None:
                about = "not about transactions" if key == keys.ISOLATION else "transactions are asked about beside them"
                text = f"{key} is set; the five questions are about single records, {about}"
                self._find("transactions", Severity.NOTE, text, value.entry)
        self._consumer()
        if self.version.since("4.1") and self._entry(keys.ELR) is None and self.values[keys.ELR].value == "1":
            text = (
                f"{keys.ELR} is taken for 1, as on clusters that were made with 4.1 or later; where one was upgraded it "
                f"stays 0 until it is set: ask with {OPTION} {keys.ELR}=0, or add what kafka-features describe prints"
            )
            self._find("elr-default", Severity.WARNING, text)

    # -- what a release has wrong that no model of replication shows ------------------------------------------------------

    def _defects(self) -> None:
        """Known bugs by which a setting is lost, or a record is not the one that was sent (KAFKA-9254, KAFKA-19012)."""
        for key in (keys.MIN_ISR, keys.UNCLEAN):
            entry = self._entry(key)
            of_topic = entry is not None and entry.scope is Scope.TOPIC
            if of_topic and self.version.since("1.1") and not self._has_fix("2.4.1", "2.5"):
                text = (
                    "KAFKA-9254 (1.1 to 2.4.0, mended in 2.4.1 and 2.5): once a default of brokers was changed twice while "
                    f"they run, a topic's own {key} is lost until the broker restarts, and the broker's applies"
                )
                self._find("topic-setting-lost", Severity.WARNING, text, entry)
                break
        is_java = not any(entry.default_of == "librdkafka" for entry in self.given.entries.values())
        if is_java and self.version.since("2.8") and not self._has_fix("3.9.2", "4.0.2", "4.1.2", "4.2"):
            text = (
                "KAFKA-19012 (Java producers of 2.8.0 to 4.1.1, mended in 3.9.2, 4.0.2, 4.1.2 and 4.2): when a batch expires "
                "or a broker disconnects, the producer may use the buffer again while it is being sent, and damaged records, "
                "or those of another topic, are written; no answer here counts that"
            )
            self._find("producer-buffer", Severity.WARNING, text)

    def _has_fix(self, *fixed: str) -> bool:
        """Whether this release has a fix that came with those, oldest first: with a patch of its own, or from the last on."""
        return self.version.since(fixed[-1]) or any(
            self.version.since(patch) and self.version.numbers[:2] == release(patch).numbers[:2] for patch in fixed
        )
