"""An audit beside an earlier one, as JUnit (red is what the exit code goes by), and what every form says of transactions."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.baseline import Cell, cells_of, differences, read_baseline, since
from acked.audit.reports.build import always
from acked.audit.reports.junit import audit_junit
from acked.audit.reports.pages import StoryPage, audit_page, link_pages
from acked.audit.reports.sarif import audit_sarif
from acked.audit.reports.terminal import audit_markdown, overview
from acked.audit.reports.topics import print_topics, table_legend, topics_markdown
from acked.audit.reports.view import (
    PassedOverView,
    RecommendedView,
    RemedyView,
    SettingView,
    TopicsView,
    ValueView,
    View,
    document_of,
)
from acked.base.errors import SpecUnreadable
from acked.reports.console import open_console
from tests.audit.made import LOSS, answer, audit, groups, whole


def test_only_required_answers_that_got_worse_are_bad_news_and_what_is_new_counts_as_a_no_before() -> None:
    before = groups((("orders", "logs"), audit(answer("loss", "clean", "no"), answer("writes", "clean", "no"))))
    bad = audit(answer("loss", "clean", "yes"), answer("writes", "clean", "yes"), answer("loss", "lossy", "yes", False))
    now = groups(
        (("orders",), bad),
        (("logs",), audit(answer("loss", "clean", "no"))),
        (("new",), audit(answer("loss", "clean", "undecided"))),
        (("secret",), None),
    )
    old, new = cells_of(before), cells_of(now)
    assert [one.in_words for one in differences(old, new)] == [
        "worse: orders, lost (clean): no before, yes now",
        "worse: new, lost (clean): not asked before, undecided now",
        "worse: secret, lost (-): not asked before, undecided now",
    ]
    assert [one.in_words for one in differences(new, old)] == ["better: orders, lost (clean): yes before, no now"]
    assert differences(new, new) == []


def test_a_baseline_is_an_earlier_audit_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "yesterday.json"
    path.write_text(json.dumps(document_of(audit(answer("loss", "clean", "no")))))
    assert read_baseline(path) == {Cell("", LOSS, "clean"): AuditVerdict.NO}
    for text in ("", "[]", "{}", '{"format": "acked-audit/2"}', '{"format": "acked-gate/1", "required": []}', "9"):
        path.write_text(text)
        with pytest.raises(SpecUnreadable, match=r"yesterday\.json is not an earlier audit"):
            read_baseline(path)


def test_junit_is_red_where_the_exit_code_is_and_nowhere_else() -> None:
    shown = groups((("orders",), audit(
        answer("loss", "clean", "yes"), answer("loss", "one-machine", "undecided"), answer("loss", "lossy", "yes", False),
        answer("writes", "clean", "yes"),
        passed_over=(PassedOverView("ack.s", "p", 5),),
    )), (("secret",), None), verdict_in_words="FAIL: 1 group")  # fmt: skip
    root = ET.fromstring(audit_junit(shown))
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "2")
    assert suite.findtext("system-out") == "FAIL: 1 group\npassed over (--lenient): ack.s (p:5)"
    red = {case.get("name"): child.tag for case in suite.iter("testcase") for child in case if child.tag != "system-out"}
    assert red == {"loss (clean)": "failure", "loss (one-machine)": "error", "asked": "error"}


@pytest.mark.parametrize(("verdict", "red"), [(AuditVerdict.YES, ["1", "0"]), (AuditVerdict.UNDECIDED, ["0", "1"])])
def test_a_verdict_that_no_answer_shows_is_a_red_case_of_its_own(verdict: AuditVerdict, red: list[str]) -> None:
    said: dict[str, Any] = {"verdict": verdict, "verdict_in_words": "it hangs on the controllers"}
    one = audit(answer("loss", "clean", "no"), **said)
    for view in (one, groups((("orders",), one), **said)):
        suite = ET.fromstring(audit_junit(view)).find("testsuite")
        assert suite is not None
        assert [suite.get("failures"), suite.get("errors")] == red
        assert suite.findall("testcase")[-1][0].get("message") == "it hangs on the controllers"


def test_beside_an_earlier_audit_what_did_not_get_worse_is_red_in_no_form_and_what_did_is_in_each() -> None:
    def red(before: str) -> tuple[list[str | None], list[str]]:
        one = audit(answer("loss", "clean", "yes"), topics=("orders",), verdict=AuditVerdict.YES)
        view = groups((("orders",), one), (("secret",), None), verdict=AuditVerdict.YES, verdict_in_words="FAIL")
        earlier = {Cell("orders", LOSS, "clean"): AuditVerdict(before), Cell("secret", LOSS, "-"): AuditVerdict(before)}
        view = replace(view, baseline=since(view, earlier, Path("before.json")))
        suite = ET.fromstring(audit_junit(view)).find("testsuite")
        assert suite is not None
        log: Any = audit_sarif(view, ["t"], "1")
        levels = sorted(one["level"] for one in log["runs"][0]["results"])
        return [suite.get("failures"), suite.get("errors")], levels

    assert red("yes") == (["0", "0"], ["note", "note"])
    assert red("undecided") == (["1", "0"], ["error", "note"])
    assert red("no") == (["1", "1"], ["error", "warning"])


def test_the_table_has_the_worst_question_first_and_a_cell_for_every_class_of_faults() -> None:
    shown = overview(audit(
        answer("loss", "clean", "no"), answer("loss", "lossy", "yes", False), answer("duplicates", "clean", "undecided"),
        answer("writes", "clean", "yes"), answer("vanishing", "clean", "no"),
    ))  # fmt: skip
    assert [column.title for column in shown.columns] == ["records", "clean", "one-machine", "lossy"]
    assert [[cell.text for cell in row] for row in shown.rows] == [
        ["writes stop", "yes (1)", "not asked", "not asked"],
        ["duplicated", "undecided", "not asked", "not asked"],
        ["lost", "no", "not asked", "yes (1)"],
        ["vanished", "no", "not asked", "not asked"],
    ]


def test_a_stored_audit_is_read_back_as_the_cells_that_it_had(tmp_path: Path) -> None:
    path = tmp_path / "yesterday.json"
    bad = audit(answer("loss", "clean", "yes"), answer("writes", "clean", "yes"), answer("loss", "lossy", "yes", False))
    for view in (bad, groups((("orders", "logs"), bad), (("secret",), None), ((), audit(answer("loss", "x", "undecided"))))):
        path.write_text(json.dumps(document_of(view)))
        assert read_baseline(path) == cells_of(view)


def test_what_is_said_of_transactions_is_a_note_where_the_id_is_set_and_never_red() -> None:
    log: Any = audit_sarif(whole(), ["p"], "1")
    (found,) = log["runs"][0]["results"]
    assert (found["ruleId"], found["level"]) == ("audit/transactions-hanging", "note")
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 3
    assert "1. r0 is <late>\nStep 1 of 1 breaks it." in found["message"]["text"]
    assert log["runs"][0]["tool"]["driver"]["rules"][0]["shortDescription"]["text"] == "Can one hang?"
    cases = ET.fromstring(audit_junit(whole())).findall("testsuite/testcase")
    said = {case.get("name"): [child.tag for child in case] for case in cases}
    assert said == {
        "loss (clean)": [], "transactions: hanging (new clients)": [], "transactions: hanging (old clients)": ["system-out"]
    }  # fmt: skip


def test_the_page_tells_of_transactions_and_links_to_their_pictures() -> None:
    page = StoryPage("transactions-hanging-old-clients.html", "", 1, "hanging", "old clients")
    linked = link_pages(whole(), [page])
    text = audit_page(linked)
    assert '<p class="no">new clients: no</p>' in text
    assert '<p class="yes">old clients: yes</p>' in text
    assert "<li>r0 is &lt;late&gt;</li>" in text
    assert text.count(f'href="{page.name}"') == 1
    assert page.name not in audit_page(whole())


def test_cells_of_the_page_lead_to_what_is_told_of_them() -> None:
    same = answer("loss", "lossy", "yes", decides=False, same_as="clean")
    one = whole(answers=(answer("loss", "clean", "yes"), same, answer("writes", "clean", "no")))
    for text in (audit_page(one), audit_page(groups((("orders",), one), (("logs",), one)))):
        led, ids = re.findall(r'href="#([^"]+)"', text), re.findall(r' id="([^"]+)"', text)
        assert led, "no cell leads anywhere"
        assert set(led) <= set(ids), "a cell leads nowhere"
        assert len(ids) == len(set(ids)), "two places have one id"
    assert re.findall(r'href="#([^"]+)"', audit_page(one)) == ["loss-clean", "loss-clean", "writes-clean"]


def test_where_nothing_tried_would_do_every_form_says_what_was_not_decided() -> None:
    undecided = "; whether min.insync.replicas=2 would do was not decided"
    lost = answer("loss", "clean", "yes", causes=(), no_cause="none of them alone", undecided_in_words=undecided)
    view = whole(answers=(lost,), transactions=())
    sarif: Any = audit_sarif(view, ["p"], "1")
    for text in (audit_markdown(view).replace("\\", ""), sarif["runs"][0]["results"][0]["message"]["text"]):
        assert f"Smallest change: none of those tried turns the answer to no{undecided}." in text
    assert f"none of those tried</strong>{undecided}</p>" in audit_page(view)


def test_groups_of_topics_tell_a_trace_of_transactions_once() -> None:
    view = groups((("orders",), whole(("orders",))), (("logs",), whole(("logs",))))
    for text in (audit_page(view), topics_markdown(view)):
        assert text.count("r0 is") == 1
        assert text.count("ld clients: yes, as in group 1") == 1
        assert text.count("ew clients: no") == 2


def two_groups(**others: Any) -> TopicsView:
    """Two groups, of which the second is different."""
    return groups((("orders",), whole(("orders",))), (("payments",), whole(("payments",), **others)))


def shown_in(width: int, view: TopicsView) -> list[str]:
    stream = io.StringIO()
    print_topics(open_console(stream, width), view)
    return stream.getvalue().splitlines()


def test_what_is_a_groups_own_stands_above_its_section_and_not_above_all() -> None:
    uncleanly = always(", uncleanly too (a.properties:1)")
    second_one = whole(("payments",), model=uncleanly, kafka_version="4.2", rules="4.2")
    view = groups((("orders",), whole(("orders",), model=always())), (("payments",), second_one))
    title = "Kafka 4.0"
    for text in (audit_page(view), topics_markdown(view).replace("\\", ""), "\n".join(shown_in(400, view))):
        top, second = text[: text.index("Group 2")], text[text.index("Group 2") :]
        assert always() in top
        assert uncleanly not in top
        assert uncleanly in second
        assert title in top
        assert "Kafka 4.2 with" in top
        assert "Kafka 4.2 with" in second
    same = topics_markdown(two_groups())
    assert same.count("Kafka ") == 1


def test_a_page_says_of_which_files_and_day_it_is_and_what_is_recommended_before_the_stories() -> None:
    change = RecommendedView((), (), "set acks=all")
    view = audit(answer("loss", "clean", "yes"), recommended=change, settings=whole().settings)
    text = audit_page(view, date(2026, 11, 26))
    assert "read from: p; 2026-11-26</p>" in text
    assert text.index("set acks=all") < text.index("Can it (loss)?") < text.index("Settings in effect")
    several = groups((("orders",), view))
    named = replace(several, groups=(replace(several.groups[0], unit="eu"),))
    assert "of: eu; read from: p</p>" in audit_page(named)


def test_cells_of_a_page_have_the_signs_that_its_legend_names() -> None:
    text = audit_page(two_groups())
    for cell in re.findall(r"<td class=.*?</td>", text):
        assert re.search(r">[✗✓?]\u00a0", cell), cell


def test_the_table_of_groups_is_two_where_the_console_is_narrow() -> None:
    view = two_groups()
    wide, narrow = shown_in(120, view), shown_in(36, view)
    assert any(re.match(r"  topics .* acks +lost", line) for line in wide)
    (above,) = [at for at, line in enumerate(narrow) if re.match(r"  topics .* acks$", line)]
    assert narrow[above + 1].startswith("  1. orders")
    assert re.match(r" +lost", narrow[above + 4])
    assert narrow[above + 5].startswith("  1.")
    assert max(map(len, narrow[: above + 7])) <= 36


def test_a_yes_that_is_not_required_is_a_note_even_where_its_faults_decide() -> None:
    """Code scanning fails at an error: only what the exit code is red for may be one."""
    lost, twice = answer("loss", "clean", "yes"), answer("duplicates", "clean", "yes")

    def levels(shown: View) -> list[tuple[str, str]]:
        log: Any = audit_sarif(shown, ["p"], "1")
        return [(result["ruleId"], result["level"]) for result in log["runs"][0]["results"]]

    assert levels(audit(lost)) == [("audit/loss", "error")]
    assert levels(audit(twice)) == [("audit/duplicates", "note")]
    (one,) = groups((("orders",), audit(lost, twice))).groups
    compared = replace(groups(), groups=(replace(one, decides=False),))
    assert {level for _, level in levels(compared)} == {"note"}


def test_a_yes_without_a_single_cause_stands_where_the_smallest_change_is_to_be_made() -> None:
    change = tuple(ValueView(key, "v") for key in ("acks", "unclean.leader.election.enable"))
    settings = (
        SettingView("acks", "1", "--set", "--set", None),
        SettingView("min.insync.replicas", "1", "p:2", "p", 2),
        SettingView("unclean.leader.election.enable", "true", "p:7", "p", 7),
    )

    def line(change: tuple[ValueView, ...] | None) -> int:
        remedy = None if change is None else RemedyView(change, (), (), "set them")
        item = answer("loss", "clean", "yes", causes=(), no_cause="no single setting", remedy=remedy)
        log: Any = audit_sarif(audit(item, settings=settings), ["p"], "1")
        return int(log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"])

    assert line(change) == 7
    assert line(change[:1]) == 2  # It stands in no file: the first line that counts.
    assert line(None) == 2


def test_topics_that_are_not_asked_about_are_left_out_by_what_left_them_out() -> None:
    view = groups((("orders",), None), left_out=("__consumer_offsets", "logs"))
    assert table_legend(view)[1:] == [
        "left out: __consumer_offsets (--internal asks about them too)", "left out: logs (--topic names another)"
    ]  # fmt: skip


def test_what_there_is_nothing_of_is_left_out_of_the_document_and_null_where_it_may_be() -> None:
    document = document_of(groups((("orders",), audit(answer("loss", "clean", "no"))), (("logs",), whole())))
    first, second = (one["audit"] for one in document["groups"])
    assert "transactions" in second
    assert not first.keys() & {"transactions", "upgrade", "baseline"}
    assert (first["answers"][0]["property"], first["answers"][0]["remedy"]) == ("Kept", None)
    assert "baseline" not in document
