"""What tools show at lines: one result a cause, rules that explain themselves, and never a pass that is none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.reports.sarif import audit_sarif
from acked.audit.reports.view import CauseView, PolicyLineView, PolicyView, SettingView, View
from tests.audit.made import answer, audit, finding, group, groups, whole
from tests.places import DATA

SCHEMA = json.loads((DATA / "sarif-schema-2.1.0.json").read_text("utf-8"))


def results(view: View) -> list[dict[str, Any]]:
    log: Any = audit_sarif(view, ["p"], "1", "https://example.org/acked")
    jsonschema.validate(log, SCHEMA)
    return list(log["runs"][0]["results"])


def rules(view: View, source: str | None = None) -> list[dict[str, Any]]:
    log: Any = audit_sarif(view, ["p"], "1", source)
    return list(log["runs"][0]["tool"]["driver"]["rules"])


def cause(key: str, line: int) -> tuple[CauseView, ...]:
    return (CauseView(key, "1", f"p:{line}", "p", line, "all", f"{key}=1"),)


def test_every_yes_of_one_cause_is_one_result_with_the_rule_and_level_of_the_worst() -> None:
    acks, unclean = cause("acks", 4), cause("unclean.leader.election.enable", 7)
    told = results(audit(
        answer("duplicates", "clean", "yes", causes=acks), answer("loss", "clean", "yes", causes=acks),
        answer("loss", "one-machine", "yes", causes=acks), answer("vanishing", "clean", "yes", causes=unclean),
    ))  # fmt: skip
    lines = [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in told]
    assert [(one["ruleId"], one["level"], line) for one, line in zip(told, lines, strict=True)] == [
        ("audit/loss", "error", 4), ("audit/vanishing", "note", 7)
    ]  # fmt: skip
    text = told[0]["message"]["text"].splitlines()
    assert text[0].startswith("Can it (loss)? Yes.")
    assert "Cause: acks=1." in text
    assert [line.partition("?")[0] for line in text if line.startswith("Also: ")] == [
        "Also: Can it (duplicates)", "Also: Can it (loss)"
    ]  # fmt: skip


def test_what_is_undecided_is_no_pass_and_stands_apart_from_every_yes() -> None:
    view = audit(
        answer("loss", "clean", "yes"), answer("loss", "one-machine", "undecided"), answer("writes", "clean", "undecided")
    )
    assert [(one["level"], one.get("kind")) for one in results(view)] == [
        ("error", None), ("warning", None), ("none", "open")
    ]  # fmt: skip


@pytest.mark.parametrize(("verdict", "level"), [(AuditVerdict.YES, "error"), (AuditVerdict.UNDECIDED, "warning")])
def test_a_verdict_that_no_answer_shows_is_a_result_of_its_own(verdict: AuditVerdict, level: str) -> None:
    view = audit(answer("loss", "clean", "no"), verdict=verdict, verdict_in_words="it hangs on the controllers")
    (one,) = results(view)
    assert (one["ruleId"], one["level"], one["message"]["text"]) == ("audit/verdict", level, "it hangs on the controllers")
    assert results(replace(view, verdict=AuditVerdict.NO)) == []


def test_what_a_policy_leaves_undecided_is_told_though_an_audit_for_comparison_says_yes() -> None:
    """A no that hangs on controllers of acks=all stands beside the yes of acks=1, of the same topic and question."""
    careful = group(1, ("orders",), audit(answer("loss", "clean", "no"), topics=("orders",)))
    loose = group(2, ("orders",), audit(answer("loss", "clean", "yes"), topics=("orders",)), decides=False)
    other = group(3, ("clicks",), audit(answer("loss", "clean", "undecided"), topics=("clicks",)))
    asked: dict[str, Any] = {"question": AuditQuestion.LOSS, "faults": "clean"}
    lines = (PolicyLineView(AuditVerdict.UNDECIDED, "orders: it hangs on the controllers", ("orders",), **asked),
             PolicyLineView(AuditVerdict.UNDECIDED, "clicks: loss (clean) is undecided", ("clicks",), **asked))  # fmt: skip
    policy = PolicyView("acked.toml", AuditVerdict.UNDECIDED, "UNDECIDED", lines)
    told = results(replace(groups(), groups=(careful, loose, other), policy=policy))
    warned = [one["message"]["text"].splitlines()[0] for one in told if one["level"] == "warning"]
    assert sorted(text.partition(":")[0] for text in warned) == ["Topics clicks", "orders"]


def test_every_rule_says_what_it_is_about_and_leads_to_its_page_where_the_repository_has_an_address() -> None:
    view = groups((("orders",), whole(findings=(finding("x"),))), (("clicks",), audit(answer("loss", "clean", "yes"))),
                  (("secret",), None))  # fmt: skip
    described = {rule["id"]: rule for rule in rules(view)}
    assert set(described) == {"audit/loss", "audit/transactions-hanging", "settings/rule", "audit/not-asked"}
    assert all(rule["help"]["text"] and "docs/audit.md#" in rule["help"]["markdown"] for rule in described.values())
    assert "helpUri" not in described["audit/loss"]
    for rule in rules(view, "https://example.org/acked/"):
        assert rule["helpUri"].startswith("https://example.org/acked/blob/HEAD/docs/audit.md#")
        assert f"]({rule['helpUri']})" in rule["help"]["markdown"]


def test_what_many_topics_have_in_common_is_told_in_a_message_that_can_be_read() -> None:
    settings = (SettingView("min.insync.replicas", "1", "p:2", "p", 2),)
    many = [((f"t{at}",), audit(answer("loss", "clean", "yes"), topics=(f"t{at}",), settings=settings)) for at in range(40)]
    (one,) = results(groups(*many))
    assert one["message"]["text"].splitlines()[-1] == "And 27 more."
