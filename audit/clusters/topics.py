"""Every topic that is described, in groups whose settings in effect are the same, and each variant where brokers differ.

Which topics there are, drift between brokers, and what is to be remarked on a topic as it is now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from acked.audit.decision.gather import Given, Recognised, Remark, Severity, facts_in, settle
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import near
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Assigned, Condition, Listed, Note, Noticed, Read, Unread, UnreadLeader

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""Topics of Kafka's own; what is said of them is about offsets and transactions rather than records of the user's."""

MOST_NAMED = 5
"""Partitions that are named in one remark."""

CONTROLLERS_UNREAD = "controllers-unread"
"""The rule of the remark that controllers of their own (KRaft) have settings that brokers cannot tell."""

_OF_BROKERS = (Scope.BROKER, Scope.DYNAMIC_BROKER)

Signature = frozenset[tuple[str, str]]

_Member = tuple[Signature, frozenset[str], bool]
"""What topics of a group have in common: the settings in effect, the brokers that lead, whether controllers may differ."""


@frozen
class TopicGroup:
    """Topics for which the same counts; none where no topic is described.

    `brokers` are those whose settings these are, where brokers differ; empty where they agree. `producer` says which producer
    is assumed, where none is known; one that does not decide (`decides`) is answered for comparison. `refusal` says why
    nothing can be asked of a group. `unit` is the cluster, folder or file that it is of, where there are several.
    """

    topics: tuple[str, ...]
    given: Given
    brokers: tuple[str, ...] = ()
    producer: str = ""
    decides: bool = True
    refusal: str = ""
    unit: str = ""

    @property
    def is_unread(self) -> bool:
        """Whether it is of brokers whose settings are not known; where others are known, those answer for its topics."""
        return bool(self.refusal and self.brokers)


def groups_of(
    found: Recognised, topic: str | None = None, entities: Collection[str] = (), with_internal: bool = False
) -> list[TopicGroup]:
    """The groups, in the order in which their first topics are described.

    Topics of Kafka's own are left out unless `with_internal`, or unless one is named by `topic` or nothing else is described.
    """
    described = topics_in(found)
    if topic is not None and topic not in described:
        listed = ", ".join(described[:8]) + (", …" if len(described) > 8 else "") or "none"
        of = f" of {', '.join(entities)}" if entities else ""
        raise ConfigurationError(f"no file describes a topic {topic!r}{of}{near(topic, described)}; they describe {listed}")
    wanted = [topic] if topic is not None else [name for name in described if with_internal or name not in INTERNAL]
    own = _split_by_topic(found, wanted or described)
    shared = found.only(())
    members: dict[_Member, tuple[Given, list[str], list[str]]] = {}
    settled: dict[tuple[Read, ...], list[_Member]] = {}
    refused: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    first_error: ConfigurationError | None = None
    names: Sequence[str | None] = wanted or described or [None]
    for name in names:
        mine = shared if name is None else own[name]
        for reason in _gaps(mine):
            refused.setdefault(reason, []).append(name or "")
        if any(not brokers for _, brokers in _gaps(mine)):
            continue
        content = _content(mine, shared)
        if content in settled and name is not None:  # Thousands of topics are of a few kinds.
            for key in settled[content]:
                members[key][1].append(name)
            continue
        try:
            variants = _variants(mine, name, entities)
        except ConfigurationError as error:
            first_error = first_error or error
            refused.setdefault((str(error), ()), []).append(name or "")
            continue
        for brokers, given in variants.items():
            remarked = replace(given, findings=(*given.findings, *_now(mine)))
            signature = frozenset((key, entry.value) for key, entry in given.entries.items())
            # Of equal values only those that controllers may have otherwise hang on them.
            hangs = any(finding.rule == CONTROLLERS_UNREAD for finding in remarked.findings)
            key = (signature, frozenset(brokers), hangs)
            _, alike, _ = members.setdefault(key, (remarked, [], list(brokers)))
            alike += [name] if name is not None else []
            settled.setdefault(content, []).append(key)
    if first_error is not None and (not members or len(wanted or described) < 2):
        raise first_error
    groups = [TopicGroup(tuple(alike), given, tuple(led)) for given, alike, led in members.values()]
    unasked = [TopicGroup(tuple(alike), Given({}, ()), led, refusal=reason) for (reason, led), alike in refused.items()]
    return [*(_merge_findings(group, own) for group in groups), *unasked]


def topics_in(found: Recognised) -> list[str]:
    """The topics that are described, in their order."""
    names = (one.entity for one in (*found.read, *found.known) if one.scope is Scope.TOPIC)
    return list(dict.fromkeys(name for name in names if name is not None))


def left_out(found: Recognised, groups: Iterable[TopicGroup]) -> list[str]:
    """The topics that are described and in no group."""
    asked = {name for group in groups for name in group.topics}
    return [name for name in topics_in(found) if name not in asked]


def _split_by_topic(found: Recognised, names: Sequence[str]) -> dict[str, Recognised]:
    """What counts for each topic: its own and what is said of none; in one pass, for there may be thousands."""
    shared = found.only(())
    read: dict[str, list[Read]] = {name: list(shared.read) for name in names}
    known: dict[str, list[SettingEntry]] = {name: list(shared.known) for name in names}
    findings: dict[str, list[Remark]] = {name: list(shared.findings) for name in names}
    for one in found.read:
        if one.scope is Scope.TOPIC and one.entity in read:
            read[one.entity].append(one)
    for entry in found.known:
        if entry.scope is Scope.TOPIC and entry.entity in known:
            known[entry.entity].append(entry)
    for finding in found.findings:
        of = finding.entry
        if of is not None and of.scope is Scope.TOPIC and of.entity in findings:
            findings[of.entity].append(finding)
    return {
        name: replace(found, read=tuple(read[name]), known=tuple(known[name]), findings=tuple(findings[name]))
        for name in names
    }


