"""Pages of the site that visit all states in the reader's browser, opened from a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watched
from tests.browser.test_site import serious
from tests.docs.test_site import site
from tools.parts.firefox import Firefox

pytestmark = [
    *(pytest.mark.slow, pytest.mark.browser, pytest.mark.fresh_page, pytest.mark.timeout(900)),
    pytest.mark.usefixtures("browser"),  # Without one no site is built.
]

__all__ = ["site"]

CHECKED = {
    "gallery": ("kip101-1-bug", "violated: AckedRecordsSurvive in 8 steps"),
    "claims": ("acks-1-loses", "violated: AckedRecordsSurvive in 4 steps"),
    "first-counterexample": ("truncate-to-hw", "violated: WeakIsr in 8 steps"),
    "tutorial": ("toylog-fixed", "holds: every reachable state was seen (150 distinct states)"),
    "found/relatives": ("fluss-mended", "holds: every reachable state was seen"),
    "found/removed-replica": ("eligible-leader-is-replica", "violated: EligibleAreReplicas in 1 step"),
    "found/last-known-leader": ("replication-instead-of-flush-4-0", "violated: AckedRecordsSurvive"),
    "found/not-backported": ("kafka19446-bug", "violated: AtomicTransactions in 11 steps"),
    "found/epoch-after-abort": ("kip890-late-produce-bug", "violated: NoRecordOfAnother in 14 steps"),
}
"""A spec of each page, and its answer; found/stale-log-ends, which takes seconds, is asked in the other direction."""


def opened(watched: Watched, site: Path, page: str, spec: str) -> Locator:
    """The panel of a spec, whose search has begun if it is small."""
    watched.own.append(site.as_uri())
    watched.page.goto((site / f"{page}.html").as_uri())
    watched.page.get_by_role("button", name=f"Check all states of {spec} here").click()
    return watched.page.locator(".check-panel")


LIKE_OTHERS = ("first-counterexample", "found/removed-replica", "found/not-backported", "found/epoch-after-abort")
"""Pages whose specs are violated as that of the gallery is; `tests/docs/test_modules.py` sees to it that they have them."""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.long if page in LIKE_OTHERS else []) for page in CHECKED]
)
def test_every_page_of_findings_and_tutorials_checks_its_specs_and_counts_what_ci_did(
    watched: Watched, site: Path, page: str
) -> None:
    spec, answer = CHECKED[page]
    panel = opened(watched, site, page, spec)
    expect(panel.locator(".verdict")).to_contain_text(answer)
    expect(panel.locator(".prevented")).to_contain_text("Equal")
    wrong = "Not equal" in panel.inner_text()
    assert not wrong
    if "violated" in answer:
        expect(panel).to_contain_text("The shortest trace that it found is acked's, step by step.")
        panel.get_by_text("The shortest trace that violates").click()
        assert panel.locator("ol li").count() == int(panel.locator(".verdict").inner_text().split()[-2])


# Wide and dark, and narrow and light; at the width between them a panel is as wide as on a wide screen.
@pytest.mark.parametrize("width", [1440, pytest.param(1024, marks=pytest.mark.long), 390])
def test_panels_fit_their_window_and_axe_finds_nothing_serious_in_them(watched: Watched, site: Path, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.emulate_media(color_scheme="light" if width == 390 else "dark")
    for page in ("claims", "gallery", "found/relatives"):
        panel = opened(watched, site, page, CHECKED[page][0])
        expect(panel.locator(".prevented")).to_contain_text("Equal")
        assert watched.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, page
        box = panel.bounding_box()
        assert box is not None
        assert box["x"] >= 0, page
        assert box["x"] + box["width"] <= width, page
        assert serious(watched.page, ".check-panel") == [], page


def test_a_search_is_stopped_by_its_button_and_has_decided_nothing(watched: Watched, site: Path) -> None:
    panel = opened(watched, site, "found/stale-log-ends", "stale-ends-bug")
    panel.get_by_role("button", name="Stop").click()
    expect(panel.get_by_role("status")).to_contain_text("nothing is decided")
    expect(panel.get_by_role("button", name="Check all states here")).to_be_enabled()
    watched.page.get_by_role("button", name="Check all states of stale-ends-bug here").click()
    expect(panel).to_have_count(0)


def choose(panel: Locator, name: str, value: str) -> None:
    panel.get_by_label(name, exact=True).select_option(value)


def test_what_was_built_besides_is_a_choice_and_another_is_asked_then(watched: Watched, site: Path) -> None:
    panel = opened(watched, site, "gallery", "kip101-1-fix")
    expect(panel.locator(".verdict")).to_contain_text("holds: every reachable state was seen (2,648 distinct states)")
    offered = panel.get_by_label("truncation").locator("option").all_inner_texts()
    assert offered == ["high watermark", "leader epoch"]
    choose(panel, "truncation", "high watermark")
    expect(panel.locator(".check-title")).to_contain_text("kip101-1-bug")
    panel.get_by_role("button", name="Check all states here").click()
    expect(panel.locator(".verdict")).to_contain_text("violated: AckedRecordsSurvive in 8 steps")


def test_constants_of_the_tutorials_protocol_are_changed_in_its_page(watched: Watched, site: Path) -> None:
    panel = opened(watched, site, "tutorial", "toylog")
    expect(panel.locator(".verdict")).to_contain_text("violated: NothingLost in 3 steps")
    choose(panel, "brokers", "4")
    choose(panel, "records", "2")
    panel.get_by_role("button", name="Check all states here").click()
    expect(panel.locator(".verdict")).to_contain_text("violated: NothingLost in 3 steps")
    expect(panel.locator(".prevented")).to_contain_text("Equal, level by level.")
    assert panel.locator(".check-title").inner_text().startswith("toylog-4-2")


def played(watched: Watched, site: Path) -> Page:
    watched.own.append(site.as_uri())
    watched.page.goto((site / "playground.html").as_uri())
    return watched.page


@pytest.mark.parametrize("width", [1440, pytest.param(1024, marks=pytest.mark.long), 390])
def test_in_the_playground_a_protocol_and_a_missing_clause_are_chosen(watched: Watched, site: Path, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    page = played(watched, site)
    panel = page.locator(".check-panel")
    choose(panel, "protocol", "kip101")
    panel.get_by_role("button", name="Check all states here").click()
    expect(panel.locator(".prevented")).to_contain_text("Equal, level by level.")
    page.get_by_label("Protocols").select_option(index=1)
    panel.get_by_role("button", name="Check all states here").click()
    expect(panel.locator(".verdict")).to_contain_text("holds: every reachable state was seen (101,855 distinct states)")
    clauses = panel.get_by_label("without the clause").locator("option").all_inner_texts()
    assert clauses[0] != "nothing"
    choose(panel, "without the clause", clauses[0])
    panel.get_by_role("button", name="Check all states here").click()
    expect(panel.locator(".prevented")).to_contain_text("Equal, level by level.")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert serious(page) == []


def test_a_module_that_is_not_beside_the_page_is_named(watched: Watched, site: Path) -> None:
    watched.own.append(site.as_uri())
    watched.page.route("**/check/modules/*", lambda route: route.abort())
    panel = opened(watched, site, "claims", "acks-1-loses")
    expect(panel.locator(".message.bad")).to_contain_text("which belongs beside this page, cannot be loaded.")
    watched.errors.clear()


LITTLE_MEMORY = """() => {
  const shared = Object.getPrototypeOf(new Worker(URL.createObjectURL(new Blob([""]))));
  const post = shared.postMessage;
  shared.postMessage = function () { post.call(this, { limits: { 32: 3000000 } }); };
}"""


def test_a_tab_without_memory_says_so_and_keeps_the_page(watched: Watched, site: Path) -> None:
    watched.own.append(site.as_uri())
    watched.page.goto((site / "first-counterexample.html").as_uri())
    watched.page.evaluate(LITTLE_MEMORY)
    watched.page.get_by_role("button", name="Check all states of kip320 here").first.click()
    panel = watched.page.locator(".check-panel")
    expect(panel.locator(".message.bad")).to_contain_text("the browser gave no more memory than 3 MB, so nothing is decided")
    assert "Equal" not in panel.inner_text()
    expect(panel.get_by_role("button", name="Check all states here")).to_be_enabled()


@pytest.mark.parametrize(("page", "rows", "word"), [("gallery", 40, "KIP-101 scenario 1"), ("claims", 120, "follower reads")])
def test_long_pages_are_searched_and_filtered(watched: Watched, site: Path, page: str, rows: int, word: str) -> None:
    watched.own.append(site.as_uri())
    watched.page.goto((site / f"{page}.html").as_uri())
    count = watched.page.get_by_role("search", name="Filter").get_by_role("status")
    total = int(count.inner_text().split()[0])
    assert total >= rows
    height = watched.page.evaluate("document.documentElement.scrollHeight")
    watched.page.get_by_label("search", exact=True).fill(word)
    assert 0 < int(count.inner_text().split()[0]) < total / 4
    assert watched.page.evaluate("document.documentElement.scrollHeight") < height / 2
    watched.page.get_by_label("search", exact=True).fill("")
    select = watched.page.locator("[data-choice]").first
    select.select_option(index=1)
    assert 0 < int(count.inner_text().split()[0]) < total


CLICKED = """async (name) => {
  const soon = async (found) => {
    while (!found()) await new Promise((done) => setTimeout(done, 50));
    return found();
  };
  document.querySelector(`[data-check="${name}"] + button`).click();
  return soon(() => document.querySelector(".check-panel .verdict, .check-panel .bad")?.closest("[role=status]").innerText);
}"""


def test_firefox_checks_pages_of_the_site_from_a_folder(site: Path, firefox: Firefox) -> None:
    for page in ("gallery", "found/removed-replica"):
        spec, answer = CHECKED[page]
        firefox.open((site / f"{page}.html").as_uri())
        said: Any = firefox.evaluate(CLICKED, spec)
        assert said.startswith(answer)
        assert "Equal, level by level. The shortest trace that it found is acked's, step by step." in said
