"""Which runs of `transactions` real brokers can be led through, and such a run as a script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from acked.base.errors import ConfigurationError
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.model.transactions.protocol import transactions
from acked.model.transactions.settings import TV2, offsets, transaction_version

State = Mapping[str, Any]
"""A state of the model, decoded."""

_RACE = "it is a race inside the coordinator or a partition's leader"
NOT_PLAYED: Mapping[str, str] = {
    "Restart": "epochs of instances that start again are kept by rank",
    "TimeOut": "a coordinator looks for transactions that timed out when its clock says so",
    "MoveCoordinator": "no step of the driver moves the coordinator",
    "DelayMarker": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerArrives": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerIsLost": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerIsRefused": _RACE,
    "WriteLastMarkerUnnoticed": _RACE,
    "VerifyLateProduce": _RACE,
    "VerifyAnotherCopy": _RACE,
    "ForgetProducer": "it takes a week until a producer is forgotten",
}
"""Actions that no step of the driver brings about, each with the reason."""


@dataclass(frozen=True)
class ScriptStep:
    """A step, numbered from 1, with the states around it."""

    index: int
    action: str
    arguments: Mapping[str, Any]
    before: State
    after: State
    label: str


@dataclass(frozen=True)
class Script:
    """The steps, the initial state, and how clients end transactions: whether as `transaction_version` 2 has it.

    `has_offsets`: the last partition is that of a group's offsets.
    """

    initial: State
    steps: tuple[ScriptStep, ...]
    is_v2: bool
    has_offsets: bool

    @property
    def partitions(self) -> int:
        """How many partitions the transactions write to."""
        return len(self.initial["log"])


def is_of_transactions(question: Question) -> bool:
    """Whether the question is one about `transactions`."""
    return question.instance.protocol is transactions


def playable(question: Question) -> Question:
    """The question about the runs that can be played: fewer actions."""
    made = question.instance.protocol.instantiate(question.instance.constants, question.instance.dropped)
    made.actions = tuple(step for step in made.actions if step.action.name not in NOT_PLAYED)
    return Question(made, question.properties)


def as_asked(question: Question, found: Run) -> Run:
    """A run of `playable`, with the actions of the question itself."""
    steps = {step.label: step for step in question.instance.actions}
    return Run(found.states, tuple(steps[step.label] for step in found.actions))


def left_out(question: Question) -> dict[str, str]:
    """The actions of a question that no run of `playable` has, each with the reason."""
    names = dict.fromkeys(step.action.name for step in question.instance.actions)
    return {name: NOT_PLAYED[name] for name in names if name in NOT_PLAYED}


def script_of(question: Question, run: Run) -> Script:
    """The script of a run; `ConfigurationError` with the step and the reason if it cannot be played."""
    refused = next((at for at, step in enumerate(run.actions) if step.action.name in NOT_PLAYED), None)
    why, at = (NOT_PLAYED[run.actions[refused].action.name], refused) if refused is not None else ("", -1)
    if run.loop is not None:
        why, at = "the trace goes on for ever", len(run.actions) - 1
    if why:
        raise ConfigurationError(
            f"the trace cannot be played on real brokers: step {at + 1} of {len(run.actions)}, {run.actions[at].label}: {why}"
        )
    schema = question.instance.schema
    states = [schema.decode(schema.unpack(words)) for words in run.states]
    steps = tuple(
        ScriptStep(index, step.action.name, dict(step.arguments), before, after, step.label)
        for index, (step, (before, after)) in enumerate(zip(run.actions, pairwise(states), strict=True), start=1)
    )
    constants = question.instance.constants
    return Script(states[0], steps, constants[transaction_version.name] == TV2, bool(constants[offsets.name]))
