"""The explorer in a real browser, with its server and as a file: choose, go back, branch, undo, find, walk, save and load."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from acked.checker.explore.nearest import nearest
from acked.checker.predicate.parse import parse_predicate
from acked.checker.question.question import Question
from acked.checker.wasm.script import explorer_script
from acked.explorer.server import ExplorerServer, page_of
from acked.explorer.session import Walk
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.pages.exploring import explorer_page
from acked.reports.shell.specs import find_spec
from tools.parts.firefox import Firefox

pytestmark = pytest.mark.browser

SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    protocol = PROTOCOLS["kip320"]
    walk = Walk("explored", Question(protocol.instantiate(SMALL), (properties_of(protocol)["WeakIsr"],)), "small")
    with ExplorerServer(0, walk, lambda token: page_of(walk, token)) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def file(server: ExplorerServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same question as a page that has no server."""
    walk, page = server.walk, tmp_path_factory.mktemp("pages") / "explored.html"
    engine = {"search": explorer_script(walk.question)}
    page.write_text(explorer_page(walk.title, walk.spec, walk.question, engine), encoding="utf-8")
    return page


@pytest.fixture
def served(watched: Any, server: ExplorerServer) -> Page:
    """The page of the server alone, of which a test changes what it does."""
    watched.own.append(f"http://{server.hosts[0]}/")
    opened: Page = watched.open(server.address)
    return opened


@pytest.fixture(params=["served", "file"])
def page(watched: Any, server: ExplorerServer, file: Path, request: pytest.FixtureRequest) -> Page:
    """Either page: whatever is done there, both do the same."""
    if request.param == "served":
        watched.own.append(f"http://{server.hosts[0]}/")
    opened: Page = watched.open(server.address if request.param == "served" else file)
    return opened


def take(page: Page, label: str) -> None:
    before = page.locator(".now .label").inner_text()
    page.locator(".move").filter(has=page.get_by_text(label, exact=True)).click()
    expect(page.locator(".now .label")).not_to_have_text(before)


def step_of(page: Page) -> int:
    match = re.match(r"Step (\d+) of", page.locator(".now .label").inner_text())
    assert match is not None
    return int(match[1])


@pytest.fixture(scope="module")
def large() -> Iterator[dict[str, ExplorerServer]]:
    """The explorer of the bundled specs that have the most to show."""
    with ExitStack() as stack:
        servers = {}
        for name in ("kip320", "partition"):
            spec = find_spec(name)
            walk = Walk(spec.title, spec.question())
            listening = stack.enter_context(ExplorerServer(0, walk, lambda token, walk=walk: page_of(walk, token)))
            thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(listening.shutdown)
            servers[name] = listening
        yield servers


