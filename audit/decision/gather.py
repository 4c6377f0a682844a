"""From settings as they were found to those that count: what is known, whose it is, which of several, what takes its place.

Recognising and refusing names, precedence, settings that stand for others, and files that describe several.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, unique
from pathlib import PurePath

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.frozen import frozen
from acked.base.names import near
from acked.base.release import Release
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import INSTEAD, OLDEST, OPTION, REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import DECIDING, MAX_UNKNOWN, is_known, likely_setting, setting_within
from acked.cluster.vocabulary.note import Controllers, Described, Fact, Imported, Note, Read, Unreleased, settings_of


@unique
class Severity(Enum):
    """How much a finding matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@frozen
class Remark:
    """Something about the settings themselves; `rule` is its name for machines.

    `is_passed_over` is true if a setting that may decide an answer was left out, because the user wanted it so.
    """

    rule: str
    level: Severity
    text: str
    entry: Read | None = None
    is_passed_over: bool = False


class RefusedByKafka(ConfigurationError):
    """Kafka does not start with these settings; the message has its reason."""


@frozen
class Given:
    """What was found, one entry a key; what Kafka passes over is left out.

    `clients` is the release whose defaults producers and consumers have; None for that of the brokers. `quorum` is what every
    node says of the controllers' quorum, with its roles, `coordinators` what is said of committed offsets and transactions.
    """

    entries: Mapping[str, SettingEntry]
    findings: tuple[Remark, ...]
    clients: Release | None = None
    quorum: tuple[Read, ...] = ()
    coordinators: tuple[SettingEntry, ...] = ()

    def but(self, changes: Mapping[str, str]) -> Given:
        """With other values; an empty one takes the setting out."""
        gone = {*changes, *(_HIDES[key] for key in changes if key in _HIDES)}
        kept = {key: entry for key, entry in self.entries.items() if key not in gone}
        for key, value in changes.items():
            if value:
                kept[key] = SettingEntry(key, value, "the change", 0)
        return replace(self, entries=kept)


_HIDES = {keys.FLUSH_MESSAGES: keys.TOPIC_FLUSH_MESSAGES}
"""A broker's setting, and the topic's own that would count before it: who changes the one means both."""

_PRECEDENCE = (Scope.TOPIC, Scope.DYNAMIC_BROKER, Scope.BROKER, Scope.PRODUCER, Scope.CONSUMER)


@frozen
class Recognised:
    """What files say, before one topic is chosen: all of it, what of it are settings here, what takes their place.

    `known` have their scopes and their values in the usual form; `instead` are the entries that count whatever files say.
    """

    read: tuple[Read, ...]
    known: tuple[SettingEntry, ...]
    instead: Mapping[str, SettingEntry]
    findings: tuple[Remark, ...]

    @property
    def hidden(self) -> frozenset[str]:
        """Settings of files that something else is asked about instead of."""
        return frozenset({*self.instead, *(_HIDES[key] for key in self.instead if key in _HIDES)})

    def only(self, topics: Collection[str]) -> Recognised:
        """Without what is said of other topics than these."""
        return self.where(lambda one: one.scope is not Scope.TOPIC or one.entity is None or one.entity in topics)

    def where(self, concerns: Callable[[Read], bool]) -> Recognised:
        """What concerns somebody, of what was read; remarks on nothing that was read concern all."""
        return replace(
            self,
            read=tuple(filter(concerns, self.read)),
            known=tuple(filter(concerns, self.known)),
            findings=tuple(finding for finding in self.findings if finding.entry is None or concerns(finding.entry)),
        )


def facts_in(read: Iterable[Read]) -> list[tuple[Fact, Note]]:
    """What is noted besides settings, each with its note."""
    return [(one.fact, one) for one in read if isinstance(one, Note)]


