"""Releases of Kafka as settings of `partition`: which rules each has, and what it configures by default.

The profile of a version and a control plane, made from the table of changes (`versions.toml`). Sources: the release notes,
KIPs and JIRA ids that the changes name; defaults from the configuration classes at the release tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from acked.base.release import LATEST, Release
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Alternative, ChangeKind, Constant, Setting, Switch, known_version
from acked.model.partition.rules import settings
from acked.model.releases import History

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
VERSIONS = (
    "0.8", "0.9", "0.10", "0.10.2", "0.11", "1.0", "1.1", "2.0", "2.0.1", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7",
    "2.8", "2.8.1", "3.0", "3.1", "3.2", "3.3", "3.4", "3.4.1", "3.5", "3.5.1", "3.6", "3.7", "3.8", "3.9", "3.9.1",
    "4.0", "4.0.1", "4.1", "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
"""Releases at which something changed, and those in between, oldest first."""

HISTORY = History(VERSIONS, settings.CONSTANTS, Path(__file__).with_name("versions.toml"))
changes_of = HISTORY.changes_of


def rules_of(release: Release) -> str:
    """The newest release that `partition` tells apart and that is not newer than this."""
    return release.newest_of(VERSIONS)


def planes_of(version: str) -> tuple[str, ...]:
    """The control planes that a release runs on, its default first."""
    at = VERSIONS.index(version)
    if at >= VERSIONS.index("4.0"):
        return (KRAFT,)
    return (KRAFT, ZOOKEEPER) if at >= VERSIONS.index("3.3") else (ZOOKEEPER,)


def plane_of(rules: Mapping[str, int]) -> str:
    """The control plane whose rules these are: only KRaft changes assignment, leader and ISR in one record (KAFKA-12803)."""
    return KRAFT if rules[settings.moves_in_one_record.name] else ZOOKEEPER


def profile(version: str | None, control_plane: str | None) -> dict[str, Setting]:
    """The constants of a release with its defaults; `ModelError` if there is no such release or it does not run so."""
    wanted = known_version(version, VERSIONS)
    planes = planes_of(wanted)
    plane = control_plane or planes[0]
    if plane not in planes:
        raise ModelError(f"version {wanted} does not run on control plane {plane!r}; it runs on {' or '.join(planes)}")
    return HISTORY.settings(wanted, plane)


# -- one change at a time ---------------------------------------------------------------------------------------------


def _settings_of_users() -> set[str]:
    """Constants whose defaults releases changed, but that users set: they come after the rules."""
    changed = [change.constant.name for change in HISTORY.changes]
    return {constant.name for constant in settings.CONFIGURED if changed.count(constant.name) > 1}


def alternatives(constants: Mapping[str, int]) -> Iterator[Alternative]:
    """Each rule as a later release has it, the oldest change first, then safer settings, then all rules of the latest."""
    for constant, value, source in _later_rules(constants):
        yield _alternative(ChangeKind.RULE, constant, value, source)
    for constant, value in _safer_settings(constants):
        if constants[constant.name] != value:
            yield _alternative(ChangeKind.SETTING, constant, value, constant.doc)
    chosen = _settings_of_users()
    latest = {
        name: change.constant.read(change.value)
        for name, change in changes_of(LATEST, planes_of(LATEST)[0]).items()
        if name not in chosen
    }
    if any(constants[name] != value for name, value in latest.items()):
        source = "every known fix, of which some are not in a release yet"
        yield Alternative(ChangeKind.RELEASE, f"version={LATEST}", source, latest)


def _alternative(kind: ChangeKind, constant: Constant, value: int, source: str) -> Alternative:
    shown = constant.show(value)
    text = str(shown).lower() if isinstance(shown, bool) else str(shown)
    return Alternative(kind, f"{constant.name}={text}", source, {constant.name: value})


def _later_rules(constants: Mapping[str, int]) -> list[tuple[Constant, int, str]]:
    """Rules that a release after the present value has otherwise, the oldest change first."""
    by_constant: dict[str, list[tuple[int, int, str]]] = {}
    chosen = _settings_of_users()
    for change in HISTORY.changes:
        if change.constant.name not in chosen:
            since, value = VERSIONS.index(change.since), change.constant.read(change.value)
            by_constant.setdefault(change.constant.name, []).append((since, value, change.source))
    found = []
    for constant in settings.CONSTANTS:
        history = by_constant.get(constant.name, [])
        now = constants[constant.name]
        reached = max((at for at, (_, value, _) in enumerate(history) if value == now), default=-1)
        for since, value, source in history[reached + 1 :]:
            told = constant.doc if isinstance(constant, Switch) and value else source
            found.append((since, constant, value, told))
    return [(constant, value, source) for _, constant, value, source in sorted(found, key=lambda item: item[0])]


def _safer_settings(constants: Mapping[str, int]) -> Iterator[tuple[Constant, int]]:
    """Settings that are known to be safer, the one that asks least of an operator first."""
    yield settings.unclean_election, 0
    yield settings.acks, settings.ACKS_ALL
    if constants["min_insync_replicas"] < constants["replicas"]:
        yield settings.min_insync_replicas, constants["min_insync_replicas"] + 1
    if constants["acks"] == settings.ACKS_ALL and constants["retries"]:
        yield settings.idempotence, 1
    yield settings.in_flight, 1
    yield settings.retries, 0
