"""The picture of a search: every number of the profile is in it, at a size that is true to it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from acked.checker.dataset.profile import Level, Profile
from acked.reports.tables.charts import _powers, _round_numbers
from acked.reports.tables.profile import draw_profile

SVG = "{http://www.w3.org/2000/svg}"
LEVELS = (Level(1, 1, 3), Level(2, 3, 9), Level(3, 12, 40), Level(4, 6, 12), Level(5, 2, None))
ACTIONS = (("LeaderWrite", 40, 20), ("BecomeFollower", 10, 3), ("Never", 0, 0))


def drawn(profile: Profile) -> ET.Element:
    return ET.fromstring(draw_profile(profile))


def told(panel: ET.Element, shape: str) -> list[tuple[str, ET.Element]]:
    """The shapes of a panel that have a tooltip, with it."""
    return [(title.text or "", item) for item in panel.iter(SVG + shape) if (title := item.find(SVG + "title")) is not None]


def panels(root: ET.Element) -> list[ET.Element]:
    return list(root.iter(SVG + "g"))


def test_columns_are_as_high_as_their_levels_have_states() -> None:
    columns = told(panels(drawn(Profile("kip320", LEVELS, ACTIONS)))[0], "rect")
    assert [text for text, _ in columns] == [f"level {level.number}: {level.states}" for level in LEVELS]
    unit = float(columns[0][1].attrib["height"])
    for level, (_, column) in zip(LEVELS, columns, strict=True):
        assert float(column.attrib["height"]) == pytest.approx(unit * level.states, abs=0.1 * level.states)


def test_the_lines_have_the_sums_and_the_growth() -> None:
    _, sums, growth, _ = panels(drawn(Profile("kip320", LEVELS, ACTIONS)))
    assert [text for text, _ in told(sums, "circle")] == [f"level {k}: {n}" for k, n in enumerate([1, 4, 16, 22, 24], 1)]
    assert [text for text, _ in told(growth, "circle")] == ["level 2: 3", "level 3: 4", "level 4: 0.5", "level 5: 0.333"]
    heights = [float(point.attrib["cy"]) for _, point in told(sums, "circle")]
    assert heights == sorted(heights, reverse=True)  # y grows downwards


def test_every_action_has_a_bar_for_what_was_enabled_and_one_for_what_was_new() -> None:
    bars = told(panels(drawn(Profile("kip320", LEVELS, ACTIONS)))[3], "rect")
    expected = [(f"{name}: {enabled} enabled", f"{name}: {new} new") for name, enabled, new in ACTIONS]
    assert [text for text, _ in bars] == [text for pair in expected for text in pair]
    widths = [float(bar.attrib["width"]) for _, bar in bars]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.1)
    assert widths[4:] == [0, 0]


@pytest.mark.parametrize("profile", [
    Profile("nothing", (), ()),
    Profile("one state", (Level(1, 1, 0),), ACTIONS),
    Profile("many levels", tuple(Level(k, 10**k, 10**k) for k in range(1, 12)), tuple((f"A{k}", k, k) for k in range(60))),
])  # fmt: skip
def test_everything_lies_within_the_picture(profile: Profile) -> None:
    root = drawn(profile)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for panel in panels(root):
        left, top = map(float, re.findall(r"[\d.]+", panel.attrib["transform"]))
        for item in panel.iter():
            points = [pair.split(",") for pair in item.attrib.get("points", "").split()]
            if "x" in item.attrib:
                points += [[item.attrib["x"], item.attrib["y"]]]
                if "width" in item.attrib:
                    right = float(item.attrib["x"]) + float(item.attrib["width"])
                    points += [[str(right), str(float(item.attrib["y"]) + float(item.attrib["height"]))]]
            for x, y in points:
                assert 0 <= left + float(x) <= width
                assert 0 <= top + float(y) <= height


def test_hostile_text_stays_text_and_nothing_is_loaded() -> None:
    text = draw_profile(Profile('<script>alert("x")</script>\x1b[1m', LEVELS, (("<img src=x>", 1, 1),)))
    assert "<script" not in text
    assert "<img" not in text
    assert "\x1b" not in text
    assert not re.search(r"href|url\(|@import", text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize("most", [0.5, 1, 3, 7, 10, 99, 1_000, 12_345_678])
def test_the_numbers_of_an_axis_are_few_round_and_reach_far_enough(most: float) -> None:
    ticks = _round_numbers([0.1, most])
    assert ticks[0] == 0
    assert ticks[-2] < most <= ticks[-1] * (1 + 1e-9)
    assert 2 <= len(ticks) <= 6
    powers = _powers([most])
    assert powers[0] <= most <= powers[-1]
    assert len(powers) >= 2
