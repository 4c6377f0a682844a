"""`acked audit` and `acked audit matrix` as a user runs them: formats, files, exit codes."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from jsonschema import Draft7Validator

from tests.e2e.driver import acked, assert_one_sentence
from tests.places import DATA
from tests.sharing import lasting_searches

AUDIT = DATA / "audit"
TWO = ("--set", "replication.factor=2", "--set", "min.insync.replicas=2", "-q", "-j", "1", "--memory", "200MB", "--full")
RELEASE = ("--kafka-version", "3.6", "--control-plane", "kraft")
LENIENT = (*TWO, *RELEASE, "--lenient")
FORMATS = ("text", "markdown", "html", "json", "sarif")


@pytest.fixture(scope="module", autouse=True)
def searches() -> Iterator[None]:
    """What an audit has started, the next one goes on with; the page's examples and CI's steps are processes of their own."""
    with lasting_searches():
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A producer that loses records, named so that a careless format would show it."""
    place = tmp_path_factory.mktemp("audit")
    (place / "p <b>.properties").write_text("# asks for little\nlinger.ms=5\nacks=1\nretries=0\nack.s=1\n")
    return place


@pytest.fixture(scope="module")
def document(folder: Path, cache: Path) -> dict[str, Any]:
    done = acked("audit", "p <b>.properties", *LENIENT, "--format", "json", cwd=folder)
    assert done.returncode == 12, done.stderr
    assert done.stderr == ""
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def text_of(text: str) -> str:
    """As one line, without what Markdown, HTML and JSON escape."""
    return " ".join(html.unescape(text).replace("\\", "").split())


@pytest.mark.slow
def test_the_document_has_answers_with_stories_causes_and_changes(document: dict[str, Any]) -> None:
    decisive = [item for item in document["answers"] if item["decides"]]
    assert [(item["question"], item["faults"]["name"], item["answer"]) for item in decisive] == [
        ("loss", "clean", "yes"), ("loss", "one-machine", "yes"), ("duplicates", "clean", "no"),
        ("reordering", "clean", "no"), ("vanishing", "clean", "no"), ("writes", "clean", "no"),
    ]  # fmt: skip
    columns = [column["name"] for column in document["columns"]]
    assert columns == ["clean", "one-machine", "lossy", "empty-disk", "none,zombies", "none,moves"]
    cells = [(item["question"], item["faults"]["name"]) for item in document["answers"]]
    everywhere = {(asked, column) for asked in dict(cells) for column in columns[:-1]}
    assert sorted(cells) == sorted({*everywhere, ("loss", "none,moves")}), "none is left out"
    loss = document["answers"][0]
    assert loss["story"]["steps"][0].startswith("the producer sends record 0 to broker 0")
    assert "breaks AckedRecordsSurvive" in loss["story"]["happened"]
    causes = [(cause["key"], cause["now"], cause["no_with"], cause["line"]) for cause in loss["causes"]]
    assert causes == [("acks", "1", "all", 3)]
    assert loss["remedy"]["settings"] == [{"key": "acks", "value": "all"}]
    assert document["verdict"] == "yes"
    assert {"one-lossy", "outside-isr", "producer-restart"} == {item["name"] for item in document["not_asked"]}
    shown = {"clean", "one-machine", "lossy", "empty-disk", "zombies"}
    assert shown.isdisjoint(item["name"] for item in document["not_asked"])
    sources = {item["key"]: item["source"] for item in document["settings"]}
    assert sources["acks"] == "p <b>.properties:3"
    assert "KIP-106" in sources["unclean.leader.election.enable"]
    assert {(item["rule"], item["line"]) for item in document["findings"]} >= {("misspelt", 5), ("idempotence-off", 3)}
    assert document["passed_over"] == [{"key": "ack.s", "file": "p <b>.properties", "line": 5}]