def recognise(
    read: Iterable[Read], overrides: Iterable[SettingEntry] = (), is_lenient: bool = False
) -> Recognised:
    """The settings among what files say.

    A name that nobody knows and that resembles a setting which decides an answer is an error, or a warning if `is_lenient`;
    a file in which no name is known is one always.
    """
    read = tuple(read)
    findings: list[Remark] = []
    instead = _instead(overrides)
    _check_names(read, findings, is_lenient)
    _check_imports(read, findings, is_lenient)
    for fact, note in facts_in(read):
        if isinstance(fact, Unreleased):
            text = f"the image {fact.image} names no release of Kafka; name the one that it runs with --kafka-version"
            findings.append(Remark("no-release", Severity.WARNING, text, note))
    hidden = {*instead, *(_HIDES[key] for key in instead if key in _HIDES)}
    # What is filled in later is not asked about where something else is set in its place.
    open_ = [entry for entry in settings_of(read) if not (entry.key in hidden and TEMPLATE.search(entry.value))]
    known = [entry for found in open_ if (entry := _recognise_one(found, findings, is_lenient)) is not None]
    return Recognised(read, tuple(known), instead, tuple(findings))


def settle(found: Recognised, topic: str | None = None, entities: Collection[str] = ()) -> Given:
    """The entry that counts for each key: a topic's before a broker's, the later of two in one file, what is instead first.

    `entities` are the clusters, services or profiles that are meant, where the files describe several.
    """
    instead, hidden = found.instead, found.hidden
    findings = list(found.findings)
    known = settings_of_variant(settings_of_topic(found.known, found.read, topic, hidden), found.read, entities, hidden)
    counted: dict[tuple[str, Scope], SettingEntry] = {}
    for entry in known:
        if entry.key in hidden:
            continue
        assert entry.scope is not None
        before = counted.get((entry.key, entry.scope))
        counted[entry.key, entry.scope] = entry if before is None else _later(before, entry, findings)
    chosen: dict[str, SettingEntry] = {}
    for scope in reversed(_PRECEDENCE):
        chosen.update({key: entry for (key, of), entry in counted.items() if of is scope})
    for key, entry in instead.items():
        old = [item for item in known if item.key in (key, _HIDES.get(key)) and item.value != entry.value]
        replaced = replace(entry, instead_of=tuple({(item.value, item.where): item for item in old}.values()))
        chosen[key] = _own_of_cluster(key, known) or replaced
    findings += _overridden(instead, chosen)
    entries = {key: entry for key, entry in chosen.items() if entry.value or key not in _UNSET_IF_EMPTY}
    own = tuple(entry for entry in settings_of(found.read) if entry.means is None and entry.key in keys.OF_COORDINATORS)
    return Given(entries, tuple(findings), quorum=tuple(filter(_is_of_quorum, found.read)), coordinators=own)


def _is_of_quorum(one: Read) -> bool:
    if isinstance(one, Note):
        return isinstance(one.fact, Controllers)
    return one.means is None and (one.key in keys.QUORUM or one.key == keys.ROLES)



TEMPLATE = re.compile(r"\$\{|\$\(|\{\{|\{%|<%|^\$\w")
"""What somebody else fills in: a shell, Helm, Terraform, Spring."""

_UNSET_IF_EMPTY = (keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.METADATA_VERSION)
"""Settings whose empty value says what leaving them out says."""


# -- names --------------------------------------------------------------------------------------------------------------


