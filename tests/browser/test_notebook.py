"""Pages in the frame of a notebook: they have no address of their own, and do everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import acked

pytestmark = pytest.mark.browser


def framed(watched: Any, page: acked.Page, place: Path) -> Any:
    """The page as the output of a notebook's cell."""
    place.write_text(f'<title>notebook</title><main id="main">{page._repr_html_()}</main>', encoding="utf-8")
    return watched.open(place).frame_locator("iframe")


def test_a_trace_is_stepped_through_in_a_notebook(watched: Any, tmp_path: Path) -> None:
    frame = framed(watched, acked.view("two_phase_commit-bug"), tmp_path / "notebook.html")
    expect(frame.locator(".count")).to_have_text("5 / 5")
    frame.locator("[data-key=back-one]").click()
    expect(frame.locator(".now h2")).to_have_text("participant 0 commits")
    expect(frame.locator(".box", has_text="decision")).to_contain_text("commit")
    assert watched.page.url.endswith("notebook.html")


def test_states_are_walked_through_and_searched_in_a_notebook(watched: Any, tmp_path: Path) -> None:
    frame = framed(watched, acked.explore("two_phase_commit-bug"), tmp_path / "notebook.html")
    frame.locator(".move", has_text="Prepare(who=1)").first.click()
    expect(frame.locator(".box", has_text="participant 1").first).to_contain_text("phase prepared")
    frame.locator(".move", has_text="DecideAbort()").first.click()
    frame.locator("[data-key=undo]").click()
    expect(frame.locator(".now h2")).to_have_text("participant 1 prepares")
    frame.locator("[data-key=predicate]").fill('decision == "commit"')
    frame.locator(".find button[type=submit]").click()
    expect(frame.locator(".box", has_text="decision")).to_contain_text("commit")
