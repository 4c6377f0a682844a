"""The steps of a run as facts: the states as people are shown them, what each step changed, and what holds there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acked.base.frozen import frozen
from acked.checker.question.marks import Marks, PropertyMark
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.domain import BoolDomain, Path
from acked.model.language.protocol import Instance
from acked.model.language.storage.layout import Schema
from acked.model.language.tracings import ActionInstance


class _Absent:
    """The value of a field that a state does not have, such as a record past the log end."""

    def __str__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


def value_at(schema: Schema, state: Any, path: Path, absent: Any = _ABSENT) -> Any:
    """One leaf field of a decoded state, or a part; what is written `nothing`, unless given, where the state has none.

    Of a set of structs it is whether such a struct is in it, of a bag how often.
    """
    if path in schema.messages:
        place, value = schema.messages[path]
        number = value_at(schema, state, place, []).count(value)
        return bool(number) if isinstance(schema.leaves[schema.by_path[path]].domain, BoolDomain) else number
    for part in path:
        if part >= len(state) if isinstance(part, int) else part not in state:
            return absent
        state = state[part]
    return state


def changed_fields(
    instance: Instance, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """The leaf fields whose value differs, each with both values; a field that only one of the states has differs, too."""
    schema = instance.schema
    fields = [(leaf.name, *(value_at(schema, state, leaf.path) for state in (before, after))) for leaf in schema.leaves]
    return [field for field in fields if field[1] != field[2]]


class Renumbering:
    """Follows a run in the instance in which people are shown it (`Protocol.told_with`), one step at a time.

    A search may number leader epochs by rank; what is shown counts on. `shown` is that instance, which has a counterpart of
    every action of the question's. Unless `renumbers`, it is the question's own instance.
    """

    def __init__(self, instance: Instance, renumbers: bool = True) -> None:
        self._instance = instance
        self.shown = instance.shown_instance if renumbers else instance

    def first(self, codes: Sequence[int]) -> list[int]:
        """The state of these codes, as the first one that is shown."""
        return self.shown.schema.encode(self._instance.schema.decode(codes))

    def next(self, shown: Sequence[int], action: ActionInstance, codes: Sequence[int]) -> Sequence[int]:
        """The state of these codes, to which `action` leads from the one that was shown last."""
        if self.shown is self._instance:
            return codes
        known = self.shown.counterpart(action)
        try:
            return self.first(codes) if known is None else self.shown.fire(known, shown)
        except DomainOverflow:
            # A run too long for the bounds of what is shown goes on as the search saw it.
            return self.first(codes)


@frozen
class Step:
    """One step: the action (None at step 0), the decoded state that it leads to, the leaf fields that people see change."""

    index: int
    action: ActionInstance | None
    state: Mapping[str, Any]
    changed: tuple[str, ...]
    marks: tuple[PropertyMark, ...]


def steps_of_run(question: Question, run: Run) -> list[Step]:
    """The steps of a run, the initial state first."""
    try:
        return list(_steps(question, run, renumbers=True))
    except ModelError:  # A counterexample to induction may have ranks beyond the numbers that are shown.
        return list(_steps(question, run, renumbers=False))


def _steps(question: Question, run: Run, renumbers: bool) -> Iterator[Step]:
    schema = question.instance.schema
    numbers, marks = Renumbering(question.instance, renumbers), Marks(question)
    codes = schema.unpack(run.states[0])
    shown: Sequence[int] = numbers.first(codes)
    yield Step(0, None, schema.decode(codes), (), marks.marks_of(codes, [], None))
    for index, (action, words) in enumerate(zip(run.actions, run.states[1:], strict=True), start=1):
        before, codes = codes, schema.unpack(words)
        seen, shown = shown, numbers.next(shown, action, codes)
        decode = numbers.shown.schema.decode
        changed = tuple(name for name, _, _ in changed_fields(question.instance, decode(seen), decode(shown)))
        yield Step(index, action, schema.decode(codes), changed, marks.marks_of(codes, before, action))
