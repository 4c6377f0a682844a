"""Reports in a real browser: audit, durability table, coverage, and what the gate leaves for CI.

That they read well at any width, lead where they say, and take hostile texts for texts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from playwright.sync_api import Page, expect

from acked.audit.decision.faults import AuditQuestion, AuditVerdict, Faults
from acked.roll.decision.judge import Verdict
from acked.watch.answers import BrokerState, Cause, Risk, SettingsAnswer, StateAnswer, TopicState
from acked.watch.clusters import Kept, Seen
from acked.watch.page import MOST_ROWS, watch_page
from tests.e2e.driver import acked
from tests.places import CHECKOUT

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)> | `a` **b** [c](javascript:d)"
SMALL = ("-q", "-j", "1", "--memory", "200MB")


def shown(watched: Any, place: Path, width: int = 1280) -> Page:
    """A report, which has no script that could say when it is ready."""
    watched.own.append(place.parent.as_uri())
    page: Page = watched.page
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(place.as_uri())
    return page


def reads_well(watched: Any, page: Page) -> None:
    """Nothing sticks out of the page but what scrolls in a region of its own, and axe finds nothing serious."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.findings() == []


def test_an_audit_is_readable_on_a_desk_and_on_a_phone(watched: Any, tmp_path: Path) -> None:
    (tmp_path / "p.properties").write_text("acks=1\nretries=0\n")
    command = ("audit", "p.properties", "--kafka-version", "3.6", "--set", "replication.factor=2", "--ask", "loss", *SMALL)
    assert acked(*command, "--format", "html", "-o", "a.html", cwd=tmp_path).returncode == 12
    for width, scheme in ((1280, "light"), (360, "dark")):
        watched.page.emulate_media(color_scheme=scheme)
        page = shown(watched, tmp_path / "a.html", width)
        expect(page.locator("article#loss .yes").first).to_contain_text("yes")
        expect(page.locator("article#loss ol li").first).to_be_visible()
        expect(page.locator("article#loss")).to_contain_text("acks=1 (p.properties:1)")
        reads_well(watched, page)


TOPICS = "".join(
    f"Topic: {name}\tTopicId: a\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: min.insync.replicas=1\n"
    f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {replicas}\n"
    for name, factor, replicas in (("logs", 1, "1"), *((name, 2, "1,2") for name in ("orders", "a1", "a2", "a3")))
)


