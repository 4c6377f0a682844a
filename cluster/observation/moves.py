"""Steps of the model that stand for an event, with their numbers as they are.

These are tuples, because one of each is made for every event, which takes a frozen dataclass several times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from acked.model.concrete.program import State
from acked.model.language.domain import Plain

Statement = Callable[[State, State], str | None]
"""What a line tells of the states before and after its steps: None if it is so, else what is not."""


class Move(NamedTuple):
    """One step of the model: the action, the indices and truth values that are bound, and its numbers and sets as codes."""

    action: str
    bound: tuple[tuple[str, Plain], ...]
    numbers: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """As other parts of acked write a step."""
        return f"{self.action}({', '.join(f'{name}={value}' for name, value in self.bound)})"


PASSED_OVER = "a leader epoch without a leader"
"""What stands among steps where the controller gives nobody an epoch of its own.

The model's controller counts only epochs in which somebody leads. Rules compare epochs and never count them, so a run with a
number that nobody uses is one without, numbered otherwise.
"""

NOT_ASKED = "a change of the ISR that is not asked for after all"
"""What stands among steps where a leader goes back to the committed ISR, and no rule of the model says why.

A broker refuses itself a request while another of the same partition waits to be sent (`AlterPartitionManager.submit`), and
the controller one with a broker epoch that is not the registered one (KIP-903), which the model has not. Neither changes
anything but what the leader waits for.
"""


def move(action: str, *numbers: int, **bound: Plain) -> Move:
    """A step by its action."""
    return Move(action, tuple(bound.items()), numbers)


Plan = tuple[tuple[Move, ...], Statement]
"""How an event may be explained: steps in a row, and what its line tells of the states before and after them."""


class Way(NamedTuple):
    """How an event is explained: the steps in a row, none where it only shows what is so, and the state after them."""

    moves: tuple[Move, ...]
    after: State


def both(*parts: Statement) -> Statement:
    """That all parts are so; else what the first is not that is not."""

    def check(before: State, after: State) -> str | None:
        for part in parts:
            wrong = part(before, after)
            if wrong is not None:
                return wrong
        return None

    return check
