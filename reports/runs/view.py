"""The view model of a trace: what there is to show of every step, before anyone decides how to draw it.

Plain frozen data made from a question and a run (sentences, changed fields, marks of the properties), the same for every
protocol.

Steps are counted by their actions: step 0 is the initial state and has none, step k is the k-th action and the state it
leads to, so a trace of n states ends with step n - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acked.base.frozen import frozen
from acked.checker.diagnosis.remedy import remedy_of
from acked.checker.question.marks import Marks, PropertyMark
from acked.checker.question.question import GRAPH_KINDS, Question
from acked.checker.question.result import Counterexample, Run
from acked.checker.question.user_properties import SOUGHT
from acked.checker.replay.explain import in_words
from acked.checker.replay.lasso import kept_in_words
from acked.checker.replay.steps import Renumbering, changed_fields, value_at
from acked.invariants.property import Kind, Property
from acked.model.formulas.errors import ModelError
from acked.model.formulas.watch import is_shipped
from acked.model.language.domain import Path
from acked.model.language.storage.layout import Schema
from acked.model.language.tracings import ActionInstance
from acked.reports.pictures.messages import StepMessages, Underway, lanes_of_protocol, messages_of
from acked.reports.pictures.picture import Differences, Look, Moment, Picture, Pictures, differences
from acked.reports.pictures.providers import added_pictures, provider_of
from acked.reports.runs.answers import dropped_clauses, subject
from acked.reports.runs.refusals import prevented_in_words

_MAX_DETAILS = 3
"""Disagreements named in one sentence; more would hide the first."""


@frozen
class FieldChange:
    """A field that a step changed, by its leaf name (`log[0].end`), with its values in words."""

    field: str
    before: str
    after: str


@frozen
class StepView:
    """One step: the action (None at step 0), the state it leads to, and what it changed.

    `told` is the state as it is shown (see `Protocol.told_with`); sentence, changes and picture are of it.
    `picture` is what the protocol's provider made of it, with who took the step and its messages; None where nothing of the
    kind is known. `differs` is what it shows and the picture before did not; `untold` are the changes that it does not show
    (without a picture: all of them).
    """

    index: int
    action: str | None
    arguments: tuple[tuple[str, object], ...]
    sentence: str
    state: Mapping[str, Any]
    told: Mapping[str, Any]
    changes: tuple[FieldChange, ...]
    marks: tuple[PropertyMark, ...]
    picture: Picture | None
    differs: Differences | None
    untold: tuple[FieldChange, ...]
    remark: str = ""
    """A remark after the step: where a loop begins, and where it goes back to."""

    @property
    def label(self) -> str | None:
        """`LeaderWrite(leader=1)`, or None at step 0."""
        if self.action is None:
            return None
        return label_of(self.action, self.arguments)

    @property
    def violated(self) -> tuple[str, ...]:
        """The properties that this step violates."""
        return tuple(mark.property for mark in self.marks if mark.holds is False)


@frozen
class TraceStory:
    """What was promised, what happened, which rule would have prevented it (None if unknown), where the promise is from."""

    property: str
    promised: str
    happened: str
    prevented: str | None
    source: str
    is_found: bool = False
    """Whether the run leads to something that was looked for, and breaks nothing."""


@frozen
class TraceView:
    """A whole trace; `story` is None for a run that violates nothing.

    `dropped` names the guard clauses, as `Action: label`, that were left out of the protocol. `look` is what all pictures
    have in common.
    """

    title: str
    protocol: str
    constants: tuple[tuple[str, object], ...]
    dropped: tuple[str, ...]
    story: TraceStory | None
    steps: tuple[StepView, ...]
    look: Look = Pictures.look

    @property
    def subject(self) -> str:
        """What the trace is a run of, in one line; see `subject_in_words`."""
        return subject(self.protocol, self.constants, self.dropped)


def view_of(found: Counterexample, decides: bool = False) -> TraceView:
    """Everything there is to show of a run.

    With `decides`, it is searched with which rule the property would hold; see `remedy_of`.
    """
    steps = steps_of(found.question, found.run)
    instance = found.question.instance
    return TraceView(
        title=found.title,
        protocol=instance.protocol.name,
        constants=tuple(instance.telling_constants.items()),
        dropped=dropped_clauses(instance),
        story=story_of(found, steps, decides),
        steps=steps,
        look=provider_of(instance).look,
    )


def steps_of(question: Question, run: Run) -> tuple[StepView, ...]:
    """The steps of a run, the initial state first."""
    try:
        steps = tuple(_steps(question, run))
    except ModelError:  # A counterexample to induction may have ranks beyond the numbers of reachable states.
        steps = tuple(_steps(question, run, renumbers=False))
    remarks = remarks_on(steps, run.loop)
    return tuple(replace(step, remark=remarks[step.index]) if step.index in remarks else step for step in steps)


def remarks_on(steps: Sequence[StepView], loop: int | None) -> dict[int, str]:
    """Remarks on a lasso after its steps, by their numbers; none on a finite trace."""
    if loop is None:
        return {}
    last = steps[-1]
    if loop == last.index:
        return {loop: "The trace can stay in this state forever."}
    back = f"Back to step {loop}: the state is the one after that step, so the steps since then can repeat forever."
    if last.told != steps[loop].told:
        back = f"{back[:-1]} (up to counters that only grow, such as leader epochs)."
    return {loop: "Here the loop begins.", last.index: back}


def label_of(action: str, arguments: Iterable[tuple[str, object]]) -> str:
    """`LeaderWrite(leader=1)`."""
    return f"{action}({', '.join(f'{name}={in_words(value)}' for name, value in arguments)})"


def value_in_words(schema: Schema, state: Mapping[str, Any], path: Path) -> str:
    """One leaf field of a decoded state; `nothing` where the state does not have it, such as a record past the log end."""
    return in_words(value_at(schema, state, path))


class StepTeller:
    """Renders steps one at a time, each from its own past, so that runs may branch.

    `Past` is what a step leaves behind for those after it. `telling` is the instance in which the trace is shown. Without
    `renumbers` that is the question's own instance, whose numbers are ranks.
    """

    def __init__(self, question: Question, renumbers: bool = True) -> None:
        self._instance = question.instance
        self._marks = Marks(question)
        self._provider = provider_of(question.instance)
        self._added = added_pictures(question.instance, self._provider)
        self._lanes = lanes_of_protocol(question.instance, self._provider)
        self._numbers = Renumbering(question.instance, renumbers)
        self.telling = self._numbers.shown

    def first(self, codes: Sequence[int]) -> tuple[StepView, Past]:
        """Step 0 of a run that begins in the state of these codes."""
        told = self._numbers.first(codes)
        state = self.telling.schema.decode(told)
        sentence = self._provider.says_initial(state)
        return self._step(None, None, codes, told, sentence, ())

    def next(self, past: Past, action: ActionInstance, codes: Sequence[int]) -> tuple[StepView, Past]:
        """The step that `action` makes after `past`, to the state of these codes."""
        told = self._numbers.next(past.told, action, codes)
        sentence = self._sentence(action, past.told, told)
        changes = tuple(
            FieldChange(name, in_words(old), in_words(new))
            for name, old, new in changed_fields(self._instance, past.state, self.telling.schema.decode(told))
        )
        return self._step(past, action, codes, told, sentence, changes)

    def _sentence(self, action: ActionInstance, before: Sequence[int], after: Sequence[int]) -> str:
        """The words of a step; where those of a user's own protocol fail, what it is and why it has none."""
        try:
            return self.telling.tell(action, before, after)
        except ModelError as error:
            return f"{action.label}; {error}"

    def _step(
        self,
        past: Past | None,
        action: ActionInstance | None,
        codes: Sequence[int],
        told: Sequence[int],
        sentence: str,
        changes: tuple[FieldChange, ...],
    ) -> tuple[StepView, Past]:
        state = self.telling.schema.decode(told)
        index = 0 if past is None else past.index + 1
        moment = Moment(index, past.state if past else None, action, state, past.memory if past else None)
        picture, memory = self._provider.picture(self._instance, moment)
        if self._added is not None:
            added, _ = self._added.picture(self._instance, moment)
            picture = replace(picture, rows=(*picture.rows, *added.rows), boxes=(*picture.boxes, *added.boxes))
        is_whole = past.is_whole if past else self._instance.schema.pack(list(codes)) in self._instance.initial
        underway = past.underway if past else ()
        try:
            messages = messages_of(self.telling, self._provider, moment, underway, is_whole)
        except ModelError as error:
            if action is None or is_shipped(action.action.function):
                raise
            messages, sentence = StepMessages(None, (), underway), f"{sentence}; {error}"
        lanes = picture.actors or self._lanes
        picture = replace(picture, actors=lanes, actor=messages.actor, messages=messages.messages)
        step = StepView(
            index=index,
            action=None if action is None else action.action.name,
            arguments=() if action is None else tuple(action.arguments.items()),
            sentence=sentence,
            state=self._instance.schema.decode(codes),
            told=state,
            changes=changes,
            marks=self._marks.marks_of(codes, [] if past is None else past.codes, action),
            picture=picture,
            differs=differences(past.picture if past else None, picture),
            untold=tuple(change for change in changes if not self._provider.tells(change.field)),
        )
        return step, Past(index, tuple(codes), tuple(told), state, picture, memory, messages.underway, is_whole)


