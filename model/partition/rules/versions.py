"""Releases of Kafka as settings of `partition`: which rules each has, and what it configures by default.

For each rule the release it came with, and the profile of a version and a control plane made from that. Sources: the release
notes, KIPs and JIRA ids that the rules name; defaults from the configuration classes at the release tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from acked.base.release import LATEST, Release
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Alternative, ChangeKind, Constant, Setting, Switch, known_version
from acked.model.partition.rules import controllers, settings

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
VERSIONS = (
    "0.8", "0.9", "0.10", "0.10.2", "0.11", "1.0", "1.1", "2.0", "2.0.1", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7",
    "2.8", "2.8.1", "3.0", "3.1", "3.2", "3.3", "3.4", "3.4.1", "3.5", "3.5.1", "3.6", "3.7", "3.8", "3.9", "3.9.1",
    "4.0", "4.0.1", "4.1", "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
"""Releases at which something changed, and those in between, oldest first."""


@dataclass(frozen=True)
class Change:
    """From a release on a constant has another value; `plane` says with which control plane, None with both."""

    constant: Constant
    since: str
    value: bool | str | int
    source: str
    plane: str | None = None


CHANGES: tuple[Change, ...] = (
    Change(settings.truncation, "0.8", "high watermark", "0.8.0: a follower truncates to its high watermark"),
    Change(settings.truncation, "0.11", "leader epoch", "KIP-101, KAFKA-1211"),
    Change(settings.truncation, "2.0", "floor epoch", "KIP-279, KAFKA-6361"),
    Change(settings.truncation, "2.8", "diverging fetch", "KIP-595: the diverging epoch of a fetch, used from 2.8"),
    Change(settings.fetch_fencing, "0.8", "none", "0.8.0: a fetch carries no epoch"),
    Change(settings.fetch_fencing, "2.1", "new session", "KIP-320; later fetches of a session: KAFKA-9338"),
    Change(settings.fetch_fencing, "2.5", "leader epoch", "KIP-320; fetch sessions, which followers use, since KAFKA-9338"),
    Change(settings.truncation_fencing, "0.8", False, "0.8.0: nobody asks for the end of an epoch"),
    Change(settings.truncation_fencing, "2.1", True, "KIP-320, KAFKA-6880"),
    Change(settings.truncate_under_same_leader, "0.8", False, "0.8.0: a follower whose leader stays skips truncation"),
    Change(settings.truncate_under_same_leader, "2.0.1", True, "KAFKA-7164 (in the next epoch, an ISR change, 2.1)"),
    Change(settings.epoch_known_at_election, "0.8", False, "0.11.0: the epoch is recorded with the first append"),
    Change(settings.epoch_known_at_election, "2.0.1", True, "KAFKA-7415"),
    Change(settings.epoch_cache_truncated, "0.8", True, "without effect before 2.0.1"),
    Change(settings.epoch_cache_truncated, "2.0.1", False, "KAFKA-7415 records epochs without records: KAFKA-10706"),
    Change(settings.epoch_cache_truncated, "2.7", True, "KAFKA-10706: fixed in 2.6.1"),
    Change(settings.longer_follower_halts, "0.8", True, "KAFKA-3410: data is not thrown away unasked"),
    Change(settings.longer_follower_halts, "2.0.1", False, "KAFKA-7414"),
    Change(settings.expand_in_own_epoch, "0.8", False, "0.8.0: reaching the high watermark is enough"),
    Change(settings.expand_in_own_epoch, "2.0.1", True, "KAFKA-7128"),
    Change(settings.reelection_forgets_ends, "0.8", True, "0.8.0: every leader resets what it knows"),
    Change(settings.reelection_forgets_ends, "0.9", False, "0.9 to 4.4: reset only for a leader that is new to the broker"),
    Change(settings.reelection_forgets_ends, LATEST, True, "no JIRA id known: what would mend row 36 of the gallery"),
    Change(settings.caught_up_stay, "0.8", False, "0.8.0: time alone decides, or lag"),
    Change(settings.caught_up_stay, "2.1", True, "KAFKA-7152"),
    Change(settings.asynchronous_isr, "0.8", False, "0.8.0: the leader writes the ISR to ZooKeeper"),
    Change(settings.asynchronous_isr, "2.7", True, "KIP-497"),
    Change(settings.hw_waits_for_caught_up, "0.8", False, "0.8.0: the high watermark waits for the ISR alone"),
    Change(settings.hw_waits_for_caught_up, "0.10.2", True, "KAFKA-4485"),
    Change(settings.maximal_isr, "0.8", True, "KIP-497 from the start; without effect before"),
    Change(settings.alter_partition_settled, "0.8", True, "without effect before 2.7"),
    Change(settings.alter_partition_settled, "2.7", False, "2.7.0: KAFKA-12686, KAFKA-14010"),
    Change(settings.alter_partition_settled, "3.1", True, "KAFKA-12686 (3.0); from 3.1 KAFKA-14010 leaves nothing pending"),
    Change(settings.diverging_fetch_ignored, "0.8", True, "without effect before 2.8"),
    Change(settings.diverging_fetch_ignored, "2.8", False, "2.8.0: KAFKA-13141"),
    Change(settings.diverging_fetch_ignored, "2.8.1", True, "KAFKA-13141"),
    Change(settings.answer_names_epoch, "0.8", False, "0.8.0: an answer is matched by its fetch offset alone"),
    Change(settings.answer_names_epoch, "3.9.1", True, "KAFKA-18991"),
    Change(settings.answer_names_epoch, "4.0", False, "4.0.0: as 3.9.0"),
    Change(settings.answer_names_epoch, "4.0.1", True, "KAFKA-18991"),
    Change(settings.truncating_takes_none, "0.8", False, "0.8.0: an answer is matched by its fetch offset alone"),
    Change(settings.truncating_takes_none, "1.1", True, "KAFKA-5163: partitions that are not ready for a fetch"),
    Change(settings.fetcher_stops_first, "0.8", True, "0.8.0: makeFollower stops the fetcher, then takes the epoch"),
    Change(settings.fetcher_stops_first, "0.9", False, "0.8.1 to 4.4: makeFollower, then removeFetcherForPartitions"),
    Change(settings.appends_up_to_epoch, "0.8", False, "0.8.0: a follower appends whatever it gets"),
    Change(settings.appends_up_to_epoch, "3.9.1", True, "KAFKA-18723"),
    Change(settings.appends_up_to_epoch, "4.0", False, "4.0.0: as 3.9.0"),
    Change(settings.appends_up_to_epoch, "4.0.1", True, "KAFKA-18723"),
    Change(settings.fetched_epoch_kept, "0.8", True, "without effect before 2.8"),
    Change(settings.fetched_epoch_kept, "3.5.1", False, "KAFKA-15080 (3.5.1) drops it with an answer that brings nothing"),
    Change(settings.fetched_epoch_kept, "3.7", True, "KAFKA-15510"),
    Change(settings.truncation_before_hw, "0.8", True, "without effect before 2.8"),
    Change(settings.truncation_before_hw, "2.8", False, "2.8.0: KAFKA-14704"),
    Change(settings.truncation_before_hw, "3.4.1", True, "KAFKA-14704"),
    Change(settings.fenced_stay_out, "0.8", False, "0.8.0: the leader asks no one whether a follower is alive"),
    Change(settings.fenced_stay_out, "3.3", True, "KIP-841, KAFKA-13916; with ZooKeeper KAFKA-14140"),
    Change(settings.isr_checks_broker_epoch, "0.8", False, "2.7: an ISR change names no broker epochs"),
    Change(settings.isr_checks_broker_epoch, "3.5", True, "KIP-903, KAFKA-14617", KRAFT),
    Change(settings.shrink_bumps_epoch, "0.8", True, "0.8.0: the controller's removal of a broker takes a new leader epoch"),
    Change(settings.shrink_bumps_epoch, "3.6", False, "KAFKA-15021: metadata version 3.6-IV0", KRAFT),
    Change(settings.alter_bumps_epoch, "0.8", False, "0.8.0: what the leader changes keeps its epoch"),
    Change(settings.alter_bumps_epoch, "3.3", True, "KRaft: every removal from the ISR takes a new leader epoch", KRAFT),
    Change(settings.alter_bumps_epoch, "3.6", False, "KAFKA-15021: metadata version 3.6-IV0", KRAFT),
    Change(settings.strict_min_isr, "0.8", False, "0.8.0: min.insync.replicas decides about acks, not about visibility"),
    Change(settings.strict_min_isr, "3.7", True, "KAFKA-15583"),
    Change(settings.eligible_leader_replicas, "0.8", False, "KIP-966 is new in 4.0, and off there"),
    Change(settings.eligible_leader_replicas, "4.1", True, "KIP-966: on for new clusters from 4.1", KRAFT),
    Change(settings.assignment_keeps_elr, "0.8", True, "without effect before 4.0"),
    Change(settings.assignment_keeps_elr, "4.0", False, "4.0.0: an assignment of log directories clears the ELR"),
    Change(settings.assignment_keeps_elr, "4.3", True, "4.3.0: an assignment keeps the ELR (pull request 20716)"),
    Change(settings.reregistration_noticed, "0.8", False, "0.8.0: a registration names no incarnation"),
    Change(settings.reregistration_noticed, "2.2", True, "KIP-380"),
    Change(settings.reregistration_noticed, "3.3", False, "KRaft 3.3: a new registration leaves the ISR alone", KRAFT),
    Change(settings.reregistration_noticed, "4.0", True, "KAFKA-18106", KRAFT),
    Change(settings.move_completion, "0.8", "all in sync", "0.8.0: every replica of the target is in sync"),
    Change(settings.move_completion, "3.3", "added in sync", "KRaft, KAFKA-12803: for every added replica", KRAFT),
    Change(settings.move_completion, "3.8", "all in sync", "KAFKA-15665", KRAFT),
    Change(settings.move_completion, "4.3", "all in sync if fewer", "KAFKA-19975", KRAFT),
    Change(settings.moves_in_one_record, "0.8", False, "0.8.0: the controller writes assignment, leader and ISR one by one"),
    Change(settings.moves_in_one_record, "3.3", True, "KRaft, KAFKA-12803", KRAFT),
    Change(settings.larger_isr_shrinks, "0.8", False, "0.8.0: what is asked of a member that is no replica is an error"),
    Change(settings.larger_isr_shrinks, "3.0", True, "KAFKA-9672"),
    Change(settings.moves_replaceable, "0.8", False, "0.8.0: a reassignment that is under way is not touched"),
    Change(settings.moves_replaceable, "2.4", True, "KIP-455, KAFKA-8345"),
    Change(controllers.elected_at_once, "0.8", False, "0.8.0: /controller first, the controller epoch in a write of its own"),
    Change(controllers.elected_at_once, "2.1", True, "KAFKA-6082"),
    Change(controllers.old_controllers_refused, "0.8", False, "0.8.0: compared with the controller epoch in the partition"),
    Change(controllers.old_controllers_refused, "2.1", True, "KAFKA-6082: the version of /controller_epoch is checked"),
    Change(controllers.requests_name_incarnation, "0.8", False, "0.8.0: a request names no broker epoch"),
    Change(controllers.requests_name_incarnation, "2.2", True, "KIP-380, KAFKA-7235"),
    Change(controllers.behind_controller_resent, "0.8", True, "2.7.0: FENCED_LEADER_EPOCH for an older epoch; KAFKA-14154"),
    Change(settings.query_waits_for_epoch, "0.8", False, "0.8.0: the high watermark, whatever it is"),
    Change(settings.query_waits_for_epoch, "2.2", True, "KIP-207, KAFKA-2334"),
    Change(settings.client_epoch, "0.8", False, "0.8.0: a client's request names no leader epoch"),
    Change(settings.client_epoch, "2.1", True, "KIP-320: of clients of that release"),
    Change(settings.sequence_check, "0.8", True, "KIP-98; without effect before 0.11"),
    Change(settings.unknown_producers_accepted, "0.8", False, "KIP-98; without effect before 0.11"),
    Change(settings.unknown_producers_accepted, "2.5", True, "KIP-360"),
    Change(settings.first_sequence_checked, "0.8", False, "KIP-98; without effect before 2.5"),
    Change(settings.first_sequence_checked, LATEST, True, "KAFKA-15591: merged after 4.4 (pull request 23234, for 4.5)"),
    Change(settings.five_in_flight, "0.8", False, "KIP-98; without effect before 0.11"),
    Change(settings.five_in_flight, "1.0", True, "KAFKA-5494"),
    Change(settings.in_flight_refused, "0.8", False, "KIP-679: idempotence that is on by default gives way"),
    Change(settings.in_flight_refused, "4.0", True, "KAFKA-17927"),
    Change(settings.in_flight, "0.8", 5, "default of max.in.flight.requests.per.connection"),
    Change(settings.acks, "0.8", "1", "default of acks to 2.8"),
    Change(settings.acks, "3.0", "all", "KIP-679: default of acks from 3.0"),
    Change(settings.retries, "0.8", False, "default of retries to 2.0: 0"),
    Change(settings.retries, "2.1", True, "KIP-91: default of retries from 2.1: no bound"),
    Change(settings.idempotence, "0.8", False, "default of enable.idempotence to 3.1: false in effect"),
    Change(settings.idempotence, "3.2", True, "KIP-679, KAFKA-13598: true in effect from 3.0.1, 3.1.1 and 3.2"),
    Change(settings.unclean_election, "0.8", True, "default of unclean.leader.election.enable to 0.10"),
    Change(settings.unclean_election, "0.11", False, "KIP-106: default of unclean.leader.election.enable from 0.11"),
)
"""Every rule and default that a release changed, oldest first for each constant."""


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


def changes_of(version: str, plane: str) -> dict[str, Change]:
    """By constant the change that decides it in a release, with its source."""
    at = VERSIONS.index(version)
    decided: dict[str, Change] = {}
    for change in CHANGES:
        if VERSIONS.index(change.since) <= at and change.plane in (None, plane):
            decided[change.constant.name] = change
    return decided


def profile(version: str | None, control_plane: str | None) -> dict[str, Setting]:
    """The constants of a release with its defaults; `ModelError` if there is no such release or it does not run so."""
    wanted = known_version(version, VERSIONS)
    planes = planes_of(wanted)
    plane = control_plane or planes[0]
    if plane not in planes:
        raise ModelError(f"version {wanted} does not run on control plane {plane!r}; it runs on {' or '.join(planes)}")
    return {
        name: Setting(change.constant.read(change.value), change.source)
        for name, change in changes_of(wanted, plane).items()
    }


# -- one change at a time ---------------------------------------------------------------------------------------------

_CHOSEN = [
    constant
    for constant in settings.CONFIGURED
    if sum(change.constant is constant for change in CHANGES) > 1
]  # fmt: skip
"""Constants whose defaults releases changed, but that users set: they come after the rules."""


def alternatives(constants: Mapping[str, int]) -> Iterator[Alternative]:
    """Each rule as a later release has it, the oldest change first, then safer settings, then all rules of the latest."""
    for constant, value, source in _later_rules(constants):
        yield _alternative(ChangeKind.RULE, constant, value, source)
    for constant, value in _safer_settings(constants):
        if constants[constant.name] != value:
            yield _alternative(ChangeKind.SETTING, constant, value, constant.doc)
    latest = {
        name: change.constant.read(change.value)
        for name, change in changes_of(LATEST, planes_of(LATEST)[0]).items()
        if change.constant not in _CHOSEN
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
    for change in CHANGES:
        if change.constant not in _CHOSEN:
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
