"""What `acked watch` knows of clusters that come, change, hang and go, as metrics and as a page."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as older_families

from acked.audit.clusters.live import LiveCluster, LiveValue
from acked.audit.decision.faults import AuditVerdict
from acked.base.errors import SystemFailure
from acked.cli import main
from acked.roll.decision.judge import Verdict
from acked.watch import clusters
from acked.watch.answers import Cause, Risk, StateAnswer, TopicState, ask_apart, ask_settings
from acked.watch.clusters import Watcher
from acked.watch.metrics import FAMILIES, Metrics
from acked.watch.page import watch_page
from tests.acked.watch.clusters import GONE, ODD, VALUES, live, samples, scripted, unreadable
from tests.places import CHECKOUT

OTHERS = "prod: settings: orders: judged by the other brokers' settings: the settings of broker"


def known(watcher: Watcher) -> dict[tuple[str, ...], float]:
    return samples(Metrics(lambda: [watcher.seen]).text)


# -- what is asked, and when -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_one_down_partitions_are_a_stop_from_refusing_and_with_two_down_a_failure_from_loss(here: None) -> None:
    """RF 3 and min.insync.replicas 2: with one in sync writes are refused, and its disk is the last that has everything."""
    told: list[str] = []
    watcher = Watcher(scripted(live(), live(down=(3,)), live(down=(2, 3)), live()), told.append)
    found = []
    for _ in range(4):
        watcher.look()
        watcher.audit()
        found.append(known(watcher))
    risks = [[one["acked_partitions_" + risk.value, "state", "orders"] for risk in Risk] for one in found]
    assert risks == [[0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    assert [one["acked_roll_verdict", "1"] for one in found] == [0, 2, 2, 0]
    assert [one["acked_broker_up", "3"] for one in found] == [1, 0, 0, 1]
    assert ("acked_roll_verdict", "3") not in found[1], "it cannot be stopped"
    assert [one["acked_controllers_to_spare",] for one in found] == [1, 0, -1, 1]
    assert {one["acked_answer", fault, "loss", "orders"] for one in found for fault in ("clean", "one-machine")} == {0}
    assert {one["acked_audit_verdict",] for one in found} == {0}, "that brokers are down is no change of settings"
    assert told == [
        "prod: it is read", "prod: Go down now? may: 1, 2, 3.", "prod: settings: what is required is kept",
        "prod: Go down now? may not: 1, 2.",
        f"{OTHERS} 3 are not known: it does not run",
        "prod: Go down now? may not: 1.",
        f"{OTHERS} 2 are not known: it does not run and 1 more",
        "prod: Go down now? may: 1, 2, 3.", "prod: settings: what is required is kept",
    ]  # fmt: skip


@pytest.mark.slow
def test_what_settings_bring_at_the_best_of_times_is_told_apart_from_what_is_down(here: None) -> None:
    watcher = Watcher(scripted(live(replicas=(1,))), print)
    watcher.look()
    watcher.audit()
    found = known(watcher)
    assert found["acked_partitions_losing_after_failure", "settings", "orders"] == 1
    assert found["acked_partitions_losing_after_failure", "state", "orders"] == 0
    page = watch_page([watcher.seen], 30, time.time())
    assert "0 partitions one failure from loss, 1 by settings alone" in page
    row = page[page.index("What settings do not prevent") :]
    assert [word in row for word in ("lost", "machine dies", "one-machine")] == [True, True, False], "in words, not in names"
    assert found["acked_answer", "one-machine", "loss", "orders"] == 2
    assert found["acked_audit_verdict",] == 2


@pytest.mark.slow
def test_what_hangs_on_controllers_of_their_own_is_undecided_with_the_reason(here: None) -> None:
    found = live()
    apart = tuple(replace(one, values=(VALUES[0], LiveValue("process.roles", "broker", "static"))) for one in found.brokers)
    watcher = Watcher(scripted(replace(found, brokers=apart)), print)
    watcher.look()
    watcher.audit()
    assert known(watcher)["acked_answer", "clean", "loss", "orders"] == 1
    assert watcher.seen.settings is not None
    assert watcher.seen.settings.value.lines[0] == (
        AuditVerdict.UNDECIDED,
        "orders: loss (clean) is undecided: it hangs on the controllers' unclean.leader.election.enable, which brokers "
        "cannot tell",
    )  # fmt: skip


@pytest.mark.slow
def test_that_nobody_leads_is_no_fault_of_the_settings(here: None) -> None:
    found = live()
    [topic] = found.topics
    without = replace(topic, partitions=(replace(topic.partitions[0], leader=None),))
    watcher = Watcher(scripted(replace(found, topics=(without,))), print)
    watcher.look()
    assert known(watcher)["acked_partitions_refusing_writes", "state", "orders"] == 1
    assert known(watcher)["acked_partitions_refusing_writes", "settings", "orders"] == 0


def test_a_cluster_that_stays_as_it_is_is_not_asked_again_and_its_answers_stay_young(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(scripted(live(), live(), live(down=(3,)), live(("orders", "more"))), print)
    ages = []
    for now in (1000.0, 1030.0, 1060.0, 1090.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        watcher.look()
        watcher.audit()
        assert watcher.seen.state is not None
        assert watcher.seen.settings is not None
        ages.append((watcher.seen.state.read_at, watcher.seen.settings.read_at))
        answers.append("|")
    assert ages == [(1000, 1000), (1030, 1030), (1060, 1060), (1090, 1090)]
    assert "".join(one[:2] for one in answers) == "stse||stse|stse|"


def test_who_leads_and_is_in_sync_is_no_change_of_settings(answers: list[str]) -> None:
    first = live()
    [topic] = first.topics
    shrunk = replace(topic, partitions=(replace(topic.partitions[0], isr=(2, 3), leader=2),))
    watcher = Watcher(scripted(first, replace(first, topics=(shrunk,))), print)
    for _ in range(2):
        watcher.look()
        watcher.audit()
    assert answers == ["state", "settings", "state"]


def test_on_another_day_the_policy_is_asked_again(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Tomorrow(clusters.date):
        @classmethod
        def today(cls) -> clusters.date:
            return clusters.date(2199, 1, 1)

    watcher = Watcher(scripted(live(), live()), print)
    watcher.look()
    watcher.audit()
    monkeypatch.setattr(clusters, "date", Tomorrow)
    watcher.look()
    watcher.audit()
    assert answers == ["state", "settings", "settings"]


def test_a_cluster_that_goes_away_keeps_its_answers_which_grow_old_until_it_is_back(answers: list[str]) -> None:
    told: list[str] = []
    watcher = Watcher(scripted(live(), GONE, GONE, ValueError("odd"), live()), told.append)
    found = []
    for _ in range(5):
        watcher.look()
        watcher.audit()
        found.append(known(watcher))
    assert [one["acked_up",] for one in found] == [1, 0, 0, 0, 1]
    read = [one["acked_read_timestamp_seconds", "roll"] for one in found]
    assert read[0] == read[1] == read[3] < read[4]
    assert found[3]["acked_partitions", "orders"] == 1
    assert told[-3:] == [f"prod: {GONE}", "prod: internal error (ValueError: odd)", "prod: it is read"]
    assert answers == ["state", "settings"]


@pytest.mark.slow
def test_what_cannot_be_asked_is_undecided_and_never_no(here: None) -> None:
    watcher = Watcher(scripted(unreadable(live())), print)
    watcher.look()
    watcher.audit()
    found = known(watcher)
    assert {found["acked_roll_verdict", broker] for broker in "123"} == {1}
    assert found["acked_partitions_undecided", "orders"] == found["acked_partitions", "orders"] == 1
    assert not [key for key in found if "refusing" in key[0] or "losing" in key[0]], "nothing is known of it"
    replies = [value for key, value in found.items() if key[0] == "acked_answer"]
    assert len(replies) == 6
    assert {*replies, found["acked_audit_verdict",]} == {1}


@pytest.mark.slow
def test_risks_of_which_nothing_is_known_are_missing_and_those_that_are_known_are_not(here: None) -> None:
    def at_risk(found: LiveCluster) -> set[str]:
        watcher = Watcher(scripted(found), print)
        watcher.look()
        told = known(watcher)
        assert told["acked_partitions_undecided", "orders"] == 1
        return {risk.name for risk in Risk if ("acked_partitions_" + risk.value, "state", "orders") in told}

    assert at_risk(replace(live(), are_moves_known=False)) == set()
    assert at_risk(replace(live(down=(2, 3)), are_moves_known=False)) == {risk.name for risk in Risk}
    found = live(down=(3,))
    [topic] = found.topics
    unread = replace(topic, partitions=(replace(topic.partitions[0], eligible=None),))
    values = (LiveValue("min.insync.replicas", "3", "static"), VALUES[1])
    brokers = tuple(one if one.values is None else replace(one, values=values) for one in found.brokers)
    # Who refuses writes hangs on no eligible leader, and what a failure loses does.
    known_ones = at_risk(replace(found, topics=(unread,), brokers=brokers))
    assert known_ones == {"REFUSES", "REFUSES_AFTER_STOP", "LOSES_AFTER_STOP"}


def test_a_question_without_an_answer_is_undecided_and_asked_again_after_a_while(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(ask: object, memory: int) -> object:
        answers.append("lost")
        raise SystemFailure("there is no answer: the question ran out of the memory that it was given; see --memory")

    monkeypatch.setattr(clusters, "ask_apart", lose)
    watcher = Watcher(scripted(*[live()] * 3), print)
    for now in (1000.0, 1030.0, 1000 + clusters._AGAIN + 1):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        watcher.look()
        watcher.audit()
        assert known(watcher)["acked_audit_verdict",] == 1
        assert known(watcher)["acked_roll_verdict", "1"] == 1
    assert answers == ["lost"] * 4


def boom() -> None:
    raise ValueError("a defect")


def test_a_question_that_ends_by_a_defect_ends_alone() -> None:
    with pytest.raises(SystemFailure, match=r"there is no answer: ValueError: a defect; see --memory"):
        ask_apart(boom, 64 << 20)


@pytest.mark.slow
def test_settings_that_are_common_are_decided_by_what_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    found = live()
    brokers = tuple(replace(one, newest_level=27) for one in found.brokers)
    of_4_1 = replace(found, brokers=brokers, features={"metadata.version": 27, "eligible.leader.replicas.version": 1})
    assert ask_settings(scripted(of_4_1), of_4_1, date(2026, 11, 26)).verdict is AuditVerdict.NO
    assert not list(tmp_path.glob("results/answers/*"))


def test_a_cluster_without_topics_has_nothing_to_lose(here: None) -> None:
    watcher = Watcher(scripted(replace(live(), topics=())), print)
    watcher.look()
    watcher.audit()
    assert known(watcher)["acked_audit_verdict",] == 0
    assert not [key for key in known(watcher) if key[0] == "acked_answer"]


@pytest.mark.slow
def test_a_hundred_readings_leave_nothing_behind(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"topic-{at}" for at in range(40)]
    states = [live(names), live(names, down=(3,))]

    def state(watched: object, found: LiveCluster) -> StateAnswer:
        risks = dict.fromkeys(product(Risk, Cause), 1)
        return StateAnswer((), tuple(TopicState(one.name, 1, 0, risks) for one in found.topics), Verdict.MAY, "text")

    monkeypatch.setattr(clusters, "ask_state", state)
    watcher = Watcher(scripted(*states * 100), lambda line: None)
    sizes = []
    tracemalloc.start()
    try:
        for at in range(150):
            watcher.look()
            watcher.audit()
            if at % 30 == 0:
                known(watcher)
                watch_page([watcher.seen], 30, time.time())
            if at in (50, 149):
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 16_000
    assert answers.count("settings") == 150


# -- metrics, rules, dashboard ---------------------------------------------------------------------------------------------


def test_names_with_quotes_and_newlines_come_out_of_the_metrics_as_they_are(answers: list[str]) -> None:
    watcher = Watcher(scripted(live((ODD, "orders")), name=ODD), print)
    watcher.look()
    text = Metrics(lambda: [watcher.seen]).text
    for read in (text_string_to_metric_families, older_families):
        labels = [sample.labels for family in read(text) for sample in family.samples if sample.name == "acked_partitions"]
        assert [one["topic"] for one in labels] == [ODD, "orders"]
        assert {one["cluster"] for one in labels} == {ODD}


def test_the_page_of_the_documentation_has_every_metric_with_its_labels() -> None:
    rows = re.findall(r"^\| `(acked_\w+)` \| ([^|]*) \|", (CHECKOUT / "docs" / "watch.md").read_text("utf-8"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == {
        name: ("cluster", *labels) for name, (labels, _) in FAMILIES.items()
    }


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CHECKOUT / "acked" / "watch" / "dashboard.json").read_text("utf-8"))
    return found


def expressions() -> list[str]:
    rules = yaml.safe_load((CHECKOUT / "acked" / "watch" / "alerts.yml").read_text("utf-8"))
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return found + [target["expr"] for panel in board()["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", expressions())
def test_rules_and_dashboard_ask_for_metrics_and_labels_that_there_are(expression: str) -> None:
    named = re.findall(r"\b(acked_[a-z_]+)\b(?!_\()(?:\{([^}]*)\})?", expression)
    named = [(name, labels) for name, labels in named if not name.endswith("_")]
    assert named or "__name__" in expression
    for name, labels in named:
        assert {*re.findall(r"(\w+)=", labels)} <= {"cluster", *FAMILIES[name][0]}


def grafanas(raw: object, read: object) -> object:
    """What is left of a part of a dashboard where Grafana's own types have read it, without their defaults."""
    if isinstance(raw, dict) and isinstance(read, dict):
        return {key: grafanas(raw[key], read[key]) for key in raw if key in read}
    if isinstance(raw, list) and isinstance(read, list) and len(raw) == len(read):
        return [grafanas(*both) for both in zip(raw, read, strict=True)]
    return read


