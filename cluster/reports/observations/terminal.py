"""A validation in the terminal: the verdict, the line that no behaviour explains, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence

from acked.base.errors import AckedError
from acked.cluster.observation.events import Event
from acked.cluster.observation.validation import Verdict
from acked.cluster.reports.observations.words import LIMITS, LIMITS_OF_LINES, heading, promise_counts, shorten, where, who
from acked.cluster.validating.judge import Asked, Judged
from acked.reports.console import Console, clean, glyphs_of, put_paragraph
from acked.reports.units import count, plural

_INDENT = "  "
_MOST_OPEN = 6
"""Other open lines that are shown."""
_LATELY = 8
"""Steps before the line that are shown."""
_LONGEST = 400
"""Characters of a line that are shown."""


def print_judged(console: Console, judged: Judged) -> None:
    """What lines, disks and producers say together."""
    glyphs, compared, presence = glyphs_of(console), judged.compared, judged.presence
    _print_verdict(console, judged)
    found: list[tuple[tuple[str, ...], str]] = []
    if compared is not None:
        batches, brokers = count(compared.batches), ", ".join(map(str, compared.brokers)) or "none"
        found.append((compared.differences, f"disks of brokers {brokers} agree with the lines and in {batches} batches"))
    if presence is not None:
        values = f", {count(presence.values)} values compared on disks" if presence.values else ""
        looked = ", ".join(map(str, presence.brokers))
        told = f"each of {count(presence.records)} acknowledged records is at brokers {looked}, which are in sync{values}"
        if presence.brokers:
            found.append((presence.missing, told))
    for wrong, good in found:
        for text in wrong:
            put_paragraph(console, f"{glyphs.bad} {clean(text, console)}", "bold red", first=_INDENT, rest=_INDENT * 2)
        if not wrong:
            put_paragraph(console, f"{glyphs.good} {good}", "bold green", first=_INDENT, rest=_INDENT * 2)
    for text in (*(compared.unread if compared is not None else ()), *(presence.unread if presence is not None else ())):
        put_paragraph(console, clean(text, console), "dim", first=_INDENT, rest=_INDENT * 2)
    if found:
        console.print()
    limits = LIMITS if presence is None else LIMITS_OF_LINES
    put_paragraph(console, limits, "dim", first=_INDENT, rest=_INDENT)


def print_all(console: Console, found: Sequence[tuple[Asked, Judged | AckedError]]) -> None:
    """A line of each of several partitions, and all of those that are not valid."""
    glyphs = glyphs_of(console)
    for asked, one in found:
        name = f"{asked.topic}-{asked.partition}"
        if isinstance(one, AckedError):
            put_paragraph(console, f"{glyphs.bad} {name}: {clean(str(one), console)}", "bold red", rest=_INDENT)
        elif one.is_valid:
            sign, style = (glyphs.open, "bold yellow") if one.unknown else (glyphs.good, "bold green")
            put_paragraph(console, f"{sign} {name}: {heading(one)}", style, rest=_INDENT)
        else:
            print_judged(console, one)
    valid = sum(not isinstance(one, AckedError) and one.is_valid for _, one in found)
    events = sum(one.verdict.explained for _, one in found if not isinstance(one, AckedError))
    told = f"{valid} of {plural(len(found), 'partition')} valid, {plural(events, 'event')} explained"
    put_paragraph(console, told, "bold", rest=_INDENT)


def _print_verdict(console: Console, judged: Judged) -> None:
    glyphs, verdict = glyphs_of(console), judged.verdict
    sign, style = (glyphs.good, "bold green") if judged.is_valid else (glyphs.bad, "bold red")
    if judged.is_valid and judged.unknown:
        sign, style = glyphs.open, "bold yellow"
    put_paragraph(console, f"{sign} {heading(judged)}", style, rest=_INDENT)
    put_paragraph(console, judged.about, "dim", first=_INDENT, rest=_INDENT)
    console.print()
    for one in judged.unknown:
        text = f"Not understood, {plural(one.lines, 'line')}: {one.file}:{one.line} {one.why}: "
        put_paragraph(console, text + clean(shorten(one.text, _LONGEST), console), first=_INDENT, rest=_INDENT * 2)
    if judged.unknown:
        console.print()
    if verdict.stuck is not None:
        _print_stuck(console, verdict)
    if verdict.broken is not None:
        put_paragraph(console, f"{verdict.broken.promise}: {verdict.broken.meaning}", first=_INDENT, rest=_INDENT)
        put_paragraph(console, "It does not hold after", first=_INDENT, rest=_INDENT)
        for event in verdict.broken.events:
            _print_line(console, event)
        console.print()
    _print_seen(console, verdict)


def _print_stuck(console: Console, verdict: Verdict) -> None:
    assert verdict.stuck is not None
    opened = list(verdict.stuck.open)
    for number, (event, reasons) in enumerate(opened[: 1 + _MOST_OPEN]):
        if number == 1:
            console.print()
            put_paragraph(console, "Other lines that might come next:", "bold", first=_INDENT, rest=_INDENT)
        _print_line(console, event)
        for reason in reasons or ("it could come next, and leads nowhere",):
            put_paragraph(console, f"- {clean(reason, console)}", first=_INDENT * 2, rest=_INDENT * 3)
    more = len(opened) - 1 - _MOST_OPEN
    if more > 0:
        put_paragraph(console, f"… and {more} more", "dim", first=_INDENT, rest=_INDENT)
    console.print()
    if verdict.stuck.lately:
        put_paragraph(console, "The last steps that were explained:", "bold", first=_INDENT, rest=_INDENT)
        for taken in verdict.stuck.lately[-_LATELY:]:
            told = " and ".join(str(event) for event in taken.events)
            steps = ", ".join(item.action for item in taken.moves) or "seen, no step"
            text = f"{where(taken.events[0])}: {clean(told, console)} [{steps}]"
            put_paragraph(console, text, "dim", _INDENT * 2, _INDENT * 3)
        console.print()


def _print_line(console: Console, event: Event) -> None:
    put_paragraph(console, f"{where(event)} ({who(event)})", "bold", first=_INDENT, rest=_INDENT)
    put_paragraph(console, clean(shorten(event.text, _LONGEST), console), "", first=_INDENT * 2, rest=_INDENT * 2)


def _print_seen(console: Console, verdict: Verdict) -> None:
    put_paragraph(console, f"Seen: {_counts(verdict.events)}", first=_INDENT, rest=_INDENT * 2)
    put_paragraph(console, f"As steps of the model: {_counts(verdict.steps)}", first=_INDENT, rest=_INDENT * 2)
    promises = ", ".join(promise_counts(verdict))
    put_paragraph(console, f"Promises, and how often each was checked: {promises}", first=_INDENT, rest=_INDENT * 2)
    for held in verdict.held:
        epochs = ", ".join(f"epoch {epoch} from {first}" for epoch, first in held.epochs) or "nothing"
        text = f"Broker {held.broker}: log end {held.end}, HW {held.hw}; {epochs}"
        put_paragraph(console, text, "dim", first=_INDENT, rest=_INDENT * 2)
    console.print()


def _counts(numbers: object) -> str:
    assert isinstance(numbers, dict)
    told = sorted(numbers.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count(number)}" for name, number in told) or "nothing"
