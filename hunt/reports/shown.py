"""A hunt in the terminal, as a page and as JSON."""

from __future__ import annotations

from typing import Any

from acked.base.plain import to_plain
from acked.hunt.reports.rows import Hunted, HuntRow, State
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.pages.page import render_report
from acked.reports.table import Mark, Table, TableCell, numbers, print_table, table

FORMAT = "acked-hunt/1"

_MARKS = {State.NEW: (Mark.BAD, "bold red"), State.OPEN: (Mark.OPEN, "yellow"), State.COST: (Mark.NONE, "dim")}


def hunt_table(rows: tuple[HuntRow, ...]) -> Table:
    """Promise, faults, length, known as, played."""
    return table(
        ("known as", "promise", "what goes wrong", numbers("steps"), "played"),
        [
            (TableCell(row.known_as or "NEW", _MARKS[row.state][1], _MARKS[row.state][0]), promises_in_words(row),
             faults_in_words(row), f"{row.length}{'' if row.is_shortest else ' or fewer'}", played_in_short(row))
            for row in rows
        ],
    )  # fmt: skip


def played_in_short(row: HuntRow) -> str:
    """`lost 3 of 3`, `reproduced` before, or no."""
    first = row.played.partition(";")[0].partition(" on ")[0].partition(":")[0]
    return "no" if first == "not played" else first


def promises_in_words(row: HuntRow) -> str:
    """The first promise, and how many more."""
    more = len(row.promises) - 1
    return row.promises[0] + (f" and {more} more" if more else "")


def faults_in_words(row: HuntRow) -> str:
    """The constants that allow what goes wrong."""
    return ", ".join(row.faults) or "nothing"


def settings_in_words(row: HuntRow) -> str:
    """`acks=all, min_insync_replicas=2`."""
    return ", ".join(f"{name}={str(value).lower()}" for name, value in row.settings.items())


def print_hunt(console: Console, hunted: Hunted) -> None:
    """The traces of what is new, the table, and how far the hunt got."""
    glyphs = glyphs_of(console)
    for row in (row for row in hunted.rows if row.state is State.NEW):
        text = f"{row.promises[0]} is broken in {units.plural(row.length, 'step')}, and nothing known explains it"
        put_paragraph(console, text, "bold red", f"{glyphs.bad} ", "  ")
        put_paragraph(console, settings_in_words(row), "dim", "  ", "  ")
        for number, sentence in enumerate(row.story[:-1], 1):
            put_paragraph(console, sentence, "", f"  {number:>3}  ", "       ")
        put_paragraph(console, row.story[-1], "bold", "       ", "       ")
        put_paragraph(console, f"on real brokers: {row.played}", "", "       ", "       ")
        put(console, [])
    print_table(console, hunt_table(hunted.rows), is_narrow=True)
    put(console, [])
    for name, title, played in dict.fromkeys((row.known_as, row.title, row.played) for row in hunted.rows if row.known_as):
        put_paragraph(console, f"{name}: {title}" + ("" if played == "not played" else f" ({played})"), "dim", "  ", "    ")
    put(console, [])
    put_paragraph(console, progress_in_words(hunted), "dim")
    is_new = hunted.count(State.NEW) > 0
    sign, style = (glyphs.bad, "bold red") if is_new else (glyphs.open, "bold")
    put_paragraph(console, summary(hunted), style, f"{sign} ", "  ")


def progress_in_words(hunted: Hunted) -> str:
    """What was covered."""
    tally = hunted.tally
    refused = sum(tally.refused.values())
    parts = [
        f"{units.count(tally.asked)} of {units.count(tally.planned)} questions asked",
        f"{units.count(tally.kept)} of them answered before",
        f"{units.count(tally.decided)} decided in every reachable state",
        f"{units.count(tally.states)} states searched",
        f"{units.plural(tally.walks, 'random walk')} of {units.plural(tally.steps, 'step')}",
        f"{units.duration(tally.seconds)} of processes, seed {hunted.seed}",
    ]
    if refused:
        parts.append(f"{units.plural(refused, 'question')} refused or lost, the first because {next(iter(tally.refused))}")
    return "; ".join(parts) + (f"; {hunted.reason}" if hunted.reason else "")


def summary(hunted: Hunted) -> str:
    """The last line: what is new, and how many known losses are open."""
    new, known, costs = map(hunted.count, State)
    found = f"{new} new" if new else "nothing new"
    are_open = "1 known loss is open" if known == 1 else f"{known} known losses are open"
    documented = f"{costs} are what settings and faults are documented to cost"
    return f"Kafka {hunted.release}: {found}; {are_open} in it, and {documented}"


def hunt_document(hunted: Hunted) -> dict[str, Any]:
    """As JSON."""
    return {
        "format": FORMAT,
        "kafka": hunted.release,
        "control_plane": hunted.plane,
        "seed": hunted.seed,
        "new": hunted.count(State.NEW),
        "open": hunted.count(State.OPEN),
        "ended": hunted.reason or None,
        "tally": to_plain(hunted.tally),
        "losses": [_loss(row) for row in hunted.rows],
    }


def _loss(row: HuntRow) -> dict[str, Any]:
    return {
        "state": row.state.value,
        "known_as": row.known_as or None,
        "title": row.title or None,
        "protocol": row.protocol,
        "promises": list(row.promises),
        "faults": list(row.faults),
        "settings": dict(row.settings),
        "steps": row.length,
        "is_shortest": row.is_shortest,
        "questions": row.questions,
        "played": row.played,
        "story": list(row.story),
        "constants": dict(row.sighting.loss.constants),
        "trace": [[name, dict(arguments)] for name, arguments in row.sighting.loss.run.fired],
    }


def hunt_page(hunted: Hunted) -> str:
    """A page that needs no script and no network."""
    rows = [
        {
            "row": row, "state": "breaks" if row.state is State.NEW else "undecided" if row.state is State.OPEN else "soft",
            "promises": promises_in_words(row), "faults": faults_in_words(row), "settings": settings_in_words(row),
        }
        for row in hunted.rows
    ]  # fmt: skip
    data = {"hunted": hunted, "rows": rows, "summary": summary(hunted), "progress": progress_in_words(hunted)}
    return render_report("hunt.html.j2", data)
