"""A hunt: what it asks, in which order, what it finds, what counts as known, and that nothing decided is lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.base.release import release
from acked.base.version import __version__
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import BatchLimits
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.cli import main
from acked.hunt.known.losses import KNOWN as KNOWN_FILE
from acked.hunt.known.losses import KnownLoss, known_losses, read_losses
from acked.hunt.known.mend import Bar, Mend, Replayed
from acked.hunt.questions.spaces import HuntedRelease, HuntQuestion, partition_faults, questions_of
from acked.hunt.search.hunt import Hunt, Sighting, faults_of
from acked.hunt.search.reduction import shortest
from acked.hunt.search.task import Effort, HuntProcess, HuntTask, Loss
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.shell.bundled import bundled_of

KNOWN = known_losses()
SMALL = (Effort(20_000, walks=2_000),)
LIMITS = BatchLimits(1, 256 << 20)


def hunted(version: str = "4.4.0") -> HuntedRelease:
    return HuntedRelease.of(release(version))


def delivery(version: str = "4.4.0") -> list[HuntQuestion]:
    return [question for question in questions_of(hunted(version), ["delivery"]) if question.cost <= 1]


def replayed(name: str) -> Replayed:
    """The shortest trace of a bundled spec."""
    path = bundled_of(name)
    assert path is not None
    question = load_spec(path).question()
    violation = search(question).violations[0]
    return Replayed(Question(question.instance, (violation.property,)), violation.run)


def asked(version: str, faults: Sequence[str], settings: dict[str, int | str]) -> HuntQuestion:
    """The cheapest question of `partition` under these."""
    questions = questions_of(hunted(version), ["partition"], faults)
    fitting = [item for item in questions if item.faults == tuple(faults) and settings.items() <= dict(item.settings).items()]
    return min(fitting, key=lambda item: item.cost)


def losses_of(question: HuntQuestion, effort: Effort, known: Sequence[KnownLoss] = KNOWN) -> list[Loss]:
    """What a process finds."""
    hunt = Hunt([question], known, known, efforts=(effort,))
    task = next(hunt.task(unit) for units in hunt._rounds.values() for unit in units)
    return list(HuntProcess((256 << 20, known), 0.0).answer(task, lambda number: None).losses)


# -- what is asked -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_promise_of_a_protocol_is_asked_somewhere_and_no_common_sentence() -> None:
    questions = questions_of(hunted(), ["partition"], ["clean", "reassignment"])
    promised = {name for question in questions for name in question.promises}
    assert {"AckedRecordsSurvive", "ReadsStay", "LatestOffsetStays", "NoGaps", "MovesEndInSync"} <= promised
    assert {"HwBelowLogEnd", "OneLeader", "InSyncIsCaughtUp", "RefusalsAreTrue"}.isdisjoint(promised)


@pytest.mark.slow
def test_what_has_no_effect_in_a_release_is_not_asked_of_it() -> None:
    faults = {
        version: {name for _, more, _ in partition_faults(hunted(version)) for name in more} for version in ("3.9.1", "4.4.0")
    }
    assert "unnoticed_restarts" in faults["3.9.1"] - faults["4.4.0"]  # KAFKA-18106
    assert "config_changes" in faults["4.4.0"] - faults["3.9.1"]  # KIP-966
    assert "directories_move" not in faults["4.4.0"] | faults["3.9.1"]  # Only 4.0 to 4.2 forget by it.


def test_a_protocol_or_fault_that_there_is_not_is_named_with_what_there_is() -> None:
    with pytest.raises(ConfigurationError, match="did you mean transactions"):
        questions_of(hunted(), ["transaction"])
    with pytest.raises(ConfigurationError, match="there is no fault 'crash'"):
        questions_of(hunted(), ["delivery"], ["crash"])


def test_of_coordinators_every_promise_is_asked_and_batches_as_if_the_foreign_load_were_mended() -> None:
    questions = questions_of(hunted(), ["coordinator"])
    assert {name for question in questions for name in question.promises} == set(properties_of(PROTOCOLS["coordinator"]))
    batched = {question.constants for question in questions if dict(question.constants)["batches"]}
    assert batched
    assert {dict(one)["own_load_only"] for one in batched} == {1}
    assert {dict(one.constants)["own_load_only"] for one in questions if one.constants not in batched} == {0}
    alone = [dict(question.constants) for question in questions if dict(question.settings)["brokers"] == 1]
    assert {(one["shrinks"], one["unclean"]) for one in alone} == {(0, 0)}


@pytest.mark.parametrize("name", ["compaction", "share"])
def test_of_compaction_and_of_share_groups_every_promise_is_asked(name: str) -> None:
    questions = questions_of(hunted(), [name])
    assert {promise for question in questions for promise in question.promises} == set(properties_of(PROTOCOLS[name]))
    constants = [dict(question.constants) for question in questions]
    if name == "share":
        assert {(one["latest"], one["delivery_limit"], one["max_epoch"]) for one in constants} == {
            (latest, limit, epochs) for latest in (0, 1) for limit in (1, 2) for epochs in (2, 3)
        }
    else:
        assert not any(one["lags"] and one["follower"] for one in constants)
        assert {one["keys"] for one in constants if one["integer_keys"]} == {2}


def test_a_release_is_hunted_on_a_control_plane_that_it_has() -> None:
    assert HuntedRelease.of(release("3.9.1"), "zookeeper").plane == "zookeeper"
    with pytest.raises(ConfigurationError, match=r"Kafka 4\.4\.0 runs on kraft, not on zookeeper"):
        HuntedRelease.of(release("4.4.0"), "zookeeper")


# -- in which order ------------------------------------------------------------------------------------------------------


def tasks(seed: int) -> list[HuntTask]:
    """The first round of a hunt, in its order."""
    hunt = Hunt(delivery(), KNOWN, KNOWN, seed)
    return [hunt.task(unit) for unit in sorted(hunt._rounds[min(hunt._rounds)], key=hunt._order)]


def test_the_same_seed_asks_in_the_same_order_and_draws_the_same_walks_and_another_seed_others() -> None:
    assert tasks(7) == tasks(7)
    assert [task.seed for task in tasks(7)] != [task.seed for task in tasks(8)]
    assert {task.asked for task in tasks(7)} == {task.asked for task in tasks(8)}
    assert [task.asked for task in tasks(7)] != [task.asked for task in tasks(8)]


@pytest.mark.slow
def test_what_most_people_run_comes_first_and_of_that_what_needs_the_fewest_faults() -> None:
    questions = questions_of(hunted(), ["partition"], ["clean", "leadership_moves"])
    hunt = Hunt(questions, KNOWN, KNOWN)
    for cost in (0, 1):
        first = sorted(hunt._rounds[cost], key=hunt._order)
        usual = [dict(unit.question.settings) for unit in first if not unit.question.unusual]
        assert [dict(unit.question.settings) for unit in first[: len(usual)]] == usual
        asked = {(one["acks"], one["replicas"], one["min_insync_replicas"], one["unclean_election"]) for one in usual}
        assert asked == {("all", 3, 2, False), ("all", 3, 1, False), ("1", 3, 1, False)}
        faults = [len(unit.question.faults) for unit in first[: len(usual)]]
        assert faults == sorted(faults)


@pytest.mark.slow
def test_a_walk_finds_the_same_loss_every_time() -> None:
    crashes = asked("4.4.0", ["one-lossy"], {"acks": "all", "replicas": 2, "min_insync_replicas": 1})
    only = replace(crashes, promises=("AckedRecordsSurvive",))
    first, second = (losses_of(only, Effort(1, walks=1_000)) for _ in range(2))
    assert first == second
    assert [loss.known_as[0] for loss in first] == ["no machine may die with min.insync.replicas=1"]


# -- what is known -------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("loss", [loss for loss in read_losses(KNOWN_FILE) if loss.specs], ids=lambda row: row.id)
def test_what_a_known_loss_is_told_by_prevents_the_traces_of_its_specs(loss: KnownLoss) -> None:
    for name in loss.specs:
        found = replayed(name)
        promise, constants = found.question.properties[0].name, found.question.instance.constants
        assert loss.promises == () or promise in loss.promises, name
        assert loss.mend.bars or loss.mend.changes(constants), name
        assert loss.mend.prevents(found), name


def test_a_trace_happens_again_under_its_own_constants_and_a_mend_that_changes_nothing_prevents_nothing() -> None:
    found = replayed("acks-1-loses")
    again = found.under({})
    assert again is not None
    assert again.run.states == found.run.states
    assert not Mend().prevents(found)
    assert not Mend({"acks": found.question.instance.constants["acks"]}).prevents(found)


def test_a_setting_prevents_the_trace_that_it_prevents_and_no_other() -> None:
    found = replayed("acks-1-loses")
    assert Mend({"acks": 2}).prevents(found)
    assert not Mend({"unclean_election": 0, "min_insync_replicas": 2}).prevents(found)


@pytest.mark.slow
def test_an_event_is_barred_only_where_it_happens() -> None:
    found = replayed("claims/replication-instead-of-flush-and-kills-4-1")
    last_known = Bar("ElectLeader", "controller.isr == {} and controller.elr == {}")
    assert Mend(bars=(last_known,)).prevents(found)
    assert not Mend(bars=(Bar("MoveLeadership", "True"),)).prevents(found)
    assert not Mend(bars=(Bar("ElectLeader", "False"),)).prevents(found)


@pytest.mark.slow
def test_a_loss_is_reduced_to_the_settings_and_faults_that_it_needs() -> None:
    everything = asked("4.4.0", ["clean", "zombies"], {"acks": "1", "replicas": 2, "unclean_election": True})
    [loss] = losses_of(replace(everything, promises=("AckedRecordsSurvive",)), Effort(20_000))
    constants = dict(loss.constants)
    assert loss.known_as[0] == "acks=1"
    assert constants["crashes"] + constants["zombies"] == 1  # Either is enough, and not both are needed.
    assert (constants["unclean_election"], constants["consumer"], constants["acks"]) == (0, 0, 1)
    assert loss.is_shortest


@pytest.mark.slow
def test_a_shorter_run_than_a_walks_has_nothing_in_it_that_is_barred() -> None:
    found, [plain_fetch] = replayed("offsets-plain-fetch"), [row for row in KNOWN if row.id == "plain-fetch"]
    again, is_shortest = shortest(found, LIMITS.memory, ())
    assert (len(again.run.states), is_shortest) == (len(found.run.states), True)
    assert shortest(found, LIMITS.memory, plain_fetch.mend.bars) == (found, False)


def test_a_bug_of_the_gallery_is_known_only_in_releases_that_lack_its_rule() -> None:
    [row] = [row for row in KNOWN if row.id == "stale-log-ends"]
    constants = {"reelection_forgets_ends": 0}
    assert row.concerns("partition", constants, "AckedRecordsSurvive")
    assert not row.concerns("partition", {"reelection_forgets_ends": 1}, "AckedRecordsSurvive")
    assert not row.concerns("transactions", constants, "AckedRecordsSurvive")


def test_a_bug_of_the_gallery_is_called_as_the_finding_that_it_shows_or_by_its_own_name() -> None:
    titles = {row.id: row.title for row in KNOWN}
    assert {"stale-log-ends", "epoch-after-abort", "late-marker", "KIP-966, last replica standing"} <= titles.keys()
    assert titles["KAFKA-19975"] == "a reassignment waits for a replica that it neither adds nor removes"
    assert [name for name in titles if name.startswith("row ")] == []
    assert len(titles) == len(KNOWN)


@pytest.mark.slow
def test_an_id_that_is_not_known_cannot_be_forgotten() -> None:
    with pytest.raises(ConfigurationError, match=r"'stale-log-end' \(did you mean stale-log-ends\?\)"):
        known_losses(["stale-log-end"])
    left = known_losses(["acks=1"])
    assert [row.id for row in KNOWN if row not in left] == ["acks=1"]


# -- nothing decided is lost -----------------------------------------------------------------------------------------------


def run(cache: ResultCache | None, known: Sequence[KnownLoss] = KNOWN) -> Hunt:
    hunt = Hunt(delivery(), known, KNOWN, seed=3, efforts=SMALL)
    hunt.run(LIMITS, cache)
    return hunt


@pytest.mark.slow
def test_what_was_decided_is_not_asked_again(tmp_path: Path) -> None:
    first = run(ResultCache(tmp_path, __version__))
    again = run(ResultCache(tmp_path, __version__))
    assert (first.tally.kept, again.tally.kept) == (0, first.tally.asked)
    assert again.sightings == first.sightings
    assert again.tally.decided == first.tally.decided == first.tally.asked


@pytest.mark.slow
def test_a_hunt_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path, __version__)
    stopped = Hunt(delivery(), KNOWN, KNOWN, seed=3, efforts=SMALL)
    stopped.run(LIMITS, cache, most_rounds=1)
    assert 0 < stopped.tally.asked < stopped.tally.planned
    whole = run(cache)
    assert whole.tally.kept == stopped.tally.asked
    assert whole.tally.asked == whole.tally.planned


@pytest.mark.slow
def test_without_its_row_a_known_loss_is_new() -> None:
    def new(hunt: Hunt) -> list[Sighting]:
        return [sighting for sighting in hunt.sightings.values() if sighting.known is None]

    name = "committed before it is processed"
    assert new(run(None)) == []
    forgotten = new(run(None, known_losses([name])))
    assert {sighting.loss.promise for sighting in forgotten} == {"NoInputLost"}
    assert {faults_of(sighting) for sighting in forgotten} == {("crashes",), ("rebalances",)}


@pytest.mark.slow
def test_what_coordinators_of_a_release_lose_is_known_by_its_remedy() -> None:
    safe = [("brokers", 1), ("min_isr", 1)], [("brokers", 2), ("min_isr", 2)]
    questions = [
        question for question in questions_of(hunted(), ["coordinator"])
        if list(question.settings[:2]) in safe and question.cost <= 1 and not any(value for _, value in question.settings[2:])
    ]  # fmt: skip
    made = Hunt(questions, KNOWN, KNOWN, efforts=(Effort(60_000),))
    made.run(LIMITS)
    seen = {(sighting.loss.promise, sighting.known and sighting.known.id) for sighting in made.sightings.values()}
    disk = "the only replica of __consumer_offsets in sync loses its disk"
    assert seen == {
        ("AcknowledgedCommitsSurvive", "foreign-load"), ("PlainFetchesAreCurrent", "plain-fetch"),
        ("AcknowledgedCommitsSurvive", disk), ("PlainFetchesAreCurrent", disk),
    }  # fmt: skip
    assert made.tally.refused == {}


@pytest.mark.slow
def test_what_a_coordinator_holds_back_over_two_elections_is_found_and_known() -> None:
    wanted = {"batches": 1, "max_epoch": 3, "brokers": 2, "shrinks": 0, "lost_disks": 0, "unclean": 0}
    asked_so = [item for item in questions_of(hunted(), ["coordinator"]) if wanted.items() <= dict(item.constants).items()]
    [loss] = losses_of(replace(asked_so[0], promises=("AcknowledgedCommitsSurvive",)), Effort(1_000_000))
    assert loss.known_as == ("waiting-commits",)


@pytest.mark.long
def test_a_hunt_of_a_minute_finds_known_losses_without_being_told_and_with_a_row_taken_out_the_same_as_new() -> None:
    """Some twenty questions about moved leaders and one lost page cache, some of them by walks."""
    questions = [
        *questions_of(hunted(), ["partition"], ["one-lossy"]),
        *questions_of(hunted(), ["partition"], ["leadership_moves"]),
    ]
    cheap = [question for question in questions if question.cost <= 1]
    made = Hunt(cheap, known_losses(["stale-log-ends"]), KNOWN, seed=5)
    made.run(LIMITS, most_rounds=2)
    seen = {sighting.known.id for sighting in made.sightings.values() if sighting.known is not None}
    new = [sighting for sighting in made.sightings.values() if sighting.known is None]
    assert {"acks=1", "last-known-leader"} <= seen
    assert "AckedRecordsSurvive" in {sighting.loss.promise for sighting in new}
    assert {sighting.loss.known_as[0] for sighting in new} == {"stale-log-ends"}
    assert made.tally.refused == {}


# -- the command -----------------------------------------------------------------------------------------------------------


def hunt(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code, and what is on stdout."""
    code = main(["hunt", "--kafka", "4.4.0", "--protocols", "delivery", "-j", "1", "-q", *words])
    return code, capsys.readouterr().out