def test_groups_of_topics_are_filtered_open_from_their_cells_and_are_copied_as_markdown(watched: Any, tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    command = ("audit", "topics.txt", "--kafka-version", "4.1", "--producer", "acks=all", "--ask", "writes", "--faults",
               "clean")  # fmt: skip
    assert acked(*command, *SMALL, "--format", "html", "-o", "a.html", cwd=tmp_path).returncode == 12
    for width, scheme in ((1280, "light"), (360, "dark")):
        watched.page.emulate_media(color_scheme=scheme)
        page = shown(watched, tmp_path / "a.html", width)
        reads_well(watched, page)
        assert page.locator(".groups").evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    expect(page.locator("h2").first).to_have_text("Recommended")
    page.get_by_role("searchbox").fill("a3")  # It stands in no row: only the first topics do.
    expect(page.locator("#group-2-part")).to_be_visible()
    expect(page.locator("#group-1-part")).to_be_hidden()
    expect(page.locator("tr[data-group='group-1-']")).to_be_hidden()
    page.get_by_role("searchbox").fill("")
    page.get_by_label("answer", exact=True).select_option("yes")
    expect(page.locator("#group-2-part")).to_be_hidden()
    page.locator(".groups td a").first.click()
    expect(page.locator("#group-1-writes")).to_be_in_viewport()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    rendered = MarkdownIt("commonmark").enable("table").render(page.evaluate("copied"))
    assert "<td>1. logs</td>" in rendered
    assert "give the topic 2 replicas" in rendered


def test_a_cell_of_the_durability_table_opens_its_story_and_leads_to_the_log_grid(watched: Any, tmp_path: Path) -> None:
    axes = ("--version", "2.8.1", "--acks", "1", "--min-isr", "1", "--replicas", "2", "--crashes", "clean,none")
    done = acked("matrix", *axes, "--html", "m.html", "--stories", "the stories", *SMALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = shown(watched, tmp_path / "m.html")
    reads_well(watched, page)
    page.emulate_media(media="print", color_scheme="dark")
    assert all(cell.is_visible() for cell in page.locator("td summary").all()), "closed cells are printed, too"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 25, 29)"
    page.emulate_media(media="screen", color_scheme="light")
    page.locator("td summary.breaks").first.click()
    story = page.locator("td details[open]")
    expect(story.locator("ol li").first).to_contain_text("the producer sends record 0 to broker 0")
    assert page.locator("td summary.keeps").count() >= 1
    story.get_by_role("link", name="Step through it in the log grid").click()
    expect(page.locator(".happened")).to_contain_text("breaks it")
    expect(page.locator("tr[data-actor='broker 0']")).to_be_visible()


def test_coverage_is_a_page_too(watched: Any, tmp_path: Path) -> None:
    assert acked("coverage", "kip320-2111", "--html", "c.html", "-j", "1", cwd=tmp_path).returncode == 0
    page = shown(watched, tmp_path / "c.html", 700)
    expect(page.get_by_role("rowheader", name="LeaderWrite")).to_be_visible()
    expect(page.get_by_role("cell", name="decisive", exact=True).first).to_be_visible()
    reads_well(watched, page)


def test_the_gates_summary_and_artifacts_show_hostile_titles_as_text(watched: Any, tmp_path: Path) -> None:
    loses = (CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml").read_text("utf-8").splitlines()
    lines = [f"title = '{HOSTILE}'" if line.startswith("title") else line for line in loses]
    (tmp_path / "a_b.toml").write_text("\n".join(lines).replace("trace_length = 9", "trace_length = 8"), "utf-8")
    done = acked("gate", "a_b.toml", "--markdown", "s.md", "--artifacts", "red", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    # As the summary of a job renders it: CommonMark with tables, and HTML as far as it is written.
    body = MarkdownIt("commonmark").enable("table").render((tmp_path / "s.md").read_text("utf-8"))
    (tmp_path / "s.html").write_text(f"<!DOCTYPE html><html lang=en><title>s</title><main>{body}</main>", "utf-8")
    page = shown(watched, tmp_path / "s.html")
    assert page.locator("img").count() == 0
    expect(page.locator("table tr")).to_have_count(2)
    expect(page.locator("table")).to_contain_text("a_b.toml")
    expect(page.locator("pre")).to_contain_text("Step 8 of 8 breaks it")
    links = [link.get_attribute("href") or "" for link in page.locator("a").all()]
    assert links
    assert all((tmp_path / link).is_file() for link in links), links
    assert watched.findings() == []
    page.locator("a", has_text=".html").first.click()
    expect(page.locator("h1")).to_have_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_the_page_of_watched_clusters_is_readable_whatever_topics_are_called_and_however_many_there_are(
    watched: Any, tmp_path: Path
) -> None:
    risks = {(Risk.LOSES_AFTER_FAILURE, Cause.STATE): 2, (Risk.REFUSES, Cause.SETTINGS): 1}
    names = [HOSTILE, "a.long.name." * 12, *(f"topic-{at}" for at in range(300))]
    brokers = (BrokerState(1, True, Verdict.MAY_NOT), BrokerState(2, True, Verdict.UNDECIDED), BrokerState(3, False, None))
    state = StateAnswer(brokers, tuple(TopicState(name, 3, 1, risks) for name in names), Verdict.MAY_NOT, HOSTILE)
    answers = {name: {(AuditQuestion.LOSS, Faults()): AuditVerdict.YES} for name in names}
    settings = SettingsAnswer(AuditVerdict.YES, ((AuditVerdict.YES, HOSTILE),), answers)
    seen = [Seen(HOSTILE, True, "", None, 5.0, Kept(state, None, 5.0), Kept(settings, None, 6.0)),
            Seen("gone", reason=HOSTILE), Seen("new")]  # fmt: skip
    place = tmp_path / "watch.html"
    place.write_text(watch_page(seen, 30, 10.0), "utf-8")
    for width, scheme in ((1280, "light"), (360, "dark")):
        watched.page.emulate_media(color_scheme=scheme)
        page = shown(watched, place, width)
        expect(page.locator("article").first).to_contain_text("604 partitions one failure from loss")
        expect(page.locator("article").first).to_contain_text("5 s ago")
        expect(page.locator("article").nth(1)).to_contain_text(f"Not read: {HOSTILE}")
        assert page.locator("tbody").nth(1).locator("tr").count() == MOST_ROWS
        expect(page.locator("article").first).to_contain_text(f"and {len(names) - MOST_ROWS} more")
        reads_well(watched, page)
