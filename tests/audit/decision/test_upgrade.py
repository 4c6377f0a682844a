"""An upgrade: which rules come when, the answers at every stage, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, CrashKind, Faults
from acked.audit.decision.gather import recognise, settle
from acked.audit.decision.joint import Searches
from acked.audit.decision.settings import configure
from acked.audit.decision.upgrade import Part, Stage, Upgrade, ask_upgrade, parts_of
from acked.audit.reports.build import verdict_with
from acked.audit.reports.upgrading import answer_in_words, upgrade_document, upgrade_markdown
from acked.base.errors import ConfigurationError
from acked.base.release import release
from acked.cluster.vocabulary.entry import OPTION, SettingEntry
from tests.audit.decision.kept import KEPT
from tests.audit.made import audit
from tools import upgrades as tool

LOSS = AuditQuestion.LOSS
YES, NO = AuditVerdict.YES, AuditVerdict.NO


def upgrade(
    version: str, target: str, plane: str, crashes: CrashKind | None, asked: tuple[AuditQuestion, ...] = (LOSS,),
    kept: tuple[SettingEntry, ...] = (), **given: str,
) -> Upgrade:  # fmt: skip
    """The upgrade of two in-sync replicas, unless other settings are `given`; without `crashes` nothing is asked."""
    settings = {"acks": "all", "replication.factor": "2", "min.insync.replicas": "2", **given}
    entries = [SettingEntry(key, value, OPTION, 0) for key, value in settings.items()]
    configuration = configure(settle(recognise([], entries, False), None, ()), release(version), plane)
    assumed = Assumptions((Faults(crashes),) if crashes is not None else ())
    searches = Searches(KEPT)
    return ask_upgrade(configuration, release(target), assumed, asked if crashes is not None else (), searches, kept)


@pytest.fixture(scope="module")
def to_4_1() -> Upgrade:
    return upgrade("3.9", "4.1", "kraft", CrashKind.ONE_MACHINE)


@pytest.mark.parametrize(
    ("version", "target", "plane", "software", "protocol", "features"),
    [
        ("2.4", "2.5", "zookeeper", {"fetch_fencing", "unknown_producers_accepted"}, set(), set()),
        ("2.6", "2.7", "zookeeper", {"alter_partition_settled"}, {"asynchronous_isr"}, set()),
        ("3.5", "3.6", "kraft", set(), {"shrink_bumps_epoch", "alter_bumps_epoch"}, set()),
        ("3.9", "4.0", "kraft", {"reregistration_noticed", "assignment_keeps_elr"}, set(), {"eligible_leader_replicas"}),
        ("4.1", "4.3", "kraft", {"assignment_keeps_elr"}, set(), set()),
    ],
)
def test_rules_come_with_the_software_or_wait_for_the_protocol_or_a_feature(
    version: str, target: str, plane: str, software: set[str], protocol: set[str], features: set[str]
) -> None:
    rules = upgrade(version, target, plane, None).rules
    assert {stage: set(names) for stage, names in rules.items()} == {
        Stage.SOFTWARE: software, Stage.FINISHED: protocol, Stage.FEATURES: features
    }, "a rule that a release between these brings belongs in the table above, in the stage from which it is on"  # fmt: skip


@pytest.mark.slow
def test_an_upgrade_to_4_1_loses_as_much_as_before_until_eligible_leader_replicas_are_switched_on(
    to_4_1: Upgrade,
) -> None:
    found = to_4_1
    (answer,) = found.answers
    assert answer.replies == {
        Stage.BEFORE: YES, Stage.MIXED: YES, Stage.SOFTWARE: YES, Stage.FINISHED: YES, Stage.FEATURES: NO
    }  # fmt: skip
    assert (answer.turned_by, answer.is_worse_between, found.worst((LOSS,))) == ((), False, YES)
    assert answer_in_words(answer).startswith("lost (one-machine): yes before and after; no once the feature is on")
    assert any("eligible.leader.replicas.version is raised" in line for line in upgrade_markdown(found))


def test_a_verdict_is_that_of_the_way_where_it_is_worse_than_today_s(to_4_1: Upgrade) -> None:
    found = to_4_1
    today = audit(verdict=NO, verdict_in_words="PASS: …", upgrade=found)
    told = verdict_with(today, (LOSS,))
    assert told.verdict is YES
    assert told.verdict_in_words == "FAIL: on the way to Kafka 4.1 an answer gets worse: lost (one-machine)"
    assert verdict_with(replace(today, upgrade=None), (LOSS,)) == replace(today, upgrade=None)
    assert verdict_with(replace(today, verdict=YES), (LOSS,)).verdict_in_words == "PASS: …"


@pytest.mark.slow
def test_an_upgrade_to_4_3_mends_what_an_empty_disk_costs_as_soon_as_the_controllers_have_it() -> None:
    (answer,) = upgrade("4.1", "4.3", "kraft", CrashKind.EMPTY_DISK).answers
    assert answer.replies == {Stage.BEFORE: YES, Stage.SOFTWARE: NO, Stage.FINISHED: NO}
    assert answer.turned_by == (("assignment_keeps_elr",),)


@pytest.mark.long
def test_from_2_4_to_2_5_acknowledged_records_are_safe_only_when_every_broker_fences_fetches() -> None:
    found = upgrade("2.4", "2.5", "zookeeper", CrashKind.CLEAN, **{"replication.factor": "3"})
    (answer,) = found.answers
    assert answer.replies == {Stage.BEFORE: YES, Stage.MIXED: YES, Stage.SOFTWARE: NO, Stage.FINISHED: NO}
    assert (answer.turned_by, answer.is_worse_between) == ((("fetch_fencing",),), False)


@pytest.mark.slow
def test_from_2_6_to_2_8_0_two_replicas_lose_records_only_while_the_protocol_is_raised() -> None:
    """Followers that are told by a fetch where to truncate (KAFKA-13141), while the ISR is written as before 2.7-IV2."""
    (answer,) = upgrade("2.6", "2.8", "zookeeper", CrashKind.CLEAN).answers
    assert (answer.replies[Stage.BEFORE], answer.replies[Stage.FINISHED]) == (NO, NO)
    assert (answer.replies[Stage.RAISING], answer.is_worse_between) == (YES, True)
    assert "truncation" in (answer.worse_with or ())
    assert "asynchronous_isr" not in (answer.worse_with or ())


@pytest.mark.parametrize(
    ("version", "target", "plane", "message"),
    [
        ("4.1", "3.9", "kraft", "--to 3.9 is not newer than Kafka 4.1, from which it is asked"),
        ("3.9", "4.1", "zookeeper", "--to 4.1: there is no ZooKeeper in it; a cluster is migrated to KRaft first"),
    ],
)
def test_an_upgrade_that_there_is_not_is_refused(version: str, target: str, plane: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        upgrade(version, target, plane, None)


def test_the_scan_asks_every_mixture_of_rules_before_and_rules_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "upgrades", lambda span: iter([("2.6", "2.7", "zookeeper"), ("3.5", "3.6", "kraft")]))
    found = [*tool.cases(1, 2, [Faults()], 1_000)]
    assert {case.upgrade for case in found} == {"2.6 to 2.7 (zookeeper)"}, "to 3.6 all rules change at once"
    loss = [case for case in found if case.question.asked is LOSS]
    assert {case.settings for case in loss} == {
        f"acks={acks}, idempotence={idempotence}, min ISR {least}"
        for acks in ("all", "1") for idempotence in ("true", "false") for least in (1, 2)
    } - {f"acks=1, idempotence=true, min ISR {least}" for least in (1, 2)}  # Which Kafka refuses.
    for case in found:
        tasks = [task for _, task in case.between]
        assert len({case.before, case.after, *tasks}) == 2 + len(tasks) > 2


def test_the_scan_upgrades_to_the_next_releases_on_the_same_control_plane() -> None:
    pairs = [*tool.upgrades(2)]
    assert ("2.4", "2.5", "zookeeper") in pairs
    assert ("2.4", "2.6", "zookeeper") in pairs
    assert ("3.9.1", "4.0", "kraft") in pairs
    assert not [pair for pair in pairs if pair[:2] == ("3.9.1", "4.0") and pair[2] != "kraft"]


# -- groups and the cleaner ---------------------------------------------------------------------------------------------


def said(**settings: str) -> tuple[SettingEntry, ...]:
    return tuple(SettingEntry(key.replace("_", "."), value, OPTION, 0) for key, value in settings.items())


def bugs(version: str, target: str, plane: str, **settings: str) -> dict[str, tuple[AuditVerdict, AuditVerdict]]:
    found = upgrade(version, target, plane, None, kept=said(**settings))
    return {bug.spec: (bug.before, bug.after) for bug in found.bugs}


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({}, ()),
        ({"cleanup_policy": "delete"}, ()),
        ({"cleanup_policy": "compact,delete"}, (Part.CLEANER,)),
        ({"log_cleanup_policy": "compact", "share_auto_offset_reset": "latest"}, (Part.CLEANER, Part.SHARE_GROUPS)),
        ({"group_coordinator_rebalance_protocols": "classic, share"}, (Part.SHARE_GROUPS,)),
        ({"group_coordinator_rebalance_protocols": "classic"}, ()),
        ({"offsets_topic_replication_factor": "3"}, (Part.GROUPS,)),
        ({"group_protocol": "consumer", "cleanup_policy": "compact"}, (Part.GROUPS, Part.CLEANER)),
    ],
)
def test_settings_show_which_parts_a_cluster_uses(settings: dict[str, str], parts: tuple[Part, ...]) -> None:
    assert parts_of(said(**settings)) == parts


@pytest.mark.slow
def test_an_upgrade_says_which_bugs_of_consumer_groups_go_which_come_and_which_stay() -> None:
    kept = {"offsets_topic_replication_factor": "3"}
    stays = {"foreign-load-bug": (YES, YES), "waiting-commits-bug": (YES, YES)}
    assert bugs("3.9", "4.0", "kraft", **kept) == {
        "kafka20634-bug": (NO, YES), "kafka17507-bug": (YES, NO), "foreign-load-bug": (NO, YES),
        "waiting-commits-bug": (NO, YES),
    }  # fmt: skip
    assert bugs("4.2.2", "4.3", "kraft", **kept) == {"kafka20634-bug": (NO, YES), **stays}
    assert bugs("4.3", "4.4", "kraft", **kept) == {"kafka20634-bug": (YES, NO), **stays}


@pytest.mark.slow
def test_an_upgrade_says_which_bugs_of_the_cleaner_go_and_which_stay() -> None:
    found = bugs("3.1", "3.3", "zookeeper", cleanup_policy="compact")
    assert found == {
        "kafka13727-bug": (YES, NO), "kafka14055-bug": (YES, NO),
        "kafka17076-bug": (YES, YES), "unmapped-tombstone-bug": (YES, YES),
    }  # fmt: skip


@pytest.mark.slow
def test_an_upgrade_says_which_bugs_of_share_groups_go_which_come_and_which_stay() -> None:
    kept = {"share_coordinator_state_topic_min_isr": "2"}
    found = upgrade("4.0", "4.1", "kraft", None, kept=said(**kept))
    told = {bug.spec: (bug.before, bug.after) for bug in found.bugs}
    assert told["kafka18494-bug"] == (YES, NO)
    assert told["kafka19972-bug"] == (NO, YES)
    assert told["hidden-refusal-bug"] == (YES, YES)
    lines = upgrade_markdown(found)
    assert any(line.startswith("- share groups, new: KAFKA-19972") for line in lines)
    assert [item["spec"] for item in upgrade_document(found)["bugs"]] == [*told]  # type: ignore[attr-defined]
    assert bugs("3.9", "4.0", "kraft", **kept)["first-start-bug"] == (NO, YES), "there were none before 4.0"
    assert bugs("3.9", "4.0", "kraft") == {}
