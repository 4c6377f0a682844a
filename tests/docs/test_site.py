"""The site builds strictly; its links lead somewhere, every page can be reached, and nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.places import CHECKOUT
from tests.sharing import made_once

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "link": "href"}
"""What a browser loads without being asked."""
BUILT = {
    *("kip101-1-bug", "kip101-1-fix", "kip101-1-latest", "acks-1-loses", "replication-instead-of-flush-4-0", "fluss-mended"),
    *("truncate-to-hw", "kip320", "stale-ends-bug", "kip890-late-produce-bug", "kafka19446-bug"),
    *("toylog", "toylog-fixed", "toylog-4-3", "toylog-4-2", "controllers-remove-active-of-two", "foreign-load-bug"),
    *("first-start-bug", "hidden-refusal-bug", "unmapped-tombstone-bug", "uncommitted-decision-bug", "waiting-commits-bug"),
    *("eligible-leader-is-replica", "playground-1-0", "playground-1-3", "playground-5-0", "playground-5-1", "playground-5-2"),
}
"""What is compiled of all that readers can check: everything takes minutes."""
BUILD = """
import logging
import sys
from tests.docs.unsearched import pinned
from tests.sharing import read_once
from tools.parts import checked, gallery
gallery.told = pinned
checked.is_chosen = set(sys.argv[3:]).__contains__
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException
logging.basicConfig(level=logging.WARNING)
try:
    with read_once():  # Each of several parts reads all specs.
        build(load_config("mkdocs.yml", docs_dir=sys.argv[1], site_dir=sys.argv[2], strict=True))
except MkDocsException as error:
    sys.exit(f"{error}")
"""


def build(docs: Path, site: Path, compiled: Iterable[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BUILD, str(docs), str(site), *compiled]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=600, check=False)


class Read(HTMLParser):
    """A page: where it links to, what it loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADS and LOADS[tag] in given and given.get("rel") not in ("next", "prev", "canonical"):
            self.loads.append(given[LOADS[tag]])


def build_strictly(place: Path, docs: Path = CHECKOUT / "docs", compiled: Iterable[str] = BUILT) -> None:
    """Builds the site of this checkout, without a warning."""
    done = build(docs, place, sorted(compiled))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr


def cut(target: Path, *whole: str) -> None:
    """The pages, most of which have only their headings, to which links lead, and the files that they are made of."""
    shutil.copytree(CHECKOUT / "docs", target)
    for path in target.rglob("*.md"):
        if path.name not in whole:
            path.write_text("\n\n".join(line for line in path.read_text("utf-8").splitlines() if line.startswith("#")))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, which the browser opens, too."""
    return made_once(tmp_path_factory, "site", build_strictly)


@pytest.fixture(scope="session", params=["cut", pytest.param("whole", marks=pytest.mark.landing)])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, and one of which most pages have only their headings, which is built in a fifth of the time."""
    if request.param == "whole":
        found: Path = request.getfixturevalue("site")
        return found

    def make(place: Path) -> None:
        docs = tmp_path_factory.mktemp("cut") / "docs"
        cut(docs, "glossary.md", "first-counterexample.md")
        build_strictly(place, docs, ("kip320", "truncate-to-hw"))

    return made_once(tmp_path_factory, "cut-site", make)


@cache
def read(path: Path) -> Read:
    return Read(path.read_text("utf-8"))


def pages(site: Path) -> list[Path]:
    return [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]


def test_links_within_the_site_lead_to_pages_and_anchors(either: Path) -> None:
    broken = []
    for page in pages(either):
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path not in ("", ".") else page
            target = target / "index.html" if target.is_dir() else target
            has_anchor = not parts.fragment or parts.fragment in ("__", "") or target.suffix != ".html"
            if not target.is_file() or not (has_anchor or unquote(parts.fragment) in read(target).anchors):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_every_page_can_be_reached_from_the_first(either: Path) -> None:
    seen, waiting = set(), [either / "index.html"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        local = [urlsplit(link).path for link in read(page).links if not urlsplit(link).scheme]
        targets = [(page.parent / unquote(path)).resolve() for path in local]
        waiting += [target for target in targets if target.suffix == ".html" and target.is_file()]
    assert [page.name for page in pages(either) if page not in seen] == []
    assert len(seen) > 35


def test_nothing_is_loaded_from_another_host(either: Path) -> None:
    foreign = [f"{page.name}: {what}" for page in pages(either) for what in read(page).loads if urlsplit(what).netloc]
    for sheet in either.rglob("*.css"):
        used = re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", sheet.read_text("utf-8"))
        foreign += [f"{sheet.name}: {what}" for what in used]
    assert foreign == []


def test_the_search_knows_every_page(either: Path) -> None:
    index = json.loads((either / "search" / "search_index.json").read_text("utf-8"))
    known = {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    assert {page.relative_to(either).as_posix() for page in pages(either)} <= known


def test_a_broken_link_a_page_without_a_way_to_it_and_a_spec_that_is_not_compiled_end_the_build(tmp_path: Path) -> None:
    cut(tmp_path / "docs", "glossary.md", "tutorial.md")
    with (tmp_path / "docs" / "glossary.md").open("a", encoding="utf-8") as file:
        file.write("\n[x](nowhere.md)\n\n[x](audit.md#no-such-part)\n")
    (tmp_path / "docs" / "orphan.md").write_text("# Nobody links to this\n")
    done = build(tmp_path / "docs", tmp_path / "site")
    assert done.returncode != 0
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert f"Aborted with {len(warnings)} warnings" in done.stderr
    uncompiled = {line for line in warnings if "which is not built" in line}
    assert any("tutorial.html lets readers check toylog, " in line for line in uncompiled)
    assert len(warnings) == len(uncompiled) + 3
    for complaint in ("nowhere.md", "no-such-part", "orphan.md"):
        assert complaint in done.stderr
