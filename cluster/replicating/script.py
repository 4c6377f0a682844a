"""A run of `partition` as a script: what brokers do at once, how crashes are played, and orders that lead to elections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, cast

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.script import NotPlayable, Refusal, Script, ScriptStep, State
from acked.cluster.playing.script import script_of as bare_script
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.replicating.driver import HEARS
from acked.cluster.replicating.playable import ELECTIONS, REPORTS, TIMED, refusal

_SHUT_DOWN_WRITES = (
    "its broker comes back as one that was shut down in order, which writes down the high watermark that it has, and here an "
    "earlier one is left"
)


def is_timed(script: Script) -> bool:
    """Whether a step ends by the leader's clock."""
    return any(step.action in TIMED for step in script.steps)


def script_of(question: Question, run: Run, brokers: Brokers) -> Script:
    """The script of a run; `NotPlayable` with the step and the reason if there is none."""
    script = bare_script(question, run, refusal(question, run, brokers))
    orders = _orders(question, run, len(script.initial["log"]))
    goes_on = question.instance.enabled_actions(question.instance.schema.unpack(run.states[-1]))
    steps, mode = [], brokers.chosen_mode
    for step in script.steps:
        following = run.actions[step.index : step.index + 1] or [one for one in goes_on if one.action.name != "AskToExpand"]
        is_settled = not any(_is_at_once(one.action.name, one.arguments, step.after, mode) for one in following)
        steps.append(replace(step, is_settled=is_settled, order=orders.get(step.index, ())))
    shut_down = frozenset(_shutdowns(steps))
    for index in sorted(shut_down):
        if not _writes_its_mark(steps[index - 1]):
            raise NotPlayable(Refusal(index, steps[index - 1].label, _SHUT_DOWN_WRITES), len(steps))
    return Script(script.initial, tuple(steps), orders[0], shut_down)


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
                for other in instance.enabled_actions(instance.schema.unpack(words))
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
