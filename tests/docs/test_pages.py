"""README is one screen, and links between files of the repository lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from acked import __version__
from acked.base.errors import ExitCode
from acked.base.files import ROOMS
from acked.cli import main
from acked.reports.tables.findings import read_findings
from tests.places import CHECKOUT, SPECS
from tools.readme import long_description
from tools.site import FENCE, LINK

PAGES = [
    *(CHECKOUT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
    *sorted((CHECKOUT / "benchmarks").glob("*.md")),
]


def links(page: Path) -> list[str]:
    return [match["target"] for match in LINK.finditer(FENCE.sub("", page.read_text("utf-8")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_relative_links_of_a_page_lead_to_files(page: Path) -> None:
    inner = [target.partition("#")[0] for target in links(page) if not re.match(r"[a-z]+:", target)]
    assert [target for target in inner if target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_files_of_the_repository_that_a_page_names_are_there(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    folders = "|".join((*ROOMS, "acked", "tools", "tests", "benchmarks", "specs", "docs"))
    named = re.findall(rf"`((?:{folders})/[\w./-]*)`", text)
    assert [name for name in named if not (CHECKOUT / name).exists()] == []


@pytest.mark.parametrize("page", sorted((CHECKOUT / "docs").rglob("*.md")), ids=lambda page: page.name)
def test_a_page_begins_with_a_title_and_a_paragraph_that_says_what_it_is_about(page: Path) -> None:
    title, first = re.split(r"\n\s*\n", page.read_text("utf-8"), maxsplit=2)[:2]
    assert re.fullmatch(r"# [^\n]+", title)
    assert re.match(r"[A-Z“*`]|acked ", first), "a paragraph, and no table, list or listing"
    assert len(first.split()) >= 12


def test_the_readme_has_at_most_90_lines() -> None:
    assert len((CHECKOUT / "README.md").read_text("utf-8").splitlines()) <= 90


def test_the_first_screen_of_the_readme_has_a_command_for_each_reader() -> None:
    screen = "\n".join((CHECKOUT / "README.md").read_text("utf-8").splitlines()[:20])
    assert [word for word in ("operate", "review", "TLA+") if word not in screen] == []
    assert [name for name in ("acked audit", "acked diff", "acked check") if name not in screen] == []


@pytest.mark.slow
def test_the_specs_that_the_readme_compares_can_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    named = re.findall(r"`acked diff ([\w-]+) ([\w-]+)`", (CHECKOUT / "README.md").read_text("utf-8"))
    assert named
    for pair in named:
        assert main(["diff", *pair, "--max-states", "10", "--quiet"]) != ExitCode.CONFIGURATION, capsys.readouterr().err


def test_the_readme_counts_the_findings_beside_the_one_that_it_tells() -> None:
    found = len(read_findings((SPECS / "found.json").read_text("utf-8")))
    words = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen")
    assert f"`acked list found` has [{words[found - 11]} more]" in (CHECKOUT / "README.md").read_text("utf-8")


def test_the_citation_names_the_version_and_the_licence_of_the_package() -> None:
    cited = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == __version__
    assert cited["license"] == tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)


def test_on_the_page_of_a_package_index_readme_leads_to_the_repository_and_shows_its_pictures() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    made = long_description(readme, "https://example.org/acked/")
    inner = [target for target in links(CHECKOUT / "README.md") if ":" not in target]
    found = [match["target"] for match in LINK.finditer(FENCE.sub("", made))]
    assert [target for target in found if not target.startswith("https://")] == []
    assert len(inner) > 30
    kinds = {name: "raw" if name.endswith((".png", ".svg")) else "blob" for name in inner}
    assert {f"https://example.org/acked/{kind}/HEAD/{name}" for name, kind in kinds.items()} <= set(found)
    assert FENCE.findall(made) == FENCE.findall(readme)


def test_readme_has_no_broken_link_where_the_address_of_the_repository_is_not_known() -> None:
    made = long_description((CHECKOUT / "README.md").read_text("utf-8"), None)
    found = [match["target"] for match in LINK.finditer(FENCE.sub("", made))]
    assert [target for target in found if ":" not in target and not target.startswith("#")] == []
    assert "Is my topic safe?" in made
    assert "stale-log-ends.svg" not in made


def test_no_page_has_the_marks_of_a_merge() -> None:
    marks = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)
    assert [page.name for page in PAGES if marks.search(page.read_text("utf-8"))] == []
