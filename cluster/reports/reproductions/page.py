"""The page of a reproduction: the model's grid, and beside it what real brokers had after the same steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum, unique
from typing import Any

from acked.checker.question.result import Counterexample
from acked.cluster.playing.play import SeenStep
from acked.cluster.reports.reproductions.words import (
    Answer,
    AnyReproduction,
    brokers_in_words,
    presentation_of,
    rules_in_words,
    setting_in_words,
    verdicts_in_words,
)
from acked.cluster.topics.topic import tells_of_loss
from acked.reports.console import harmless
from acked.reports.pages.page import render, trace_data
from acked.reports.runs.packet import SeenView, seen_head, seen_packet
from acked.reports.runs.view import StepView, steps_of

MOST_LINES, MOST_LETTERS = 40, 600
"""Lines of the brokers' logs after one step, and letters in one of them; brokers may say any amount."""


@unique
class Agreement(StrEnum):
    """How brokers went along with a step of the model; the value is for scripts."""

    SAME = "same"
    WITH_NEXT = "next"
    PARTED = "parted"
    BEYOND = "beyond"
    NOT_REACHED = "none"


_SAYS = {
    Agreement.SAME: "as the model says",
    Agreement.WITH_NEXT: "real brokers take this step at once with the next, and are compared then",
    Agreement.BEYOND: "taken as far as it could be, and not compared",
    Agreement.NOT_REACHED: "not taken",
}


def reproduction_page(answer: Answer) -> str:
    """The HTML of an answer."""
    return render(page_data(answer))


def page_data(answer: Answer) -> dict[str, Any]:
    """What the page shows: the run of the model, the brokers' beside it, and that of the control, if there is one."""
    prepared = answer.first.prepared
    data = trace_data(Counterexample(answer.title, prepared.question, prepared.run, answer.promise))
    model = {**data["traces"][0], "name": "the model"}
    views = steps_of(prepared.question, prepared.run)
    traces = [model, _seen_trace(answer.first, brokers_in_words(answer.first), views)]
    if answer.control is not None and answer.changed is not None:
        traces.append(_seen_trace(answer.control, _control_in_words(answer), views))
    verdicts = [[sign.value, harmless(text)] for sign, text in verdicts_in_words(answer)]
    return {**data, "traces": traces, "played": {"verdicts": verdicts, "notes": _notes(answer)}}


def _notes(answer: Answer) -> list[list[str]]:
    """In which rules the trace is not like the releases, under a heading each."""
    notes: dict[str, str] = {}
    for one in (answer.first, answer.control):
        if one is not None and (said := rules_in_words(one.prepared)):
            heading, _, rules = said.partition(": ")
            notes[heading[:1].upper() + heading[1:]] = rules
    return [[harmless(heading), harmless(rules)] for heading, rules in notes.items()]


def _control_in_words(answer: Answer) -> str:
    assert answer.control is not None
    where = brokers_in_words(answer.control)
    return f"control: {where}" + (f", {answer.changed}" if answer.changed and answer.changed.setting else "")


def _seen_trace(one: AnyReproduction, name: str, views: tuple[StepView, ...]) -> dict[str, Any]:
    shown = presentation_of(one.prepared.question)
    times = f"brokers up in {one.start_seconds:.1f} s, played in {one.played.seconds:.1f} s"
    return {
        "name": harmless(name),
        "subject": harmless(setting_in_words(one.prepared.setting)),
        "head": seen_head(shown.look),
        "packet": seen_packet(list(_views(one, views))),
        "end": None,
        "seen": harmless(f"{shown.clients_in_words(one.played)}; {times}"),
    }


def _views(one: AnyReproduction, views: tuple[StepView, ...]) -> Iterator[SeenView]:
    played, script, shown = one.played, one.prepared.script, presentation_of(one.prepared.question)
    taken = {done.step.index: done for done in played.steps}
    beyond = {done.step.index: done for done in played.beyond}
    paint = shown.painter(one.prepared)
    models = {0: script.initial} | {step.index: step.after for step in script.steps}
    last = played.initial
    for view in views:
        done = taken.get(view.index) or beyond.get(view.index)
        agreement = _agreement(one, view.index, done)
        seen = played.initial if view.index == 0 else None if done is None else done.seen
        last = seen or (last if agreement is not Agreement.NOT_REACHED else None)
        answers = shown.no_answers if done is None else done.answers
        picture = None if last is None else paint(last, answers)
        yield SeenView(view.sentence, picture, _facts(one, agreement, seen, models[view.index], done))


def _agreement(one: AnyReproduction, index: int, done: SeenStep[Any, Any] | None) -> Agreement:
    parted = one.played.parted
    if parted is not None and index == parted.index:
        return Agreement.PARTED
    if index > 0 and done is None:
        return Agreement.NOT_REACHED
    if parted is not None and index > parted.index:
        return Agreement.BEYOND
    return Agreement.SAME if index == 0 or (done is not None and done.seen is not None) else Agreement.WITH_NEXT


def _facts(
    one: AnyReproduction, agreement: Agreement, seen: Any, model: Mapping[str, Any], done: SeenStep[Any, Any] | None
) -> dict[str, Any]:
    others = agreement in (Agreement.PARTED, Agreement.BEYOND) and seen is not None
    prepared = one.prepared
    setting = replace(prepared.setting, compares_eligible=True)
    found = prepared.protocol.differences(model, seen, setting) if others and seen is not None else ()
    said = [str(it) for it in found]
    if agreement is Agreement.PARTED and one.played.reason:
        said = [one.played.reason]
    elif done is not None and done.reason:
        said.insert(0, f"it did not happen: {done.reason}")
    lines = () if done is None else done.lines
    more = len(lines) - MOST_LINES
    shown = [[harmless(_shorten(line)), tells_of_loss(line)] for line in lines[:MOST_LINES]]
    names = [f"{presentation_of(prepared.question).look.row} {number}" for number in range(len(model["log"]))]
    return {
        "agreement": agreement.value,
        "says": _SAYS.get(agreement, "goes another way"),
        "differs": [harmless(text) for text in said],
        "rows": [name for name in names if any(_is_about(it.what, name) for it in found)],
        "lines": shown + ([[f"and {more} more", False]] if more > 0 else []),
    }


def _is_about(what: str, name: str) -> bool:
    """Whether what differs belongs to a row by what that is called in the picture."""
    return what.startswith(f"{name}'") or what.endswith(name) or f"that {name} " in what


def _shorten(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]}…"
