"""What is to be remarked on a cluster's own state: who votes in the controllers' quorum, and what coordinators keep.

Sources: `QuorumConfig`, `KafkaRaftClient.initialize` and `VoterSetHistory.lastValue` of 3.9; `KafkaConfig.validateValues` of
4.2 (KIP-853, KAFKA-19078, KAFKA-19850); `GroupMetadataManager` to 3.9, `GroupCoordinatorConfig` of 4.0 (KIP-186, KIP-211),
`GroupConfig` and `ShareCoordinatorConfig` of 4.0 to 4.3 (KIP-932), `CleanerConfig` of 4.3. What failures cost is searched for
with `kraft`, `coordinator`, `share` and `compaction` (`docs/controllers.md`, `docs/coordinators.md`, `docs/share-groups.md`,
`docs/compaction.md`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from acked.audit.decision.gather import TEMPLATE, RefusedByKafka, Remark, Severity, facts_in
from acked.base.frozen import frozen
from acked.base.release import Release
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.keys import (
    AUTO_JOIN,
    BROKER_CLEANUP,
    BROKER_DELETES_KEPT,
    CLEANER_MAP,
    CLEANUP,
    DELETES_KEPT,
    GROUP_PROTOCOL,
    OFFSETS_ACKS,
    OFFSETS_FACTOR,
    OFFSETS_RETENTION,
    QUORUM_BOOTSTRAP,
    QUORUM_VOTERS,
    REBALANCE_PROTOCOLS,
    ROLES,
    SHARE_FACTOR,
    SHARE_MIN_ISR,
    SHARE_RESET,
    TRANSACTIONS_FACTOR,
    TRANSACTIONS_MIN_ISR,
)
from acked.cluster.vocabulary.note import Controllers, Read, settings_of
from acked.model.language.telling import says_list

_DYNAMIC = "3.9"
"""The release of KIP-853: voters as records, and with it the list of bootstrap servers."""

_JOINING = "4.2"
"""The release of controllers that join by themselves."""

_ADDRESS = r"(?P<address>(?:[0-9a-zA-Z\-%._]*://)?\[?[0-9a-zA-Z\-%._:]*\]?:(?P<port>[0-9]+))"
_VOTER, _SERVER = re.compile(rf"(?P<id>[+-]?[0-9]+)@{_ADDRESS}"), re.compile(_ADDRESS)
_MOST_PORT = 65535


@frozen
class Quorum:
    """The voters that one place names, in their order, an id as often as it stands there."""

    entry: SettingEntry
    named: tuple[tuple[int, str], ...]

    @property
    def voters(self) -> Mapping[int, str]:
        """The address of each id; of several Kafka takes the last."""
        return dict(self.named)


def quorum_remarks(read: Sequence[Read], version: Release) -> Iterator[Remark]:
    """The remarks on what files say of the quorum and of nodes' roles; `RefusedByKafka` for what no node starts with."""
    said = list(settings_of(read))
    filled = [entry for entry in said if not TEMPLATE.search(entry.value)]
    for entry in said:
        if entry not in filled and entry.key != ROLES:
            text = f"{entry.key} is {entry.value!r}, which is filled in elsewhere; nothing is said of the quorum by it"
            yield Remark("quorum-open", Severity.WARNING, text, entry)
    lists = [_read(entry) for entry in filled if entry.key == QUORUM_VOTERS and entry.value]
    yield from _on_voters(lists)
    asked = [(fact, note) for fact, note in facts_in(read) if isinstance(fact, Controllers)]
    if asked and not lists and all(fact.count.isdecimal() for fact, _ in asked):
        yield from _on_count(sum(int(fact.count) for fact, _ in asked), "the files ask for", "controllers", asked[0][1])
    nodes: dict[tuple[str, str | None], dict[str, SettingEntry]] = {}
    for entry in filled:
        nodes.setdefault((entry.file, entry.entity), {})[entry.key] = entry
    for node in nodes.values():
        yield from _on_node(node, version)


def _entries(value: str) -> list[str]:
    """A list as Kafka's configuration takes it."""
    return re.split(r"\s*,\s*", value.strip()) if value.strip() else []


def _matches(entry: SettingEntry, form: re.Pattern[str], words: str) -> list[re.Match[str]]:
    """The entries of a list; `RefusedByKafka` for one that has another form."""
    found = []
    for text in _entries(entry.value):
        match = form.fullmatch(text)
        if match is None or int(match["port"]) > _MOST_PORT:
            raise RefusedByKafka(f"{entry.where}: Kafka refuses {entry.key}: {text!r} is not {words}; correct it")
        found.append(match)
    return found


