"""The gallery's command: which bundled specs it answers, and that the site they make stays small."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, StopReason, Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, load_spec
from acked.commands.exporting.gallery import gallery, is_wanted
from acked.reports.pages.checking import check_data
from acked.reports.pages.gallery import MAX_BYTES
from acked.reports.pages.page import render, trace_data
from tests.places import SPECS
from tests.shipped import shipped

MOST_OF_KEPT = 100_000
"""What a page of promises that are kept takes: a script and a module for 32-bit addresses."""


def wanted() -> list[Spec]:
    return [spec for spec in shipped() if is_wanted(spec, (), False)]


def length(spec: Spec) -> int:
    return spec.expect.trace_length or 0 if spec.expect is not None else 0


@pytest.mark.slow
def test_the_bundled_stories_together_have_room_in_a_site() -> None:
    """The pages of the whole site are made by the command; here the longest that is quickly found, as if it were the longest.

    Its kind of page is the largest.
    """
    violated = [spec for spec in wanted() if spec.expect is not None and spec.expect.verdict is Verdict.VIOLATED]
    stories = sum(len(spec.expect.violates) for spec in violated if spec.expect is not None)
    found = [spec for spec in violated if spec.protocol.name == "partition"]
    quick = [spec for spec in found if spec.expect is not None and (spec.expect.distinct_states or 0) < 100_000]
    long = max(quick, key=length)
    result = search(long.question(), Bounds(workers=1))
    example = Counterexample.of(long.title, result.question, result.violations[0])
    check = check_data(result, long.policy, result.violations[0])
    page = render({**trace_data(example), **check}, packed=True)
    size = len(page.encode()) * max(map(length, found)) / length(long)
    assert stories > 60
    assert size < 300_000
    kept = sum(spec.expect is not None and spec.expect.verdict is Verdict.HOLDS for spec in wanted())
    assert stories * size + kept * MOST_OF_KEPT < MAX_BYTES


def test_specs_that_only_check_acked_itself_are_left_out_unless_they_are_selected() -> None:
    reference = load_spec(SPECS / "controls" / "expand-unfenced.toml")
    assert not is_wanted(reference, (), slow=True)
    assert is_wanted(reference, ("expand-*",), slow=False)


CHOSEN = ["kip320-2111", "truncate-to-hw-2221-weak", "kip101-2111"]


def gallery_of(site: Path, *names: str) -> Result:
    arguments = ["--out", str(site), *(part for name in names or CHOSEN for part in ("--select", name))]
    return CliRunner().invoke(gallery, arguments)


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a site, and a cache of its own."""
    monkeypatch.setattr("acked.asking.made_pages.cache_folder", lambda *parts: tmp_path / "cache")
    (tmp_path / "cache").mkdir()
    return tmp_path / "site"


def count_searches(monkeypatch: pytest.MonkeyPatch, ends_at: int | None = None) -> list[str]:
    """The questions that are searched; the search after so many is interrupted as Ctrl-C does."""
    searched: list[str] = []

    def counted(question: Question, *arguments: Any, **named: Any) -> Any:
        searched.append(question.instance.protocol.name)
        result = search(question, *arguments, **named)
        return replace(result, stopped=StopReason.INTERRUPTED) if len(searched) == ends_at else result

    monkeypatch.setattr("acked.commands.exporting.gallery.search", counted)
    return searched


@pytest.mark.slow
def test_an_interrupted_gallery_has_an_index_of_what_is_answered_and_goes_on_from_there(
    cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_searches(monkeypatch, ends_at=2)
    assert gallery_of(cached).exit_code == 1  # click's word for an abort; the command line makes it 130
    index = (cached / "index.html").read_text("utf-8")
    assert "1 of 3 specs are answered" in index
    assert "kip101" in index
    pages = {path.name for path in cached.glob("*.html")}
    assert all(f'href="{page}"' in index for page in pages - {"index.html"})

    searched = count_searches(monkeypatch)
    again = gallery_of(cached)
    assert again.exit_code == 0, again.output
    assert len(searched) == 2
    assert "1 of 3: " in again.output
    assert " (known)" in again.output
    index = (cached / "index.html").read_text("utf-8")
    assert "Being made" not in index
    assert "Does truncate-to-hw keep WeakIsr with 2 brokers, 2 offsets, 2 records and leader epochs 0 to 1?" in index

    texts = {path.name: path.read_text("utf-8") for path in cached.glob("*.html")}
    searched = count_searches(monkeypatch)
    assert gallery_of(cached).exit_code == 0
    assert searched == []
    assert {path.name: path.read_text("utf-8") for path in cached.glob("*.html")} == texts


@pytest.mark.slow
def test_a_damaged_entry_of_the_cache_is_answered_anew(cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gallery_of(cached, CHOSEN[0]).exit_code == 0
    [entry] = (cached.parent / "cache").glob("*.json")
    entry.write_bytes(entry.read_bytes().replace(b"kept in all", b"kept in ALL"))
    searched = count_searches(monkeypatch)
    assert gallery_of(cached, CHOSEN[0]).exit_code == 0
    assert len(searched) == 1
    assert "kept in ALL" not in (cached / "index.html").read_text("utf-8")


@pytest.mark.slow
def test_every_bundled_spec_has_a_title_in_words() -> None:
    titles = [spec.title for spec in shipped()]
    assert [title for title in titles if len(title.split()) < 4 or re.search(r"\(\d, \d", title)] == []