def _check_names(read: Sequence[Read], findings: list[Remark], is_lenient: bool) -> None:
    """Looks at names that are not known: the error or the warnings that they deserve."""
    strange: dict[str, SettingEntry] = {}
    of_files: dict[str, list[SettingEntry]] = {}
    understood = {one.file for one in read if isinstance(one, Note)}
    for entry in settings_of(read):
        of_files.setdefault(entry.file, []).append(entry)
        if entry.means is not None:
            strange[entry.key] = entry
        elif not is_known(entry.key):
            strange.setdefault(entry.key, entry)
    if len(strange) > MAX_UNKNOWN:
        entry = list(strange.values())[MAX_UNKNOWN]
        raise SpecUnreadable(f"{entry.where}: more than {MAX_UNKNOWN:,} names are not settings of Kafka; {INSTEAD}")
    likely = {name: wanted for name, entry in strange.items() if (wanted := _key_meant(entry)) is not None}
    for file, found in of_files.items():
        is_understood = file in understood or any(entry.means is None and is_known(entry.key) for entry in found)
        if not is_understood and (is_lenient or not any(entry.key in likely for entry in found)):
            raise SpecUnreadable(f"{file} names no setting of Kafka's; the first that it seems to name is {found[0].key!r}; "
                                 f"{INSTEAD}")  # fmt: skip
    wrong = {name: wanted for name, wanted in likely.items() if wanted in DECIDING}
    if wrong and not is_lenient:
        name, wanted = next(iter(wrong.items()))
        more = f" ({len(wrong) - 1} more like it)" if len(wrong) > 1 else ""
        entry = strange[name]
        where = "stands where no setting is read" if entry.means is not None else "is not a setting of Kafka"
        fix = "move it to where it counts" if entry.means is not None else "write that"
        raise ConfigurationError(
            f"{entry.where}: {name} {where}, and {wanted} seems to be meant{more}; {fix}, or have it passed over with "
            "--lenient"
        )
    for name, wanted in likely.items():
        by_wish = " (--lenient)" if name in wrong else ""
        text = f"{name} is not a setting of Kafka and is ignored{by_wish}; {wanted} is meant, perhaps"
        findings.append(Remark("misspelt", Severity.WARNING, text, strange[name], name in wrong))


def _key_meant(entry: SettingEntry) -> str | None:
    return entry.means or likely_setting(entry.key) or setting_within(entry.value)


def _check_imports(read: Sequence[Read], findings: list[Remark], is_lenient: bool) -> None:
    """What a file takes from another has to be named as well: it may decide."""
    facts = facts_in(read)
    named = {PurePath(one.file).name for one in read} | {note.entity for fact, note in facts if isinstance(fact, Described)}
    for fact, note in facts:
        if not isinstance(fact, Imported) or PurePath(fact.other.rpartition(":")[2]).name in named:
            continue
        text = f"{fact.other} counts too, and is not among the files"
        if not is_lenient:
            raise ConfigurationError(f"{note.where}: {text}; name it as well, or have it passed over with --lenient")
        findings.append(Remark("not-named", Severity.WARNING, f"{text}; it is passed over (--lenient)", note, True))


def _recognise_one(entry: SettingEntry, findings: list[Remark], is_lenient: bool) -> SettingEntry | None:
    """The entry with its scope and its value in its usual form; None if it is passed over."""
    key = None if entry.means is not None else KEYS.get(entry.key)
    if key is None:
        if entry.key in ("include", "includeoptional"):
            text = f"Kafka does not read {entry.value}: its settings know no {entry.key}; name that file here if it counts"
            findings.append(Remark("include", Severity.WARNING, text, entry))
        return None
    scope = key.scopes[0] if entry.scope is None else entry.scope
    if scope not in key.scopes:
        text = f"{entry.key} is not a setting of a {scope.value} but of a {key.scopes[0].value}"
        decides = entry.key in DECIDING
        if decides and not is_lenient:
            raise ConfigurationError(f"{entry.where}: {text}; move it there, or have it passed over with --lenient")
        findings.append(Remark("misplaced", Severity.WARNING, f"{text}, and is passed over", entry, decides))
        return None
    return replace(entry, scope=scope, value=_value(entry))


def _value(entry: SettingEntry) -> str:
    try:
        return KEYS[entry.key].read(entry.value)
    except ValueError as error:
        if TEMPLATE.search(entry.value):
            raise ConfigurationError(
                f"{entry.where}: {entry.key} is {entry.value!r}, which is filled in elsewhere; name a file in which it is, "
                f"or say its value with {OPTION} {entry.key}=…"
            ) from None
        raise ConfigurationError(f"{entry.where}: {entry.key} is {entry.value!r} and must be {error}") from None


# -- what takes the place of settings -----------------------------------------------------------------------------------


def _instead(overrides: Iterable[SettingEntry]) -> dict[str, SettingEntry]:
    instead: dict[str, SettingEntry] = {}
    for found in overrides:
        entry = replace(found, scope=KEYS[found.key].scopes[0], value=_value(found))
        before = instead.setdefault(entry.key, entry)
        if before.value != entry.value:
            raise ConfigurationError(f"{entry.where} sets {entry.key} to {before.value} and to {entry.value}; leave one out")
    return instead