@pytest.mark.slow
def test_sarif_is_valid_and_points_to_the_line(folder: Path, document: dict[str, Any]) -> None:
    done = acked("audit", "p <b>.properties", *LENIENT, "--format", "sarif", "-o", "a.sarif", cwd=folder)
    assert (done.returncode, done.stdout) == (12, "")
    log = json.loads((folder / "a.sarif").read_text())
    Draft7Validator(json.loads((DATA / "sarif-schema-2.1.0.json").read_text())).validate(log)
    results = {result["ruleId"]: result for result in reversed(log["runs"][0]["results"])}
    assert [result["level"] for result in log["runs"][0]["results"]].count("error") == 1, "one for the cause"
    assert results["audit/loss"]["level"] == "error"
    place = results["audit/loss"]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("p%20%3Cb%3E.properties", 3)
    assert "audit/writes" not in results
    assert results["settings/misspelt"]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


@pytest.mark.slow
def test_page_and_markdown_say_the_same_and_show_hostile_names_as_text(folder: Path, document: dict[str, Any]) -> None:
    for form in ("html", "markdown", "text"):
        done = acked("audit", "p <b>.properties", *LENIENT, "--format", form, cwd=folder)
        assert done.returncode == 12
        text = " ".join(done.stdout.replace("\\", "").split())
        for answer in document["answers"]:
            assert answer["text"] in text
        assert document["answers"][0]["story"]["steps"][0][:40] in text
        assert "one machine that dies while processes are killed (one-lossy)" in text, "what was not asked"
        if form == "html":
            assert "<b>" not in text
            assert "default-src 'none'" in html.unescape(text)
            assert text.count("<script") == 1, "the page's own, by its hash"
            assert "script-src 'sha256-" in html.unescape(text)
            assert not re.search(r"(?:src|href)=\"(?!data:|#)", text)
        if form == "markdown":
            assert "&lt;b&gt;" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_what_was_passed_over_by_wish_and_what_was_set_instead_is_said_in_every_format(
    form: str, folder: Path, document: dict[str, Any]
) -> None:
    """A6: the remedy that an audit recommends is tried with one word; both values and places are told."""
    options = (*LENIENT, "--ask", "loss", "--faults", "clean", "--set", "acks=all", "--format", form)
    done = acked("audit", "p <b>.properties", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = text_of(done.stdout)
    assert "acks=all (--set) is asked about instead of acks=1 (p <b>.properties:3)" in text
    assert "ack.s is not a setting of Kafka and is ignored (--lenient)" in text
    if form != "sarif":
        said = "PASS: no acknowledged record is lost (faults: process dies); ignored (--lenient): ack.s (p <b>.properties:5)"
        assert said in text
        assert "--set, instead of 1 (p <b>.properties:3)" in text


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_without_advice_nothing_unchecked_is_said(form: str, tmp_path: Path) -> None:
    """A5: with min.insync.replicas=2 the answer would be a no, so that no single setting changes it would be false."""
    (tmp_path / "broker.properties").write_text("log.dirs=/data\n")
    three = ("--set", "replication.factor=3", "--set", "min.insync.replicas=3")
    options = (*three, "--ask", "writes", "--faults", "clean", *RELEASE, "-q", "-j", "1", "--full")
    done = acked("audit", "broker.properties", *options, "--no-advice", "--format", form, cwd=tmp_path)
    assert done.returncode == 12, done.stderr
    text = text_of(done.stdout).lower()
    for claim in ("cause:", "smallest change", "no single setting", "tried one at a time", "none of"):
        assert claim not in text
    if form == "json":
        answer = next(item for item in json.loads(done.stdout)["answers"] if item["decides"])
        assert (answer["tried"], answer["causes"], answer["no_cause"], answer["remedy"]) == (None, None, None, None)
        assert json.loads(done.stdout)["advice"] is False
    if form == "text":
        told = acked("audit", "broker.properties", *options, cwd=tmp_path).stdout
        cause = "Cause: min.insync.replicas=3 (--set). With min.insync.replicas=2 writes do not stop with one broker down."
        assert cause in text_of(told)
        assert "Smallest change: set min.insync.replicas=2 (checked)" in told


@pytest.mark.slow
def test_exit_codes_tell_what_is_required(folder: Path, document: dict[str, Any]) -> None:
    def code(*options: str) -> int:
        return acked("audit", "p <b>.properties", *LENIENT, "--no-advice", *options, cwd=folder).returncode

    assert code("--ask", "duplicates") == 0
    assert code("--require", "duplicates,writes") == 0
    assert code("--require", "all") == 12
    assert code("--ask", "loss", "--max-states", "3", "--no-cache") == 152
    assert code("--ask", "loss", "--set", "acks=all", "--faults", "clean") == 0
    assert code("--ask", "loss", "--set", "acks=all", "--faults", "clean", "--faults", "one-machine") == 12


@pytest.mark.slow
def test_a_machine_that_loses_its_page_cache_is_asked_about_by_default_and_the_exit_takes_the_worse(tmp_path: Path) -> None:
    """A3: three replicas, acks=all and one in sync are lost with the machine that held the last of them."""
    (tmp_path / "p.properties").write_text("acks=all\nmin.insync.replicas=1\nreplication.factor=3\n")
    options = ("--kafka-version", "4.1", "--ask", "loss", "-q", "-j", "1", "--full", "--max-states", "900000")
    done = acked("audit", "p.properties", *options, cwd=tmp_path)
    assert done.returncode == 12
    text = text_of(done.stdout)
    assert "clean: any number of clean crashes" in text
    assert "one-machine: one machine dies before its log is flushed" in text
    assert "Smallest change: set min.insync.replicas=2 (checked)" in text
    assert "FAIL: acknowledged records can be lost (faults: machine dies)" in text
    assert "not asked: machines outside the ISR that die (outside-isr)" in text
    faults = ("--faults", "clean", "--faults", "one-machine")
    mended = acked("audit", "p.properties", *options, "--set", "min.insync.replicas=2", *faults, cwd=tmp_path)
    assert mended.returncode == 0
    assert "PASS: no acknowledged record is lost (faults: process dies, machine dies)" in text_of(mended.stdout)


@pytest.mark.slow
def test_the_release_that_the_files_name_is_the_one_that_is_asked_about(tmp_path: Path) -> None:
    """A2: a cluster on ZooKeeper that speaks 2.8 was told what holds for the newest release with KRaft."""
    (tmp_path / "zk2.properties").write_text(
        "zookeeper.connect=zk:2181\ninter.broker.protocol.version=2.8\ndefault.replication.factor=2\nmin.insync.replicas=1\n"
    )
    options = ("--ask", "loss", "-q", "-j", "1", "--no-advice", "--full")
    done = acked("audit", "zk2.properties", *options, cwd=tmp_path)
    assert done.returncode == 12
    text = text_of(done.stdout)
    assert text.startswith("Kafka 2.8")
    assert "with ZooKeeper release: inter.broker.protocol.version=2.8 (zk2.properties:2)" in text
    wrong = ("--kafka-version", "4.1")
    assert_one_sentence(acked("audit", "zk2.properties", *options, *wrong, cwd=tmp_path), 151, "zookeeper.connect", "4.1")
    older = ("--kafka-version", "2.7")
    assert_one_sentence(acked("audit", "zk2.properties", *options, *older, cwd=tmp_path), 151, "2.7", "protocol.version=2.8")


@pytest.mark.slow
def test_a_control_plane_without_a_release_means_the_newest_that_has_it(tmp_path: Path) -> None:
    options = ("--control-plane", "zookeeper", "--ask", "loss", "-q", "-j", "1", "--no-advice", "--full")
    done = acked("audit", "--set", "replication.factor=1", *options, cwd=tmp_path)
    assert done.returncode == 12, done.stderr
    assert re.match(r"Kafka 3\.9\S* with ZooKeeper release: not named", text_of(done.stdout))


@pytest.mark.slow
def test_acks_and_idempotence_are_recommended_rather_than_a_producer_that_drops_what_fails_once(tmp_path: Path) -> None:
    """A4: retries=0 was the smallest change against duplicates, and one request in flight that against another order."""
    (tmp_path / "p.properties").write_text("acks=1\nenable.idempotence=false\nreplication.factor=2\n")
    done = acked("audit", "p.properties", "--kafka-version", "4.0", "--ask", "duplicates", "-q", "-j", "1", "--full",
                 cwd=tmp_path)  # fmt: skip
    assert done.returncode == 12
    assert "Smallest change: set acks=all and enable.idempotence=true (checked)" in text_of(done.stdout)
    assert "retries=0" not in done.stdout


@pytest.mark.slow
def test_where_nothing_names_the_release_the_answer_names_those_between_which_it_differs(tmp_path: Path) -> None:
    (tmp_path / "p.properties").write_text("replication.factor=1\nacks=1\nretries=5\n")
    options = ("--faults", "clean", "--no-advice", "-q", "-j", "1", "--full")
    done = acked("audit", "p.properties", *options, "--ask", "loss", cwd=tmp_path)
    assert done.returncode == 0
    text = text_of(done.stdout)
    assert "release: not named, so the newest that is known; loss asked also of 2.8.1 to" in text
    assert "also no in 2.8.1 to" in text
    here = acked("audit", "p.properties", *options, cwd=tmp_path)
    assert text_of(here.stdout).count("of the other releases that may be meant it was not asked (use --require all)") == 4
    (tmp_path / "q.properties").write_text("replication.factor=2\nmin.insync.replicas=2\n")
    wanted = ("--faults", "one-machine", "--ask", "loss", "--format", "json", *options[2:])
    differing = acked("audit", "q.properties", *wanted, cwd=tmp_path)
    assert differing.returncode == 152, "from 4.1 on eligible leaders are kept, before that a machine that dies loses records"
    document = json.loads(differing.stdout)
    (answer,) = document["answers"]
    assert (answer["answer"], answer["worst"], document["verdict"]) == ("no", "undecided", "undecided")
    assert document["settings"][0]["value"] == "all", "the default of clients does not follow from that of old brokers"
    assert {item["answer"] for item in answer["elsewhere"]} == {"yes", "no"}
    bad = next(item for item in answer["elsewhere"] if item["answer"] == "yes")
    assert {"kafka_version": "3.1", "control_plane": "zookeeper"} in bad["contexts"]
    assert bad["story"]["property"] == "AckedRecordsSurvive"
    assert "; --kafka-version and --control-plane will decide it" in document["verdict_in_words"]


NOT_GREEN = {
    "docker-compose.yml": "services:\n  k:\n    environment:\n      KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE: \"true\"\n",
    "main.tf": 'resource "kafka_topic" "t" {\n  replication_factor = var.replicas\n'
    '  config = { "unclean.leader.election.enable" = "true" }\n}\n',
    "dc2.yml": "services:\n  k:\n    environment:\n      - KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE=true\n",
    "empty.properties": "",
    "garbage.txt": "hello world\nfoo: bar\n",
    "typo2": "min.insync.replica=2\nack=1\n",
    "g.json": '{"foo": {"bar": 1}}',
    "broker.properties": "log.dirs=/data\nmin.insync.replicas=2\n",
}
"""What was once answered with a green no; some do not say how many replicas there are."""

NO_FACTOR = ("docker-compose.yml", "dc2.yml", "broker.properties")


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_GREEN)
def test_nothing_that_is_not_understood_is_green(name: str, tmp_path: Path) -> None:
    """A1: three of these hold unclean.leader.election.enable=true, and all of them exited with 0."""
    (tmp_path / name).write_text(NOT_GREEN[name])
    done = acked("audit", name, "--ask", "loss", "-q", cwd=tmp_path)
    assert done.returncode in (150, 151)
    assert_one_sentence(done, done.returncode, "replication.factor=3" if name in NO_FACTOR else name)


