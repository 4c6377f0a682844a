"""What files describe, in units that are each answered: clusters by name, and files that say different things of the same.

A topic belongs to the cluster that it names, and takes nothing from the brokers of another. Files that do not agree on the
same brokers, topics or clients are those of several environments or applications, each with what its folder has besides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from acked.audit.clusters.topics import TopicGroup, groups_of, topics_in
from acked.audit.decision.gather import Given, Recognised, Remark, Severity, facts_in, stays_the_same
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import near
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import PRODUCER_OPTION, REPLICATION_FACTOR, Scope, SettingEntry
from acked.cluster.vocabulary.note import Described, Listed, Read
from acked.model.language.telling import says_list

MOST_UNITS = 64
"""Units that one answer has: more would be files of many applications, and not a cluster's."""

_CLIENTS = (Scope.PRODUCER, Scope.CONSUMER)


@frozen
class Unit:
    """What is answered together, and what it is called; nothing where it is all there is.

    `missing` is the cluster that its topics name and no file describes, while one describes another.
    """

    name: str
    found: Recognised
    missing: str = ""


def units_of(found: Recognised) -> list[Unit]:
    """The units, in the order in which the files describe them; `ConfigurationError` for too many."""
    units = [
        Unit(", ".join(filter(None, (place, name))), part, missing)
        for place, files in _by_files(found)
        for name, part, missing in _by_cluster(files)
    ]
    if len(units) > MOST_UNITS:
        raise ConfigurationError(f"the files are of {len(units)} clusters and applications that differ, more than "
                                 f"{MOST_UNITS}; name fewer of them")  # fmt: skip
    return units


# -- clusters by name ---------------------------------------------------------------------------------------------------


def _by_cluster(found: Recognised) -> list[tuple[str, Recognised, str]]:
    """What each cluster has: its name, what is said of it or of none, and its name again if nobody describes its brokers."""
    named = list(dict.fromkeys(one.cluster for one in (*found.read, *found.known) if one.cluster is not None))
    described = {note.cluster for fact, note in facts_in(found.read)
                 if fact in (Described(), Listed()) and note.scope is Scope.BROKER and note.entity is not None}  # fmt: skip
    homes = {name: [name] if name in described else _homes(name, described) for name in named}
    missing = [name for name in named if not homes[name]]
    clusters = [*(name for name in named if name in described), *missing]
    has_brokers = any(entry.scope not in (Scope.TOPIC, *_CLIENTS) for entry in found.known)
    if missing and not described and not has_brokers:
        text = f"no file describes {says_list(missing)}, which topics name as their cluster: a release's defaults are taken"
        found = replace(found, findings=(*found.findings, Remark("no-cluster", Severity.WARNING, text)))
    if len(clusters) < 2 and not (missing and described):
        return [("", found, "")]
    short = {name: name.rpartition("/")[2] for name in clusters}
    is_short = len(set(short.values())) == len(clusters)
    unknown = missing if described else []
    return [
        (short[name] if is_short else name, found.where(_concerns(name, homes)), name if name in unknown else "")
        for name in clusters
    ]


def _homes(name: str, described: Iterable[str | None]) -> list[str]:
    """The clusters that a name may mean where one side says no namespace."""
    space, _, short = name.rpartition("/")
    return [one for one in described if one is not None and one.rpartition("/")[2] == short
            and not (space and one.rpartition("/")[0])]  # fmt: skip


def _concerns(name: str, homes: Mapping[str, Sequence[str]]) -> Callable[[Read], bool]:
    return lambda one: one.cluster is None or one.cluster == name or name in homes[one.cluster]


def units_of_each(files: Iterable[tuple[str, Recognised]]) -> list[Unit]:
    """The units of files each of which is a unit, whatever the others say."""
    every = ((file, unit) for file, found in files for unit in units_of(found))
    return [replace(unit, name=", ".join(filter(None, (file, unit.name)))) for file, unit in every]


def assume_replicas(group: TopicGroup) -> TopicGroup:
    """The group with the replicas that people have, where a file alone does not say how many; a remark says so.

    Where it says nothing of brokers or topics either, as a producer's file, their min.insync.replicas is assumed as well.
    """
    entries = dict(group.given.entries)
    if group.refusal or REPLICATION_FACTOR in entries or keys.DEFAULT_FACTOR in entries:
        return group
    is_of_clients = all(entry.scope in _CLIENTS for entry in entries.values())
    assumed = {REPLICATION_FACTOR: "3", **({keys.MIN_ISR: "2"} if is_of_clients else {})}
    said = " and ".join(f"{key}={value}" for key, value in assumed.items())
    text = f"the file does not say how many replicas there are; {said} is assumed"
    entries |= {key: SettingEntry(key, value, "assumed", 0, Scope.TOPIC) for key, value in assumed.items()}
    findings = (*group.given.findings, Remark("assumed-replicas", Severity.WARNING, text))
    return replace(group, given=replace(group.given, entries=entries, findings=findings))


# -- the groups of topics of all units ----------------------------------------------------------------------------------


