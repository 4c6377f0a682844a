"""The errors a protocol author can cause, each one sentence with its fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class ModelError(Exception):
    """A protocol, a property or a constant is wrong; the message is one sentence that says what and how to fix it.

    >>> try:
    ...     field(Array(Count, int))
    ... except ModelError as error:
    ...     print("int" in str(error))
    True
    """

    place: tuple[str, int] | None = None
    """The file and the line that it is about, where that is not the line that was at work."""

    def __init__(self, *told: object) -> None:
        super().__init__(*told)
        made = _MADE.get()
        if made is not None:
            made.append(self)


_MADE: ContextVar[list[ModelError] | None] = ContextVar("acked_refusals", default=None)
"""The refusals of the trace that is under way."""


@contextmanager
def raise_refusals() -> Iterator[None]:
    """Raises the first refusal that was made within the block, although an author's `except` has caught it."""
    made: list[ModelError] = []
    token = _MADE.set(made)
    try:
        yield
    finally:
        _MADE.reset(token)
    if made:
        raise made[0]


@contextmanager
def attempt() -> Iterator[None]:
    """What is refused within the block may be tried in another way, and is no refusal."""
    token = _MADE.set(None)
    try:
        yield
    finally:
        _MADE.reset(token)


class DomainOverflow(ModelError):
    """An action fired in a reachable state assigns a value outside its field's domain.

    >>> hasty = Protocol("hasty", State, title="no bound", source="acked", constants=(brokers, records),
    ...                  initial=lambda s: None)
    >>> @hasty.action()
    ... def append(s: State) -> None:
    ...     s.end[s.leader] = s.end[s.leader] + 1
    >>> try:
    ...     check(ask(hasty, nothing_lost, brokers=1, records=1))
    ... except DomainOverflow as error:
    ...     print("end[0]" in str(error))
    True
    """


class UnknownName(ModelError, AttributeError):
    """The words of a step ask for a parameter or a field that there is not, whatever the step."""


class StepError(ModelError):
    """A step does what no step may do; in an action instance that can never be enabled that is not an error."""
