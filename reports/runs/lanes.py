"""The messages along a trace: those of all steps joined into arrows of a space-time diagram.

Joining what was sent with where it arrived, and what became of a message in words.
"""

from __future__ import annotations

from collections.abc import Iterable

from acked.base.frozen import frozen
from acked.reports.pictures.picture import Message
from acked.reports.runs.view import StepView


@frozen
class Lanes:
    """The actors, in order; who acted in each step (None if unknown); and every message, in order of sending."""

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
    # A declaration may name an actor that no picture has.
    actors |= dict.fromkeys(actor for actor in acting if actor is not None)
    actors |= dict.fromkeys(name for message in messages.values() for name in (message.sender, message.receiver))
    return Lanes(tuple(actors), tuple(acting), tuple(sorted(messages.values(), key=lambda message: message.sent)))


def fate_in_words(message: Message) -> str:
    """What became of a message that did not arrive in the step that sent it; empty of one that did."""
    if message.received == message.sent:
        return ""
    if message.received is not None:
        return f"sent in step {message.sent}, received in step {message.received}{', late' if message.is_late else ''}"
    if message.dropped is None:
        return f"sent in step {message.sent}, not received in this trace"
    if message.dropped == message.sent:
        return f"sent in step {message.sent} and lost"
    late = "late, " if message.is_late else ""
    return f"sent in step {message.sent}, {late}never acted upon: dropped in step {message.dropped}"
