"""What the gate writes for CI: JUnit and SARIF against their schemas, Markdown, annotations.

The schemas are kept unmodified in `tests/data/`, whose README says where they are from.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema

from acked.checker.batch.local import BatchLimits
from acked.checker.gate.gate import GateReport, Selection, choose, run_gate
from acked.reports.gate.annotations import commands
from acked.reports.gate.failures import Failure, failure_of
from acked.reports.gate.gate import gate_document
from acked.reports.gate.job_summary import gate_markdown
from acked.reports.gate.junit import junit_xml
from acked.reports.gate.sarif import sarif_document
from tests.places import CHECKOUT

DATA = CHECKOUT / "tests" / "data"
PUBLISHED = {
    "sarif-schema-2.1.0.json": "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e",
    "junit-10.xsd": "a1a816f58d1bf95ebabf371994df0b9246dee66ea9572fbec4f9296f1b2c0ff6",
}
SARIF: dict[str, Any] = json.loads((DATA / "sarif-schema-2.1.0.json").read_text("utf-8"))

HOSTILE = "</testcase>]]> <script>alert(1)</script> | `x` %0A::error:: \\u001b[31m \\u202e"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Specs of every kind: green, violated where it should hold, weakened, unreadable, hostile, slow, without expectation."""
    place = tmp_path_factory.mktemp("specs")
    text = (CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml").read_text("utf-8")
    (place / "green.toml").write_text(text, "utf-8")
    head = text.partition("[expect]")[0]
    (place / "lost.toml").write_text(head + '[expect]\nverdict = "holds"\n', "utf-8")
    (place / "nothing.toml").write_text(head, "utf-8")
    hostile = re.sub(r"title .*", lambda _: f'title = "{HOSTILE}"', head)
    (place / "a | b`<c>.toml").write_text(hostile + '[expect]\nverdict = "holds"\n', "utf-8")
    (place / "broken.toml").write_text("title = \n\x00", "utf-8")
    (place / "slow.toml").write_text("slow = true\n" + text, "utf-8")
    control = (CHECKOUT / "specs/controls/elect-outside-isr.toml").read_text("utf-8")
    (place / "control.toml").write_text(control.replace("trace_length = 3", "trace_length = 4"), "utf-8")
    return place


@pytest.fixture(scope="module")
def report(folder: Path) -> GateReport:
    return run_gate(choose([str(folder)], Selection()), BatchLimits(1, 200 << 20))


@pytest.fixture(scope="module")
def told(report: GateReport) -> list[Failure]:
    return [failure_of(entry) for entry in report.red]


EMPTY = GateReport((), (), "no spec found under specs; a spec is a file that ends with .toml", ())


def names(report: GateReport) -> dict[str, list[str]]:
    return {entry.candidate.name: [item.reason.value for item in entry.departures] for entry in report.entries}


def test_the_schemas_are_the_published_ones() -> None:
    for name, digest in PUBLISHED.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_the_report_says_what_is_wrong_with_each(report: GateReport) -> None:
    assert names(report) == {
        "green": [],
        "lost": ["verdict"],
        "nothing": ["no-expectation"],
        "a | b`<c>": ["verdict"],
        "broken": ["unreadable"],
        "control": ["shorter-trace"],
    }
    assert [item.name for item in report.left_out] == ["slow"]
    assert not report.is_green


@pytest.mark.slow
def test_junit_is_accepted_by_the_schema_of_jenkins(report: GateReport, told: list[Failure]) -> None:
    schema = xmlschema.XMLSchema10(str(DATA / "junit-10.xsd"))
    for text in (junit_xml(report, told), junit_xml(EMPTY, [])):
        schema.validate(text)
    root = ET.fromstring(junit_xml(report, told))
    suite = root[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "7", "failures": "4", "errors": "1", "skipped": "1",
    }  # fmt: skip
    failed = {case.get("name"): case[0] for case in suite if len(case)}
    assert failed["lost"].get("type") == "verdict"
    assert "truncates its log from offset 1 to 0" in (failed["lost"].text or "")
    assert failed["broken"].tag == "error"
    assert failed["slow"].tag == "skipped"


def test_the_schema_of_jenkins_refuses_what_it_should() -> None:
    schema = xmlschema.XMLSchema10(str(DATA / "junit-10.xsd"))
    assert not schema.is_valid('<testsuite name="x"><case/></testsuite>')


def test_junit_without_a_spec_has_an_error() -> None:
    suite = ET.fromstring(junit_xml(EMPTY, []))[0]
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


def test_sarif_is_valid_against_the_published_schema(report: GateReport, told: list[Failure]) -> None:
    validator = jsonschema.Draft4Validator(SARIF)
    for document in (sarif_document(report, told, "1"), sarif_document(EMPTY, [], "1")):
        assert [error.message for error in validator.iter_errors(document)] == []
    assert list(validator.iter_errors({"version": "2.1.0", "runs": [{"results": []}]}))


def test_sarif_lays_a_violation_at_the_action_and_at_the_spec(report: GateReport, told: list[Failure], folder: Path) -> None:
    results = sarif_document(report, told, "1")["runs"][0]["results"]
    [found] = [item for item in results if item["ruleId"] == "promise/WeakIsr" and "lost.toml" in item["message"]["text"]]
    place = found["locations"][0]["physicalLocation"]
    source = next(path for path in (CHECKOUT / "model").rglob("*.py") if place["artifactLocation"]["uri"].endswith(path.name))
    line = source.read_text("utf-8").splitlines()[place["region"]["startLine"] - 1]
    assert "action" in line
    other = found["relatedLocations"][0]["physicalLocation"]
    text = (folder / "lost.toml").read_text("utf-8").splitlines()[other["region"]["startLine"] - 1]
    assert text.startswith("invariants = ")


def test_sarif_lays_a_weakened_protocol_at_the_clause_that_is_missing(report: GateReport, told: list[Failure]) -> None:
    results = sarif_document(report, told, "1")["runs"][0]["results"]
    found = [item for item in results if item["ruleId"].startswith("promise/") and "control.toml" in item["message"]["text"]]
    assert len(found) == 4
    for item in found:
        place = item["locations"][0]["physicalLocation"]
        source = CHECKOUT / "model" / "replication" / Path(place["artifactLocation"]["uri"]).name
        assert 'require("in the ISR"' in source.read_text("utf-8").splitlines()[place["region"]["startLine"] - 1]


def test_markdown_has_the_table_one_story_and_no_foreign_markup(report: GateReport, told: list[Failure]) -> None:
    files = {told[0].entry.candidate.path: ["runs/x.html"]}
    text = gate_markdown(report, told, files)
    outside = re.sub(r"```text\n.*?\n```", "", text, flags=re.DOTALL)
    assert text.count("```") == 2
    assert "<script" not in outside
    assert "<c>" not in outside
    assert "](<runs/x.html>)" in text
    rows = [line for line in outside.splitlines() if line.startswith(("| ✗", "| ✓"))]
    assert len(rows) == 6
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert "slow" in text


def test_annotations_are_one_line_each_with_everything_escaped(report: GateReport, told: list[Failure]) -> None:
    lines = list(commands(report, told))
    assert len(lines) >= 8
    for line in lines:
        assert re.fullmatch(r"::error file=[^,\n]+,line=\d+,title=[^\n:]+::[^\n\r]+", line), line
    assert next(commands(EMPTY, [])).startswith("::error title=acked gate::no spec found")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('title = "t"\nprotocol = "kip320"\n[check\n', 3),
        ('title = "t"\nprotocol = "kip321"\n', 2),
        ('title = "t"\nprotocol = "kip320"\n[constants]\nreplicas = 2\nlog_sise = 2\n', 5),
        ('protocol = "kip320"\n', 1),
    ],
)
def test_a_spec_that_cannot_be_read_is_marked_at_the_line_of_which_the_sentence_speaks(
    tmp_path: Path, text: str, line: int
) -> None:
    (tmp_path / "broken.toml").write_text(text)
    found = run_gate(choose([str(tmp_path)], Selection()), BatchLimits(1, 200 << 20))
    failures = [failure_of(entry) for entry in found.red]
    [result] = sarif_document(found, failures, "1")["runs"][0]["results"]  # type: ignore[index]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": line}
    [command] = commands(found, failures)
    assert f",line={line},title=acked gate%3A unreadable" in command


