"""A copy of `delivery` with a field more, which an action more changes."""

from __future__ import annotations

from acked.checker.question.question import Question
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.delivery.state import State
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.state import field
from acked.model.language.values import Int

BASE = PROTOCOLS["delivery"]


class Tries(Int, hi=3):
    """How often."""


class More(State):
    """The state of `delivery`, and a field."""

    tries = field(Tries, "how often was tried")


def copied() -> Question:
    """Whether the copy keeps what the original does."""
    made = Protocol(
        "more", More, title="a copy", source="", constants=BASE.constants, initial=BASE.initial, actions=BASE.actions
    )

    @made.action(says=lambda t: f"try {t.after.tries}")
    def try_again(s: More) -> None:
        require("tries are left", s.tries < 3)
        s.tries = s.tries + 1

    return Question(made.instantiate(made.bind({})), (properties_of(made)["NoInputTwice"],))
