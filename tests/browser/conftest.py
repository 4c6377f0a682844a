"""A real browser for the pages: the Chromium that is installed, without a window, watched for errors and requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request, expect, sync_playwright

from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.catalogue import PROTOCOLS
from acked.reports.pages.page import render, trace_data
from tools.parts.firefox import HOW_TO_GET_ONE as HOW_TO_GET_FIREFOX
from tools.parts.firefox import Firefox, installed

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")
HOW_TO_GET_ONE = (
    "no Chromium is installed: `apt-get install chromium` (Debian), or `.venv/bin/python -m playwright install chromium`"
)
SERIOUS = ("serious", "critical")


expect.set_options(timeout=60_000)
"""Machines are busy; what is waited for comes, or is wrong."""


@dataclass
class Watched:
    """A page with everything that it should not do: errors, and requests that leave it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    own: list[str] = field(default_factory=list)
    """Beginnings of addresses that it may ask for: its own file, its own server."""

    def open(self, address: str | Path) -> Page:
        target = address.as_uri() if isinstance(address, Path) else address
        self.own.append(target.partition("#")[0])
        self.page.goto(target)
        self.page.wait_for_selector("#main")
        return self.page

    def findings(self) -> list[str]:
        """What axe-core finds serious."""
        results = Axe().run(self.page).response["violations"]
        serious = [item for item in results if item["impact"] in SERIOUS]
        return [f"{item['id']}: {node['html'][:160]}" for item in serious for node in item["nodes"]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a process; a machine without one skips them with a sentence."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        try:
            # Root, as in many containers, cannot have Chromium's own sandbox.
            options = [] if os.geteuid() else ["--no-sandbox"]
            chromium = playwright.chromium.launch(executable_path=found, args=options)
        except Error:
            if found is not None:
                raise
            pytest.skip(HOW_TO_GET_ONE)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def other_browser() -> Iterator[Firefox]:
    """One Firefox for all tests of a process, where it is installed."""
    if installed() is None:
        pytest.skip(HOW_TO_GET_FIREFOX)
    with Firefox.started() as driver:
        yield driver


@pytest.fixture
def firefox(other_browser: Firefox, tmp_path: Path) -> Firefox:
    """Firefox with an empty page."""
    empty = tmp_path / "empty.html"
    empty.write_text("<!DOCTYPE html><title>empty</title>", encoding="utf-8")
    other_browser.open(empty.as_uri())
    return other_browser


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    """One page for all tests: a fresh one costs more than most of them."""
    context = browser.new_context(permissions=[])
    yield context.new_page()
    context.close()


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Page]:
    """A page of its own, for a test that leaves something behind, such as another clock."""
    context = browser.new_context(permissions=[])
    yield context.new_page()
    context.close()


@pytest.fixture
def watched(tab: Page, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page as new; a test fails if the page reported an error or asked the network for anything."""
    page: Page = request.getfixturevalue("fresh") if request.node.get_closest_marker("fresh_page") else tab
    page.goto("about:blank")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(media="null", color_scheme="null", reduced_motion="null")
    page.mouse.move(0, 0)
    seen = Watched(page)

    def told(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            seen.errors.append(message.text)

    def failed(error: Error) -> None:
        seen.errors.append(str(error))

    def asked(sent: Request) -> None:
        seen.requests.append(sent.url)

    page.on("console", told)
    page.on("pageerror", failed)
    page.on("request", asked)
    yield seen
    page.remove_listener("console", told)
    page.remove_listener("pageerror", failed)
    page.remove_listener("request", asked)
    assert seen.errors == []
    assert [sent for sent in seen.requests if not sent.startswith((*seen.own, "data:", "blob:"))] == []


Found = Callable[..., tuple[Question, Run, Property]]


@pytest.fixture(scope="session")
def found() -> Found:
    """The shortest violation of a shipped protocol, searched once a session."""
    known: dict[object, tuple[Question, Run, Property]] = {}

    def find(protocol: str, constants: tuple[int, ...], *names: str) -> tuple[Question, Run, Property]:
        key = (protocol, constants, names)
        if key not in known:
            chosen = PROTOCOLS[protocol]
            instance = chosen.instantiate(dict(zip(NAMES, constants, strict=True)))
            question = Question(instance, tuple(properties_of(chosen)[name] for name in names))
            violation = search(question).violations[0]
            known[key] = (question, violation.run, violation.property)
        return known[key]

    return find


@pytest.fixture(scope="session")
def lost(found: Found, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of truncate-to-hw's nine states; the last step drops an acknowledged record."""
    question, run, violates = found("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
    page = tmp_path_factory.mktemp("pages") / "lost.html"
    page.write_text(render(trace_data(Counterexample("A record is lost", question, run, violates))), encoding="utf-8")
    return page
