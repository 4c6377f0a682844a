"""The page of a run that is not explained: the steps before the line, the line, what forbids it, and what else was open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.cluster.observation.events import CONTROLLER, Event
from acked.cluster.observation.moves import Move
from acked.cluster.observation.validation import Verdict
from acked.cluster.reports.observations.pictures import Stretches, name_of
from acked.cluster.reports.observations.words import LIMITS, headline, shorten, where, who
from acked.model.concrete.program import State
from acked.reports.console import harmless
from acked.reports.pages.page import render
from acked.reports.pictures.protocols.kafka import KAFKA
from acked.reports.runs.packet import SeenView, seen_head, seen_packet

_LONGEST = 600
"""Letters of a log line."""
_LEGEND = (
    "✓ a behaviour of the model explains the lines up to here, ✗ none does. A column is a stretch of offsets within which "
    "nothing differs, named by its first and last."
)


def has_page(verdict: Verdict) -> bool:
    """Whether there is something to show: a line that is not explained, or a promise that does not hold."""
    return verdict.stuck is not None or verdict.broken is not None


def observation_page(verdict: Verdict, about: str) -> str:
    """The HTML; `about` says what was read."""
    return render(page_data(verdict, about))


def page_data(verdict: Verdict, about: str) -> dict[str, Any]:
    """What the page shows: states of the model beside the lines that led to them."""
    shown = [*_explanation(verdict), *_last(verdict)]
    stretches = Stretches(verdict.subject, [state for _, _, state, _, _ in shown])
    model, logs = [], []
    for says, is_explained, state, events, wrong in shown:
        model.append(SeenView(harmless(says), stretches.picture(state), {}))
        logs.append(SeenView(harmless(says), None, _facts(events, wrong, is_explained)))
    left = {
        "name": "the model", "subject": harmless(about), "head": seen_head(KAFKA), "packet": seen_packet(model), "end": None,
        "only_states": True, "is": "the states that explain the lines",
    }  # fmt: skip
    right = {
        "name": "the cluster", "subject": harmless(f"by the rules of {verdict.subject.rules}"), "head": seen_head(KAFKA),
        "packet": seen_packet(logs), "end": None, "seen": harmless(LIMITS), "only_lines": True,
    }  # fmt: skip
    title = harmless(headline(verdict))
    return {
        "title": title, "subject": harmless(about), "story": None, "traces": [left, right],
        "played": {
            "verdicts": _verdicts(verdict), "notes": _others(verdict), "legend": _LEGEND, "begins": len(shown) - 1,
        },
    }  # fmt: skip


Shown = tuple[str, bool, State, Sequence[Event], Sequence[str]]
"""A step: its sentence, whether it is explained, the state after it, its lines, and what is wrong with them."""


def _explanation(verdict: Verdict) -> list[Shown]:
    if verdict.stuck is None:
        broken = verdict.broken
        return [] if broken is None else [("before", True, broken.before, (), ())]
    return [(_sentence(taken.events, taken.moves), True, taken.after, taken.events, ()) for taken in verdict.stuck.lately]


def _last(verdict: Verdict) -> list[Shown]:
    if verdict.stuck is not None:
        event, reasons = verdict.stuck.open[0]
        said = f"{event}: no behaviour explains it"
        return [(said, False, verdict.stuck.state, (event,), reasons or ("it could come next, and leads nowhere",))]
    broken = verdict.broken
    assert broken is not None
    said = f"{broken.promise} does not hold any more"
    return [(said, False, broken.after, broken.events, (f"{broken.promise}: {broken.meaning}",))]


def _sentence(events: Sequence[Event], moves: Sequence[Move]) -> str:
    told = " and ".join(str(event) for event in events)
    steps = ", ".join(item.label for item in moves) or "seen, no step"
    return f"{told} [{steps}]"


def _facts(events: Sequence[Event], wrong: Sequence[str], is_explained: bool) -> dict[str, Any]:
    brokers = {event.by for event in events} - {CONTROLLER}
    return {
        "agreement": "same" if is_explained else "parted",
        "says": "explained" if is_explained else "not explained",
        "differs": [harmless(text) for text in wrong],
        "rows": [] if is_explained else [name_of(broker) for broker in sorted(brokers)],
        "lines": [[harmless(_line(event)), not is_explained] for event in events],
    }


def _verdicts(verdict: Verdict) -> list[list[str]]:
    if verdict.stuck is None:
        assert verdict.broken is not None
        return [["bad", harmless(f"{verdict.broken.promise}: {verdict.broken.meaning}")]]
    event, reasons = verdict.stuck.open[0]
    return [["bad", harmless(_line(event))], *(["open", harmless(text)] for text in reasons)]


def _others(verdict: Verdict) -> list[list[str]]:
    """Other lines that might come next, and why each cannot."""
    if verdict.stuck is None:
        return []
    found = []
    for event, reasons in verdict.stuck.open[1:]:
        why = "; ".join(reasons) or "it could come next, and leads nowhere"
        heading = f"It might go on with {where(event)} ({who(event)})"
        found.append([harmless(heading), harmless(f"{shorten(event.text, _LONGEST)} — {why}")])
    return found


def _line(event: Event) -> str:
    return f"{where(event)} ({who(event)}): {shorten(event.text, _LONGEST)}"