def _content(own: Recognised, shared: Recognised) -> tuple[Read, ...]:
    """All that decides the groups of a topic of what is said of it alone: neither its name nor its partitions nor lines."""
    said = (*own.read[len(shared.read) :], *own.known[len(shared.known) :])
    return tuple(
        replace(one, entity=None, line=0, said_by="")
        for one in said
        if isinstance(one, SettingEntry) or not isinstance(one.fact, Assigned | Noticed)
    )


def _gaps(found: Recognised) -> list[tuple[str, tuple[str, ...]]]:
    """What of a topic is not known: why, and the brokers under whose lead that counts; none for all of it."""
    reasons: list[tuple[str, tuple[str, ...]]] = []
    for fact, note in facts_in(found.read):
        if isinstance(fact, Unread) and note.scope is Scope.TOPIC:
            reasons.append((f"the topic's settings may not be read: {fact.reason}", ()))
        elif isinstance(fact, UnreadLeader):
            reasons.append((f"the settings of broker {fact.broker} are not known: {fact.reason}", (fact.broker,)))
    return reasons


# -- drift --------------------------------------------------------------------------------------------------------------


def _variants(found: Recognised, topic: str | None, entities: Collection[str]) -> dict[tuple[str, ...], Given]:
    """What counts where the leader is one of some brokers, by their names; one entry without names where they agree."""
    listed = _listed_brokers(found)
    unread = {note.entity for fact, note in facts_in(found.read) if isinstance(fact, Unread) and note.scope in _OF_BROKERS}
    brokers = [name for name in listed if name not in unread]
    if listed and not brokers:
        return {}
    found = _without(found, [name for name in listed if name in unread])
    if len(brokers) < 2 or any(name in entities for name in brokers):
        return {(): settle(found, topic, entities)}
    by_values: dict[Signature, tuple[Given, list[str]]] = {}
    for name in brokers:
        given = settle(_without(found, [other for other in brokers if other != name]), topic, entities)
        signature = frozenset((key, entry.value) for key, entry in given.entries.items())
        by_values.setdefault(signature, (given, []))[1].append(name)
    if len(by_values) == 1:
        return {(): next(iter(by_values.values()))[0]}
    differing = sorted({key for one in by_values for key, _ in one ^ next(iter(by_values))} & KEYS.keys())
    found_: dict[tuple[str, ...], Given] = {}
    for given, names in by_values.values():
        said = ", ".join(f"{key}={given.entries[key].value}" if key in given.entries else f"no {key}" for key in differing)
        have = "has" if len(names) == 1 else "have"
        text = (
            f"brokers differ: {_and(names)} {have} {said}; what counts depends on who leads, so "
            "each variant is answered as if all brokers had it"
        )
        found_[tuple(names)] = replace(given, findings=(*given.findings, Remark("drift", Severity.WARNING, text)))
    return found_


def _listed_brokers(found: Recognised) -> list[str]:
    """The brokers of one cluster: only what Kafka's own tools list, or a cluster itself says, is known to be of one."""
    listed = [note for fact, note in facts_in(found.read) if fact == Listed() and note.scope in _OF_BROKERS and note.entity]
    if len({note.file for note in listed}) != 1:
        return []
    return list(dict.fromkeys(str(note.entity) for note in listed))


def _without(found: Recognised, brokers: Sequence[str]) -> Recognised:
    others = set(brokers)

    def concerns(one: Read) -> bool:
        return one.scope not in _OF_BROKERS or one.entity not in others

    return replace(found, read=tuple(filter(concerns, found.read)), known=tuple(filter(concerns, found.known)))


def _and(names: Sequence[str]) -> str:
    shown = list(names)
    word = "broker" if len(shown) == 1 else "brokers"
    return f"{word} {', '.join(shown[:8])}{', …' if len(shown) > 8 else ''}"


# -- as it is now -------------------------------------------------------------------------------------------------------


def _now(found: Recognised) -> list[Remark]:
    """What partitions of a topic are like at the moment: fewer in sync than there are, no leader, a rack that is shared."""
    facts = facts_in(found.read)
    noticed: dict[tuple[Condition, str | None], list[tuple[str, Note]]] = {}
    for fact, note in facts:
        if isinstance(fact, Noticed):
            noticed.setdefault((fact.condition, note.entity), []).append((fact.words, note))
    remarks = []
    said = {entry.key for entry in found.known if entry.scope is Scope.TOPIC} | found.instead.keys()
    if any(isinstance(fact, Unread) and note.scope is None for fact, note in facts) and keys.UNCLEAN not in said:
        text = (
            f"the controllers decide by their own {keys.UNCLEAN}, which brokers cannot tell; what hangs on it is undecided: "
            f"say it with --set {keys.UNCLEAN}=false, or =true, or set it for the topic"
        )
        remarks.append(Remark(CONTROLLERS_UNREAD, Severity.WARNING, text))
    for (condition, topic), told in noticed.items():
        rule, what = condition.value
        shown = "; ".join(words for words, _ in told[:MOST_NAMED])
        more = f"; and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        remarks.append(Remark(rule, Severity.WARNING, f"topic {topic} {what}: {shown}{more}", told[0][1]))
    return remarks


def _merge_findings(group: TopicGroup, own: Mapping[str, Recognised]) -> TopicGroup:
    """With what is to be remarked on any of the topics, and not on the first alone."""
    findings = list(group.given.findings)
    for name in group.topics[1:]:
        findings += [finding for finding in (*own[name].findings, *_now(own[name])) if finding not in findings]
    return replace(group, given=replace(group.given, findings=tuple(findings)))
