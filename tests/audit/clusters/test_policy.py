"""A policy file says what is required of whom and what is accepted until when; what it means otherwise is refused."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from acked.audit.clusters.policy import Judgement, Policy, judge, policy_schema, read_policy
from acked.audit.clusters.several import Asked, Audited, audit_groups
from acked.audit.clusters.topics import TopicGroup
from acked.audit.decision.faults import BY_DEFAULT, Assumptions, AuditQuestion, AuditVerdict, read_faults
from acked.audit.decision.upgrade import Stage, Upgrade, UpgradeAnswer
from acked.base.errors import ConfigurationError
from acked.base.release import release
from acked.cluster.vocabulary.entry import SettingEntry
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather
from tests.places import DATA

WHOLE = """\
[[require]]
topics = ["payments", "orders*"]
answers = ["loss=clean", "duplicates=clean"]

[[require]]
topics = ["*"]
cluster = "eu"
answers = ["loss=clean"]

[[accept]]
topics = ["clicks*"]
question = "loss"
reason = "they are counted again at night"
until = 2027-01-31

[clusters.eu]
bootstrap = "kafka:9092"
command-config = "client.properties"
"""
LOSS = AuditQuestion.LOSS
CLEAN = (LOSS, read_faults("clean"))


def policy(folder: Path, text: str = WHOLE) -> Policy:
    (folder / "acked.toml").write_text(text, "utf-8")
    return read_policy(folder / "acked.toml")


def test_of_several_requirements_the_first_that_is_about_a_topic_counts_and_loss_is_required_of_all_others(
    tmp_path: Path,
) -> None:
    read = policy(tmp_path)
    duplicates = (AuditQuestion.DUPLICATES, read_faults("clean"))
    assert read.answers_for("orders-eu", "eu") == (CLEAN, duplicates)
    assert read.answers_for("clicks", "eu") == (CLEAN,)
    assert read.answers_for("clicks", "us") == (CLEAN, (LOSS, read_faults("one-machine")))
    assert set(read.every) == {CLEAN, duplicates, (LOSS, read_faults("one-machine"))}
    (cluster,) = read.clusters
    assert (cluster.name, cluster.bootstrap, cluster.command_config) == ("eu", "kafka:9092", tmp_path / "client.properties")


def test_where_a_requirement_is_about_every_topic_nothing_is_required_by_default(tmp_path: Path) -> None:
    assert policy(tmp_path, WHOLE.replace('cluster = "eu"\n', "")).every == (
        CLEAN, (AuditQuestion.DUPLICATES, read_faults("clean"))
    )  # fmt: skip


@pytest.mark.parametrize(("old", "new", "why"), [
    ("[[require]]\ntopics", "[[requre]]\ntopics", r"there is no key 'requre' \(did you mean require\?\)"),
    ("answers = [\"loss=clean\"]", "answer = [\"loss=clean\"]", r"require 2: .* 'answer' \(did you mean answers"),
    ("reason = \"they are counted again at night\"\n", "", "accept 1 has no reason; add it"),
    ("reason = \"they are counted again at night\"\n", "reason = \"\"\n", "must be a text that is not empty"),
    ("until = 2027-01-31\n", "", "accept 1 has no until; add it"),
    ("until = 2027-01-31", "until = \"2027-01-31\"", "until must be a day without quotes"),
    ("question = \"loss\"", "question = \"lost\"", "question must be one of loss, duplicates"),
    ("\"loss=clean\"]", "\"los=clean\"]", r"there is no question 'los' \(did you mean loss\?\)"),
    ("\"loss=clean\"]", "\"loss=claen\"]", r"'claen' is not a fault \(did you mean clean\?\)"),
    ("topics = [\"clicks*\"]", "topics = \"clicks*\"", "topics must be a list of texts"),
    ("topics = [\"clicks*\"]", "topics = []", "topics must be a list of texts"),
    ("bootstrap = \"kafka:9092\"\n", "", "clusters.eu has no bootstrap; add it"),
    ("bootstrap = ", "bootstrap-server = ", "there is no key 'bootstrap-server'"),
    ("[[accept]]", "[accept]", r"accept must be a list of tables; begin each with \[\[accept\]\]"),
    ("[clusters.eu]", "[[clusters]]", "clusters must be tables"),
    ("[[accept]]", "[[accept", "is no valid TOML"),
    ("until = 2027-01-31", f"until = {'9' * 5000}", "is no valid TOML"),
])  # fmt: skip
def test_what_a_policy_does_not_mean_is_refused_with_what_is_right(old: str, new: str, why: str, tmp_path: Path) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigurationError, match=why) as refused:
        policy(tmp_path, WHOLE.replace(old, new))
    assert "\n" not in str(refused.value) or "TOML" in why


def test_the_schema_of_editors_takes_what_is_read_and_refuses_what_is_refused() -> None:
    schema = Draft202012Validator(policy_schema())
    Draft202012Validator.check_schema(policy_schema())

    def errors(text: str) -> list[str]:
        document = tomllib.loads(text)
        for one in document.get("accept", []):
            one["until"] = str(one["until"])  # A day of TOML is a text to editors.
        return [error.message for error in schema.iter_errors(document)]

    assert errors(WHOLE) == []
    for old, new in (("answers", "answer"), ("[[require]]", "[[requre]]"), ('"loss"', '"lost"'), ("bootstrap", "bootstap")):
        assert errors(WHOLE.replace(old, new)), new


def audited(*topics: str, acks: str = "1", unit: str = "") -> list[Audited]:
    given = gather([SettingEntry("replication.factor", "2", "t", 1), SettingEntry("acks", acks, "p", 1)])
    loss = (AuditQuestion.LOSS,)
    asked = Asked(loss, loss, Assumptions(faults=(read_faults("clean"),)), False, "4.1", runner=KEPT)
    return audit_groups([TopicGroup(topics, given, unit=unit)], asked)


of_some = partial(judge, is_whole=False)


def words(judged: Judgement) -> list[str]:
    return [line.in_words for line in judged.lines]


@pytest.mark.slow
def test_an_accepted_risk_is_green_until_its_day_is_over_and_red_after_it(tmp_path: Path) -> None:
    read = policy(tmp_path)
    found = audited("clicks-eu", "clicks-us", unit="eu")
    before = of_some(read, found, date(2027, 1, 31))
    assert before.verdict is AuditVerdict.NO
    assert words(before) == [
        "eu: clicks-eu, eu: clicks-us: loss (clean) is yes, accepted until 2027-01-31: they are counted again at night"
    ]
    after = of_some(read, found, date(2027, 2, 1))
    assert after.verdict is AuditVerdict.YES
    assert "was accepted until 2027-01-31 (they are counted again at night): decide anew" in words(after)[0]
    assert of_some(read, audited("other", unit="eu"), date(2027, 1, 1)).verdict is AuditVerdict.YES


@pytest.mark.slow
def test_what_was_not_asked_is_undecided_and_what_is_accepted_for_nothing_is_said(tmp_path: Path) -> None:
    read = policy(tmp_path)
    kept = of_some(read, audited("clicks", acks="all", unit="eu"), date(2027, 1, 1))
    assert kept.verdict is AuditVerdict.NO
    assert words(kept) == [f"loss of clicks* is accepted and does not happen: remove it from {read.file}"]
    undecided = of_some(read, audited("orders", acks="all"), date(2027, 1, 1))
    assert undecided.verdict is AuditVerdict.UNDECIDED
    assert words(undecided) == ["orders: duplicates (clean) is undecided"]
    group = TopicGroup(("orders",), gather([]), refusal="it may not be read")
    refused = [Audited(group, None, None, (), group.refusal)]
    assert of_some(read, refused, date(2027, 1, 1)).verdict is AuditVerdict.UNDECIDED


def test_a_broker_that_is_down_is_undecided_only_for_topics_that_no_other_broker_answers_for(tmp_path: Path) -> None:
    read = policy(tmp_path)
    reason = "the settings of broker 2 are not known: it does not run"
    down = Audited(TopicGroup(("clicks",), gather([]), ("2",), refusal=reason), None, None, (), reason)
    assert of_some(read, [down], date(2027, 1, 1)).verdict is AuditVerdict.NO  # accepted
    assert of_some(read, [down], date(2028, 1, 1)).verdict is AuditVerdict.YES  # accepted no longer


def test_what_is_required_of_topics_that_are_not_there_is_said_where_all_are_known(tmp_path: Path) -> None:
    read = policy(tmp_path)

    def told(*topics: str, unit: str = "", is_whole: bool = True) -> list[tuple[str, int | None, AuditVerdict]]:
        found = [Audited(TopicGroup(topics, gather([]), unit=unit, refusal="unread"), None, None, (), "unread")]
        lines = judge(read, found, date(2027, 1, 1), is_whole).lines
        return [(line.in_words, line.judged.line, line.judged.verdict) for line in lines if not line.topics]

    end = f"of which something is required: correct {read.file}"
    assert told("payments", "orders-1", unit="eu") == []
    assert told("paymnets", "orders-1", unit="eu") == [(f"no topic is called payments, {end}", 1, AuditVerdict.NO)]
    assert told("payments", unit="us") == [
        (f"no topic is called orders*, {end}", 1, AuditVerdict.NO), (f"no topic of eu is called *, {end}", 5, AuditVerdict.NO)
    ]  # fmt: skip
    assert told("paymnets", unit="us", is_whole=False) == []
    unnamed = "no topic is named here, so what is required of payments and orders* is not asked"
    assert told("", unit="eu") == [(unnamed, 1, AuditVerdict.NO)]  # Settings of every topic: `*` is about them, too.


@pytest.mark.slow
def test_settings_that_were_read_and_cannot_be_asked_about_are_undecided_whatever_other_brokers_have(tmp_path: Path) -> None:
    read = policy(tmp_path)
    [other] = audited("clicks", acks="all", unit="eu")
    group = replace(other.group, brokers=("2",))
    lacking = "the settings of broker 2 are not known: it does not run"
    down = Audited(replace(group, refusal=lacking), None, None, (), lacking)
    refused = Audited(group, None, None, (), "one file says 3.5 and another 3.6")
    assert of_some(read, [other, down], date(2028, 1, 1)).verdict is AuditVerdict.NO
    assert of_some(read, [other, refused], date(2028, 1, 1)).verdict is not AuditVerdict.NO


@pytest.mark.slow
def test_what_is_lost_on_the_way_of_an_upgrade_is_not_kept(tmp_path: Path) -> None:
    [today] = audited("clicks", acks="all", unit="eu")
    assert today.audit is not None
    replies = {Stage.BEFORE: AuditVerdict.NO, Stage.RAISING: AuditVerdict.YES, Stage.FINISHED: AuditVerdict.NO}
    [asked] = today.audit.answers
    way = UpgradeAnswer(asked.question, asked.faults, replies, (), None, None, None)
    found = replace(today, upgrade=Upgrade(release("2.6"), release("2.8.0"), "zookeeper", {}, (way,), is_sampled=False))
    assert of_some(policy(tmp_path), [today], date(2028, 1, 1)).verdict is AuditVerdict.NO
    assert of_some(policy(tmp_path), [found], date(2028, 1, 1)).verdict is AuditVerdict.YES


def test_the_schema_that_ships_is_the_one_of_the_table() -> None:
    shipped = json.loads((DATA.parents[1] / "docs" / "acked.schema.json").read_text("utf-8"))
    assert shipped == policy_schema()


def test_of_a_group_only_what_is_required_of_its_topics_decides(tmp_path: Path) -> None:
    path = tmp_path / "acked.toml"
    path.write_text('[[require]]\ntopics = ["pay*"]\nanswers = ["loss=one-lossy", "duplicates=clean"]\n', "utf-8")
    read = read_policy(path)
    asked = Asked(tuple(AuditQuestion), (), BY_DEFAULT, of_group=lambda group: read.answers_for_all(group.topics, group.unit))
    loss, duplicates = AuditQuestion.LOSS, AuditQuestion.DUPLICATES
    groups = (TopicGroup(names, gather([])) for names in (("clicks",), ("pay-1",), ("clicks", "pay-1")))
    clicks, pay, both = map(asked.about, groups)
    assert (clicks.required, pay.required, both.required) == ((loss,), (loss, duplicates), (loss, duplicates))
    by_default, lossy = BY_DEFAULT.under(loss), read_faults("one-lossy")
    assert [one.assumed.under(loss) for one in (clicks, pay, both)] == [by_default, (lossy,), (*by_default, lossy)]