def _read(entry: SettingEntry) -> Quorum:
    voters = _matches(entry, _VOTER, "ID@HOST:PORT")
    return Quorum(entry, tuple((int(voter["id"]), voter["address"]) for voter in voters))


# -- who votes ----------------------------------------------------------------------------------------------------------


def _on_voters(quorums: Sequence[Quorum]) -> Iterator[Remark]:
    """The remarks on lists of voters, of each by itself and of those that differ."""
    for at, quorum in enumerate(quorums):
        if any(before.named == quorum.named for before in quorums[:at]):
            continue
        yield from _on_names(quorum)
        yield from _on_count(len(quorum.voters), f"{QUORUM_VOTERS} names", "voters", quorum.entry)
        if at and (difference := _difference(quorums[0], quorum)):
            first = quorums[0].entry.where
            text = f"{QUORUM_VOTERS} has {difference} at {first}: nodes of one cluster have to agree on who votes and where"
            yield Remark("voters-differ", Severity.WARNING, text, quorum.entry)


def _on_names(quorum: Quorum) -> Iterator[Remark]:
    for voter in quorum.voters:
        addresses = [address for one, address in quorum.named if one == voter]
        if len(addresses) > 1:
            where = f"{len(addresses)} times" if len({*addresses}) == 1 else f"at {says_list([*dict.fromkeys(addresses)])}"
            text = (
                f"{QUORUM_VOTERS} names voter {voter} {where}: Kafka takes the last and says nothing, so "
                f"{_count(len(quorum.voters))} counted"
            )
            yield Remark("voter-twice", Severity.WARNING, text, quorum.entry)
    by_address: dict[str, list[str]] = {}
    for voter, address in quorum.voters.items():
        by_address.setdefault(address.lower(), []).append(str(voter))
    for address, voters in by_address.items():
        if len(voters) > 1:
            text = (
                f"{QUORUM_VOTERS} has voters {says_list(voters)} at {address}, where one node listens, which has one id: the "
                "rest is never reached, and counts all the same"
            )
            yield Remark("voters-share-address", Severity.WARNING, text, quorum.entry)