@pytest.mark.slow
def test_what_is_wrong_is_one_sentence_with_its_code(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.properties").write_bytes(b"acks=\x00")
    (tmp_path / "range.properties").write_text("acks=7\n")
    (tmp_path / "refused.properties").write_text("enable.idempotence=true\nacks=1\nreplication.factor=3\n")
    for arguments, exit_code, part in (
        (("bad.properties",), 150, "binary"),
        (("none.properties",), 150, "none.properties"),
        (("range.properties",), 151, "range.properties:1: acks is '7'"),
        (("refused.properties",), 151, "Kafka refuses this producer: acks must be all"),
        (("refused.properties",), 151, "nothing names your release, so name it with --kafka-version"),
        (("--set", "ack=1"), 151, "did you mean"),
        (("--set", "acks=1"), 151, "--set replication.factor=3"),
        (("--set", "acks=1", "--faults", "lossey"), 151, "choose from"),
        (("--set", "acks=1", "--require", "los"), 151, "did you mean"),
        (("--set", "acks=1", "--ask", "loss", "--require", "writes"), 151, "--ask"),
        (("--set", "acks=1", "--kafka-version", "9.9"), 151, "not known here"),
        (("--set", "acks=1", "-o", "no/such/file"), 153, "does not exist"),
        ((), 151, "FILE"),
    ):
        assert_one_sentence(acked("audit", *arguments, cwd=tmp_path), exit_code, part)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.properties", "range.properties", "refused.properties"]


@pytest.mark.slow
def test_the_matrix_is_written_as_page_csv_and_parquet_and_undecided_cells_cost_the_exit_code(tmp_path: Path) -> None:
    axes = ("--version", "2.8.1", "--acks", "1,all", "--min-isr", "1-2", "--replicas", "2", "--unclean", "off", "--crashes",
            "clean,lossy", "-q", "-j", "1", "--memory", "200MB")  # fmt: skip
    done = acked("matrix", *axes, "--html", "m.html", "--csv", "m.csv", "--parquet", "m.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 cells: 2 keeps, 6 breaks" in done.stdout
    with (tmp_path / "m.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    table = pq.read_table(tmp_path / "m.parquet").to_pylist()
    assert [row["answer"] for row in rows] == [row["answer"] for row in table]
    assert [(row["acks"], row["crashes"], row["answer"], row["steps"]) for row in table][:2] == [
        ("1", "clean", "breaks", 4), ("1", "lossy", "breaks", 4),
    ]  # fmt: skip
    page = (tmp_path / "m.html").read_text()
    assert page.count("<details>") == 8
    assert rows[0]["story"].splitlines()[0] in page
    assert "every reachable state was seen" in page
    bounded = acked("matrix", *axes, "--max-states", "30", "--format", "json", "--no-cache", cwd=tmp_path)
    assert bounded.returncode == 152
    cells = json.loads(bounded.stdout)["cells"]
    assert {cell["answer"] for cell in cells} == {"undecided"}
    assert_one_sentence(acked("matrix", "--acks", "3", cwd=tmp_path), 151, "acks")
    assert_one_sentence(acked("matrix", "none.toml", cwd=tmp_path), 150, "none.toml")


@pytest.mark.slow
def test_a_folder_of_what_people_have_is_read_and_said_without_asking_anything(tmp_path: Path) -> None:
    """One test through a process; each format has its own in `tests/audit/formats`."""
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "compose.yml").write_text(
        "services:\n"
        "  a: {image: 'apache/kafka:3.9.0', environment: {KAFKA_MIN_INSYNC_REPLICAS: 1}}\n"
        "  b: {image: 'apache/kafka:3.9.0', environment: {KAFKA_MIN_INSYNC_REPLICAS: 2}}\n"
    )
    differing = acked("audit", "kafka", "--show-settings", cwd=tmp_path)
    assert_one_sentence(differing, 151, "differ in min.insync.replicas; name one with --entity: a, b")
    done = acked("audit", "kafka", "--show-settings", "--entity", "b", "--format", "json", "-o", "read.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    read = json.loads((tmp_path / "read.json").read_text())
    assert [(item["key"], item["value"], item["source"]) for item in read["settings"]] == [
        ("min.insync.replicas", "2", "kafka/compose.yml:3"), ("container image", "3.9.0", "kafka/compose.yml:3"),
    ]  # fmt: skip
    refused = acked("audit", "kafka", "--entity", "b", "--show-settings", "--format", "sarif", cwd=tmp_path)
    assert_one_sentence(refused, 151, "--show-settings is text or JSON")
