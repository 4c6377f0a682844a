"""From settings as they were found to what is in effect: which of several counts, what a release makes of it, what is silent.

What lives here: precedence, defaults, Kafka's own refusals, and findings about settings that undo others. What does not:
formats (`audit_read.py`), names and defaults (`audit_keys.py`), questions (`audit.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, unique

from checker import audit_keys as keys
from checker.audit_keys import KEYS, MAX_INT, Release, misspelt
from checker.audit_read import REPLICATION_FACTOR, Entry, Scope
from checker.errors import ConfigurationError
from checker.names import near
from model.partition import idempotence
from model.partition.versions import KRAFT, ZOOKEEPER, planes_of

MOST_REPLICAS = 5
"""`partition` has no more brokers than this."""


MOST_UNKNOWN = 1000
"""Unknown keys that are looked at for misspelling: a file with more of them is none of Kafka's."""


@unique
class Level(Enum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """Something about the settings themselves; `rule` is its name for machines."""

    rule: str
    level: Level
    text: str
    entry: Entry | None = None


@dataclass(frozen=True)
class Value:
    """A setting in effect, and where it comes from: an entry, or a source in words."""

    key: str
    value: str
    source: str
    entry: Entry | None = None

    @property
    def number(self) -> int:
        """The value of a setting that is a number."""
        return int(self.value)

    @property
    def on(self) -> bool:
        """The value of a setting that is true or false."""
        return self.value == "true"


class Refused(ConfigurationError):
    """Kafka does not start with these settings; the message has its reason."""


@dataclass(frozen=True)
class Given:
    """What was found, one entry a key; what Kafka passes over is left out."""

    entries: Mapping[str, Entry]
    findings: tuple[Finding, ...]

    def but(self, changes: Mapping[str, str]) -> Given:
        """With other values; an empty one takes the setting out."""
        kept = {key: entry for key, entry in self.entries.items() if key not in changes}
        for key, value in changes.items():
            if value:
                kept[key] = Entry(key, value, "the change", 0)
        return replace(self, entries=kept)


@dataclass(frozen=True)
class Configuration:
    """What is in effect under a release and a control plane."""

    release: Release
    rules: str
    plane: str
    values: Mapping[str, Value]
    findings: tuple[Finding, ...]
    reads_from_leader: bool = False

    def __getitem__(self, key: str) -> Value:
        return self.values[key]


# -- which of several counts --------------------------------------------------------------------------------------------

_PRECEDENCE = (Scope.TOPIC, Scope.DYNAMIC_BROKER, Scope.BROKER, Scope.PRODUCER, Scope.CONSUMER)


def gather(entries: Iterable[Entry], topic: str | None = None) -> Given:
    """The entry that counts for each known key: a topic's before a broker's, the later of two in one file."""
    findings: list[Finding] = []
    seen: set[str] = set()
    known = [known for entry in entries if (known := _recognised(entry, findings, seen)) is not None]
    known = _of_one_topic(known, topic)
    counted: dict[tuple[str, Scope], Entry] = {}
    for entry in known:
        assert entry.scope is not None
        before = counted.get((entry.key, entry.scope))
        counted[entry.key, entry.scope] = entry if before is None else _later(before, entry, findings)
    chosen: dict[str, Entry] = {}
    for scope in reversed(_PRECEDENCE):
        chosen.update({key: entry for (key, of), entry in counted.items() if of is scope})
    return Given(chosen, tuple(findings))


def _recognised(entry: Entry, findings: list[Finding], unknown: set[str]) -> Entry | None:
    """The entry with its scope and its value in its usual form; None if it is passed over."""
    key = KEYS.get(entry.key)
    if key is None:
        is_new = entry.key not in unknown and len(unknown) < MOST_UNKNOWN
        unknown.add(entry.key)
        meant = misspelt(entry.key) if is_new else None
        if meant is not None:
            text = f"{entry.key} is no setting of Kafka's and is passed over; {meant} is meant, perhaps"
            findings.append(Finding("misspelt", Level.WARNING, text, entry))
        elif entry.key in ("include", "includeoptional"):
            text = f"Kafka does not read {entry.value}: its settings know no {entry.key}; name that file here if it counts"
            findings.append(Finding("include", Level.WARNING, text, entry))
        return None
    scope = key.scopes[0] if entry.scope is None else entry.scope
    if scope not in key.scopes:
        text = f"{entry.key} is no setting of a {scope.value} and is passed over; it is one of a {key.scopes[0].value}"
        findings.append(Finding("misplaced", Level.WARNING, text, entry))
        return None
    try:
        value = key.read(entry.value)
    except ValueError as error:
        raise ConfigurationError(f"{entry.where}: {entry.key} is {entry.value!r} and must be {error}") from None
    return replace(entry, scope=scope, value=value)


def _of_one_topic(entries: list[Entry], topic: str | None) -> list[Entry]:
    """Without the settings of other topics than the one that is meant."""
    topics = list(dict.fromkeys(e.entity for e in entries if e.scope is Scope.TOPIC and e.entity is not None))
    if topic is not None and topic not in topics:
        raise ConfigurationError(f"no file describes a topic {topic!r}{near(topic, topics)}; they describe {_list(topics)}")
    if topic is None and len(topics) > 1:
        settings = [frozenset((e.key, e.value) for e in entries if e.entity == name) for name in topics]
        if len(set(settings)) > 1:
            raise ConfigurationError(f"the files describe several topics; name one with --topic: {_list(topics)}")
        topic = topics[0]
    return [e for e in entries if e.scope is not Scope.TOPIC or e.entity is None or topic is None or e.entity == topic]


def _list(names: Iterable[str]) -> str:
    shown = list(names)
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "none"


def _later(before: Entry, entry: Entry, findings: list[Finding]) -> Entry:
    """The one of two entries of a key and a scope that counts."""
    if before.value == entry.value:
        return before
    if entry.key == REPLICATION_FACTOR:
        least = min(before, entry, key=lambda item: int(item.value))
        text = f"the partitions have different numbers of replicas; {least.value}, the least, is taken"
        findings.append(Finding("uneven-replicas", Level.WARNING, text, least))
        return least
    if before.file != entry.file or before.entity != entry.entity:
        raise ConfigurationError(
            f"{before.where} sets {entry.key} to {before.value} and {entry.where} to {entry.value}; audit one at a time"
        )
    text = f"{entry.key} is named twice, as {before.value} in line {before.line} and as {entry.value}; the later one counts"
    findings.append(Finding("named-twice", Level.WARNING, text, entry))
    return entry


_OUTSIDE = {
    keys.OFFSET_RESET: "it says where a consumer goes on whose offset is gone; which records it then skips or reads again is "
    "between the consumer and its group, and not asked here",
    keys.AUTO_COMMIT: "when offsets are committed decides whether the application handles a record twice or never; the log "
    "keeps it all the same",
    keys.GROUP_INSTANCE: "static membership decides who of a group reads a partition, not what is in it",
}
"""Settings of consumers that are known, but about something that the questions are not about."""

_BY_RACK = "RackAwareReplicaSelector"


def reads_from_leader(given: Given, values: Mapping[str, Value]) -> bool:
    """Whether the consumer of the files reads from the leader although brokers could send it elsewhere (KIP-392).

    Kafka's own selector does so for a consumer that does not say its rack. Where none is described there may be others.
    """
    selector, rack = values.get(keys.SELECTOR), values.get(keys.CLIENT_RACK)
    is_described = any(entry.scope is Scope.CONSUMER for entry in given.entries.values())
    by_rack = selector is not None and selector.value.rpartition(".")[2] == _BY_RACK
    return by_rack and is_described and (rack is None or not rack.value)


# -- what a release makes of it -----------------------------------------------------------------------------------------


def configure(given: Given, version: Release, plane: str | None = None) -> Configuration:
    """What is in effect; `Refused` with Kafka's reason where it would not start."""
    return _Configuring(given, version, plane).run()


class _Configuring:
    """One use of `configure`."""

    def __init__(self, given: Given, version: Release, plane: str | None) -> None:
        self.given, self.version = given, version
        self.findings = list(given.findings)
        self.values: dict[str, Value] = {}
        self.rules = version.rules
        self.plane = self._plane(plane)

    def run(self) -> Configuration:
        for key in KEYS.values():
            entry = self.given.entries.get(key.name)
            if entry is not None and not self.version.since(key.since):
                text = f"{key.name} is new in Kafka {key.since}; {self.version.name} passes it over"
                self._find("not-yet", Level.WARNING, text, entry)
                entry = None
            if entry is not None:
                self.values[key.name] = Value(key.name, entry.value, entry.where, entry)
            elif (default := key.default(self.version)) is not None:
                self.values[key.name] = Value(key.name, default.value, f"default, {default.source}")
        self._replicas()
        self._flush()
        self._producer()
        self._old_protocol()
        self._silent()
        leader_only = reads_from_leader(self.given, self.values)
        return Configuration(self.version, self.rules, self.plane, self.values, tuple(self.findings), leader_only)

    def _find(self, rule: str, level: Level, text: str, entry: Entry | None = None) -> None:
        self.findings.append(Finding(rule, level, text, entry))

    def _set(self, key: str, value: str, why: str) -> None:
        self.values[key] = Value(key, value, why)

    def _entry(self, key: str) -> Entry | None:
        value = self.values.get(key)
        return None if value is None else value.entry

    def _plane(self, wanted: str | None) -> str:
        planes = planes_of(self.rules) if self.rules != "latest" else (KRAFT,)
        roles, zookeeper = (self.given.entries.get(key) for key in (keys.ROLES, keys.ZOOKEEPER_CONNECT))
        found = KRAFT if roles is not None else ZOOKEEPER if zookeeper is not None else None
        plane = wanted or found or planes[0]
        if plane in planes:
            return plane
        if wanted is not None:
            raise ConfigurationError(f"Kafka {self.version.name} runs on {' or '.join(planes)}; leave --control-plane out")
        entry = roles if roles is not None else zookeeper
        text = f"the rules of Kafka {self.version.name} are known here with {planes[0]} only, and that is what is asked about"
        self._find("control-plane", Level.WARNING, text, entry)
        return planes[0]

    def _replicas(self) -> None:
        if REPLICATION_FACTOR not in self.values:
            factor = self.values[keys.DEFAULT_FACTOR]
            self.values[REPLICATION_FACTOR] = Value(
                REPLICATION_FACTOR, factor.value, f"{keys.DEFAULT_FACTOR}: {factor.source}", factor.entry
            )
            self._find(
                "no-topic",
                Level.NOTE,
                f"no topic is described; {keys.DEFAULT_FACTOR}={factor.value} is taken for its replicas",
                factor.entry,
            )
        number = self.values[REPLICATION_FACTOR].number
        if number > MOST_REPLICAS:
            raise ConfigurationError(f"{number} replicas are more than acked can ask about; it knows up to {MOST_REPLICAS}")

    def _flush(self) -> None:
        if keys.TOPIC_FLUSH_MESSAGES in self.values:
            self.values[keys.FLUSH_MESSAGES] = replace(self.values.pop(keys.TOPIC_FLUSH_MESSAGES), key=keys.FLUSH_MESSAGES)

    # -- the consumer: only whom it reads from is part of the questions -------------------------------------------------

    def _consumer(self) -> None:
        for key, what in _OUTSIDE.items():
            entry = self._entry(key)
            if entry is not None:
                text = f"{key} changes none of the five answers: {what}"
                self._find("outside-the-questions", Level.NOTE, text, entry)
        selector, rack = self.values.get(keys.SELECTOR), self._entry(keys.CLIENT_RACK)
        if rack is not None and rack.value and selector is None:
            text = f"{keys.CLIENT_RACK} does nothing here: brokers without {keys.SELECTOR} send consumers to the leader"
            self._find("rack-unused", Level.NOTE, text, rack)
        if selector is not None and reads_from_leader(self.given, self.values):
            text = f"{keys.SELECTOR} does nothing here: a consumer without {keys.CLIENT_RACK} reads from the leader (KIP-392)"
            self._find("selector-unused", Level.NOTE, text, selector.entry)

    # -- the producer: what ProducerConfig makes of conflicts (KIP-98, KIP-679, KAFKA-13673) ----------------------------

    def _producer(self) -> None:
        if not self.version.since("0.11"):
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
            raise Refused(
                f"{transactional.source}: Kafka refuses this producer: a {keys.TRANSACTIONAL_ID} cannot be set without "
                f"{keys.IDEMPOTENCE}; take one of them back"
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
        return idempotence.MOST_IN_FLIGHT if self.version.since("1.0") else idempotence.MOST_IN_FLIGHT_AT_FIRST

    def _conflicts(self, is_asked: bool) -> None:
        acks, retries, in_flight = (self.values[key] for key in (keys.ACKS, keys.RETRIES, keys.IN_FLIGHT))
        found = idempotence.conflicts(acks.value, retries.number, in_flight.number, self._most_in_flight)
        conflicts = [(self.values[key], f"{key} {reason}") for key, reason in found]
        for value, reason in conflicts:
            if is_asked or (value is in_flight and self.version.since("4.0")):
                asked = "" if is_asked else f" (from 4.0 also where {keys.IDEMPOTENCE} is not set)"
                raise Refused(f"{value.source}: Kafka refuses this producer: {reason}{asked}; change {value.key} or "
                              f"{keys.IDEMPOTENCE}")  # fmt: skip
            text = f"{value.key}={value.value} silently switches off {keys.IDEMPOTENCE}, which would be true by default"
            self._find("idempotence-off", Level.WARNING, text, value.entry)
        if conflicts:
            names = ", ".join(f"{value.key}={value.value}" for value, _ in conflicts)
            self._set(keys.IDEMPOTENCE, "false", f"switched off by {names}")

    # -- settings that undo others --------------------------------------------------------------------------------------

    def _old_protocol(self) -> None:
        entry = self._entry(keys.IBP)
        if entry is None:
            return
        if self.plane == KRAFT:
            self._find("old-protocol", Level.NOTE, f"{keys.IBP} has no meaning with KRaft and is passed over", entry)
            return
        try:
            spoken = keys.release(entry.value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{entry.where}: {keys.IBP}: {error}") from None
        if spoken.numbers[:2] < self.version.numbers[:2] and spoken.rules != self.rules:
            self.rules = spoken.rules
            text = f"{keys.IBP}={entry.value} keeps the brokers at the rules of {spoken.rules}, whatever their release"
            self._find("old-protocol", Level.WARNING, text, entry)

    def _silent(self) -> None:
        acks, least, factor = (self.values[key] for key in (keys.ACKS, keys.MIN_ISR, REPLICATION_FACTOR))
        unclean = self.values[keys.UNCLEAN]
        if acks.value != "all" and least.number > 1:
            text = f"acks={acks.value} does not ask for {least.key}={least.value}: it counts for acks=all only"
            self._find("min-isr-unused", Level.WARNING, text, least.entry or acks.entry)
        if acks.value == "all" and least.number == 1 and factor.number > 1:
            text = f"{least.key}=1 lets acks=all be answered by the leader alone, once the others have left the ISR"
            self._find("min-isr-one", Level.WARNING, text, least.entry or acks.entry)
        if acks.value == "all" and 1 < factor.number == least.number:
            text = f"{least.key}={least.value} is the number of replicas: with one broker down nothing is accepted"
            self._find("min-isr-is-factor", Level.WARNING, text, least.entry)
        if least.number > factor.number:
            if self.version.since("3.7"):
                text = f"{least.key}={least.value} is more than the {factor.value} replicas, and counts as {factor.value}"
            else:
                text = f"{least.key}={least.value} is more than the {factor.value} replicas: acks=all is never answered"
            self._find("min-isr-above-factor", Level.WARNING, text, least.entry or factor.entry)
        if factor.number == 1:
            self._find("one-replica", Level.WARNING, "there is one replica: what its broker loses is lost", factor.entry)
        if unclean.on and unclean.entry is not None and self.version.since("0.11"):
            text = f"{unclean.key}=true is set, and survives upgrades: the default has been false since 0.11"
            self._find("unclean-outlives", Level.WARNING, text, unclean.entry)
        for key in (keys.TRANSACTIONAL_ID, keys.ISOLATION):
            value = self.values.get(key)
            if value is not None and value.entry is not None:
                text = f"{key} is set; the questions are about single records, not about transactions"
                self._find("transactions", Level.NOTE, text, value.entry)
        self._consumer()
        if self.version.since("4.1") and self._entry(keys.ELR) is None:
            text = f"{keys.ELR} is 1 on clusters made with 4.1; one that was upgraded has to be told"
            self._find("elr-default", Level.NOTE, text)