VARIANTS = """\
title = "a row"
protocol = "kip320"
variants = ["one", "two", "three"]
constants = { replicas = 2, log_size = 1, max_records = 1, max_leader_epoch = 1 }
[check]
invariants = ["WeakIsr"]
[one.expect]
verdict = "holds"
distinct_states = 1
[two]
constants.log_size = 2
[two.expect]
verdict = "holds"
distinct_states = 2
[three]
title = "nothing is expected"
"""


@pytest.mark.slow
def test_variants_of_a_file_are_entries_of_their_own_at_its_lines(tmp_path: Path) -> None:
    (tmp_path / "row.toml").write_text(VARIANTS)
    for place in (tmp_path, tmp_path / "row.toml"):
        found = run_gate(choose([str(place)], Selection()), BatchLimits(1, 200 << 20))
        assert names(found) == {"row-one": ["count"], "row-three": ["no-expectation"], "row-two": ["count"]}
    failures = [failure_of(entry) for entry in found.red]
    results = sarif_document(found, failures, "1")["runs"][0]["results"]  # type: ignore[index]
    assert [item["locations"][0]["physicalLocation"]["region"]["startLine"] for item in results] == [9, 15, 14]
    assert {item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"][-9:] for item in results} == {"/row.toml"}
    assert len({item["partialFingerprints"]["acked/v1"] for item in results}) == 3, "one does not stand for another"
    assert [item["path"].rpartition("/")[2] for item in gate_document(found, failures)["specs"]] == [
        "row.toml#one", "row.toml#three", "row.toml#two",
    ]  # fmt: skip
    chosen = choose([str(tmp_path / "row.toml#two"), str(tmp_path / "row.toml#four")], Selection())
    assert [(item.name, item.error.partition(": ")[2]) for item in chosen.candidates] == [
        ("row-four", "four: the file has no such variant; it has one, two, three"), ("row-two", ""),
    ]  # fmt: skip
    selected = choose([str(tmp_path)], Selection(patterns=("row-t*",)))
    assert [item.name for item in selected.candidates] == ["row-three", "row-two"]


def test_large_specs_are_left_out_by_what_they_expect_unless_they_are_named(tmp_path: Path) -> None:
    text = (CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml").read_text("utf-8").partition("[expect]")[0]
    for name, expected in (("large", "distinct_states = 565"), ("floor", "at_least_distinct_states = 101"), ("open", "")):
        (tmp_path / f"{name}.toml").write_text(f'{text}[expect]\nverdict = "violated"\nviolates = "WeakIsr"\n{expected}\n')
    some = choose([str(tmp_path)], Selection(most_states=100))
    assert ([item.name for item in some.candidates], [item.name for item in some.left_out]) == (["open"], ["floor", "large"])
    assert not choose([str(tmp_path)], Selection(most_states=565)).left_out
    assert not choose([str(tmp_path / "large.toml")], Selection(most_states=100)).left_out, "it is named"
    (tmp_path / "open.toml").unlink()
    refused = choose([str(tmp_path)], Selection(most_states=100)).refusal
    assert refused == "all 2 specs are slow or large and left out; name one"


def test_the_document_has_a_story_for_what_is_violated(report: GateReport, told: list[Failure]) -> None:
    document = gate_document(report, told)
    lost = next(item for item in document["specs"] if item["path"].endswith("lost.toml"))
    [story] = lost["stories"]
    assert (story["property"], story["trace_length"]) == ("WeakIsr", 9)
    assert json.loads(json.dumps(document)) == document