def _on_count(count: int, said: str, voters: str, where: Read) -> Iterator[Remark]:
    if count == 1:
        text = f"{said} one {voters[:-1]}: while it is down nothing is decided, and its disk is all of the metadata"
        yield Remark("one-voter", Severity.WARNING, text, where)
    elif count and count % 2 == 0:
        may_stop = "none" if count == 2 else str(count // 2 - 1)
        text = (
            f"{said} {count} {voters}, of which {count // 2 + 1} have to be up: {may_stop} may stop, as of {count - 1}, so "
            "the last one adds no failure that is survived; what an even number of static voters bears, and an odd one "
            "does not, is that one disk comes back empty"
        )
        yield Remark("even-voters", Severity.WARNING, text, where)


def _difference(first: Quorum, other: Quorum) -> str:
    """What the first has and the other has not, in words; nothing if they agree."""
    mine, theirs = first.voters, other.voters
    if mine.keys() != theirs.keys():
        return f"the voters {_ids(theirs)} here and {_ids(mine)}"
    moved = next((voter for voter in mine if mine[voter] != theirs[voter]), None)
    return "" if moved is None else f"voter {moved} at {theirs[moved]} here and at {mine[moved]}"


# -- what counts --------------------------------------------------------------------------------------------------------


def _on_node(node: Mapping[str, SettingEntry], version: Release) -> Iterator[Remark]:
    """The remarks on what one node has; several that a file does not tell apart count as one."""
    voters, servers, joins = (node.get(key) for key in (QUORUM_VOTERS, QUORUM_BOOTSTRAP, AUTO_JOIN))
    if servers is not None and not version.since(_DYNAMIC):
        yield _not_yet(servers, _DYNAMIC, version)
    elif servers is not None:
        _matches(servers, _SERVER, "HOST:PORT")
        if voters is not None and voters.value and servers.value:
            text = (
                f"{QUORUM_VOTERS} ({voters.where}) is set, too: whom to ask for the leader is {QUORUM_BOOTSTRAP}, and who "
                f"votes is {QUORUM_VOTERS} until the quorum's log names its voters (kraft.version=1), which count from "
                f"then on; kafka-features describe says which it is: with 1 remove {QUORUM_VOTERS}"
            )
            yield Remark("voters-and-servers", Severity.WARNING, text, servers)
    if joins is not None:
        yield from _on_joining(joins, voters, node.get(ROLES), version)


def _on_joining(
    joins: SettingEntry, voters: SettingEntry | None, roles: SettingEntry | None, version: Release
) -> Iterator[Remark]:
    value = joins.value.strip().lower()
    if not version.since(_JOINING):
        yield _not_yet(joins, _JOINING, version)
    elif value not in ("true", "false"):
        raise RefusedByKafka(f"{joins.where}: Kafka refuses {AUTO_JOIN}: {joins.value!r} is not true or false; correct it")
    elif value == "true":
        if roles is not None and _entries(roles.value) == ["broker"]:
            raise RefusedByKafka(
                f"{joins.where}: Kafka refuses {AUTO_JOIN} where {ROLES} ({roles.where}) has no controller; remove it there"
            )
        static = f" (not as long as the voters are those of {QUORUM_VOTERS}: kraft.version=0)" if voters is not None else ""
        text = (
            f"{AUTO_JOIN}: a controller that is removed while it runs asks by itself to vote, and is a voter again"
            f"{static}; stop it before kafka-metadata-quorum remove-controller (KAFKA-19850, 4.2 to 4.4)"
        )
        yield Remark("auto-join", Severity.WARNING, text, joins)


def _not_yet(entry: SettingEntry, since: str, version: Release) -> Remark:
    text = f"{entry.key} is new in Kafka {since}; {version.name} passes it over"
    return Remark("not-yet", Severity.WARNING, text, entry)


def _ids(voters: Iterable[int]) -> str:
    return says_list([str(voter) for voter in sorted(voters)])


def _count(voters: int) -> str:
    return "one voter is" if voters == 1 else f"{voters} voters are"


# -- what coordinators keep -----------------------------------------------------------------------------------------------

_WITHOUT_ACKS = "4.0"
"""The first release without offsets.commit.required.acks."""

_WEEK, _DAY = 7 * 24 * 60, 24 * 60
"""How long offsets are kept by default, in minutes: since 2.0 (KIP-186), and before."""

_MAP = 128 << 20
"""Bytes of the cleaner's map by default."""

_MARKED = "3.1"
"""The first release in which a tombstone is kept for so long from a pass that found it (KIP-534)."""

_SHARED, _SHARE_READY = "4.0", "4.2"
"""The releases with share groups: as an early access and a preview, and for everybody."""

_PREVIEW, _MENDED, _READY = "3.7", "3.8", "4.0"
"""Of group.protocol=consumer: the preview, the release without two owners (KAFKA-16147), and that in which it is ready."""


def coordinator_remarks(given: Iterable[SettingEntry], version: Release, clients: Release) -> Iterator[Remark]:
    """The remarks on settings by which committed offsets and transactions are lost; each value once, where it first stands.

    What Kafka creates its own topics with counts until they are there, and what they are then is theirs.
    """
    filled = [entry for entry in given if not TEMPLATE.search(entry.value)]
    first = {(entry.key, entry.value.strip().lower()): entry for entry in reversed(filled)}
    for (key, value), entry in reversed(first.items()):
        remark = _IN_WORDS[key](entry, value, version, clients) if key in _IN_WORDS else _on_number(key, _number(entry), version)
        if remark:
            rule, text = remark
            yield Remark(rule, Severity.WARNING, f"{key}={value}: {text}", entry)


def _number(entry: SettingEntry) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", entry.value.strip()):
        raise RefusedByKafka(f"{entry.where}: Kafka refuses {entry.key}: {entry.value!r} is not a number; correct it")
    return int(entry.value)


def _on_number(key: str, value: int, version: Release) -> tuple[str, str] | None:
    """Rule and text, for a setting of brokers."""
    if key == OFFSETS_FACTOR and value == 1:
        return "one-copy", "what groups have committed is on one disk, and lost with it"
    if key == TRANSACTIONS_FACTOR and value == 1:
        return "one-copy", "what was decided of transactions is on one disk, and lost with it"
    if key == TRANSACTIONS_MIN_ISR and value == 1:
        return "one-in-sync", "what was decided of a transaction may be on one disk, and lost with it"
    if key == OFFSETS_ACKS and value != -1:
        if version.since(_WITHOUT_ACKS):
            return "not-any-more", f"there is no such setting since Kafka {_WITHOUT_ACKS}, and {version.name} passes it over"
        return "commits-alone", "a commit is answered before all replicas in sync have it, and a failover loses it"
    if key == OFFSETS_RETENTION and value < (_WEEK if version.since("2.0") else _DAY):
        whose = "a group without members" if version.since("2.1") else "a group, also one that reads and commits nothing,"
        return "short-retention", f"after so many minutes {whose} loses its offsets, and begins where auto.offset.reset says"
    if version.since(_SHARED) and key == SHARE_FACTOR and value == 1:
        return "one-copy", "what share groups have acknowledged is on one disk, and lost with it"
    if version.since(_SHARED) and key == SHARE_MIN_ISR and value == 1:
        return "one-in-sync", "what a share group has acknowledged may be on one disk, and lost with it"
    if key in (DELETES_KEPT, BROKER_DELETES_KEPT) and value < _DAY * 60_000:
        return "short-deletes", (
            "after so many milliseconds a consumer that has not read so far keeps what was deleted, and so does a replica "
            "that is away so long, with transactions whose markers are gone; how long transactions take does not matter"
        )
    if key == CLEANER_MAP and value < _MAP:
        keys = f"{_keys_in(value):,} keys (fewer with several log.cleaner.threads)"
        if version.since(_MARKED):
            return "small-map", f"a pass of the cleaner knows {keys}; with more, consumers miss deletions ({_MARKED} to 4.4)"
        return "small-map", f"a pass of the cleaner knows {keys}; with more, aborted records may be read (KAFKA-13727)"
    return None


def _keys_in(size: int) -> int:
    """How many keys a map of so many bytes holds by default (`SkimpyOffsetMap`, log.cleaner.io.buffer.load.factor)."""
    return max(0, size) // 24 * 9 // 10


def _on_cleanup(entry: SettingEntry, value: str, version: Release, clients: Release) -> tuple[str, str] | None:
    """What is compacted and deleted, too."""
    named = {word.strip() for word in value.split(",")}
    if not named <= {"compact", "delete"} or not value:
        raise RefusedByKafka(f"{entry.where}: Kafka refuses {entry.key}: {entry.value!r} names no policy; correct it")
    if len(named) < 2:
        return None
    return "last-value-deleted", "a key that is not written again within retention.ms is gone, its last value, too"


def _on_reset(entry: SettingEntry, value: str, version: Release, clients: Release) -> tuple[str, str] | None:
    """Where a share group begins."""
    if value == "earliest" or not version.since(_SHARED):
        return None
    if value != "latest" and not value.startswith("by_duration:p"):
        words = "is not latest, earliest or by_duration:P…"
        raise RefusedByKafka(f"{entry.where}: Kafka refuses {entry.key}: {entry.value!r} {words}; correct it")
    skipped = "that came in between" if value == "latest" else "older than that by then"
    return "begins-anew", (
        "if the leader of a share-partition changes before anything was acknowledged, the next one begins anew, and records "
        f"{skipped} are skipped (docs/found/first-start.md); take earliest"
    )


def _on_rebalances(entry: SettingEntry, value: str, version: Release, clients: Release) -> tuple[str, str] | None:
    """Share groups, which are for everybody from 4.2 on."""
    if "share" not in {word.strip() for word in value.split(",")} or version.since(_SHARE_READY):
        return None
    return "preview", f"share groups of {version.name} keep locks for ever (KAFKA-19476); take Kafka {_SHARE_READY}"


def _on_protocol(entry: SettingEntry, value: str, version: Release, clients: Release) -> tuple[str, str] | None:
    """The same of group.protocol, which is a preview to 3.9."""
    if value != "consumer":
        return None
    found = []
    if version.since(_PREVIEW) and not version.since(_MENDED):
        found.append("two members may own one partition (KAFKA-16147)")
    if clients.since(_PREVIEW) and not clients.since(_READY):
        found.append("offsets are committed of records that poll has not returned (KAFKA-18641)")
    return ("preview", f"{' and '.join(found)}; take classic, or Kafka {_READY}") if found else None


_IN_WORDS: Mapping[str, Callable[[SettingEntry, str, Release, Release], tuple[str, str] | None]] = {
    GROUP_PROTOCOL: _on_protocol, REBALANCE_PROTOCOLS: _on_rebalances, SHARE_RESET: _on_reset,
    CLEANUP: _on_cleanup, BROKER_CLEANUP: _on_cleanup,
}  # fmt: skip
"""Of settings that are no numbers: rule and text, for a value in lower case."""