FOR_ALL_BROKERS = "(dynamic for all brokers)"
"""How a broker names a setting that is in the metadata, so that controllers have it too."""


def _own_of_cluster(key: str, known: Iterable[SettingEntry]) -> SettingEntry | None:
    """What a running cluster says of unclean elections for a topic, or for all brokers.

    Controllers go by that before they go by their own, which brokers cannot tell and which is given in place of the brokers'.
    """
    said = [one for one in known if one.key == key == keys.UNCLEAN and one.said_by
            and (one.scope is Scope.TOPIC or FOR_ALL_BROKERS in one.said_by)]  # fmt: skip
    return min(said, key=lambda one: one.scope is not Scope.TOPIC, default=None)


def _overridden(instead: Mapping[str, SettingEntry], chosen: Mapping[str, SettingEntry]) -> list[Remark]:
    """What is asked about in the place of what the files say, with both values and places."""
    findings = []
    for key, wanted in instead.items():
        entry = chosen[key]
        if entry.value != wanted.value:
            text = (
                f"{key}={wanted.value} ({wanted.where}) changes nothing: {entry.where} says {entry.value}, which counts "
                "before what brokers or controllers have"
            )
            findings.append(Remark("override-unused", Severity.WARNING, text, entry))
        for old in entry.instead_of:
            text = f"{key}={entry.value} ({entry.where}) is asked about instead of {old.key}={old.value} ({old.where})"
            findings.append(Remark("overridden", Severity.NOTE, text, old))
    if keys.DEFAULT_FACTOR in instead and REPLICATION_FACTOR in chosen:
        factor = chosen[REPLICATION_FACTOR]
        text = (
            f"{keys.DEFAULT_FACTOR} ({OPTION}) changes nothing: it is for topics that are made without a number, and this "
            f"one has {factor.value} ({factor.where}); set {REPLICATION_FACTOR}"
        )
        findings.append(Remark("override-unused", Severity.WARNING, text))
    return findings


# -- which of several counts --------------------------------------------------------------------------------------------


def _later(before: SettingEntry, entry: SettingEntry, findings: list[Remark]) -> SettingEntry:
    """The one of two entries of a key and a scope that counts."""
    if before.value == entry.value or stays_the_same(before, entry):
        return before
    if entry.key == OLDEST:  # Whichever resource says more.
        return max(before, entry, key=lambda one: [int(part) for part in one.value.split(".")])
    if entry.key == REPLICATION_FACTOR and before.file == entry.file and before.entity == entry.entity:
        raise ConfigurationError(
            f"{entry.where}: a partition has {entry.value} replicas and another {before.value} ({before.where}), and neither "
            f"number is the worse in all answers; audit one at a time, with {OPTION} {REPLICATION_FACTOR}={before.value}"
        )
    if before.file != entry.file or before.entity != entry.entity:
        raise ConfigurationError(
            f"{before.where} sets {entry.key} to {before.value} and {entry.where} to {entry.value}; audit one at a time"
        )
    text = f"{entry.key} is named twice, as {before.value} in line {before.line} and as {entry.value}; the later one counts"
    findings.append(Remark("named-twice", Severity.WARNING, text, entry))
    return entry


# -- which of several topics, clusters, services or profiles is meant ---------------------------------------------------


_BY_PRESENCE = frozenset({keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.TRANSACTIONAL_ID, keys.GROUP_INSTANCE, keys.CLIENT_RACK})
"""Settings of which only counts whether they have a value: nodes differ in it as they should."""

_KINDS = (Scope.BROKER, Scope.DYNAMIC_BROKER, Scope.PRODUCER, Scope.CONSUMER)


def stays_the_same(first: SettingEntry, second: SettingEntry) -> bool:
    """Whether two values of one setting say the same here."""
    return first.key in _BY_PRESENCE and bool(first.value) == bool(second.value)


