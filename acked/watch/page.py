"""What is known of clusters as one page for people, read-only, which loads itself anew."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.telling import SHORT
from acked.reports.pages.page import render_report
from acked.reports.units import plural
from acked.roll.decision.judge import Verdict
from acked.watch.answers import BrokerState, Cause, Risk, SettingsAnswer, StateAnswer
from acked.watch.clusters import Seen

MOST_ROWS = 100
"""Rows of one table, the worst first."""

_HEADS = {
    Risk.LOSES_AFTER_FAILURE: "one failure from loss",
    Risk.REFUSES: "refuse writes",
    Risk.REFUSES_AFTER_STOP: "one broker from refusing writes",
    Risk.LOSES_AFTER_STOP: "one broker and one failure from loss",
}
_MARKS = {AuditVerdict.NO: "no", AuditVerdict.UNDECIDED: "undecided", AuditVerdict.YES: "yes"}
_MAY = {
    Verdict.MAY: ("may go down", "good"), Verdict.UNDECIDED: ("undecided", "undecided"), Verdict.MAY_NOT: ("may not", "bad"),
}  # fmt: skip

Cell = tuple[str, str]
"""A text and the class of its colour."""


def watch_page(seen: Sequence[Seen], every: int, now: float) -> str:
    """The page at a moment, in seconds since 1970, that is loaded anew `every` so many seconds; 0 if it is not."""
    of = seen[0].name if len(seen) == 1 else plural(len(seen), "cluster")
    clusters = [_cluster(one, now) for one in seen]
    data = {"title": of, "now": _moment(now), "every": every, "clusters": clusters}
    return render_report("watch.html.j2", data)


def _cluster(one: Seen, now: float) -> dict[str, Any]:
    state = None if one.state is None else one.state.value
    settings = None if one.settings is None else one.settings.value
    tables = [*_of_state(state), *_of_settings(settings)]
    return {
        "name": one.name,
        "reason": one.reason,
        "strip": [(text, mark if one.is_up or mark == "bad" else "") for text, mark in _strip(one, state, settings, now)],
        "tables": [{"title": title, "heads": heads, "rows": rows[:MOST_ROWS], "more": max(len(rows) - MOST_ROWS, 0)}
                   for title, heads, rows in tables if rows],
        "text": [] if state is None else state.text.splitlines(),
        "is_good": state is not None and state.verdict is Verdict.MAY,
    }  # fmt: skip


def _strip(one: Seen, state: StateAnswer | None, settings: SettingsAnswer | None, now: float) -> Iterator[Cell]:
    yield ("read", "good") if one.is_up else ("not read", "bad")
    if state is not None:
        undecided = sum(topic.undecided for topic in state.topics)
        for risk in (Risk.LOSES_AFTER_FAILURE, Risk.REFUSES):
            count = sum(topic.count(risk, Cause.STATE) for topic in state.topics)
            always = sum(topic.count(risk, Cause.SETTINGS) for topic in state.topics)
            if any(topic.is_known(risk) for topic in state.topics):
                more, well = (f", {always:,} by settings alone", "undecided") if always else ("", "good")
                yield f"{plural(count, 'partition')} {_HEADS[risk]}{more}", "bad" if count else well
        if undecided:
            yield f"{plural(undecided, 'partition')} undecided", "undecided"
    if settings is not None:
        yield f"required of settings: {_REQUIRED[settings.verdict]}", _MARKS[settings.verdict]
    read = [kept.read_at for kept in (one.state, one.settings) if kept is not None]
    if read:
        yield f"as of {_moment(min(read))}, {now - min(read):.0f} s ago", ""
    if one.is_up and len(read) < 2:
        yield "being asked about", ""


_REQUIRED = {AuditVerdict.NO: "kept", AuditVerdict.UNDECIDED: "undecided", AuditVerdict.YES: "not kept"}

Rows = list[list[Cell]]


def _of_state(state: StateAnswer | None) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    if state is None:
        return
    yield "May a broker go down now?", ("broker", "answer"), [[(str(one.broker), ""), _answer(one)] for one in state.brokers]
    rows = [((*(topic.count(risk, Cause.STATE) for risk in _HEADS), sum(topic.count(risk, *Cause) for risk in Risk),
              topic.undecided), topic) for topic in state.topics]  # fmt: skip
    yield (
        "Partitions at risk, by topic",
        ("topic", "partitions", *_HEADS.values(), "by settings alone", "undecided"),
        [[(topic.topic, ""), (str(topic.partitions), ""),
          *(_count(topic.count(risk, Cause.STATE), "bad", topic.is_known(risk)) for risk in _HEADS),
          _count(max(topic.count(risk, Cause.SETTINGS) for risk in Risk), "undecided", bool(topic.at_risk)),
          _count(topic.undecided, "undecided")]
         for weight, topic in sorted(rows, key=lambda row: row[0], reverse=True) if any(weight)],
    )  # fmt: skip


def _answer(one: BrokerState) -> Cell:
    return ("is down", "bad") if one.verdict is None else _MAY[one.verdict]


def _count(number: int, mark: str, is_known: bool = True) -> Cell:
    if not is_known:
        return "?", "undecided"
    return str(number), mark if number else "soft"


def _of_settings(settings: SettingsAnswer | None) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    if settings is None:
        return
    yield "What is required of settings", ("it is", "what"), [
        [("remarked", "soft") if verdict is AuditVerdict.NO else (_REQUIRED[verdict], _MARKS[verdict]), (text, "")]
        for verdict, text in settings.lines
    ]
    rows = [
        (topic, SHORT[asked], faults.heading, reply)
        for topic, answers in settings.answers.items()
        for (asked, faults), reply in answers.items()
        if reply is not AuditVerdict.NO
    ]
    rows.sort(key=lambda row: (row[3] is not AuditVerdict.YES, row[0]))
    yield "What settings do not prevent", ("topic", "what can happen", "if", "answer"), [
        [(topic, ""), (asked, ""), (faults, ""), (reply.value, _MARKS[reply])] for topic, asked, faults, reply in rows
    ]


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(at))
