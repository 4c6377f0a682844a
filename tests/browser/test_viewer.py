"""The viewer in a real browser: what it shows, how it is steered, and that it asks nobody for anything."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample
from acked.checker.replay.retrace import under
from acked.checker.search.local import search
from acked.model.catalogue import PROTOCOLS
from acked.reports.pages.page import pair_data, render, trace_data
from acked.reports.runs.refusals import blocked_in_words
from acked.study import view
from tests.e2e.driver import acked
from tests.places import SPECS
from tests.reports.pictures.locks import LABELS, run_of

pytestmark = pytest.mark.browser


def step_of(page: Page) -> int:
    """The step that the page shows, by its heading."""
    match = re.match(r"Step (\d+) of", page.locator(".now .label").first.inner_text())
    assert match is not None
    return int(match[1])


def row(page: Page, broker: int) -> str:
    return page.locator(f"tr[data-actor='broker {broker}']").first.inner_text()


def begun(watched: Any, page_file: Path) -> Page:
    """A page at the beginning of its run."""
    page: Page = watched.open(page_file)
    page.keyboard.press("Home")
    return page


def test_what_happened_stands_on_top_and_the_step_that_breaks_the_promise_is_shown(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    expect(page.locator(".status")).to_have_text("✗ WeakIsr is broken in step 8 of 8")
    expect(page.locator("h1")).to_have_text("A record is lost")
    expect(page.locator(".promised")).to_contain_text("WeakIsr promises")
    expect(page.locator(".happened")).to_contain_text("Step 8 of 8 breaks it")
    expect(page.locator(".prevented")).to_contain_text("kip101 (KIP-101, Kafka 0.11; KAFKA-1211) rules out step 8")
    expect(page.locator(".now h2")).to_contain_text("truncates its log from offset 1 to 0")
    assert step_of(page) == 8
    expect(page.locator(".subject code")).not_to_be_visible()
    page.locator(".subject summary").click()
    expect(page.locator(".subject code")).to_contain_text("replicas=2")
    page.keyboard.press("Home")
    expect(page.locator(".now h2")).to_have_text("initially every log is empty, no broker leads, and the ISR is {0, 1}")


def test_keys_step_through_the_run(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    keys = (("ArrowRight", 1), ("j", 2), ("j", 3), ("k", 2), ("ArrowLeft", 1), ("End", 8), ("j", 8), ("Home", 0), ("k", 0))
    for key, step in keys:
        page.keyboard.press(key)
        assert step_of(page) == step, key


def test_the_grid_tells_records_marks_badges_and_changes_in_text_too(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.keyboard.press("End")
    leader, follower = row(page, 0), row(page, 1)
    assert "r0·e0" in leader
    assert "acknowledged" in leader
    assert "stale leader" in leader
    assert "HW 1 (high watermark)" in re.sub(r"\s+", " ", leader)
    assert "r0·e0 lost removed" in re.sub(r"\s+", " ", follower)
    assert "was 1" in follower
    cell = page.locator("tr[data-actor='broker 1'] td.cell").first
    assert "changed" in (cell.get_attribute("class") or "")
    assert page.locator("tr[data-actor='broker 0'] td.cell.epoch-0").count() == 1


def test_the_link_holds_the_step(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("location.hash") == "#step=2"
    page = watched.open(f"{lost.as_uri()}#step=5")
    page.reload()
    assert step_of(page) == 5
    page.evaluate("location.hash = '#step=7'")
    expect(page.locator(".now .label").first).to_contain_text("Step 7 of 8")


def test_the_scrubber_and_the_list_of_steps_lead_to_any_step(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.locator("input.scrubber").fill("4")
    assert step_of(page) == 4
    page.locator(".steps button").nth(6).click()
    assert step_of(page) == 6
    expect(page.locator(".steps [aria-current=step]")).to_have_count(1)
    expect(page.locator(".steps [aria-current=step]")).to_contain_text("raises its high watermark to 1")


@pytest.mark.fresh_page
def test_play_goes_on_by_itself_and_stops_at_the_end(watched: Any, lost: Path) -> None:
    page = watched.page
    page.clock.install()
    watched.open(lost)
    page.locator("[data-key=play]").click()
    page.clock.run_for(1300)
    assert step_of(page) == 1
    page.clock.run_for(60_000)
    assert step_of(page) == 8
    expect(page.locator("[data-key=play]")).to_have_text("play")


def test_lanes_and_grid_point_at_each_other(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.keyboard.press("End")
    arrow = page.locator(".arrow.current").last
    label = arrow.get_attribute("aria-label") or ""
    assert label.startswith("controller to broker 1: LeaderAndIsr e1")
    assert "sent in step 7, received in step 8" in label
    arrow.locator(".hit").hover(force=True)
    expect(page.locator("tr.pointed")).to_have_attribute("data-actor", "broker 1")
    page.locator("tr[data-actor='broker 0']").first.hover()
    expect(page.locator(".lane.pointed")).to_have_attribute("data-actor", "broker 0")
    page.locator("tr[data-actor='broker 1'] th").first.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == label


def test_a_click_on_an_arrow_goes_to_the_step_in_which_it_arrives(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.locator(".arrow[data-received='5'] .hit").first.click(force=True)
    assert step_of(page) == 5
    waiting = page.locator(".arrow.waiting")
    assert any("not received in this trace" in (item.get_attribute("aria-label") or "") for item in waiting.all())


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of KAFKA-18991: an answer departs in step 5 and arrives in step 14."""
    spec = load_spec("kafka18991-bug")
    result = search(spec.question(), Bounds(workers=1))
    found = result.violations[0]
    page = tmp_path_factory.mktemp("pages") / "late.html"
    page.write_text(render(trace_data(Counterexample.of(spec.title, result.question, found))), encoding="utf-8")
    return page


