"""The page of a reproduction in a real browser: the model and real brokers side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from acked.cluster.reports.reproductions.page import reproduction_page
from acked.cluster.reports.reproductions.words import Answer
from tests.cluster.reports.made import answer
from tests.cluster.transacting.test_transacting import CHANGED, bug, question
from tests.cluster.transacting.test_transacting import played as transacted

pytestmark = pytest.mark.browser


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A run that was reproduced, whose control goes another way at its first step."""
    page = tmp_path / "played.html"
    page.write_text(reproduction_page(answer(control=0)), "utf-8")
    return page


def test_the_step_where_the_control_goes_another_way_is_seen_at_once_and_every_step_has_both_states(
    watched: Any, played: Path
) -> None:
    page = watched.open(played)
    expect(page.locator(".ended.bad")).to_contain_text("reproduced on Kafka 3.9.1 with KRaft")
    expect(page.locator(".ended.good")).to_contain_text("goes another way at step 1")
    rows = page.locator(".strip-of-steps tbody tr")
    assert [cell.strip() for cell in rows.nth(0).locator("td").all_inner_texts()] == ["✓", "✓", "·", "✓", "✓"]
    assert [cell.strip() for cell in rows.nth(1).locator("td").all_inner_texts()] == ["✓", "✗", "→", "→", "→"]
    page.get_by_role("button", name="control: Kafka 3.9.1 with KRaft, acks=all, step 1: goes another way").click()
    assert page.evaluate("location.hash") == "#step=1"
    expect(page.locator(".beside .pane")).to_have_count(3)
    expect(page.locator(".pane.seen tr[data-actor='broker 0']").first).to_contain_text("r0·e0")
    control = page.locator(".pane.seen").nth(1)
    expect(control.locator("ul.differs")).to_contain_text("the producer of r0 has no answer")
    expect(control.locator("tr.differs")).to_contain_text("broker 0")
    # What a broker writes into its log is shown as text.
    expect(control.locator(".log-lines")).to_contain_text("</script><img src=x onerror=alert(1)>")
    page.keyboard.press("j")
    assert page.evaluate("location.hash") == "#step=2"
    expect(page.locator(".pane.seen").first.locator(".agreement")).to_contain_text("at once with the next")


@pytest.mark.parametrize("scheme", ["dark"])
def test_the_page_is_accessible_on_a_phone_too(watched: Any, played: Path, scheme: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page = watched.open(f"{played.as_uri()}#step=1")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert watched.findings() == []


def test_a_run_of_transactions_has_the_same_page(watched: Any, tmp_path: Path) -> None:
    page = tmp_path / "transactions.html"
    kept = transacted(bug().control(CHANGED), False, True)
    made = Answer("t", question().properties[0], transacted(bug(), True, False), CHANGED, kept)
    page.write_text(reproduction_page(made), "utf-8")
    shown = watched.open(page)
    expect(shown.locator(".ended.bad")).to_contain_text("NoHangingTransaction")
    shown.get_by_role("button", name="control: Kafka 3.6.2 with KRaft, step 7: goes another way").click()
    expect(shown.locator(".pane.seen tr[data-actor='partition 0']").first).to_contain_text("r0")
    expect(shown.locator(".pane.seen").nth(1).locator("tr.differs")).to_contain_text("partition 0")
    assert watched.findings() == []
