"""The site in a browser, opened from a folder: search, dark, phone, and nothing asked of the network."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import SERIOUS, Watched
from tests.docs.test_site import site

# Without a browser no site is built.
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(900), pytest.mark.usefixtures("browser")]


__all__ = ["site"]

LONG = ("commands", "claims", "gallery")
"""Thousands of lines of the same tables and headings: judged at one width, and without what is like something above."""

SHORTEN = """() => {
    const known = new Set()
    for (const block of document.querySelectorAll("article > *")) {
        const kinds = [block, ...block.querySelectorAll("*")].map(
            item => [item.parentElement.tagName, item.tagName, item.getAttribute("class")].join(" "))
        if (kinds.every(kind => known.has(kind))) block.remove()
        kinds.forEach(kind => known.add(kind))
    }
}"""
"""Takes every block out of a page that has no kind of element, with its classes and in its parent, that none above has."""


def serious(page: Page, part: str | None = None) -> list[tuple[str, str]]:
    """What axe-core finds serious in a page, or in a part of it."""
    # Style sheets of a folder cannot be asked for, and nothing that axe judges here needs them.
    found = Axe().run(page, context=part, options={"preload": False}).response["violations"]
    return [(item["id"], node["html"][:160]) for item in found if item["impact"] in SERIOUS for node in item["nodes"]]


@pytest.mark.fresh_page
def test_the_search_finds_a_page_without_a_server_and_without_the_network(site: Path, watched: Watched) -> None:
    watched.own.append(site.as_uri())
    watched.page.goto((site / "index.html").as_uri())
    watched.page.get_by_role("textbox", name="Search").click()
    watched.page.keyboard.type("tiered compilation", delay=30)
    watched.page.locator(".md-search-result__item a").first.wait_for()
    watched.page.locator(".md-search-result__item a").first.click()
    watched.page.wait_for_url("**/engine.html**")
    assert watched.page.get_by_role("heading", name="How a state is found").is_visible()


@pytest.mark.fresh_page
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), pytest.param(1024, "light", marks=pytest.mark.long), (1440, "light")]
)
def test_pages_fit_their_window_and_no_picture_is_missing(site: Path, watched: Watched, width: int, scheme: str) -> None:
    watched.own.append(site.as_uri())
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for name in ("index", "commands", "claims", "gallery", "playground", "tutorial", "found/last-known-leader"):
        watched.page.goto((site / f"{name}.html").as_uri())
        wide = watched.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name} is {wide} px too wide"
        missing = watched.page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert missing == [], name
        shown = watched.page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert shown == {"light": "default", "dark": "slate"}[scheme]
        if name in LONG:
            watched.page.evaluate(SHORTEN)
        if width == 1440 or name not in LONG:
            assert serious(watched.page) == [], name