def test_grafanas_own_types_read_every_key_of_the_dashboard_and_lose_one_that_there_is_not() -> None:
    plugins.register_default_plugins()
    good, bad = board(), board()
    bad["panels"][0]["options"]["colourMode"] = "background"
    for one in (good, bad):
        read = json.loads(JSONEncoder().encode(Dashboard.from_json(one)))
        assert grafanas(one, read) == good


def test_panels_of_the_dashboard_share_no_place_and_ask_the_source_that_was_chosen() -> None:
    raw = board()
    places = [panel["gridPos"] for panel in raw["panels"]]
    taken = [(x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    assert len({*taken}) == len(taken)
    assert {x for x, _ in taken} == {*range(24)}, "as wide as Grafana's grid"
    assert {*re.findall(r"\$\{?(\w+)", json.dumps(raw["panels"]))} == {one["name"] for one in raw["templating"]["list"]}
    for panel in raw["panels"]:
        assert {one["datasource"]["uid"] for one in (panel, *panel["targets"])} == {"${datasource}"}
        assert len({one["refId"] for one in panel["targets"]}) == len(panel["targets"])


def test_alerts_and_dashboard_are_written_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "monitoring"
    assert main(["watch", "--files", str(place)]) == 0
    rules = yaml.safe_load((place / "acked-alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    assert all(rule["labels"]["severity"] and rule["annotations"]["summary"] for rule in rules)
    assert json.loads((place / "acked-dashboard.json").read_text("utf-8")) == board()
    ids = [panel["id"] for panel in board()["panels"]]
    assert len({*ids}) == len(ids) >= 8
    (tmp_path / "file").write_text("")
    assert main(["watch", "--files", str(tmp_path / "file" / "below")]) == 153
    assert capsys.readouterr().err.count("cannot make the folder") == 1
