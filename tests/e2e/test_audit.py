"""`acked audit` and `acked matrix` as a user runs them: formats, files, exit codes.

What lives here: the commands from outside. What does not: which answers are right (`tests/checker/test_audit.py`,
`tests/checker/test_durability.py`).
"""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from jsonschema import Draft7Validator

from tests.e2e.driver import acked, assert_one_sentence

DATA = Path(__file__).resolve().parents[1] / "data"
AUDIT = DATA / "audit"
TWO = ("--set", "replication.factor=2", "--set", "min.insync.replicas=2", "-q", "-j", "1", "--memory", "200MB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A producer that loses records, named so that a careless format would show it."""
    place = tmp_path_factory.mktemp("audit")
    (place / "p <b>.properties").write_text("# asks for little\nlinger.ms=5\nacks=1\nretries=0\nack.s=1\n")
    return place


@pytest.fixture(scope="module")
def document(folder: Path, cache: Path) -> dict[str, Any]:
    done = acked("audit", "p <b>.properties", *TWO, "--kafka-version", "3.6", "--format", "json", cwd=folder)
    assert done.returncode == 12, done.stderr
    assert done.stderr == ""
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.mark.slow
def test_the_document_has_answers_with_stories_causes_and_changes(document: dict[str, Any]) -> None:
    assert [(item["question"], item["answer"]) for item in document["answers"]] == [
        ("loss", "yes"), ("duplicates", "no"), ("reordering", "no"), ("vanishing", "no"), ("writes", "no"),
    ]  # fmt: skip
    loss = document["answers"][0]
    assert loss["story"]["steps"][0].startswith("the producer sends record 0 to broker 0")
    assert "breaks AckedRecordsSurvive" in loss["story"]["happened"]
    causes = [(cause["key"], cause["now"], cause["no_with"], cause["line"]) for cause in loss["causes"]]
    assert causes == [("acks", "1", "all", 3)]
    assert loss["remedy"]["settings"] == [{"key": "acks", "value": "all"}]
    assert document["verdict"] == "yes"
    sources = {item["key"]: item["source"] for item in document["settings"]}
    assert sources["acks"] == "p <b>.properties:3"
    assert "KIP-106" in sources["unclean.leader.election.enable"]
    assert {(item["rule"], item["line"]) for item in document["findings"]} >= {("misspelt", 5), ("idempotence-off", 3)}


@pytest.mark.slow
def test_sarif_is_valid_and_points_to_the_line(folder: Path, document: dict[str, Any]) -> None:
    options = ("--kafka-version", "3.6", "--format", "sarif", "-o", "a.sarif")
    done = acked("audit", "p <b>.properties", *TWO, *options, cwd=folder)
    assert (done.returncode, done.stdout) == (12, "")
    log = json.loads((folder / "a.sarif").read_text())
    Draft7Validator(json.loads((DATA / "sarif-schema-2.1.0.json").read_text())).validate(log)
    results = {result["ruleId"]: result for result in log["runs"][0]["results"]}
    assert results["audit/loss"]["level"] == "error"
    place = results["audit/loss"]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("p%20%3Cb%3E.properties", 3)
    assert "audit/writes" not in results
    assert results["settings/misspelt"]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5


@pytest.mark.slow
def test_page_and_markdown_say_the_same_and_show_hostile_names_as_text(folder: Path, document: dict[str, Any]) -> None:
    for form in ("html", "markdown", "text"):
        done = acked("audit", "p <b>.properties", *TWO, "--kafka-version", "3.6", "--format", form, cwd=folder)
        assert done.returncode == 12
        text = " ".join(done.stdout.replace("\\", "").split())
        for answer in document["answers"]:
            assert answer["text"] in text
        assert document["answers"][0]["story"]["steps"][0][:40] in text
        if form == "html":
            assert "<b>" not in text
            assert "default-src 'none'" in html.unescape(text)
            assert "<script" not in text
            assert not re.search(r"(?:src|href)=\"(?!data:)", text)
        if form == "markdown":
            assert "\\<b\\>" in done.stdout


@pytest.mark.slow
def test_exit_codes_tell_what_is_required(folder: Path, document: dict[str, Any]) -> None:
    def code(*options: str) -> int:
        always = ("p <b>.properties", *TWO, "--kafka-version", "3.6", "--no-advice")
        return acked("audit", *always, *options, cwd=folder).returncode

    assert code("--ask", "duplicates") == 0
    assert code("--require", "duplicates,writes") == 0
    assert code("--require", "all") == 12
    assert code("--ask", "loss", "--max-states", "3", "--no-cache") == 152
    assert code("--ask", "loss", "--set", "acks=all") == 151, "the file says otherwise"


@pytest.mark.slow
def test_what_is_wrong_is_one_sentence_with_its_code(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.properties").write_bytes(b"acks=\x00")
    (tmp_path / "range.properties").write_text("acks=7\n")
    (tmp_path / "refused.properties").write_text("enable.idempotence=true\nacks=1\n")
    for arguments, exit_code, part in (
        (("bad.properties",), 150, "binary"),
        (("none.properties",), 150, "none.properties"),
        (("range.properties",), 151, "range.properties:1: acks is '7'"),
        (("refused.properties",), 151, "Kafka refuses this producer: acks must be all"),
        (("--set", "ack=1"), 151, "did you mean"),
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
