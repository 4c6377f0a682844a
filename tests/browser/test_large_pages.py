"""Pages of large states, long runs and runs without end: readable, quick, small."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from acked.api import check
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.pages.page import render, trace_data
from acked.reports.shell.specs import find_spec
from tests.e2e.driver import acked

pytestmark = pytest.mark.browser


def step_of(page: Page) -> int:
    """The step that the page shows, by its heading."""
    match = re.match(r"Step (\d+) of", page.locator(".now .label").first.inner_text())
    assert match is not None
    return int(match[1])


def test_a_state_of_five_brokers_and_twelve_offsets_is_readable(watched: Any, tmp_path: Path) -> None:
    constants = {"replicas": 5, "log_size": 12, "max_records": 12, "max_leader_epoch": 5}
    question, run = random_run("kip320", constants, steps=60, seed=5)
    target = tmp_path / "wide.html"
    target.write_text(render(trace_data(Counterexample("wide", question, run))), encoding="utf-8")
    page = watched.open(target)
    page.keyboard.press("End")
    cells = page.locator("td.cell").all()
    assert len(cells) >= 5 * 6
    clipped = page.evaluate(
        "[...document.querySelectorAll('td.cell')].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length"
    )
    assert clipped == 0
    overlapping = page.evaluate(
        """() => [...document.querySelectorAll('td.cell')].filter((cell) => {
            const record = cell.querySelector('.record'); if (!record) return false;
            const at = record.getBoundingClientRect();
            return [...cell.querySelectorAll('.marker')].some((marker) => {
                const box = marker.getBoundingClientRect();
                return box.bottom > at.top + 2 && box.right > at.left && box.left < at.right && box.top < at.bottom;
            });
        }).length"""
    )
    assert overlapping == 0
    assert watched.findings() == []


@pytest.mark.parametrize("width", [1440, 1280, 1024])
def test_long_facts_beside_a_log_are_not_cut_off(watched: Any, tmp_path: Path, width: int) -> None:
    spec = find_spec("controllers-remove-active-of-two")
    result = check(spec.question())
    target = tmp_path / "facts.html"
    found = Counterexample.of(spec.title, result.question, result.violations[0])
    target.write_text(render(trace_data(found)), encoding="utf-8")
    page = watched.open(target)
    page.set_viewport_size({"width": width, "height": 900})
    assert page.locator(".badge", has_text="fetched server 0: 0, server 1: 0").count() >= 2
    grids = page.locator(".scroll:has(table.grid)")
    hidden = grids.evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)")
    assert max(hidden) <= 1
    assert watched.findings() == []


def random_run(protocol: str, constants: dict[str, int], steps: int, seed: int) -> tuple[Question, Run]:
    """A random run; it prefers actions that keep it from ending early."""
    chosen = PROTOCOLS[protocol]
    promises = tuple(properties_of(chosen)[name] for name in ("WeakIsr", "StrongIsr"))
    question = Question(chosen.instantiate(constants), promises)
    instance, rng = question.instance, random.Random(seed)
    states, actions = [instance.initial[0]], []
    for _ in range(steps):
        codes = instance.schema.unpack(states[-1])
        enabled = instance.enabled_actions(codes)
        if not enabled:
            break
        calm = [step for step in enabled if not step.action.name.startswith("Controller")]
        step = rng.choice(calm if calm and rng.random() < 0.93 else enabled)
        actions.append(step)
        states.append(instance.schema.pack(instance.fire(step, codes)))
    return question, Run(tuple(states), tuple(actions))


def test_a_run_of_seven_hundred_steps_keeps_up_with_the_keyboard(watched: Any, found: Any, tmp_path: Path) -> None:
    """The time of a step is measured in docs/; here only that all steps are there and the lanes have no thousand stops."""
    question, run, violates = found("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
    data = trace_data(Counterexample("long", question, run, violates))
    packet = data["traces"][0]["packet"]
    for number in range(9, 701):
        packet["steps"].append({**packet["steps"][number - 1], "fields": []})
        packet["lanes"]["acting"].append(1)
        message = {**packet["lanes"]["messages"][-1], "key": str(number), "sent": number - 1, "received": number}
        packet["lanes"]["messages"].append(message)
    target = tmp_path / "long.html"
    target.write_text(render(data), encoding="utf-8")
    page = watched.open(target)
    page.keyboard.press("End")
    assert step_of(page) == 700
    for _ in range(20):
        page.keyboard.press("k")
    assert step_of(page) == 680
    assert page.locator(".arrow[tabindex='0']").count() == 2
    assert page.locator(".steps [aria-current=step]").is_visible()


def test_a_page_of_fifty_steps_is_smaller_than_a_megabyte_and_names_nothing_outside(tmp_path: Path) -> None:
    constants = {"replicas": 3, "log_size": 6, "max_records": 8, "max_leader_epoch": 8}
    question, run = random_run("kip320", constants, steps=50, seed=1)
    text = render(trace_data(Counterexample("fifty", question, run)))
    assert len(text.encode()) < 1_000_000
    outside = re.findall(r"(?:src|href)\s*=\s*[\"'](?!data:)[^\"']+", text.split('<script type="application/json"')[0])
    assert outside == []
    assert "@import" not in text
    assert "url(" not in text.split("<script")[0]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    assert json.loads(text.split('id="data">')[1].split("</script>")[0])["title"] == "fifty"


def test_a_run_without_end_says_where_its_loop_begins_and_where_it_goes_back_to(watched: Any, tmp_path: Path) -> None:
    target = tmp_path / "endless.html"
    acked("view", "leader-in-office-weak", "--out", str(target), "--quiet")
    page = watched.open(target)
    expect(page.locator(".happened")).to_contain_text("Steps 4 to 6 can repeat forever")
    expect(page.locator(".steps .remark")).to_have_count(2)
    expect(page.locator(".now .remark")).to_contain_text("Back to step 3: the state is the one after that step")
    page.keyboard.press("Home")
    expect(page.locator(".now .remark")).to_have_count(0)
    assert watched.findings() == []
