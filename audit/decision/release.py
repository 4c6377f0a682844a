"""Which release of Kafka is audited, and on which control plane: what files and options say, and what they leave open.

Evidence for both, contradictions, and the contexts (a release on a control plane) that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acked.audit.decision.gather import Given
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.release import LATEST, Release, release
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import IMAGE, OLDEST, STATED, SettingEntry
from acked.model.partition.rules.versions import KRAFT, VERSIONS, ZOOKEEPER, planes_of, rules_of

OLDEST_IN_USE = "2.8.1"
"""Where nothing names the release it may be any from this one on; older ones are rare, and asked about if they are named."""

_PLANES = {KRAFT: "KRaft", ZOOKEEPER: "ZooKeeper"}


@frozen
class Deployment:
    """A release on a control plane."""

    release: Release
    plane: str

    @property
    def words(self) -> str:
        """`Kafka 3.9 with ZooKeeper`."""
        return f"Kafka {self.release.name} with {_PLANES[self.plane]}"


@frozen
class Contexts:
    """The contexts that a configuration may be in, the one that is told about first, and in words how that is known.

    `is_named` tells that the release is, so that only the control plane may be open.
    """

    first: Deployment
    others: tuple[Deployment, ...]
    source: str
    is_named: bool


def plane_words(plane: str) -> str:
    """`KRaft`."""
    return _PLANES[plane]


def planes_in(version: Release) -> tuple[str, ...]:
    """The control planes that a release runs on, its default first."""
    return (KRAFT,) if version.name == LATEST else planes_of(rules_of(version))


# -- the control plane --------------------------------------------------------------------------------------------------


def plane_given(given: Given, wanted: str | None) -> tuple[str | None, str]:
    """The control plane that files or `--control-plane` name, and what names it; None if nothing does."""
    said = [(KRAFT, given.entries[key]) for key in (keys.ROLES, keys.METADATA_VERSION) if key in given.entries]
    if keys.ZOOKEEPER_CONNECT in given.entries:
        said.append((ZOOKEEPER, given.entries[keys.ZOOKEEPER_CONNECT]))
    planes = {plane for plane, _ in said}
    if wanted is not None:
        if said and wanted not in planes:
            entry = said[0][1]
            raise ConfigurationError(
                f"{entry.where} sets {entry.key}, which is {_PLANES[said[0][0]]}, and --control-plane says {wanted}; "
                "leave one out"
            )
        return wanted, "--control-plane"
    if len(planes) > 1:
        first, second = said[0][1], said[-1][1]
        raise ConfigurationError(
            f"{first.where} sets {first.key}, which is KRaft, and {second.where} sets {second.key}, which is ZooKeeper; say "
            "with --control-plane which of them runs the brokers"
        )
    return (said[0][0], f"{said[0][1].key} ({said[0][1].where})") if said else (None, "")


# -- the release --------------------------------------------------------------------------------------------------------


@frozen
class _Said:
    """What names a release: exactly, or (a protocol, a level of features) so that no older one is meant."""

    release: Release
    source: str
    is_exact: bool


def spoken_release(entry: SettingEntry) -> Release:
    """The release that `inter.broker.protocol.version=3.6-IV2` and its like name."""
    try:
        return release(entry.value)
    except ConfigurationError as error:
        raise ConfigurationError(f"{entry.where}: {entry.key}: {error}") from None


def contexts(given: Given, version: str | None = None, plane: str | None = None) -> Contexts:
    """What may be audited, by the options `version` and `plane` and the files; `ConfigurationError` where they contradict."""
    named, source = plane_given(given, plane)
    said = _releases_said(given, version)
    if not said:
        return _any_release(named, source, given.entries.get(OLDEST))
    exact = [item for item in said if item.is_exact]
    # 3.4 and 3.4.1 agree, and the longer one says more; of what is not a release itself the newest counts.
    chosen = max(exact, key=lambda one: len(one.release.numbers)) if exact else max(said, key=lambda one: one.release.numbers)
    for item in said:
        _check_together(chosen, item)
    if version is not None or (exact and len(chosen.release.numbers) > 2):
        patches: Sequence[Release] = (chosen.release,)
    else:
        # A minor release is named, and which of its patches runs is open.
        patches = _patches(chosen.release)
    found = [Deployment(patch, each) for patch in patches for each in _fitting(patch, chosen.source, named, source)]
    if named is None and keys.IBP in given.entries:
        found.sort(key=lambda context: context.plane != ZOOKEEPER)  # It means something with ZooKeeper, and there alone.
    how = chosen.source if len(found) < 2 else f"{chosen.source}, which leaves open {_open(found)}"
    return Contexts(found[0], tuple(found[1:]), how, True)


def _releases_said(given: Given, version: str | None) -> list[_Said]:
    said = [] if version is None else [_Said(release(version), "--kafka-version", True)]
    for key in (STATED, IMAGE, keys.METADATA_VERSION, keys.IBP):
        entry = given.entries.get(key)
        if entry is None:
            continue
        spoken = spoken_release(entry)
        is_removed = key == keys.IBP and said and said[0].release.since("4.0")
        if not is_removed:  # Kafka 4.0 has no such setting and passes a forgotten one over.
            said.append(_Said(spoken, f"{key}={entry.value} ({entry.where})", key in (STATED, IMAGE)))
    return said


def _check_together(chosen: _Said, other: _Said) -> None:
    shared = min(len(chosen.release.numbers), len(other.release.numbers)) if other.is_exact else 2
    mine, theirs = chosen.release.numbers[:shared], other.release.numbers[:shared]
    if chosen.release.name == LATEST:
        return
    if (other.is_exact and mine != theirs) or theirs > mine:
        raise ConfigurationError(
            f"{chosen.source} names Kafka {chosen.release.name}, and {other.source} names {other.release.name}; "
            "they cannot both be so: remove one of them"
        )


def _patches(minor: Release) -> list[Release]:
    """A minor release and its patches that are told apart here, newest first."""
    numbers = minor.numbers[:2]
    listed = [release(name) for name in VERSIONS if name != LATEST]
    found = [item for item in listed if item.numbers[:2] == numbers]
    return found[::-1] or [minor]


def _fitting(version: Release, version_source: str, plane: str | None, source: str) -> tuple[str, ...]:
    planes = planes_in(version)
    if plane is None:
        return planes
    if plane not in planes:
        known = " or ".join(_PLANES[item] for item in planes)
        raise ConfigurationError(
            f"{version_source} names Kafka {version.name}, which is known here with {known} only, and {source} names "
            f"{_PLANES[plane]}; remove one of them"
        )
    return (plane,)


def _any_release(plane: str | None, source: str, oldest: SettingEntry | None) -> Contexts:
    """Every release in use that is told apart here: the newest first, then down, each on the control planes it may be on.

    None is older than the `oldest` that the files can be for.
    """
    listed = [release(name) for name in VERSIONS if name != LATEST]
    used = sorted((item for item in listed if item.since(OLDEST_IN_USE)), reverse=True)
    used = [item for item in used if oldest is None or item.since(oldest.value)]
    found = [Deployment(item, each) for item in used for each in planes_in(item) if plane in (None, each)]
    by = f"; with {_PLANES[plane]}, by {source}" if plane is not None else ""
    since = f", {oldest.value} or later by the resource's API ({oldest.where})" if oldest is not None else ""
    how = f"not named, so the newest that is known{since}{by}"
    return Contexts(found[0], tuple(found[1:]), how, False)


def _open(found: Iterable[Deployment]) -> str:
    found = list(found)
    patches = list(dict.fromkeys(context.release.name for context in found))
    planes = list(dict.fromkeys(_PLANES[context.plane] for context in found))
    parts = [" or ".join(patches)] if len(patches) > 1 else []
    return " and ".join(parts + ([" or ".join(planes)] if len(planes) > 1 else []))


def span(found: Iterable[Deployment]) -> str:
    """Contexts in few words: `2.8.1 to 3.2 and 3.5 with ZooKeeper, 4.0 with KRaft`."""
    wanted = list(found)
    known = [name for name in VERSIONS if name != LATEST]
    parts = []
    for plane in (ZOOKEEPER, KRAFT):
        names = {context.release.name for context in wanted if context.plane == plane}
        if not names:
            continue
        possible = [name for name in known if name in names or plane in planes_of(name)]
        parts.append(f"{_runs(possible, names)} with {_PLANES[plane]}")
    return ", ".join(parts)


def _runs(possible: Sequence[str], names: Iterable[str]) -> str:
    """`2.8.1 to 3.2 and 3.5`: names that follow each other in `possible` are told by the first and the last."""
    wanted = set(names)
    runs: list[list[str]] = []
    is_open = False
    for name in possible:
        if name in wanted:
            if is_open:
                runs[-1].append(name)
            else:
                runs.append([name])
        is_open = name in wanted
    texts = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    texts += sorted(wanted - {name for run in runs for name in run})
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + f" and {texts[-1]}"
