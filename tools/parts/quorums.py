"""The table of in-sync replicas beside majorities: what n failures cost in copies, as Markdown made from claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.parts.spec_pages import AnsweredSpec, markdown_table


@dataclass(frozen=True)
class _Row:
    """A rule at a number of replicas under a kind of failure; the specs that say whether it loses and whether it stops."""

    rule: str
    failure: str
    survives: str
    writes: str


_PROCESS, _TWO, _LOG = "one is down", "two are down", "one log is lost"

_ROWS = (
    _Row("ISR, 2 replicas, `min.insync.replicas=1`", _PROCESS, "quorum-isr-2-keeps", "quorum-isr-2-keeps"),
    _Row("majority, 2 replicas", _PROCESS, "quorum-majority-2-keeps", "quorum-majority-2-stops"),
    _Row("majority, 3 replicas", _PROCESS, "quorum-majority-3-keeps", "quorum-majority-3-keeps"),
    _Row("majority, 4 replicas", _TWO, "", "quorum-majority-4-stops"),
    _Row("majority, 5 replicas", _TWO, "quorum-majority-5-keeps", "quorum-majority-5-keeps"),
    _Row("ISR, 2 replicas, `min.insync.replicas=2`", _LOG, "two-replicas-one-failure", "quorum-isr-2-writes-at-min-2"),
    _Row("ISR, 3 replicas, `min.insync.replicas=2`", _LOG, "quorum-isr-3-one-loss", "quorum-isr-3-one-loss"),
    _Row("majority, 3 replicas, one that lost its log still votes", _LOG, "quorum-majority-3-lost-log", ""),
    _Row(
        "majority, 3 replicas, one that lost its log is barred from voting", _LOG, "quorum-majority-3-lost-log-barred",
        "quorum-majority-3-lost-log-barred",
    ),
)  # fmt: skip


def quorums_markdown(answers: Iterable[AnsweredSpec]) -> list[str]:
    """The table and what the sentence does not say, line by line."""
    by_name = {told.spec.name: told for told in answers}
    return [
        *markdown_table(
            ("rule", "failure", "an acknowledged record survives", "writes go on while so many are down"),
            ((row.rule, row.failure, _cell(by_name, row.survives), _cell(by_name, row.writes)) for row in _ROWS),
        ),
        "",
        "The sentence is true, and there are three things that it does not say.",
        "",
        f"- {_note(by_name['quorum-isr-2-elects'])}",
        f"- {_note(by_name['quorum-isr-2-writes-at-min-2'])}",
        f"- {_note(by_name['quorum-majority-3-lost-log'])}",
    ]


def _cell(by_name: Mapping[str, AnsweredSpec], name: str) -> str:
    if not name:
        return ""
    told = by_name[name]
    if told.holds:
        return f"✓ all {told.states} states (`{name}`)"
    return f"✗ [a trace of {told.length}](claims.md#{name})"


def _note(told: AnsweredSpec) -> str:
    assert told.spec.claim is not None
    run = f"[a trace of {told.length}](claims.md#{told.spec.name})"
    return f"“{told.spec.title}.” False: {run}. {' '.join(told.spec.claim.corrected.split())}"
