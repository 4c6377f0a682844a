"""A run as a script for the driver: steps with the states around them, and orders of replicas by which elections come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any, cast

from acked.base.errors import ConfigurationError
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.playable import ELECTIONS, HEARS, LATEST_WAYS, REPORTS, TIMED, Refusal, Ways, refusal
from acked.cluster.releases.release import Mode

State = Mapping[str, Any]
"""A state of the model, decoded."""
_SHUT_DOWN_WRITES = (
    "its broker comes back as one that was shut down in order, which writes down the high watermark that it has, and here an "
    "earlier one is left"
)


@dataclass(frozen=True)
class ScriptStep:
    """A step, numbered from 1. If not `is_settled`, real brokers do the next step at once with it, so they are compared then;
    after a last step of which that is so, as before an election, they are not.

    `order` is, of a step that moves leadership, the order of replicas that it gives the partition.
    """

    index: int
    action: str
    arguments: Mapping[str, Any]
    before: State
    after: State
    is_settled: bool
    order: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """`Crash(broker=1)`."""
        return f"{self.action}({', '.join(f'{key}={value}' for key, value in self.arguments.items())})"


@dataclass(frozen=True)
class Script:
    """The steps, the initial state, the order of replicas in which the topic is created, and how each crash is played.

    `shut_down` has the numbers of the crashes that are played as orderly shutdowns: those whose broker comes back as one that
    was not killed.
    """

    initial: State
    steps: tuple[ScriptStep, ...]
    order: tuple[int, ...]
    shut_down: frozenset[int]

    @property
    def is_timed(self) -> bool:
        """Whether a step ends by the leader's clock."""
        return any(step.action in TIMED for step in self.steps)


class NotPlayable(ConfigurationError):
    """A run that real brokers cannot be led through."""

    def __init__(self, refused: Refusal, steps: int) -> None:
        super().__init__(
            f"the trace cannot be played on real brokers: step {refused.index} of {steps}, {refused.label}: {refused.reason}"
        )
        self.refusal = refused


def script_of(question: Question, run: Run, mode: Mode, ways: Ways = LATEST_WAYS) -> Script:
    """The script of a run; `NotPlayable` with the step and the reason if there is none."""
    count = len(run.actions)
    refused = refusal(question, run, mode, ways)
    if refused is not None:
        raise NotPlayable(refused, count)
    schema = question.instance.schema
    states = [schema.decode(schema.unpack(words)) for words in run.states]
    orders = _orders(question, run, len(states[0]["log"]))
    goes_on = question.instance.enabled(schema.unpack(run.states[-1]))
    steps = []
    for index, (step, (before, after)) in enumerate(zip(run.actions, pairwise(states), strict=True), start=1):
        following = run.actions[index : index + 1] or [one for one in goes_on if one.action.name != "AskToExpand"]
        steps.append(
            ScriptStep(
                index,
                step.action.name,
                dict(step.arguments),
                before,
                after,
                not any(_is_at_once(one.action.name, one.arguments, after, mode) for one in following),
                orders.get(index, ()),
            )
        )
    shut_down = frozenset(_shutdowns(steps))
    for index in sorted(shut_down):
        if not _writes_its_mark(steps[index - 1]):
            raise NotPlayable(Refusal(index, steps[index - 1].label, _SHUT_DOWN_WRITES), count)
    return Script(states[0], tuple(steps), orders[0], shut_down)


def _is_at_once(action: str, arguments: Mapping[str, Any], state: State, mode: Mode) -> bool:
    """Whether real brokers take this step by themselves as soon as they can."""
    if action in HEARS and mode is Mode.KRAFT:
        broker = state["broker"][arguments[HEARS[action]]]
        return broker["leader_epoch"] is None
    return action in (*ELECTIONS, REPORTS, "AskToExpand")


def _shutdowns(steps: Sequence[ScriptStep]) -> Iterable[int]:
    """Crashes after which the broker registers as one that was shut down, where that makes a difference (KIP-966)."""
    for step in steps:
        broker = step.arguments.get("broker")
        later = (one for one in steps[step.index :] if one.action == "Restart" and one.arguments["broker"] == broker)
        back = next(later, None) if step.action == "Crash" else None
        if back is not None and back.arguments["is_clean"] and broker in back.before["controller"].get("elr", ()):
            yield step.index


def _writes_its_mark(step: ScriptStep) -> bool:
    """Whether a broker leaves the high watermark that it had, as one that is shut down in order does."""
    return bool(step.arguments["checkpoint"] == step.before["broker"][step.arguments["broker"]]["hw"])


def _orders(question: Question, run: Run, replicas: int) -> dict[int, tuple[int, ...]]:
    """By the number of a step that moves leadership, 0 at the start: an order of replicas by which all elections come true.

    A controller elects the first candidate of that order. `NotPlayable` at the first election that no order leads to.
    """
    found: dict[int, tuple[int, ...]] = {}
    since, first = 0, 0
    wanted: list[tuple[int, set[int]]] = []
    instance = question.instance
    for index, (step, words) in enumerate(zip(run.actions, run.states, strict=False), start=1):
        name = step.action.name
        if name == "MoveLeadership":
            since, first, wanted = index, cast(int, step.arguments["broker"]), []
        elif name in ELECTIONS:
            chosen = cast(int, step.arguments["broker"])
            others = {
                cast(int, other.arguments["broker"])
                for other in instance.enabled(instance.schema.unpack(words))
                if other.action.name == name
            }
            wanted.append((chosen, others - {chosen}))
        else:
            found.setdefault(since, _first_order(replicas, first, wanted) or ())
            continue
        order = _first_order(replicas, first, wanted)
        if order is None:
            reason = (
                f"a controller elects the first candidate in the order of the replicas, and no order that begins with "
                f"{first} leads to this election and to those before it"
            )
            raise NotPlayable(Refusal(index, step.label, reason), len(run.actions))
        found[since] = order
    found.setdefault(0, tuple(range(replicas)))
    return found


def _first_order(replicas: int, first: int, wanted: Sequence[tuple[int, set[int]]]) -> tuple[int, ...] | None:
    rest = [replica for replica in range(replicas) if replica != first]
    for tail in permutations(rest):
        order = (first, *tail)
        if all(order.index(chosen) < order.index(other) for chosen, others in wanted for other in others):
            return order
    return None