def settings_of_topic(
    known: Sequence[SettingEntry], read: Iterable[Read], topic: str | None, hidden: Container[str]
) -> list[SettingEntry]:
    """Without the settings of other topics than the one that is meant; those that differ in `hidden` keys only are alike."""
    both = [*read, *known]  # Of those that are only described nothing is known.
    topics = list(dict.fromkeys(e.entity for e in both if e.scope is Scope.TOPIC and e.entity is not None))
    if topic is not None and topic not in topics:
        raise ConfigurationError(f"no file describes a topic {topic!r}{near(topic, topics)}; they describe {_list(topics)}")
    if topic is None and len(topics) > 1:
        shown = [entry for entry in known if entry.key not in hidden and entry.scope is Scope.TOPIC]
        settings = [frozenset((e.key, e.value) for e in shown if e.entity == name) for name in topics]
        if len(set(settings)) > 1:
            raise ConfigurationError(f"the files describe several topics; name one with --topic: {_list(topics)}")
    if topic is None and topics:
        topic = topics[0]
    if topic is not None:
        notes = [one for one in both if isinstance(one, Note) and one.fact == Described() and one.scope is Scope.TOPIC]
        _check_one_definition([e for e in known if e.key not in hidden], notes, topic)
    return [e for e in known if e.scope is not Scope.TOPIC or e.entity is None or topic is None or e.entity == topic]


def _check_one_definition(known: Sequence[SettingEntry], described: Iterable[Note], topic: str) -> None:
    """Two resources of one name are two topics (of two clusters), unless they say the same."""
    where = {note.file: note.where for note in described if note.entity == topic}
    own = [entry for entry in known if entry.scope is Scope.TOPIC and entry.entity == topic]
    found = {file: frozenset((entry.key, entry.value) for entry in own if entry.file == file) for file in where}
    if len(set(found.values())) > 1:
        first, second = list(where.values())[:2]
        raise ConfigurationError(f"{first} and {second} both describe the topic {topic}, and differ; audit one at a time")


def settings_of_variant(
    known: Sequence[SettingEntry], read: Iterable[Read], wanted: Collection[str], hidden: Container[str]
) -> list[SettingEntry]:
    """Without the settings of other clusters, services and profiles than those that are meant, unless all are alike.

    What differs between them and is not said here would count for all: a setting of one of them only.
    """
    both = [*read, *known]
    names = {scope: list(dict.fromkeys((e.file, e.entity) for e in both if e.scope is scope and e.entity is not None))
             for scope in _KINDS}  # fmt: skip
    every = list(dict.fromkeys(str(entity) for found in names.values() for _, entity in found))
    for name in wanted:
        if name not in every:
            raise ConfigurationError(f"no file describes {name!r}{near(name, every)}; they describe {_list(every)}")
    left = list(known)
    for scope, found in names.items():
        meant = [name for name in found if name[1] in wanted] or found
        settings = {name: _settings(known, scope, name, hidden) for name in meant}
        if len(set(settings.values())) > 1:
            differing = sorted({key for one in settings.values() for key, _ in one ^ settings[meant[0]]})
            raise ConfigurationError(
                f"the files describe several {_noun(scope)}, which differ in {', '.join(differing[:3])}; name one with "
                f"--entity: {_list(str(entity) for _, entity in meant)}"
            )
        left = [e for e in left if e.scope is not scope or e.entity is None or (e.file, e.entity) in meant]
    return left


def _settings(
    known: Iterable[SettingEntry], scope: Scope, name: tuple[str, str | None], hidden: Container[str]
) -> frozenset[tuple[str, str]]:
    """What one of them sets; the later of two in one file counts."""
    found = {}
    for entry in known:
        if entry.scope is scope and (entry.file, entry.entity) == name and entry.key not in hidden:
            found[entry.key] = str(bool(entry.value)) if entry.key in _BY_PRESENCE else entry.value
    if scope is Scope.BROKER:
        found.pop(keys.ROLES, None)  # Nodes of one cluster have different roles.
    return frozenset(found.items())


def _noun(scope: Scope) -> str:
    return "clusters or nodes" if scope in (Scope.BROKER, Scope.DYNAMIC_BROKER) else f"{scope.value}s"


def _list(names: Iterable[str]) -> str:
    shown = list(dict.fromkeys(names))
    return ", ".join(shown[:8]) + (", …" if len(shown) > 8 else "") if shown else "none"
