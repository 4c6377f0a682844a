"""The level profile, the action profile and the growth of a search: in the terminal, and as a picture."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING

from acked.checker.dataset.profile import Profile
from acked.reports import units
from acked.reports.console import clean, glyphs_of, put, put_paragraph, put_table

if TYPE_CHECKING:
    from rich.console import Console

_BAR = 32


def print_profile(console: Console, profile: Profile) -> None:
    """States by level with bars, their growth from level to level, and how often every action fired."""
    put_paragraph(console, profile.title, "bold underline")
    put(console, [])
    most = max((level.states for level in profile.levels), default=1)
    block = "█" if glyphs_of(console).good == "✓" else "#"
    rows, known, before = [], 0, 0
    for level in profile.levels:
        known += level.states
        growth = f"×{level.states / before:.2f}" if before else ""
        before = level.states
        bar = block * max(round(level.states / most * _BAR), 1)
        generated = "" if level.generated is None else units.count(level.generated)
        texts = (str(level.number), units.count(level.states), units.count(known), generated, growth)
        rows.append([*((text, "") for text in texts), (bar, "cyan")])
    heads = [("level", True), ("states", True), ("so far", True), ("generated", True), ("growth", True), ("", False)]
    put_table(console, heads, rows)
    put(console, [])
    table = [
        [(clean(name, console), ""), (units.count(enabled), ""), (units.count(new), ""), (_share(new, enabled), "")]
        for name, enabled, new in profile.actions
    ]
    put_table(console, [("action", False), ("enabled", True), ("new", True), ("share", True)], table)


def _share(new: int, enabled: int) -> str:
    return f"{new / enabled:.0%}" if enabled else ""


def draw_profile(profile: Profile, form: str) -> bytes:
    """The same as a picture; `form` is png or svg."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    grid = figure.subplots(2, 2)
    figure.suptitle(profile.title)
    numbers = [level.number for level in profile.levels]
    states = [level.states for level in profile.levels]
    grid[0][0].bar(numbers, states, color="#4477aa")
    grid[0][0].set(title="states by level", xlabel="level", ylabel="states")
    so_far = [sum(states[: k + 1]) for k in range(len(states))]
    grid[0][1].plot(numbers, so_far, marker=".", color="#4477aa")
    grid[0][1].set(title="states so far", xlabel="level", yscale="log")
    growth = [b / a for a, b in itertools.pairwise(states)]
    grid[1][0].plot(numbers[1:], growth, marker=".", color="#ee6677")
    grid[1][0].axhline(1, color="#bbbbbb", linewidth=1)
    grid[1][0].set(title="growth from level to level", xlabel="level", ylabel="times")
    names = [name for name, _, _ in profile.actions][::-1]
    places = range(len(names))
    grid[1][1].barh(places, [enabled for _, enabled, _ in profile.actions][::-1], color="#cccccc", label="enabled")
    grid[1][1].barh(places, [new for _, _, new in profile.actions][::-1], height=0.5, color="#228833", label="new")
    grid[1][1].set_yticks(list(places), names, fontsize=7)
    grid[1][1].set(title="firings by action")
    grid[1][1].legend(fontsize=8)
    out = io.BytesIO()
    figure.savefig(out, format=form, dpi=120, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
