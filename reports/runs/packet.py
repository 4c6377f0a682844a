"""A run as compact plain data for pages: what repeats is said once and then by number.

`Packer`, which turns steps of the view model, with what is possible and what is not in each state, into lists, strings and
numbers; `reports/web/packet.js` is its other half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.checker.replay.explain import Explainer, Refusal
from acked.invariants.property import Kind
from acked.model.formulas.errors import ModelError
from acked.model.language.tracings import ActionInstance
from acked.reports.console import harmless
from acked.reports.pictures.picture import Box, Fact, Look, Message, Picture, Row, Tone
from acked.reports.pictures.providers import provider_of
from acked.reports.runs.lanes import Lanes, fate_in_words, lanes_of
from acked.reports.runs.view import Past, StepTeller, StepView, label_of, remarks_on, value_in_words

Json = Any


class _Interned:
    """A list of different items, each known by its number."""

    def __init__(self) -> None:
        self.items: list[Json] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, item: Json) -> int:
        key = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        if key not in self._numbers:
            self._numbers[key] = len(self.items)
            self.items.append(item)
        return self._numbers[key]


def head_of(question: Question) -> dict[str, Json]:
    """What holds for all steps of a question: fields, actions, properties, and what all pictures have in common."""
    instance = question.instance
    actions: dict[str, Json] = {}
    for step in instance.actions:
        item = step.action
        actions.setdefault(item.name, {"name": item.name, "doc": harmless(item.doc.partition("\n")[0])})
    names = list(actions)
    return {
        "fields": [leaf.name for leaf in instance.schema.leaves],
        "actions": list(actions.values()),
        "instances": [
            [names.index(step.action.name), harmless(label_of(step.action.name, step.arguments.items()))]
            for step in instance.actions
        ],
        "properties": [
            {
                "name": item.name,
                "kind": item.kind.value,
                "promise": harmless(item.promise),
                "source": harmless(item.source),
                "since": harmless(item.since),
            }
            for item in question.properties
        ],
        "look": _look(provider_of(instance).look),
    }


class Packer:
    """Packs steps of one question one after the other, each after its own past."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._instance = question.instance
        self._explainer = Explainer(question.instance)
        self._teller = StepTeller(question)
        self._told_question = replace(question, instance=self._teller.telling)
        self._told_explainer = Explainer(self._teller.telling)
        if self._teller.telling is not question.instance:
            for step in question.instance.actions:
                # In this order, whatever is looked at first: of equally short reasons the first formula's is told.
                self._teller.telling.counterpart(step)
        self._numbers = {step.label: number for number, step in enumerate(question.instance.actions)}
        self._begin()

    def _begin(self) -> None:
        self._texts, self._rows, self._boxes, self._refusals = _Interned(), _Interned(), _Interned(), _Interned()

    # -- steps ----------------------------------------------------------------------------------------------------

    def run(self, run: Run, beginning: str | None = None) -> tuple[dict[str, Json], tuple[StepView, ...]]:
        """A whole run, and the steps that it was made of; `beginning` is what is said of its first state."""
        first, past = self.first(self._instance.schema.unpack(run.states[0]), beginning)
        packed, steps = [first[0]], [first[1]]
        for action, words in zip(run.actions, run.states[1:], strict=True):
            (step, view), past = self.next(past, action, self._instance.schema.unpack(words))
            packed.append(step)
            steps.append(view)
        remarks = {at: harmless(text) for at, text in remarks_on(steps, run.loop).items()}
        return {**self.packet(packed, lanes_of(steps)), **({"remarks": remarks} if remarks else {})}, tuple(steps)

    def first(self, codes: Sequence[int], sentence: str | None = None) -> tuple[tuple[Json, StepView], Past]:
        """The first step of a run, told in a sentence of its own or in this one."""
        view, past = self._teller.first(codes)
        view = view if sentence is None else replace(view, sentence=sentence)
        return (self._step(view, None, past, None), view), past

    def next(self, past: Past, action: ActionInstance, codes: Sequence[int]) -> tuple[tuple[Json, StepView], Past]:
        """The step of an action after a past."""
        view, now = self._teller.next(past, action, codes)
        return (self._step(view, past, now, action), view), now

    def packet(self, steps: list[Json], lanes: Lanes) -> dict[str, Json]:
        """What was packed since the last packet, with the tables that its numbers point into."""
        packet = {
            "texts": self._texts.items,
            "rows": self._rows.items,
            "boxes": self._boxes.items,
            "refusals": self._refusals.items,
            "steps": steps,
            "lanes": _lanes(lanes),
        }
        self._begin()
        return packet

    def _step(self, view: StepView, before: Past | None, past: Past, action: ActionInstance | None) -> Json:
        refusals = self._explainer.refusals(past.codes)
        refused = {refusal.step.label for refusal in refusals}
        enabled = [step for step in self._instance.actions if step.label not in refused]
        moves = [made for step in enabled if (made := self._move(past, step)) is not None]
        return {
            **self._state(view, before, past, action),
            "moves": moves,
            "refused": [self._refusals(self._refusal(self._tell(item, past))) for item in refusals],
        }

    def _move(self, past: Past, step: ActionInstance) -> Json | None:
        try:
            codes = self._instance.fire(step, past.codes)
        except ModelError:  # A step that leaves a field's domain; the search reports it as an error of the protocol.
            return None
        view, now = self._teller.next(past, step, codes)
        return self._state(view, past, now, step)

    def _state(self, view: StepView, before: Past | None, past: Past, action: ActionInstance | None) -> dict[str, Json]:
        """What a page shows of a state and the step that led there; fields only where they differ from before."""
        schema = self._instance.schema
        values = [value_in_words(schema, past.state, leaf.path) for leaf in schema.leaves]
        old: list[str | None] = [None] * len(values)
        if before is not None:
            old = [value_in_words(schema, before.state, leaf.path) for leaf in schema.leaves]
        return {
            "by": None if action is None else self._numbers[action.label],
            "says": self._texts(harmless(view.sentence)),
            "fields": [[at, self._texts(new)] for at, (was, new) in enumerate(zip(old, values, strict=True)) if was != new],
            "marks": "".join("-" if mark.holds is None else str(int(mark.holds)) for mark in view.marks),
            "failing": self._failing(view, before, past, action),
            "picture": self._picture(view.picture),
        }

    def _failing(self, view: StepView, before: Past | None, past: Past, action: ActionInstance | None) -> Json:
        """Of every violated property the conjuncts that are false, each as the texts that decide it."""
        question, found = self._question, {}
        for position, mark in enumerate(view.marks):
            kind = question.properties[position].kind
            if mark.holds is not False or kind is Kind.DEADLOCK:
                continue
            if kind is Kind.STATE:
                root, codes = question.holds_in_state(position), past.codes
            else:
                assert before is not None
                assert action is not None
                root, codes = question.holds_in_step(position, action), before.codes
            conjuncts = self._told_conjuncts(position, before, past, action) or self._explainer.failing_conjuncts(root, codes)
            found[position] = [[self._texts(text) for text in conjunct] for conjunct in conjuncts]
        return found

    # The search may number leader epochs by rank; reasons have the values that the page shows, if they say the same.

    def _tell(self, refusal: Refusal, past: Past) -> Refusal:
        if past.told == past.codes:
            return refusal
        step = self._teller.telling.counterpart(refusal.step)
        if step is None:
            return refusal
        told = self._told_explainer.refusal(step, past.told)
        same = [clause.label for clause in told.clauses] == [clause.label for clause in refusal.clauses]
        return replace(refusal, clauses=told.clauses) if same else refusal

    def _told_conjuncts(self, position: int, before: Past | None, past: Past, action: ActionInstance | None) -> Json:
        question = self._told_question
        if past.told == past.codes and (before is None or before.told == before.codes):
            return None
        if question.properties[position].kind is Kind.STATE:
            return self._told_explainer.failing_conjuncts(question.holds_in_state(position), past.told)
        step = None if action is None else self._teller.telling.counterpart(action)
        if step is None or before is None:
            return None
        return self._told_explainer.failing_conjuncts(question.holds_in_step(position, step), before.told)

    def _refusal(self, refusal: Refusal) -> Json:
        number = self._numbers[refusal.step.label]
        clauses = [
            [self._texts(harmless(clause.label)), [self._texts(text) for text in clause.reasons]]
            for clause in refusal.clauses
        ]
        return [number, clauses]

    def _picture(self, picture: Picture | None) -> Json:
        if picture is None or not picture.is_drawn:
            return None
        return _packed_picture(picture, self._rows, self._boxes)