ENDS = """arrow => {
  const lane = name => Number(document.querySelector(`.lane[data-actor='${name}'] line`).getAttribute("x1"));
  const band = step => document.querySelector(`.tick[data-step="${step}"] .hit`);
  const row = step => Number(band(step).getAttribute("y")) + Number(band(step).getAttribute("height")) / 2;
  const line = arrow.querySelector(".line");
  const [from, to] = [line.getPointAtLength(0), line.getPointAtLength(line.getTotalLength())];
  const near = (point, name, step) => Math.hypot(point.x - lane(name), point.y - row(step)) < 1;
  return [near(from, "broker 1", 5), near(to, "broker 0", 14)];
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_a_late_answer_slants_from_the_step_it_departs_in_to_the_one_it_arrives_in(
    watched: Any, late: Path, width: int, scheme: str
) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.emulate_media(color_scheme=scheme)
    page = watched.open(f"{late.as_uri()}#step=14")
    page.reload()
    expect(page.locator(".told")).to_contain_text(
        "broker 1 to broker 0: diverging: truncate to 0 (sent in step 5, received in step 14, late)"
    )
    arrow = page.locator(".arrow.late")
    expect(arrow).to_have_count(1)
    assert (arrow.get_attribute("data-sent"), arrow.get_attribute("data-received")) == ("5", "14")
    assert arrow.evaluate(ENDS) == [True, True]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.findings() == []
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("j")
    expect(page.locator(".told")).to_contain_text("sent in step 5, received in step 14, late")
    expect(page.locator(".now h2")).to_contain_text("the answer, to truncate to 0, is late")


def test_every_lane_of_two_controllers_is_seen_and_the_request_that_outlives_a_crash(watched: Any, tmp_path: Path) -> None:
    file = tmp_path / "controllers.html"
    assert acked("view", "kip380-leader-bug", "-o", str(file)).returncode == 0
    watched.page.set_viewport_size({"width": 1440, "height": 900})
    page = watched.open(file)
    box = page.locator(".lanes-section").bounding_box()
    last = page.locator(".lane text").last
    expect(last).to_contain_text("candidate 1")
    assert last.bounding_box()["x"] + last.bounding_box()["width"] <= box["x"] + box["width"]
    # Broker 0 goes down in step 6; the request of step 3 makes it lead when it is back.
    expect(page.locator(".arrow[data-sent='3'][data-received='8']")).to_have_count(1)


def test_a_protocol_without_logs_is_drawn_with_its_own_badges_names_and_legend(watched: Any, tmp_path: Path) -> None:
    question, run = run_of(*LABELS)
    target = tmp_path / "locks.html"
    target.write_text(render(trace_data(Counterexample("who has the lock", question, run))), encoding="utf-8")
    page = watched.open(target)
    page.keyboard.press("End")
    expect(page.locator("tr[data-actor='client 1'] .badge.strong")).to_contain_text("holds")
    expect(page.locator(".grid thead")).to_contain_text("client")
    expect(page.locator(".grid thead")).not_to_contain_text("broker")
    expect(page.locator(".box")).to_contain_text("the lock is client 1's")
    legend = re.sub(r"\s+", " ", page.locator(".legend").inner_text()).strip()
    assert legend == "holds has heard that it may go on outlined changed"
    assert page.locator("td.cell, td.end, .marker").count() == 0
    assert page.locator(".lane").evaluate_all("lanes => lanes.map(lane => lane.dataset.actor)") == [
        "lock server", "client 0", "client 1"
    ]  # fmt: skip
    expect(page.locator(".arrow.late")).to_have_count(1)
    assert watched.findings() == []


def test_why_not_names_the_false_clause_and_its_values(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    for _ in range(2):
        page.keyboard.press("j")
    page.locator("details[data-action=LeaderWrite] summary").click()
    item = page.locator("details[data-action=LeaderWrite] .refused > li").filter(has_text="leader=1")
    expect(item).to_contain_text("presumes leadership")
    expect(item).to_contain_text("replica[1].leader is none, not 1")
    page.locator(".moves-section input[type=search]").fill("expandisr(leader=0, follower=1")
    expect(page.locator(".moves-section .refused > li")).to_have_count(1)
    expect(page.locator(".moves-section .refused > li")).to_contain_text("outside the ISR: replica[0].isr is {0, 1}, with 1")


def test_the_filter_of_actions_stays_while_stepping(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    page.locator(".moves-section input[type=search]").fill("LeaderWrite")
    page.locator("[data-key=next-one]").click()
    expect(page.locator(".moves-section input[type=search]")).to_have_value("LeaderWrite")
    assert page.locator(".moves-section details").count() == 1


def test_an_enabled_action_opens_what_it_leads_to(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    page.keyboard.press("j")
    page.locator(".move").filter(has_text="BecomeLeader(leader=0, epoch=0)").click()
    expect(page.locator(".now .label")).to_contain_text("What if")
    expect(page.locator(".now h2")).to_have_text("broker 0 becomes leader in epoch 0 with ISR {0, 1}")
    assert "leader (new)" in re.sub(r"\s+", " ", row(page, 0))
    page.keyboard.press("Escape")
    assert step_of(page) == 1


def test_the_failing_conjunct_is_shown_with_its_values(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    expect(page.locator(".failing")).to_have_count(0)
    page.locator(".properties .link").click()
    assert step_of(page) == 8
    expect(page.locator(".failing li")).to_have_count(1)
    expect(page.locator(".failing li")).to_have_text(
        "replica[0].leader is 0 and replica[0].isr is {0, 1}, with 1 and replica[0].hw is 1, above 0 and "
        "log[1].end is 0, not above 0"
    )


def test_diff_against_any_step_marks_fields_and_cells(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.keyboard.press("End")
    page.locator(".fields-section summary").click()
    page.locator("select[aria-label='Compare with']").select_option("4")
    changed = page.locator(".fields tr.changed th").all_inner_texts()
    assert "replica[0].hw" in changed
    assert "log[0].end" not in changed
    page.locator("select[aria-label='Compare with']").select_option("0")
    assert "log[0].records[0].id" in page.locator(".fields tr.changed th").all_inner_texts()
    row_of_isr = page.locator(".fields tr.changed").filter(has_text="replica[0].isr")
    expect(row_of_isr.locator("td")).to_have_text("{} becomes  → {0, 1}")


def test_members_of_sets_that_came_or_went_are_marked_one_by_one(watched: Any, lost: Path) -> None:
    page = watched.open(f"{lost.as_uri()}#step=7")
    isr = page.locator(".box .fact.changed").filter(has_text="ISR")
    expect(isr).to_have_text("ISR {0, 1 (removed)}")
    expect(isr.locator("s.went")).to_have_text("1 (removed)")
    page.locator(".fields-section summary").click()
    field = page.locator(".fields tr.changed").filter(has_text="quorum.isr")
    expect(field.locator("td")).to_have_text("{0, 1} becomes  → {0}")
    expect(field.locator("del .went")).to_have_text("1")
    page.keyboard.press("Home")
    page.locator("select[aria-label='Compare with']").select_option("7")
    expect(isr).to_have_text("ISR {0, 1 (new)}")
    expect(isr.locator(".came")).to_have_text("1 (new)")


def test_hide_unchanged_and_the_filter_by_broker_stay_while_stepping(watched: Any, lost: Path) -> None:
    page = begun(watched, lost)
    page.locator(".fields-section summary").click()
    page.get_by_label("hide unchanged").check()
    page.locator("[data-key=next-one]").click()
    assert page.locator("tr[data-actor]").count() == 1
    everything = page.locator(".fields tbody tr").count()
    assert everything == page.locator(".fields tbody tr.changed").count() > 0
    page.get_by_label("hide unchanged").uncheck()
    page.locator(".chip").filter(has_text="broker 1").click()
    for _ in range(3):
        page.locator("[data-key=next-one]").click()
    assert [item.get_attribute("data-actor") for item in page.locator("tr[data-actor]").all()] == ["broker 1"]
    fields = page.locator(".fields tbody th").all_inner_texts()
    assert not any(name.startswith("replica[0]") for name in fields)
    expect(page.locator(".chip[aria-pressed=true]")).to_have_text("broker 1")


def test_the_same_run_under_two_rules_stands_side_by_side(watched: Any, found: Any, tmp_path: Path) -> None:
    question, run, violates = found("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
    other = PROTOCOLS["kip320"].instantiate(question.instance.constants)
    got = under(other, question.instance, run)
    assert got.blocked is not None
    why = blocked_in_words(got.blocked)
    left = trace_data(Counterexample("t", question, run, violates))
    right = trace_data(Counterexample("t", Question(other, question.properties), got.run))
    target = tmp_path / "pair.html"
    target.write_text(render(pair_data(left, right, "the same run under kip320", why)), encoding="utf-8")
    page = watched.open(target)
    assert page.locator(".pane").count() == 2
    page.keyboard.press("End")
    here, there = page.locator(".pane").all()
    expect(here.locator(".now h2")).to_contain_text("truncates its log from offset 1 to 0")
    expect(there.locator(".hindered")).to_contain_text("Step 8 does not happen here: FencedBecomeFollowerAndTruncate")
    expect(there.locator(".hindered")).to_contain_text("“leader is in the request's epoch” does not hold")
    assert watched.findings() == []


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_the_state_comes_first_large_and_whole(watched: Any, lost: Path, late: Path, width: int) -> None:
    """Cells take the room that there is, none is cut off, and nothing sticks out of the page."""
    watched.page.set_viewport_size({"width": width, "height": 900})
    for page_file, least in ((lost, 130), (late, 120)):
        page = watched.open(page_file)
        boxes = [cell.bounding_box() for cell in page.locator("td.cell").all()]
        assert all(box["width"] >= (least if width > 1000 else 64) and box["height"] > 60 for box in boxes if box)
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes if box)
        first = page.locator("td.cell").first.bounding_box()
        assert first is not None
        assert first["y"] + first["height"] < 900
        assert first["y"] < page.locator(".steps").first.bounding_box()["y"] or width > 1000  # type: ignore[index]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        cut = page.locator(".badge, .record, .lost, .marker").evaluate_all(
            "items => items.filter((item) => item.scrollWidth > item.clientWidth + 1 && item.clientWidth > 0).length"
        )
        assert cut == 0


def test_three_marks_at_a_logs_end_cover_no_badge(watched: Any, tmp_path: Path) -> None:
    page = watched.open(view(load_spec(SPECS / "gallery" / "uncommitted-decision.toml#bug")).write(tmp_path / "torn.html"))
    for line in page.locator("tr:has(td.end .marker)").all():
        last, badge = line.locator(".marker").last.bounding_box(), line.locator(".badge").first.bounding_box()
        assert last["x"] + last["width"] <= badge["x"]
    assert page.locator("td.end .marker").count() == 6


MOVING = "document.getAnimations().filter((one) => one.playState === 'running').length"


def test_a_step_moves_where_motion_is_wanted_and_nowhere_else(watched: Any, lost: Path) -> None:
    for motion, moves in (("no-preference", True), ("reduce", False)):
        watched.page.emulate_media(reduced_motion=motion)
        page = watched.open(f"{lost.as_uri()}#step=7")
        page.reload()
        running = page.evaluate(f"() => {{ document.querySelector('[data-key=next-one]').click(); return {MOVING}; }}")
        assert (running > 0) is moves, motion
        watched.page.goto("about:blank")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(watched: Any, lost: Path, scheme: Any, width: int) -> None:
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page = watched.open(lost)
    page.keyboard.press("End")
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert watched.findings() == []


def test_a_phones_width_needs_no_scrolling_sideways(watched: Any, lost: Path) -> None:
    watched.page.set_viewport_size({"width": 360, "height": 740})
    page = watched.open(lost)
    page.keyboard.press("End")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_a_phone_every_lane_is_seen_and_who_is_wrong_stands_out(watched: Any, tmp_path: Path) -> None:
    spec, page_file = load_spec(SPECS / "claims" / "one-controller.toml"), tmp_path / "page.html"
    result = search(spec.question(), Bounds(workers=1))
    found = Counterexample.of(spec.title, result.question, result.violations[0])
    page_file.write_text(render(trace_data(found)), encoding="utf-8")
    watched.page.set_viewport_size({"width": 390, "height": 844})
    page = begun(watched, page_file)
    page.keyboard.press("ArrowRight")
    diagram = page.locator(".diagram")
    assert diagram.evaluate("element => element.scrollWidth <= element.clientWidth")
    boxes = [lane.bounding_box() for lane in page.locator(".diagram .lane text").all()]
    assert len(boxes) == 6
    for left, right in itertools.pairwise(boxes):
        assert left["x"] + left["width"] <= right["x"] + 1
    expect(page.locator(".fact.wrong")).to_have_text("takes itself for the controller, and is not, controller epoch 0")
    assert watched.findings() == []


def test_the_theme_can_be_switched(watched: Any, lost: Path) -> None:
    watched.page.emulate_media(color_scheme="light")
    page = watched.open(lost)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("[data-key=theme]").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_on_paper_every_step_has_its_grid_and_no_control(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    # Even for someone who reads in the dark, paper is white; and the colours of epochs are printed.
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(22, 25, 29)"
    assert page.evaluate("getComputedStyle(document.querySelector('.printed .lost')).printColorAdjust") == "exact"
    assert page.locator(".printed section").count() == 9
    assert page.locator(".printed section").last.is_visible()
    assert not page.locator(".controls").is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".printed section").count() == 0


NAME_OF_FOCUSED = """() => {
  const focused = document.activeElement;
  return focused.getAttribute('aria-label') || (focused.labels && focused.labels[0]?.innerText) || focused.innerText;
}"""


def test_everything_can_be_reached_with_the_tab_key_and_has_a_name(watched: Any, lost: Path) -> None:
    page = watched.open(lost)
    page.keyboard.press("End")
    names = []
    for _ in range(60):
        page.keyboard.press("Tab")
        names.append(page.evaluate(NAME_OF_FOCUSED))
    assert all(names[:40])
    assert {"First step (Home)", "Step", "Play", "Compare with", "broker 0"} <= set(names)
    assert any("LeaderAndIsr e1" in name for name in names)


HOSTILE = '</script><img src=x onerror="document.title=1"> \' " & <b>bold</b> \u202eevil\u202c שלום ' + "long" * 200


def test_hostile_texts_are_shown_and_not_obeyed(watched: Any, found: Any, tmp_path: Path) -> None:
    question, run, violates = found("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
    data = trace_data(Counterexample(HOSTILE, question, run, violates))
    texts = data["traces"][0]["packet"]["texts"]
    data["traces"][0]["packet"]["texts"] = [f"{HOSTILE} {text}" for text in texts]
    target = tmp_path / "hostile.html"
    target.write_text(render(data), encoding="utf-8")
    watched.page.set_viewport_size({"width": 600, "height": 740})
    page = watched.open(target)
    assert page.locator("img").count() == 0
    assert page.locator("b").count() == 0
    title = page.locator("h1").inner_text()
    assert '</script><img src=x onerror="document.title=1">' in title
    assert "\\u202e" in title
    assert "\u202e" not in title
    assert page.evaluate("document.documentElement.scrollWidth") <= 600


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    # A queue, sets of messages, and logs; the others have fields of the same kinds.
    ["bounded_queue", "paxos", "raft", *(pytest.param(name, marks=pytest.mark.long)
                                         for name in ("chain_replication", "lease", "two_phase_commit"))],
)  # fmt: skip
def test_the_state_of_anybody_s_protocol_is_seen_first_on_every_screen(watched: Any, name: str, tmp_path: Path) -> None:
    """What axe finds is nothing, nothing is wider than the screen, and the first card stands above what was promised."""
    made = view(f"{name}-bug")
    for width in (1440, 390):
        watched.page.set_viewport_size({"width": width, "height": 900})
        page = watched.open(made.write(tmp_path / "page.html"))
        assert watched.findings() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        card, promised = (page.locator(part).first.bounding_box() for part in (".part.grid", ".promise"))
        assert card is not None
        assert promised is not None
        assert card["y"] < 900
        assert card["y"] + card["height"] <= promised["y"]
