"""`acked audit` in this process: several groups in every format, pages, traces, baselines, and what is required."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from acked.audit.clusters.topics import TopicGroup
from acked.audit.commands.audit import audit, upgrade
from acked.audit.commands.output_files import check_fixable
from tests.audit.reading import gather

pytestmark = pytest.mark.usefixtures("lasting_searches")

TOPICS = """\
Topic: orders	TopicId: a	PartitionCount: 1	ReplicationFactor: 1	Configs: flush.messages=1
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
Topic: logs	TopicId: c	PartitionCount: 1	ReplicationFactor: 1	Configs: segment.bytes=1
	Topic: logs	Partition: 0	Leader: 1	Replicas: 1	Isr: 1
"""
OPTIONS = ("--kafka-version", "4.1", "--ask", "loss", "--faults", "one-machine", "--no-advice", "-q", "-j", "1")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(audit, [*arguments], standalone_mode=False)


@pytest.mark.slow
def test_groups_are_told_in_every_form_and_their_stories_have_pages_and_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.txt").write_text(TOPICS)
    done = run("topics.txt", *OPTIONS, "--format", "json", "-o", "now.json", "--pages", "pages", "--trace-out", "t.json")
    assert (done.return_value, done.exception) == (12, None)
    document = json.loads((tmp_path / "now.json").read_text())
    assert [(group["topics"], group["verdict"]) for group in document["groups"]] == [(["logs"], "yes"), (["orders"], "no")]
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["group-1-loss-one-machine.html", "index.html"]
    assert 'href="group-1-loss-one-machine.html"' in (tmp_path / "pages" / "index.html").read_text()
    assert json.loads((tmp_path / "t.json").read_text())["format"].startswith("acked-trace/")
    for form in ("text", "markdown", "html", "sarif", "junit"):
        assert run("topics.txt", *OPTIONS, "--full", "--format", form, "-o", "out").return_value == 12
        text = (tmp_path / "out").read_text()
        assert "logs" in text
        assert "breaks AckedRecordsSurvive" in text or form == "sarif"
    assert run("topics.txt", *OPTIONS, "--baseline", "now.json", "-o", "changed").return_value == 0
    assert (tmp_path / "changed").read_text() == ""
    (tmp_path / "topics.txt").write_text(TOPICS.replace("flush.messages=1", "retention.ms=1"))
    assert run("topics.txt", *OPTIONS, "--baseline", "now.json", "-o", "changed").return_value == 12
    assert (tmp_path / "changed").read_text() == "worse: orders, lost (one-machine): no before, yes now\n"


@pytest.mark.slow
def test_one_run_writes_every_form_that_a_job_wants_and_says_in_short_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.txt").write_text(TOPICS)
    outs = ("a.sarif", "a.xml", "markdown=summary", "a.json")
    done = run("topics.txt", *(one for one in OPTIONS if one != "-q"), *(word for out in outs for word in ("-o", out)))
    assert (done.return_value, done.exception) == (12, None)
    assert "✗ FAIL: 1 group of topics (1; 1 topic): acknowledged records can be lost" in done.stdout
    for name, form in (("a.sarif", "sarif"), ("a.xml", "junit"), ("summary", "markdown"), ("a.json", "json")):
        alone = run("topics.txt", *OPTIONS, "--format", form)
        assert alone.return_value == 12
        assert (tmp_path / name).read_text() == alone.stdout, form
    shown = run("topics.txt", "--show-settings", "-o", "s.json", "-o", "s.txt")
    assert shown.return_value == 0
    assert json.loads((tmp_path / "s.json").read_text())["groups"][0]["topics"] == ["orders"]
    assert "flush.messages=1" in (tmp_path / "s.txt").read_text()
    for refused, why in (("--show-settings", "--show-settings is text or JSON, and not sarif"),
                         ("--prove-it", "--prove-it is text or JSON")):  # fmt: skip
        assert why in str(run("topics.txt", refused, "-o", "a.sarif").exception)


def test_files_are_changed_for_one_group_and_several_are_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.txt").write_text(TOPICS)
    monkeypatch.setattr("acked.audit.commands.answering.audit_groups", None)  # an error if it is called
    refused = run("topics.txt", *OPTIONS, "--fix", "out")
    assert "--fix is about one group of topics, and there are 2; name a --topic" in str(refused.exception)
    one = TopicGroup(("orders",), gather([]))
    check_fixable([one, replace(one, decides=False)], tmp_path)  # What is answered for comparison is not to be changed.


@pytest.mark.slow
def test_defects_of_a_release_that_concern_durability_are_remarked_once_in_text_and_json(tmp_path: Path) -> None:
    topics = tmp_path / "topics.txt"
    topics.write_text(TOPICS.replace("flush.messages=1", "min.insync.replicas=1"))
    options = ("--topic", "orders", "--ask", "loss", "--faults", "none", "--no-advice", "-q", "-j", "1", "--full")
    for version, issue, rule in (("2.4.0", "KAFKA-9254", "topic-setting-lost"), ("4.1.1", "KAFKA-19012", "producer-buffer")):
        asked = (str(topics), "--kafka-version", version, *options)
        assert run(*asked).output.count(issue) == 1
        findings = json.loads(run(*asked, "--format", "json").output)["findings"]
        assert [item["rule"] for item in findings if issue in item["text"]] == [rule]
    for version in ("2.4.1", "4.1.2"):
        assert "KAFKA-9254" not in (told := run(str(topics), "--kafka-version", version, *options).output)
        assert "KAFKA-19012" not in told


def test_without_anything_to_audit_it_is_said_what_to_name() -> None:
    with pytest.raises(click.UsageError, match=r"name a FILE\.\.\., - for the standard input, --set or --bootstrap-server"):
        CliRunner().invoke(audit, [], standalone_mode=False, catch_exceptions=False)


@pytest.mark.parametrize(("options", "issue"), [
    (("-o", "md=summary"), r"'md' is no form \(did you mean markdown\?\)"),
    (("-o", "Jsn=x"), r"'Jsn' is no form \(did you mean json\?\)"),
    (("-o", "sarif=x", "-o", "json=x"), "--out names x twice; name a file for each form"),
    (("upgrade", "--to", "4.2", "-o", "sarif=x"), "x would be sarif, which this command has not; choose text, markdown"),
    (("--show-settings", "-o", "x.html", "-o", "x.xml"), "is text or JSON, and not html or junit; leave one out"),
])  # fmt: skip
def test_files_that_are_not_what_their_names_say_are_refused(
    options: tuple[str, ...], issue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command, given = (upgrade, options[1:]) if options[0] == "upgrade" else (audit, options)
    settings = ("--set", "acks=1", "--kafka-version", "4.1")
    with pytest.raises(click.UsageError, match=issue):
        CliRunner().invoke(command, [*settings, *given], standalone_mode=False, catch_exceptions=False)
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_defaults_of_clients_do_not_follow_from_the_brokers_where_nothing_names_a_release() -> None:
    options = ("--set", "replication.factor=2", "--set", "min.insync.replicas=2", "--ask", "loss", "--faults", "clean",
               "--no-advice", "-q", "-j", "1")  # fmt: skip
    document = json.loads(run(*options, "--format", "json").output)
    assert {answer["worst"] for answer in document["answers"]} == {"no"}
    assert "client-default" in {item["rule"] for item in document["findings"]}
    older = run(*options, "--producer", "acks=1")
    assert older.return_value == 12


@pytest.mark.slow
def test_a_question_may_be_required_under_some_faults_only() -> None:
    options = ("--set", "replication.factor=1", "--kafka-version", "4.1", "--ask", "loss", "--no-advice", "-q", "-j", "1")
    assert run(*options, "--require", "loss=clean").return_value == 0
    assert run(*options, "--require", "loss=clean,loss=one-machine").return_value == 12
    with pytest.raises(Exception, match="'lossey' is not a fault"):
        CliRunner().invoke(audit, [*options, "--require", "loss=lossey"], standalone_mode=False, catch_exceptions=False)


@pytest.mark.slow
def test_what_is_recommended_says_what_else_is_a_yes_and_takes() -> None:
    options = ("--set", "replication.factor=2", "--set", "min.insync.replicas=2", "--set", "acks=1", "--set",
               "retries=3", "--set", "enable.idempotence=false", "--kafka-version", "4.1", "--faults", "clean", "-q",
               "-j", "1")  # fmt: skip
    done = run(*options, "--ask", "loss,duplicates", "--require", "loss=clean", "--format", "json")
    assert done.return_value == 12
    said = json.loads(done.output)["recommended"]["in_words"]
    assert "every required answer (loss) is then a no (checked)" in said
    assert "duplicates, not required and a yes now: set acks=all and enable.idempotence=true (checked alone)" in said
    whole = run(*options, "--ask", "loss,duplicates", "--require", "all", "--format", "json")
    assert "not required" not in json.loads(whole.output)["recommended"]["in_words"]


@pytest.mark.slow
def test_of_one_replica_one_number_of_replicas_is_recommended_which_serves_other_answers_too() -> None:
    """Two replicas would keep writes going, and three records as well: both in one sentence read as a contradiction."""
    document = json.loads(run("--set", "replication.factor=1", "--kafka-version", "4.1", "--producer", "acks=all", "-q",
                              "-j", "1", "--format", "json").output)  # fmt: skip
    said = document["recommended"]["in_words"]
    assert said.startswith("give the topic 3 replicas and set min.insync.replicas=2; ")
    assert said.endswith("every required answer (loss) is then a no (checked), and so is writes")
    [writes] = [one for one in document["answers"] if one["question"] == "writes" and one["decides"]]
    assert [(one["key"], one["value"]) for one in writes["remedy"]["settings"]] == [("replication.factor", "2")]


@pytest.mark.slow
def test_what_was_read_of_several_topics_is_told_of_each_group_and_nothing_is_asked(tmp_path: Path) -> None:
    place = tmp_path / "topics.txt"
    place.write_text(TOPICS)
    done = run(str(place), "--show-settings")
    assert (done.exception, done.return_value) == (None, 0)
    assert [line for line in done.output.splitlines() if line in ("orders", "logs")] == ["orders", "logs"]
    assert "flush.messages=1" in done.output
    groups = json.loads(run(str(place), "--show-settings", "--format", "json").output)["groups"]
    assert [group["topics"] for group in groups] == [["orders"], ["logs"]]


@pytest.mark.long
def test_what_is_said_of_transactions_is_in_every_form_with_a_page_for_each_trace(tmp_path: Path) -> None:
    (tmp_path / "p.properties").write_text("acks=all\ntransactional.id=orders\n")
    options = (str(tmp_path / "p.properties"), "--set", "replication.factor=1", "--kafka-version", "3.5", "--ask", "writes",
               "--control-plane", "kraft", "--require", "writes", "--no-advice", "--full", "-q", "-j", "1")  # fmt: skip
    pages = tmp_path / "pages"
    codes = set()
    for form in ("text", "markdown", "html", "json", "sarif", "junit"):
        out = tmp_path / form
        codes.add(run(*options, "--format", form, "-o", str(out), "--pages", str(pages)).return_value)
        text = " ".join(out.read_text().split())
        assert "a transaction can hang" in text
        assert "where it opens a transaction" in text
    assert len(codes) == 1
    stories = {f"transactions-{asked}-old-clients.html" for asked in ("torn", "hanging", "mixed")}
    assert stories <= {path.name for path in pages.iterdir()}
    index = (pages / "index.html").read_text()
    assert all(f'href="{name}"' in index for name in stories)
