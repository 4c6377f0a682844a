"""Fairness: which steps an infinite trace may not neglect for ever.

The texts of `[fairness]`, checked and made into groups of action instances.

As in TLA+, `FetchRecord` stands for the action whatever its parameters are, so one follower's fetches are enough to be fair
to it; `FetchRecord(follower)` is a fairness of its own for every follower, whatever the other parameters are. A stuttering
step does not count, so taking one is not being fair, and where nothing else is enabled the action counts as disabled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.invariants.property import Property
from acked.model.language.action import Action
from acked.model.language.protocol import Instance, Protocol

_TEXT = re.compile(r"\s*(\w+)\s*(?:\(([\w\s,]*)\)\s*)?")


@frozen
class Group:
    """Steps of which one is taken infinitely often if one is enabled from some time on (weak) or infinitely often (strong).

    `steps` are numbers of the instance's actions.
    """

    label: str
    is_strong: bool
    steps: tuple[int, ...]

    @property
    def kind(self) -> str:
        """The word for it."""
        return "strong" if self.is_strong else "weak"


def check_fairness(protocol: Protocol, weak: Iterable[str], strong: Iterable[str]) -> None:
    """`ConfigurationError` if one of the texts names no action, or no parameter of it, or two of them name the same."""
    seen: dict[tuple[str, frozenset[str]], str] = {}
    for text in (*weak, *strong):
        action, parameters = read_fairness(protocol.actions, protocol.name, text)
        key = (action.name, frozenset(parameters))
        if key in seen:
            raise ConfigurationError(f"fairness names {text!r} twice; strong fairness implies weak fairness")
        seen[key] = text


def check_present(instance: Instance, item: Property) -> None:
    """`ConfigurationError` if the constants leave an action out whose fairness is assumed.

    Alone that demands nothing of a trace; of two sets of rules it would not demand the same.
    """
    if item.liveness is not None:
        present = [action.name for action in instance.action_rules]
        for text in (*item.liveness.weak, *item.liveness.strong):
            action, _ = read_fairness(instance.protocol.actions, instance.protocol.name, text)
            if action.name not in present:
                raise ConfigurationError(
                    f"fairness names {action.name}, which {instance.protocol.name} does not have under these constants; "
                    f"it has {choices(present)}"
                )


def fairness(instance: Instance, item: Property) -> tuple[Group, ...]:
    """The fairness that a promise of LIVENESS assumes, in the order of its texts; empty for other properties."""
    if item.liveness is None:
        return ()
    groups: list[Group] = []
    for texts, is_strong in ((item.liveness.weak, False), (item.liveness.strong, True)):
        for text in texts:
            groups += _groups(instance, text, is_strong)
    return tuple(groups)


def _groups(instance: Instance, text: str, is_strong: bool) -> list[Group]:
    action, parameters = read_fairness(instance.protocol.actions, instance.protocol.name, text)
    found: dict[str, list[int]] = {}
    for number, step in enumerate(instance.actions):
        if step.action.name == action.name:
            values = ", ".join(f"{name}={step.arguments[name]}" for name in step.arguments if name in parameters)
            found.setdefault(f"{action.name}({values})" if values else action.name, []).append(number)
    return [Group(label, is_strong, tuple(steps)) for label, steps in found.items()]


def read_fairness(actions: Iterable[Action], protocol: str, text: str) -> tuple[Action, list[str]]:
    """The action that a text of `[fairness]` names, and the parameters; `ConfigurationError` if there is none."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ConfigurationError(f"{text!r} names no action to be fair to; write Action, or Action(parameter)")
    known = {item.name: item for item in actions}
    if match[1] not in known:
        raise ConfigurationError(f"{protocol} has no action {match[1]!r}{near(match[1], known)}; it has {choices(known)}")
    action = known[match[1]]
    parameters = [name.strip() for name in match[2].split(",")] if match[2] and match[2].strip() else []
    has = list(action.parameters())
    for name in parameters:
        if name not in has:
            raise ConfigurationError(
                f"{action.name} has no parameter {name!r}{near(name, has)}; it has {choices(has) or 'none'}"
            )
    return action, parameters
