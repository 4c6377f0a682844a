"""Events as tests write them, and the verdict on a few of them."""

from __future__ import annotations

from typing import Any

from acked.cluster.observation.events import CONTROLLER, Event, Says
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import Verdict, validate
from tests.cluster.observation.fields import checked


def said(at: int, by: int, says: Says, **fields: Any) -> Event:
    sets = {name: frozenset(value) if isinstance(value, set) else value for name, value in fields.items()}
    return checked(Event(at, by, says, sets, "log", at, f"{by} {says.value}"))


def verdict_of(isr: set[int], *events: Event, release: str = "4.1", **settings: object) -> Verdict:
    created = said(0, CONTROLLER, Says.CREATES, replicas={0, 1, 2}, isr=isr, leader=0, epoch=0)
    return validate(Subject(release, [0, 1, 2], settings), created, events)
