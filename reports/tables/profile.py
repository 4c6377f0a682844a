"""The level profile, the action profile and the growth of a search: in the terminal, and as a picture."""

from __future__ import annotations

import itertools

from acked.checker.dataset.profile import Profile
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.table import Table, TableCell, numbers, print_table, table
from acked.reports.tables.charts import Bars, ColumnChart, Line, Series, draw

_BAR = 32


def print_profile(console: Console, profile: Profile) -> None:
    """States by level with bars, their growth from level to level, and how often every action fired."""
    put_paragraph(console, profile.title, "bold underline")
    put(console, [])
    print_table(console, levels_table(profile, "█" if glyphs_of(console).good == "✓" else "#"))
    put(console, [])
    rows = [
        (name, units.count(enabled), units.count(new), _share(new, enabled)) for name, enabled, new in profile.actions
    ]
    print_table(console, table(("action", numbers("enabled"), numbers("new"), numbers("share")), rows))


def levels_table(profile: Profile, block: str) -> Table:
    """A row per level: its states, all so far, growth, and a bar of such blocks."""
    most = max((level.states for level in profile.levels), default=1)
    rows, known, before = [], 0, 0
    for level in profile.levels:
        known += level.states
        growth = f"×{level.states / before:.2f}" if before else ""
        before = level.states
        bar = TableCell(block * max(round(level.states / most * _BAR), 1), "cyan")
        generated = "" if level.generated is None else units.count(level.generated)
        rows.append((str(level.number), units.count(level.states), units.count(known), generated, growth, bar))
    return table((*map(numbers, ("level", "states", "so far", "generated", "growth")), ""), rows)


def _share(new: int, enabled: int) -> str:
    return f"{new / enabled:.0%}" if enabled else ""


def draw_profile(profile: Profile) -> str:
    """The profile as a picture, in SVG."""
    numbers = [level.number for level in profile.levels]
    states = [level.states for level in profile.levels]
    so_far = Series(list(itertools.accumulate(states)), "#4477aa")
    growth = [b / a for a, b in itertools.pairwise(states)]
    return draw(
        profile.title,
        [
            ColumnChart("states by level", "level", numbers, Series(states, "#4477aa")),
            Line("states so far", "level", numbers, so_far, is_logarithmic=True),
            Line("growth from level to level (×)", "level", numbers[1:], Series(growth, "#ee6677"), mark=1),
            Bars(
                "firings by action",
                [name for name, _, _ in profile.actions],
                [
                    Series([enabled for _, enabled, _ in profile.actions], "#cccccc", "enabled"),
                    Series([new for _, _, new in profile.actions], "#228833", "new"),
                ],
            ),
        ],
    )
