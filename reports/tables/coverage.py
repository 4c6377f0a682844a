"""Which actions fired and which guard clauses mattered, as a table, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acked.checker.question.coverage import ClauseCoverage
from acked.checker.question.result import ActionCount
from acked.reports import units
from acked.reports.console import Console, harmless, put, put_paragraph
from acked.reports.pages.page import render_report
from acked.reports.table import Mark, Table, TableCell, print_table, table

COVERAGE_FORMAT = "acked-coverage/1"
"""What the document says in `format`."""


def print_coverage(
    console: Console, protocol: str, actions: Mapping[str, ActionCount], clauses: Sequence[ClauseCoverage]
) -> None:
    """Of one protocol: its actions, each with its clauses."""
    put_paragraph(console, protocol, "bold underline")
    print_table(console, coverage_table(actions, clauses))
    put_paragraph(console, _summary(clauses), "", "  ", "  ")
    put(console, [])


def coverage_table(actions: Mapping[str, ActionCount], clauses: Sequence[ClauseCoverage]) -> Table:
    """A row per action with how often it fired, and below it a row per clause with whether it mattered."""
    rows = []
    for name, count in actions.items():
        style = "bold yellow" if count.enabled == 0 else "bold"
        fired = f"fired {units.count(count.enabled)} times" if count.enabled else "never fired"
        rows.append((TableCell(name, style), TableCell(fired, style, Mark.NONE if count.enabled else Mark.BAD)))
        for item in (item for item in clauses if item.action == name):
            words, look = _words(item)
            rows.append((TableCell(f"    {item.label}", look), TableCell(words, look)))
    return table(("action and clause", ""), rows)


def _summary(clauses: Sequence[ClauseCoverage]) -> str:
    idle = [item for item in clauses if not item.was_decisive and not item.is_fixed]
    return (
        f"{units.plural(len(clauses), 'clause')}: {sum(item.was_decisive for item in clauses)} decisive, "
        f"{sum(item.is_fixed for item in clauses)} decided by the parameters, {len(idle)} never decisive"
    )


def coverage_page(
    specs: Sequence[str],
    found: Mapping[str, tuple[Mapping[str, ActionCount], Sequence[ClauseCoverage]]],
) -> str:
    """The coverage as one HTML page, which needs no script and no network."""
    kinds = {"green": "keeps", "dim": "soft", "yellow": "undecided", "bold yellow": "undecided"}
    protocols = [
        {
            "name": name,
            "summary": _summary(clauses),
            "actions": [
                {
                    "name": harmless(action),
                    "fired": units.count(count.enabled) if count.enabled else "",
                    "clauses": [
                        {"label": harmless(item.label), "words": words, "kind": kinds[look]}
                        for item in clauses
                        if item.action == action
                        for words, look in [_words(item)]
                    ],
                }
                for action, count in actions.items()
            ],
        }
        for name, (actions, clauses) in found.items()
    ]
    return render_report("coverage.html.j2", {"specs": harmless(", ".join(specs)), "protocols": protocols})


def coverage_document(
    specs: Sequence[str],
    found: Mapping[str, tuple[Mapping[str, ActionCount], Sequence[ClauseCoverage]]],
) -> dict[str, object]:
    """The coverage as JSON, by protocol."""
    return {
        "format": COVERAGE_FORMAT,
        "specs": list(specs),
        "protocols": {
            name: {
                "actions": {action: {"enabled": count.enabled, "new": count.new} for action, count in actions.items()},
                "clauses": [
                    {
                        "clause": item.name,
                        "false": item.was_false,
                        "decisive": item.was_decisive,
                        "decided_by_parameters": item.is_fixed,
                    }
                    for item in clauses
                ],
            }
            for name, (actions, clauses) in found.items()
        },
    }


def _words(item: ClauseCoverage) -> tuple[str, str]:
    if item.is_fixed:
        return "decided by the parameters", "dim"
    if item.was_decisive:
        return "decisive", "green"
    if item.was_false:
        return "false, but never the only one", "yellow"
    return "never false", "bold yellow"
