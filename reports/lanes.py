"""Who told whom along a run: the messages of all steps joined into arrows of a space-time diagram.

What lives here: joining what was sent with where it arrived. What does not: which messages a step has (a protocol's provider)
and drawing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reports.picture import Message
from reports.view import StepView


@dataclass(frozen=True)
class Lanes:
    """The actors, in order; who acted in each step (None: nobody is known); and every message, in order of sending."""

    actors: tuple[str, ...]
    acting: tuple[str | None, ...]
    messages: tuple[Message, ...]


def lanes_of(steps: Iterable[StepView]) -> Lanes:
    """The lanes of a run; without a picture there are none.

    A message is listed by every step that has to do with it; what the last of them says is the most.
    """
    actors: dict[str, None] = {}
    acting: list[str | None] = []
    messages: dict[str, Message] = {}
    for step in steps:
        acting.append(None if step.picture is None else step.picture.actor)
        if step.picture is not None:
            actors |= dict.fromkeys(step.picture.actors)
            messages |= {message.key: message for message in step.picture.messages}
    return Lanes(tuple(actors), tuple(acting), tuple(sorted(messages.values(), key=lambda message: message.sent)))