def groups_of_units(
    units: Sequence[Unit], topic: str | None = None, entities: Collection[str] = (), with_internal: bool = False
) -> list[TopicGroup]:
    """The groups of each unit that describes what is meant; a unit that cannot be asked about stops no other."""
    every = [name for unit in units for name in _entities(unit)]
    for name in entities:
        if len(units) > 1 and name not in every:
            raise ConfigurationError(f"no file describes {name!r}{near(name, every)}; they describe {says_list(every)}")
    meant = [unit for unit in units if not entities or any(name in entities for name in _entities(unit))] or units
    meant = [unit for unit in meant if topic is None or topic in topics_in(unit.found)] or meant
    groups: list[TopicGroup] = []
    for unit in meant:
        try:
            here = [name for name in entities if name in _entities(unit)] if len(meant) < len(units) else entities
            own = [_missing(unit)] if unit.missing else groups_of(unit.found, topic, here, with_internal)
        except ConfigurationError as error:
            if len(meant) == 1:
                raise
            own = [TopicGroup(tuple(topics_in(unit.found)), Given({}, ()), refusal=str(error))]
        groups += [replace(group, unit=unit.name) for group in own]
    return groups


def _entities(unit: Unit) -> list[str]:
    """The clusters, nodes, services and profiles that a unit describes."""
    both = (*unit.found.read, *unit.found.known)
    return list(dict.fromkeys(one.entity for one in both if one.scope is not Scope.TOPIC and one.entity is not None))


def _missing(unit: Unit) -> TopicGroup:
    reason = f"no file describes their cluster {unit.missing}, and other clusters say nothing of it; name its file too"
    return TopicGroup(tuple(topics_in(unit.found)), Given({}, ()), refusal=reason)


# -- files that differ --------------------------------------------------------------------------------------------------

Subject = tuple[Scope, str | None, str | None]
"""What files speak of: the scope, the cluster, and the topic."""


def _by_files(found: Recognised) -> list[tuple[str, Recognised]]:
    """The files in sets that agree, each by the folder or file that makes it one; those that decide nothing are in all."""
    differing = _differing(found)
    if not differing:
        return [("", found)]
    folders = [str(PurePath(file).parent) for file in differing]
    # One folder with two files that differ is told apart by the files.
    roots = differing if len(set(folders)) < len(folders) else folders
    files = {one.file for one in (*found.read, *found.known)}
    units: list[tuple[str, Recognised]] = []
    for root, own in zip(roots, differing, strict=True):
        left = {file for file in files if file == own or (file not in differing and _counts(file, root, roots))}
        part = found.where(lambda one, left=left: one.file in left or one.file not in files)  # type: ignore[misc]
        units += [(", ".join(filter(None, (root, inner))), whose) for inner, whose in _by_files(part)]
        if len(units) > MOST_UNITS:
            break
    return units


def _counts(file: str, root: str, roots: Sequence[str]) -> bool:
    """Whether a file is in a root, in a folder around it, or in no root at all."""
    inside = [one for one in roots if _is_in(file, one)]
    innermost = max(inside, key=lambda one: len(PurePath(one).parts), default=None)
    return innermost is None or root == innermost or _is_in(root, innermost)


def _is_in(path: str, root: str) -> bool:
    return PurePath(root) in PurePath(path).parents


def _differing(found: Recognised) -> list[str]:
    """The files that say different things of the same, of brokers and topics first, and of clients once those agree."""
    said: dict[Subject, dict[str, dict[str, SettingEntry]]] = {}
    for entry in found.known:
        if entry.key not in found.hidden and entry.scope is not None and not entry.said_by and entry.file != PRODUCER_OPTION:
            subject = (entry.scope, entry.cluster, entry.entity if entry.scope is Scope.TOPIC else None)
            said.setdefault(subject, {}).setdefault(entry.file, {})[entry.key] = entry
    facts = facts_in(found.read)
    listed = {(note.scope, note.entity if note.scope is Scope.TOPIC else None, note.file)
              for fact, note in facts if fact == Listed()}  # fmt: skip
    for of_clients in (False, True):
        differing: dict[str, None] = {}
        for (scope, _, entity), files in said.items():
            if (scope in _CLIENTS) is of_clients:
                is_listed = any((scope, entity, file) in listed for file in files)
                differing.update(dict.fromkeys(_apart(files, is_listed)))
        if differing:
            return list(differing)
    return []


def _apart(files: Mapping[str, Mapping[str, SettingEntry]], is_listed: bool) -> list[str]:
    """The files of one subject that cannot all be true of one thing."""
    names = list(files)
    return [name for name in names if any(_contradict(name, other, files, is_listed) for other in names)]


def _contradict(one: str, other: str, files: Mapping[str, Mapping[str, SettingEntry]], is_listed: bool) -> bool:
    """Whether two files speak of one thing, by a setting in both or by their names, and differ; of what Kafka's tools list
    another listing may say more.
    """
    mine, theirs = files[one], files[other]
    shared = mine.keys() & theirs.keys()
    if any(_differ(mine[key], theirs[key]) for key in shared):
        return True
    is_same = bool(shared) or PurePath(one).name == PurePath(other).name
    return not is_listed and one != other and is_same and mine.keys() != theirs.keys()


def _differ(one: SettingEntry, other: SettingEntry) -> bool:
    return one.value != other.value and not stays_the_same(one, other)
