"""The page of a validation in a real browser: it opens at the line that is not explained, and fits a desk and a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from acked.cluster.observation.events import Says
from acked.cluster.reports.observations.page import observation_page
from tests.observations import edited, run

pytestmark = pytest.mark.browser


@pytest.fixture
def rejected(tmp_path: Path) -> Path:
    """A recorded run in which one append says another offset."""
    recorded = run("k4-s3")
    append = recorded.the(Says.APPENDS, by=1)
    verdict = recorded.validated(recorded.changed(append, edited(append, offset=2, next=3)))
    page = tmp_path / "rejected.html"
    page.write_text(observation_page(verdict, "t-0 of Kafka 4.4.0"), "utf-8")
    return page


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_it_opens_at_the_line_that_is_not_explained_with_a_picture_whose_columns_stand_beside_each_other(
    watched: Any, rejected: Path, width: int, scheme: str
) -> None:
    page = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page = watched.open(rejected)
    last = page.locator(".strip-of-steps td button").last
    expect(last).to_have_attribute("aria-current", "step")
    expect(page.locator(".pane.seen .agreement")).to_contain_text("not explained")
    expect(page.locator(".pane.seen ul.differs")).to_contain_text("the line says first offset 2, and by the rules it is 1")
    expect(page.locator(".pane.seen .log-lines .telling")).to_contain_text("Appended message set")
    for row in page.locator("table.grid tr[data-actor]").all():
        tops = {round(cell.bounding_box()["y"]) for cell in row.locator("td.cell").all()}
        assert len(tops) == 1, "a log is one line, whatever the width"
    note = page.locator(".strip-of-steps .note").bounding_box()
    assert note is not None
    assert 0 <= note["x"] < width / 2, "what the signs mean stays in sight where the strip is scrolled"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []
    page.get_by_role("button", name="One step back (left arrow or k)").click()
    expect(page.locator(".pane.seen .agreement")).to_contain_text("explained")