@frozen
class Past:
    """What a step leaves behind for those after it; see `StepTeller`."""

    index: int
    codes: tuple[int, ...]
    told: tuple[int, ...]
    state: Mapping[str, Any]
    picture: Picture
    memory: Any
    underway: tuple[Underway, ...]
    is_whole: bool
    """Whether the run began in the initial state."""


def _steps(question: Question, run: Run, renumbers: bool = True) -> Iterator[StepView]:
    teller, unpack = StepTeller(question, renumbers), question.instance.schema.unpack
    step, past = teller.first(unpack(run.states[0]))
    yield step
    for action, words in zip(run.actions, run.states[1:], strict=True):
        step, past = teller.next(past, action, unpack(words))
        yield step


def story_of(found: Counterexample, steps: Sequence[StepView], decides: bool = False) -> TraceStory | None:
    """The sentences at the top of a run that violates a property; None if it violates nothing."""
    question, run, violates = found.question, found.run, found.property
    if violates is None:
        return None
    last, provider = steps[-1], provider_of(question.instance)
    details: list[str] = []
    if violates.kind is Kind.REACH:
        return _find_story(violates, last)
    where = f"Step {last.index} of {last.index} breaks it" if last.index else "The initial state breaks it"
    if violates.liveness is not None:
        where = _without_end(question, run, violates)
    elif violates.kind is Kind.RECOVERABLE:
        where = f"After step {last.index} no trace leads there any more" if last.index else "No trace ever leads there"
    elif violates.kind is Kind.DEADLOCK:
        details = ["no action is enabled"]
    else:
        before = steps[-2].told if len(steps) > 1 else None
        details = list(provider.disagreements(violates.name, before, last.told))
    shown, more = details[:_MAX_DETAILS], len(details) - _MAX_DETAILS
    text = "; ".join([*shown, f"and {more} more like it"] if more > 0 else shown)
    remedy = None if violates.kind in GRAPH_KINDS else remedy_of(question, run, violates, decides)
    return TraceStory(
        property=violates.name,
        promised=f"{violates.name} promises: {_sentence(violates.promise)}",
        happened=_sentence(f"{where}: {text}" if text else where),
        prevented=None if remedy is None else prevented_in_words(remedy, violates.name),
        source=_source_of(violates),
    )