@pytest.mark.parametrize(
    ("name", "width", "height"),
    [
        ("kip320", 1440, 900),  # Few actions and many, on a wide screen and on a narrow one.
        ("partition", 390, 844),
        pytest.param("kip320", 390, 844, marks=pytest.mark.long),
        pytest.param("partition", 1024, 800, marks=pytest.mark.long),
    ],
)
def test_the_first_action_is_visible_without_scrolling_and_the_step_buttons_always_are(
    watched: Any, large: dict[str, ExplorerServer], name: str, width: int, height: int
) -> None:
    watched.own.append(f"http://{large[name].hosts[0]}/")
    watched.page.set_viewport_size({"width": width, "height": height})
    page: Page = watched.open(large[name].address)
    for _ in range(2):
        first = page.locator(".move").first.bounding_box()
        assert first is not None
        assert first["y"] >= 0
        assert first["y"] + first["height"] <= height
        assert page.evaluate("scrollY") == 0
        before = page.locator(".now .label").inner_text()
        page.locator(".move").first.click()
        expect(page.locator(".now .label")).not_to_have_text(before)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.evaluate("scrollY") > 0
    for key in ("back-one", "next-one", "undo", "restart"):
        button = page.locator(f"[data-key={key}]").bounding_box()
        assert button is not None
        assert button["y"] >= 0
        assert button["y"] + button["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if name == "kip320":
        assert watched.findings() == []


def test_a_promise_that_holds_is_one_line_and_its_words_stay_where_they_were_asked_for(
    watched: Any, large: dict[str, ExplorerServer]
) -> None:
    watched.own.append(f"http://{large['kip320'].hosts[0]}/")
    page: Page = watched.open(large["kip320"].address)
    kept = page.locator(".properties li.kept")
    expect(kept).to_have_count(11)
    heights = [item.bounding_box()["height"] for item in kept.all()]  # type: ignore[index]
    assert max(heights) < 35
    kept.first.locator("summary").click()
    expect(kept.first.locator("p")).to_be_visible()
    take(page, "ControllerElectLeader(replica=0)")
    expect(kept.first.locator("p")).to_be_visible()


def test_the_example_of_a_predicate_is_one_of_the_protocol_that_is_explored(
    watched: Any, large: dict[str, ExplorerServer]
) -> None:
    watched.own.append(f"http://{large['partition'].hosts[0]}/")
    page: Page = watched.open(large["partition"].address)
    example = page.locator("[data-key=predicate]").get_attribute("placeholder")
    assert example == "controller.isr == {0} and log[1].end > 0"
    parse_predicate(example, large["partition"].walk.question.instance)


def test_actions_are_taken_and_taken_back(page: Page, watched: Any) -> None:
    expect(page.locator(".facts")).to_have_text("4 successors, depth 0: the initial state")
    take(page, "ControllerElectLeader(replica=0)")
    take(page, "BecomeLeader(leader=0, epoch=0)")
    assert step_of(page) == 2
    expect(page.locator(".now h2")).to_have_text("broker 0 becomes leader in epoch 0 with ISR {0, 1}")
    page.keyboard.press("u")
    expect(page.locator(".now .label")).to_contain_text("Step 1 of 1")
    page.keyboard.press("u")
    expect(page.locator(".now .label")).to_contain_text("Step 0 of 0")
    assert watched.findings() == []


def test_going_back_and_choosing_otherwise_makes_a_branch_that_can_be_taken_up_again(page: Page) -> None:
    take(page, "ControllerElectLeader(replica=0)")
    take(page, "BecomeLeader(leader=0, epoch=0)")
    page.keyboard.press("Home")
    take(page, "ControllerElectLeader(replica=1)")
    assert step_of(page) == 1
    tried = page.locator(".tried")
    expect(tried).to_contain_text("What was tried (2 paths)")
    expect(tried.locator("[aria-current]")).to_have_text("1 ControllerElectLeader(replica=1)")
    tried.get_by_role("button", name="1–2 BecomeLeader(leader=0, epoch=0)").click()
    expect(page.locator(".now .label")).to_contain_text("Step 2 of 2")
    expect(page.locator(".steps")).to_contain_text("elects broker 0")
    expect(tried.locator("[aria-current]")).to_have_text("1–2 BecomeLeader(leader=0, epoch=0)")


def test_back_undoes_a_step_and_forward_takes_it_again(page: Page) -> None:
    take(page, "ControllerElectLeader(replica=0)")
    take(page, "BecomeLeader(leader=0, epoch=0)")
    page.go_back()
    expect(page.locator(".now .label")).to_contain_text("Step 1 of 1")
    page.go_forward()
    expect(page.locator(".now .label")).to_contain_text("Step 2 of 2")


def test_a_link_holds_spec_constants_path_and_bookmarks_and_no_token(watched: Any, page: Page, file: Path) -> None:
    take(page, "ControllerElectLeader(replica=0)")
    page.keyboard.press("b")
    take(page, "BecomeLeader(leader=0, epoch=0)")
    link = page.evaluate("location.hash")
    assert "spec=small" in link
    assert "constants=replicas%3D2" in link
    assert "token" not in link
    page.goto("about:blank")
    other: Page = watched.open(f"{file.as_uri()}{link}")
    expect(other.locator(".now .label")).to_contain_text("Step 2 of 2")
    expect(other.locator(".tried")).to_contain_text("★ 1 ControllerElectLeader(replica=0)")
    other.goto("about:blank")
    foreign: Page = watched.open(f"{file.as_uri()}{link.replace('small', 'large')}")
    expect(foreign.locator(".message.bad")).to_contain_text("the link is of large with replicas=2")
    expect(foreign.locator(".now .label")).to_contain_text("Step 0 of 0")


def test_a_path_that_the_protocol_does_not_allow_is_refused_with_the_clause(
    watched: Any, server: ExplorerServer, file: Path
) -> None:
    actions = server.walk.question.instance.actions
    number = next(at for at, step in enumerate(actions) if step.action.name == "LeaderWrite")
    opened: Page = watched.open(f"{file.as_uri()}#path=0.{number}")
    why = "step 2: LeaderWrite(leader=0) is not enabled, “presumes leadership” does not hold"
    expect(opened.locator(".message.bad")).to_contain_text(why)
    expect(opened.locator(".now .label")).to_contain_text("Step 0 of 0")


def test_a_disabled_action_says_why(page: Page) -> None:
    page.locator("details[data-action=LeaderWrite] summary").click()
    expect(page.locator("details[data-action=LeaderWrite] li").first).to_contain_text("presumes leadership")


def test_the_nearest_state_is_shown_with_the_path_to_it(page: Page) -> None:
    page.locator("[data-key=predicate]").fill("log[1].end == 1 and replica[1].leader == 0")
    page.locator("[data-key=predicate]").press("Enter")
    expect(page.locator(".message")).to_have_text("found 5 steps away")
    assert step_of(page) == 5
    page.locator("[data-key=predicate]").fill("quorm.isr == {}")
    page.get_by_role("button", name="find", exact=True).click()
    expect(page.locator(".message.bad")).to_contain_text("has no 'quorm'")
    page.locator("[data-key=predicate]").fill("log[0].end == 2 and replica[0].hw == 0 and quorum.isr == {}")
    page.get_by_role("button", name="find", exact=True).click()
    expect(page.locator(".message")).to_contain_text("unreachable from here: none of the")
    assert step_of(page) == 5


def test_of_a_promise_that_is_kept_no_step_breaks_it(page: Page) -> None:
    page.locator("[data-key=break]").click()
    expect(page.locator(".message")).to_have_text(
        "unreachable from here: none of the 957 states that can follow breaks it"
    )
    assert step_of(page) == 0


class Slow:
    """Searches like `nearest`, but the first time only once it is told to."""

    def __init__(self) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        self.asked: list[str] = []

    def __call__(self, instance: Any, state: Any, text: str, **more: Any) -> Any:
        self.asked.append(text)
        if len(self.asked) == 1:
            self.begun.set()
            assert self.released.wait(60)
        return nearest(instance, state, text, **more)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr("acked.explorer.session.nearest", made)
    yield made
    made.released.set()


def search_for(page: Page, text: str) -> None:
    page.locator("[data-key=predicate]").fill(text)
    page.locator("[data-key=predicate]").press("Enter")


def test_of_two_searches_the_last_one_is_answered(served: Page, slow: Slow) -> None:
    """The second used to be dropped, and what the first one found stood below its text."""
    page = served
    search_for(page, "log[1].end == 1 and replica[1].leader == 0")
    assert slow.begun.wait(60)
    search_for(page, "quorum.leader == 1")
    slow.released.set()
    expect(page.locator(".message")).to_have_text("found 1 step away")
    assert step_of(page) == 1
    assert slow.asked == ["log[1].end == 1 and replica[1].leader == 0", "quorum.leader == 1"]


def test_no_answer_stands_below_another_text_than_the_one_that_was_searched_for(served: Page, slow: Slow) -> None:
    page = served
    search_for(page, "log[1].end == 1 and replica[1].leader == 0")
    assert slow.begun.wait(60)
    expect(page.locator(".message")).to_have_text("…")
    page.locator("[data-key=predicate]").fill("quorum.leader == 1")
    expect(page.locator(".message")).to_have_text("")
    slow.released.set()
    page.locator("[data-key=predicate]").press("Enter")
    expect(page.locator(".message")).to_have_text("found 1 step away")
    page.locator("[data-key=predicate]").fill("quorum.leader == 0")
    expect(page.locator(".message")).to_have_text("")
    assert step_of(page) == 1


def test_an_action_can_be_taken_while_a_search_goes_on(served: Page, slow: Slow) -> None:
    page = served
    search_for(page, "log[1].end == 1 and replica[1].leader == 0")
    assert slow.begun.wait(60)
    take(page, "ControllerElectLeader(replica=0)")
    slow.released.set()
    search_for(page, "quorum.leader == 1")
    expect(page.locator(".message")).to_have_text("found 1 step away")
    assert step_of(page) == 2


def walk_ten_steps(page: Page, number: float = 0.1) -> None:
    """A walk at random, but always the same one: some others end early, where nothing is enabled."""
    page.evaluate(f"Math.random = () => {number}")
    page.locator("[data-key=random]").click()


def test_a_walk_that_ends_early_says_why(page: Page) -> None:
    walk_ten_steps(page, 0.05)
    expect(page.locator(".message")).to_have_text("no action is enabled there")
    assert step_of(page) == 2


def test_the_address_holds_the_path(page: Page) -> None:
    walk_ten_steps(page)
    expect(page.locator(".now .label")).to_contain_text("Step 10 of 10")
    says = page.locator(".now h2").inner_text()
    page.reload()
    expect(page.locator(".now .label")).to_contain_text("Step 10 of 10")
    expect(page.locator(".now h2")).to_have_text(says)


def test_the_depth_is_that_of_the_shortest_way(page: Page) -> None:
    take(page, "ControllerElectLeader(replica=0)")
    expect(page.locator(".facts")).to_contain_text("depth 1: this is a shortest path")
    page.keyboard.press("Home")
    walk_ten_steps(page)
    expect(page.locator(".facts")).to_contain_text("depth 8: this path of 10 steps is not the shortest")


def test_a_session_is_saved_as_a_trace_and_loaded_again(page: Page, tmp_path: Path) -> None:
    walk_ten_steps(page)
    expect(page.locator(".now .label")).to_contain_text("Step 10 of 10")
    with page.expect_download() as download:
        page.locator("[data-key=save]").click()
    target = tmp_path / "explored.json"
    download.value.save_as(target)
    assert json.loads(target.read_text("utf-8"))["format"] == "acked-trace/1"
    page.locator("[data-key=restart]").click()
    expect(page.locator(".now .label")).to_contain_text("Step 0 of 0")
    page.locator("[data-key=load]").set_input_files(target)
    expect(page.locator(".now .label")).to_contain_text("Step 10 of 10")


EXPLORED = """async () => {
  const soon = async (found) => {
    while (!found()) await new Promise((done) => setTimeout(done, 50));
    return found();
  };
  const input = await soon(() => document.querySelector("[data-key=predicate]"));
  input.value = "log[1].end == 1 and replica[1].leader == 0";
  input.form.requestSubmit();
  const found = await soon(() => document.querySelector(".message").textContent.replace("…", ""));
  const label = document.querySelector(".now .label").textContent;
  document.querySelector("[data-key=restart]").click();
  document.querySelector("[data-key=break]").click();
  return [found, label, await soon(() => /unreachable.*/.exec(document.querySelector(".message").textContent)?.[0])];
}"""


@pytest.mark.slow
def test_firefox_walks_and_searches_on_a_page_from_a_file(file: Path, firefox: Firefox) -> None:
    firefox.open(file.as_uri())
    found, label, broken = firefox.evaluate(EXPLORED)
    assert found == "found 5 steps away"
    assert label.startswith("Step 5 of 5")
    assert broken == "unreachable from here: none of the 957 states that can follow breaks it"
