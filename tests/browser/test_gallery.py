"""The gallery's front page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.driver import acked

pytestmark = pytest.mark.browser


def open_gallery(watched: Any, site: Path, chosen: str, width: int) -> Any:
    """The index of a gallery of one spec, in a window of this width."""
    assert acked("gallery", "--out", site, "--quiet", "--select", chosen).returncode == 0
    watched.own.append(site.as_uri())
    watched.page.set_viewport_size({"width": width, "height": 800})
    watched.page.goto((site / "index.html").as_uri())
    return watched.page


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 360])
def test_the_gallerys_index_is_readable_at_any_width_and_leads_to_stories(watched: Any, tmp_path: Path, width: int) -> None:
    page = open_gallery(watched, tmp_path / "site", "expand-unfenced", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    narrow = "[...document.querySelectorAll('td')].filter((cell) => cell.clientWidth < 60).length"
    assert page.evaluate(narrow) == 0
    assert watched.findings() == []
    page.get_by_role("link", name="broken in 9 steps").first.click()
    expect(page.locator(".happened")).to_contain_text("Step 9 of 9 breaks it")
    page.get_by_role("link", name="acked: all stories").click()
    expect(page.locator("h1")).to_have_text("Does your Kafka keep what it acknowledged?")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.long)])
def test_kept_promises_have_a_page_on_which_all_states_are_seen_again(watched: Any, tmp_path: Path, width: int) -> None:
    page = open_gallery(watched, tmp_path / "site", "kip320-2111", width)
    page.get_by_role("link", name="kept in all 277 states").first.click()
    expect(page.locator("main")).to_contain_text("Kept in all 277 states that can be reached, in 12 levels.")
    page.get_by_role("button", name="Check all states here").click()
    expect(page.locator(".check")).to_contain_text("holds: every reachable state was seen (277 distinct states)")
    expect(page.locator(".check")).to_contain_text("Equal, level by level.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []
    assert (tmp_path / "site" / "kip320-2111.html").stat().st_size < 100_000


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, pytest.param(390, marks=pytest.mark.long)])
def test_the_gallery_is_searched_and_filtered_in_all_its_lists(watched: Any, tmp_path: Path, width: int) -> None:
    page = open_gallery(watched, tmp_path / "site", "kip320-*11", width)
    count = page.get_by_role("search", name="Filter").get_by_role("status")
    total = int(count.inner_text().split()[0])
    assert total == page.locator("tbody tr:visible").count()
    page.get_by_label("search").fill("replicas=3")
    shown = int(count.inner_text().split()[0])
    assert 0 < shown < total
    assert page.locator("tbody tr:visible").count() == shown
    page.get_by_label("answer").select_option("kept")
    page.get_by_label("search").fill("nothing has these words")
    assert count.inner_text() == f"0 of {total} rows"
    expect(page.locator("h3:visible")).to_have_count(0)
    expect(page.locator("section:visible")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []
