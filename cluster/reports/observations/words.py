"""The words of a validation, which terminal and document have in common."""

from __future__ import annotations

from datetime import datetime

from acked.cluster.observation.events import CONTROLLER, Event, value_in_words
from acked.cluster.observation.validation import Verdict
from acked.cluster.validating.judge import Judged, SoFar
from acked.reports.units import count, plural

LIMITS_OF_LINES = (
    "Valid means that one behaviour of the model tells everything that these lines tell, not that nothing else happened."
)
LIMITS = (
    "Valid means that one behaviour of the model tells everything that these lines tell, not that nothing else happened: "
    "lines show neither producers nor what records hold."
)


def headline(verdict: Verdict) -> str:
    """The verdict in a sentence."""
    events = plural(verdict.explained, "event")
    if verdict.stuck is not None:
        return f"NOT EXPLAINED: {events} are a behaviour of the model, and no behaviour explains what comes next"
    if verdict.broken is not None:
        return f"PROMISE BROKEN: {events} are a behaviour of the model, in which {verdict.broken.promise} does not hold"
    return f"VALID: all {events} are a behaviour of the model, and every promise holds on the way"


def heading(judged: Judged) -> str:
    """What lines, disks and producers say together, in a sentence: valid lines alone do not make a run so.

    It says so first without how many lines that is.
    """
    said = _agreement(judged)
    if not judged.unknown:
        return said
    verdict, colon, rest = said.partition(":")
    lines = plural(sum(one.lines for one in judged.unknown), "line")
    return f"{verdict} WITHOUT {lines} of {plural(len(judged.unknown), 'kind')} not understood{colon}{rest}"


def _agreement(judged: Judged) -> str:
    if judged.is_valid or not judged.verdict.is_valid:
        return headline(judged.verdict)
    wrong = ["disks differ"] if judged.compared is not None and judged.compared.differences else []
    if judged.presence is not None and judged.presence.missing:
        wrong.append("acknowledged records are missing")
    elif judged.presence is not None and not judged.presence.brokers:
        wrong.append("no broker is in sync, at which acknowledged records could be looked for")
    events = plural(judged.verdict.explained, "event")
    return f"NOT VALID: all {events} are a behaviour of the model, and every promise holds, but {' and '.join(wrong)}"


def so_far(now: SoFar) -> str:
    """A line of verdict on a run that goes on."""
    if not now.ends:
        return f"{datetime.now():%H:%M:%S} no line tells yet that the partition was made"
    ends = ", ".join(f"{broker}: {end}" for broker, end in now.ends)
    return (
        f"{datetime.now():%H:%M:%S} valid so far: {plural(now.explained, 'event')} explained, {count(now.waiting)} waiting; "
        f"log ends {ends}; ISR {value_in_words(now.in_sync)}"
    )


def shorten(text: str, most: int) -> str:
    """A line of a log, or its beginning where it is longer than so many letters."""
    shown = text.strip()
    return shown if len(shown) <= most else f"{shown[:most]}…"


def where(event: Event) -> str:
    """Where an event is told."""
    return f"{event.file}:{event.line}"


def who(event: Event) -> str:
    """Who tells it."""
    return "the controller" if event.by == CONTROLLER else f"broker {event.by}"


def promise_counts(verdict: Verdict) -> list[str]:
    """How often each promise was checked."""
    return [f"{name} ({count(number)})" for name, number in verdict.checked.items()]