@frozen
class SeenView:
    """A step that was seen, and not derived from the protocol: its sentence and its picture, and plain facts for the page.

    `picture` None: nothing was seen. `facts` are JSON whose texts are harmless.
    """

    sentence: str
    picture: Picture | None
    facts: Mapping[str, Json]


def seen_packet(steps: Sequence[SeenView]) -> dict[str, Json]:
    """Steps that were seen as a packet: without fields, properties, moves and lanes."""
    texts, rows, boxes = _Interned(), _Interned(), _Interned()
    packed: list[Json] = [
        {
            "by": None,
            "says": texts(harmless(step.sentence)),
            "fields": [],
            "marks": "",
            "failing": {},
            "picture": None if step.picture is None else _packed_picture(step.picture, rows, boxes),
            "moves": [],
            "refused": [],
            "seen": dict(step.facts),
        }
        for step in steps
    ]
    lanes: Json = {"actors": [], "acting": [], "messages": []}
    return {"texts": texts.items, "rows": rows.items, "boxes": boxes.items, "refusals": [], "steps": packed, "lanes": lanes}


def seen_head(look: Look) -> dict[str, Json]:
    """The head of a run of which only pictures are known."""
    return {"fields": [], "actions": [], "instances": [], "properties": [], "look": _look(look)}


