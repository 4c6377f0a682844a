"""Parts of pages that are made: git keeps the short tables that the project makes now, and the site what is whole."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.unsearched import pinned
from tests.places import CHECKOUT
from tools.made import PART, PARTS, kept, pages, whole
from tools.parts import gallery


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_git_keeps_the_short_tables_that_are_made_now(page: Path) -> None:
    text = page.read_text("utf-8")
    assert kept(text) == text, f"run python tools/made.py {page.relative_to(CHECKOUT)}"


def test_every_part_has_its_place_once() -> None:
    named = Counter(match["name"] for page in pages() for match in PART.finditer(page.read_text("utf-8")))
    assert named == dict.fromkeys(PARTS, 1)
    marks = sum(len(re.findall("<!-- (?:made:|end -->)", page.read_text("utf-8"))) for page in pages())
    assert marks == 2 * len(PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*PARTS} - {"claims", "gallery"}))
def test_a_part_is_whole_on_the_site(name: str) -> None:
    text = whole(f"<!-- made: {name} -->\n<!-- end -->\n")
    assert len(re.findall(r"^(?:[|-]|#{2,3}) .+", text, re.MULTILINE)) >= 4


@pytest.mark.slow
def test_a_twentieth_of_the_runs_are_told_as_before_and_none_is_left_out() -> None:
    kept, asked = json.loads(gallery.RUNS.read_text("utf-8")), gallery.with_runs()
    assert list(kept) == [spec.name for spec in asked], "run tools/made.py"
    # From the second on: without the one that takes five million states.
    assert gallery.runs(asked[1::20]).items() <= kept.items(), "run tools/made.py"


@pytest.mark.long
def test_every_run_is_told_as_before() -> None:
    assert gallery.runs(gallery.with_runs()) == json.loads(gallery.RUNS.read_text("utf-8")), "run tools/made.py"


@pytest.fixture
def _without_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gallery, "told", pinned)


@pytest.mark.slow
@pytest.mark.usefixtures("_without_searches")
@pytest.mark.parametrize("name", ["claims", "gallery"])
def test_links_within_the_gallery_and_the_claims_lead_to_headings(name: str) -> None:
    text = whole(f"<!-- made: {name} -->\n<!-- end -->\n")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", text))
    assert len(links) > 40
    assert links <= anchors


@pytest.mark.slow
@pytest.mark.usefixtures("_without_searches")
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_files_that_a_made_part_names_are_there(page: Path) -> None:
    named = re.findall(r"`((?:specs|docs|tools|tests|cluster|model)/[\w./-]*)`", whole(page.read_text("utf-8")))
    assert [name for name in named if not (CHECKOUT / name).exists()] == []