@pytest.mark.slow
def test_the_command_ends_with_0_where_nothing_is_new_and_with_12_where_something_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "hunt.html"
    code, text = hunt(capsys, "--faults", "crashes", "--html", str(page), "--no-play")
    assert code == 0
    last = "nothing new; 0 known losses are open in it, and 2 are what settings and faults are documented to cost"
    assert last in " ".join(text.split())
    assert "at least once" in page.read_text("utf-8")
    forgetting = ("--forget", "committed before it is processed", "--no-play", "--format", "json")
    code, text = hunt(capsys, "--faults", "crashes", *forgetting)
    told = json.loads(text)
    assert (code, told["format"], told["new"]) == (12, "acked-hunt/1", 1)
    [loss] = [loss for loss in told["losses"] if loss["state"] == "new"]
    assert (loss["promises"], loss["faults"], loss["steps"]) == (["NoInputLost"], ["crashes"], 5)
    assert loss["played"] == "not played: --no-play"
    assert len(loss["story"]) == 6


@pytest.mark.slow
def test_the_command_refuses_what_there_is_not_with_151(capsys: pytest.CaptureFixture[str]) -> None:
    assert hunt(capsys, "--forget", "stale")[0] == 151
    assert hunt(capsys, "--faults", "flood")[0] == 151