def _packed_picture(picture: Picture, rows: _Interned, boxes: _Interned) -> Json:
    return [[rows(_row(row)) for row in picture.rows], [boxes(_box(box)) for box in picture.boxes]]


def _look(look: Look) -> Json:
    return {
        "row": harmless(look.row),
        "epoch": harmless(look.epoch),
        "legend": [
            [item.sign.value, harmless(item.text), harmless(item.sample), item.tone.value] for item in look.legend
        ],
    }


def _row(row: Row) -> Json:
    return {
        "key": row.key,
        "name": harmless(row.name),
        "epoch": row.epoch,
        "cells": [
            [cell.record, cell.epoch, int(cell.committed) + 2 * int(cell.acked), cell.lost] for cell in row.cells
        ],
        "markers": [[marker.place.value, marker.name, marker.offset] for marker in row.markers],
        "badges": [[badge.kind, harmless(badge.text), badge.tone.value] for badge in row.badges],
    }


def _box(box: Box) -> Json:
    return {
        "key": box.key,
        "name": harmless(box.name),
        "epoch": box.epoch,
        "facts": [_fact(fact) for fact in box.facts],
    }


def _fact(fact: Fact) -> list[str]:
    told = [fact.key, harmless(fact.text)]
    return told if fact.tone is Tone.PLAIN else [*told, fact.tone.value]


def _lanes(lanes: Lanes) -> Json:
    actors = list(lanes.actors)
    return {
        "actors": [harmless(actor) for actor in actors],
        "acting": [None if actor not in actors else actors.index(actor) for actor in lanes.acting],
        "messages": [_message(message, actors) for message in lanes.messages],
    }


def _message(message: Message, actors: list[str]) -> Json:
    return {
        "key": message.key,
        "from": actors.index(message.sender),
        "to": actors.index(message.receiver),
        "text": harmless(message.text),
        "sent": message.sent,
        "received": message.received,
        "dropped": message.dropped,
        "late": message.is_late,
        "fate": fate_in_words(message),
    }
