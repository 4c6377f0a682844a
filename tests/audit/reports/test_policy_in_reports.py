"""Every form says of a policy what the exit code does: what is red, accepted, over, or accepted for nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from acked.audit.clusters.policy import judge, read_policy
from acked.audit.clusters.several import Audited
from acked.audit.commands.audit import audit as command
from acked.audit.commands.summary import policy_view
from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.junit import audit_junit
from acked.audit.reports.pages import audit_page
from acked.audit.reports.sarif import audit_sarif
from acked.audit.reports.terminal import policy_markdown
from acked.audit.reports.topics import topics_view
from acked.audit.reports.view import TopicsView
from tests.audit.clusters.test_policy import audited

POLICY = """\
[[require]]
topics = ["*"]
answers = ["loss=clean"]

[[accept]]
topics = ["clicks*"]
question = "loss"
reason = "counted again at night"
until = 2027-01-31

[[accept]]
topics = ["safe"]
question = "loss"
reason = "nobody remembers"
until = 2027-12-31
"""


def found() -> list[Audited]:
    return [*audited("clicks"), *audited("orders"), *audited("safe", acks="all")]


def judged(folder: Path, day: date, items: list[Audited]) -> TopicsView:
    """The audits as they are told by the policy on that day."""
    path = folder / "acked.toml"
    path.write_text(POLICY, "utf-8")
    policy = read_policy(path)
    view = topics_view(items, [], None)
    return replace(view, policy=policy_view("acked.toml", judge(policy, items, day)))


def results(view: TopicsView) -> dict[str, dict[str, Any]]:
    log: Any = audit_sarif(view, ["t", "p"], "1")
    return {one["message"]["text"].splitlines()[0].partition(":")[0]: one for one in log["runs"][0]["results"]}


@pytest.mark.slow
def test_an_accepted_risk_is_suppressed_with_its_reason_skipped_and_told_on_the_page(tmp_path: Path) -> None:
    view = judged(tmp_path, date(2027, 1, 1), found())
    told = results(view)
    accepted, red = told["Topics clicks"], told["Topics orders"]
    assert (accepted["level"], red["level"], "suppressions" in red) == ("note", "error", False)
    assert accepted["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "counted again at night (until 2027-01-31)"}
    ]
    unused = told["loss of safe is accepted and does not happen"]
    assert (unused["ruleId"], unused["level"]) == ("policy/unused", "note")
    place = unused["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("acked.toml", 11)
    suite = ET.fromstring(audit_junit(view)).find("testsuite")
    assert suite is not None
    assert [suite.get(key) for key in ("failures", "errors", "skipped")] == ["1", "0", "2"]
    assert (suite.findtext("system-out") or "").startswith("FAIL: by acked.toml: 1 required and not kept, 0 undecided")
    page, text = audit_page(view), "\n".join(policy_markdown(view.policy))
    for form in (page, text):
        assert "accepted until 2027-01-31: counted again at night" in form
    assert '<span class="yes">FAIL: by acked.toml' in page


@pytest.mark.slow
def test_an_acceptance_that_is_over_is_red_at_its_line_of_the_policy(tmp_path: Path) -> None:
    view = judged(tmp_path, date(2027, 2, 1), [*audited("clicks")])
    log: Any = audit_sarif(view, ["t", "p"], "1")
    told = {one["ruleId"]: one for one in log["runs"][0]["results"]}
    assert (told["audit/loss"]["level"], told["policy/expired"]["level"]) == ("error", "error")
    assert told["policy/expired"]["locations"][0]["physicalLocation"]["region"]["startLine"] == 5
    suite = ET.fromstring(audit_junit(view)).find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    page, text = audit_page(view), "\n".join(policy_markdown(view.policy))
    assert "FAIL: by acked.toml: 1 required and not kept" in page
    assert "- **not kept** clicks: loss" in text, "names of topics keep their letters"
    assert all("decide anew" in form for form in (page, text))


@pytest.mark.slow
def test_what_a_policy_requires_and_nobody_asked_is_no_pass_in_any_form(tmp_path: Path) -> None:
    (one,) = audited("orders")
    unasked = replace(one, audit=None, contexts=None, refusal="it may not be read")
    view = judged(tmp_path, date(2027, 1, 1), [unasked])
    assert view.policy is not None
    assert view.policy.verdict is AuditVerdict.UNDECIDED
    log: Any = audit_sarif(view, ["t"], "1")
    assert "warning" in {one["level"] for one in log["runs"][0]["results"] if one["ruleId"] == "audit/not-asked"}
    suite = ET.fromstring(audit_junit(view)).find("testsuite")
    assert suite is not None
    assert suite.get("errors") == "1"


@pytest.mark.slow
def test_beside_an_earlier_audit_text_has_what_changed_and_the_policy_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("acked.toml").write_text(POLICY, "utf-8")
    arguments = ["server.properties", "--policy", "acked.toml", "--kafka-version", "4.1", "--ask", "loss", "--faults",
                 "clean", "--no-advice", "-q", "-j", "1"]  # fmt: skip

    def run(acks: str, *more: str) -> tuple[object, str]:
        Path("server.properties").write_text(f"default.replication.factor=2\nmin.insync.replicas=2\nacks={acks}\n", "utf-8")
        done = CliRunner().invoke(command, [*arguments, *more], standalone_mode=False)
        assert done.exception is None
        return done.return_value, done.output

    assert run("all", "--format", "json", "--out", "before.json") == (0, "")
    assert run("all", "--baseline", "before.json") == (0, "")
    told = "worse: lost (clean): no before, yes now\nFAIL: by acked.toml: 1 required and not kept, 0 undecided\n"
    assert run("1", "--baseline", "before.json") == (12, told)
    code, shown = run("1", "--format", "json", "--out", "before.json")
    assert (code, shown) == (12, "")
    arguments.remove("-q")  # Beside a file the answer is told in short, and a device gets nothing besides.
    code, shown = run("1", "--format", "json", "--out", "before.json")
    assert (code, shown.splitlines()[-1]) == (12, "✗ FAIL: by acked.toml: 1 required and not kept, 0 undecided")
    assert run("1", "--format", "json", "--out", "/dev/null") == (12, "")
    arguments.append("-q")
    assert run("1", "--baseline", "before.json") == (12, told.split("\n", 1)[1])


@pytest.mark.slow
@pytest.mark.parametrize(("form", "shown"), [
    ("sarif", '"level": "error"'), ("junit", 'failures="1"'), ("html", "FAIL: by "), ("markdown", "**FAIL: by "),
])  # fmt: skip
def test_the_command_writes_a_policy_in_every_form_and_exits_by_it(
    form: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("acked.toml").write_text(POLICY, "utf-8")
    Path("server.properties").write_text("default.replication.factor=2\nmin.insync.replicas=1\nacks=1\n", "utf-8")
    arguments = ["server.properties", "--policy", "acked.toml", "--kafka-version", "4.1", "--ask", "loss", "--faults",
                 "clean", "--no-advice", "-q", "-j", "1", "--format", form]  # fmt: skip
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 12)
    assert shown in done.output
