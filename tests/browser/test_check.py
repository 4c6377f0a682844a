"""The part of a page that visits all states in the reader's browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.pages.checking import check_data, kept_page
from acked.reports.pages.page import render, trace_data
from tools.parts.firefox import Firefox

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_BYTES = 300_000
"""What a page with its modules may take."""

Made = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Pages of a lost record that can be searched again; `lie` changes what acked is said to have found."""
    protocol = PROTOCOLS["truncate-to-hw"]

    def make(name: str, lie: dict[str, Any] | None = None, packed: bool = False, **constants: int) -> Path:
        numbers = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1, **constants}
        question = Question(protocol.instantiate(numbers), (properties_of(protocol)["WeakIsr"],))
        result = search(question, Bounds(1))
        check = check_data(result, StopPolicy.FIRST_VIOLATION, result.violations[0])
        check["check"]["native"].update(lie or {})
        data = trace_data(Counterexample.of("A record is lost", question, result.violations[0]))
        page = tmp_path_factory.mktemp("pages") / f"{name}.html"
        page.write_text(render({**data, **check}, packed=packed), encoding="utf-8")
        return page

    return make


@pytest.mark.parametrize(("width", "packed"), [(1440, False), (390, True)])
def test_a_page_from_a_file_counts_all_states_and_finds_its_trace(
    watched: Any, made: Made, width: int, packed: bool
) -> None:
    page_file = made("equal", packed=packed)
    assert page_file.stat().st_size < MOST_BYTES / 2
    watched.page.set_viewport_size({"width": width, "height": 900})
    page = watched.open(page_file)
    check = page.get_by_role("region", name="Check all states here")
    expect(check).to_contain_text("Your browser searches as acked did: 565 states, in about 1 MB")
    check.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(check).to_contain_text("violated: WeakIsr in 8 steps")
    expect(check).to_contain_text("Equal, level by level. The shortest trace that it found is the one on this page")
    assert check.locator("td").all_inner_texts()[1:] == ["565", "565", "1,133", "1,133", "9", "9"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []


def test_a_count_that_is_not_acked_s_is_not_called_equal(watched: Any, made: Made) -> None:
    page = watched.open(made("wrong", {"states": 566}))
    check = page.get_by_role("region", name="Check all states here")
    check.get_by_role("button").click()
    expect(check.locator(".message.bad")).to_contain_text("Not equal: please report this with your browser's name.")


def test_a_search_that_is_stopped_has_decided_nothing(watched: Any, made: Made) -> None:
    page = watched.open(made("stopped"))
    check = page.get_by_role("region", name="Check all states here")
    check.get_by_role("button").evaluate("(button) => { button.click(); button.click(); }")
    expect(check.get_by_role("status")).to_contain_text("nothing is decided")
    expect(check.get_by_role("status")).to_contain_text("Stopped")
    check.get_by_role("button", name="Check all states here").click()
    expect(check).to_contain_text("Equal, level by level.")


@pytest.mark.fresh_page
@pytest.mark.parametrize(
    ("does", "sentence"),
    [
        ("post.call(this, { limits: { 32: 3000000 } })", "the browser gave no more memory than 3 MB, so"),
        ("this.dispatchEvent(new ErrorEvent('error', { message: 'out of memory' }))", "The search ended, perhaps for want"),
    ],
)
def test_a_tab_without_memory_says_so_and_keeps_the_page(watched: Any, made: Made, does: str, sentence: str) -> None:
    page = watched.open(made("large", replicas=3, log_size=3, max_records=3, max_leader_epoch=2))
    change = "const post = Worker.prototype.postMessage; Worker.prototype.postMessage = function () { %s; };"
    page.evaluate(f"() => {{ {change % does} }}")
    check = page.get_by_role("region", name="Check all states here")
    check.get_by_role("button").click()
    expect(check.locator(".message.bad")).to_contain_text(sentence)
    assert "Equal" not in check.inner_text()
    assert "holds" not in check.inner_text()
    expect(page.get_by_role("button", name="Check all states here")).to_be_enabled()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".count")).to_have_text("7 / 8")


def test_a_large_search_says_what_it_takes_before_it_begins(watched: Any, made: Made) -> None:
    page = watched.open(made("huge", {"states": 5_000_000, "bytes": 160_000_000}))
    check = page.get_by_role("region", name="Check all states here")
    expect(check).to_contain_text("5,000,000 states, in about 160 MB and, at 250,000 states a second, 20 seconds;")


@pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.long)])
def test_the_page_of_kept_promises_shows_its_levels_and_actions_and_visits_all_states_again(
    watched: Any, tmp_path: Path, width: int
) -> None:
    protocol = PROTOCOLS["kip320"]
    numbers = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    result = search(Question(protocol.instantiate(numbers), (properties_of(protocol)["StrongIsr"],)), Bounds(1))
    file = tmp_path / "kept.html"
    file.write_text(kept_page("It holds", "kip320", result), encoding="utf-8")
    watched.page.set_viewport_size({"width": width, "height": 900})
    page = watched.open(file)
    widest = 1 + result.level_sizes.index(max(result.level_sizes))
    expect(page.locator(".levels")).to_contain_text(f"12 levels; the widest is level {widest} with")
    assert page.locator(".levels rect").count() == 12
    page.get_by_text("actions happen").click()
    elected = result.actions["ControllerElectLeader"]
    row = page.get_by_role("row", name="ControllerElectLeader")
    assert row.locator("td").all_inner_texts() == [str(elected.enabled), str(elected.new)]
    page.get_by_role("button", name="Check all states here").click()
    expect(page.locator(".check")).to_contain_text("holds: every reachable state was seen (277 distinct states)")
    expect(page.locator(".check")).to_contain_text("Equal, level by level.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []


def test_a_page_that_searches_allows_a_worker_and_others_allow_none(made: Made, lost: Path) -> None:
    assert "worker-src blob:" in made("policy").read_text("utf-8")
    assert "worker-src" not in lost.read_text("utf-8")


CLICKED = """async () => {
  const soon = async (found) => {
    while (!found()) await new Promise((done) => setTimeout(done, 50));
    return found();
  };
  (await soon(() => document.querySelector(".check button"))).click();
  return soon(() => document.querySelector(".check [role=status]").innerText);
}"""
"""The page draws itself when its data are unpacked, which is after it has been loaded."""


def test_firefox_counts_all_states_on_a_page_from_a_file(made: Made, firefox: Firefox) -> None:
    firefox.open(made("firefox", packed=True).as_uri())
    said = firefox.evaluate(CLICKED)
    assert said.startswith("violated: WeakIsr in 8 steps")
    assert "Equal, level by level. The shortest trace that it found is the one on this page, step by step." in said
