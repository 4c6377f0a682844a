"""What events of a kind tell: always, and sometimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acked.cluster.observation.events import Event, Says


@dataclass(frozen=True)
class Fields:
    """What an event of a kind always tells, and what only sometimes."""

    required: frozenset[str]
    optional: frozenset[str]


def _fields(required: str, optional: str = "") -> Fields:
    return Fields(frozenset(required.split()), frozenset(optional.split()))


FIELDS: Mapping[Says, Fields] = {
    Says.CREATES: _fields("replicas isr leader epoch", "version"),
    Says.APPENDS: _fields("offset next", "hw"),
    Says.NOTES_FETCH: _fields("follower offset", "hw asks_to_add isr again"),
    Says.TAKES_ANSWER: _fields("leader offset records leader_hw", "hw cut"),
    Says.LEADS: _fields("epoch offset hw isr", "raised"),
    Says.FOLLOWS: _fields("epoch offset hw", "leader appending"),
    Says.REMOVES_FETCHER: _fields(""),
    Says.LEARNS_ISR: _fields("isr", "epoch hw raised"),
    Says.ASKS_TO_SHRINK: _fields("followers", "isr"),
    Says.ASKS_TO_EXPAND: _fields("follower", "isr hw cut again"),
    Says.GIVES_UP_ISR: _fields("isr"),
    Says.RAISES_HW: _fields("hw", "cut"),
    Says.TRUNCATES: _fields("to", "leader leader_hw hw most"),
    Says.DELETES: _fields("from"),
    Says.RESTARTS: _fields("hw", "end"),
    Says.CHANGES: _fields("", "was isr leader epoch elr version recorded replicas"),
    Says.COMMITS_ISR: _fields("isr", "leader was epoch elr version replicas elects"),
    Says.FENCES: _fields("broker"),
    Says.UNFENCES: _fields("broker"),
}


def checked(event: Event) -> Event:
    """The event; ValueError if it tells more or less than events of its kind."""
    known = FIELDS[event.says]
    if not known.required <= event.fields.keys() <= known.required | known.optional:
        raise ValueError(f"a line that says {event.says.value!r} tells {sorted(known.required)}, not {sorted(event.fields)}")
    return event