def _without_end(question: Question, run: Run, violates: Property) -> str:
    """What a lasso does instead of what its property demands, and why that is fair."""
    assert violates.liveness is not None
    assert run.loop is not None
    last, goal = len(run.states) - 1, violates.liveness.goal_text
    if run.loop == last:
        where = f"In the state after step {last}" if last else "In the initial state"
        text = f"{where} the trace can stay forever, without a state in which {goal}"
    else:
        text = f"Steps {run.loop + 1} to {last} can repeat forever, without a state in which {goal}"
    kept = kept_in_words(question, violates, run)
    return f"{text}. The trace is fair ({kept})" if kept else text


def _find_story(sought: Property, last: StepView) -> TraceStory:
    """The story of a trace to a state that was looked for: nothing is violated."""
    name = "" if sought.name == SOUGHT else f"{sought.name}: "
    where = f"Step {last.index} of {last.index} reaches it" if last.index else "The initial state satisfies it"
    return TraceStory(
        property=sought.name,
        promised=f"{name}Looked for: a state in which {sought.text}",
        happened=f"{where}, and no shorter trace does." if last.index else f"{where}.",
        prevented=None,
        source="",
        is_found=True,
    )


def _source_of(promise: Property) -> str:
    parts = [f"Source: {promise.source}"] if promise.source else []
    parts += [f"Kept by: {promise.since}"] if promise.since else []
    return " ".join(map(_sentence, parts))


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
