"""Lines of nodes held against one another where they tell of the same partition epoch, of which there is one of each number.

The controller's changes are numbered, whoever of the controllers prints them, and brokers name the number of the change
that they have heard of. What differs is said in an event that nothing explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from acked.cluster.observation.events import Event, Says, value_in_words

_NAMES = ("isr", "leader", "epoch")


@dataclass
class Agreement:
    """What the controller has said of each partition epoch, and what brokers have said of those that it has not come to."""

    _known: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _last: dict[str, Any] = field(default_factory=dict)
    _open: dict[int, list[Event]] = field(default_factory=dict)

    def changed(self, event: Event) -> Iterator[Event]:
        """A change by the controller: what contradicts it."""
        version, told = event["version"], dict(event.fields)
        if event.says is Says.COMMITS_ISR:
            told["leader"] = told.pop("elects", None)  # Else `leader` is who asked for it.
        if version in self._known:
            yield from self._held_against(event, told)
            return
        self._last |= {name: told[name] for name in _NAMES if told.get(name) is not None}
        self._known[version] = dict(self._last)
        for heard in self._open.pop(version, ()):
            yield from self._held_against(heard, heard.fields)

    def heard(self, event: Event) -> Iterator[Event]:
        """The event of a broker that names a partition epoch, without it, and what contradicts it."""
        version = event["version"]
        if version in self._known:
            yield from self._held_against(event, event.fields)
        else:
            self._open.setdefault(version, []).append(event)
        yield replace(event, fields={name: value for name, value in event.fields.items() if name != "version"})

    def left(self) -> Iterator[Event]:
        """What brokers have heard of changes that no line of the controller tells of."""
        for version, events in self._open.items():
            wrong = f"the line says partition epoch {version}, and no controller's does"
            yield from (_contradiction(event, wrong) for event in events)

    def _held_against(self, event: Event, told: Mapping[str, Any]) -> Iterator[Event]:
        known = self._known[event["version"]]
        for name in _NAMES:
            said = told.get(name)
            if said is not None and known.get(name) is not None and said != known[name]:
                values = f"{value_in_words(said)}, and the controller's says {value_in_words(known[name])}"
                yield _contradiction(event, f"the line says of partition epoch {event['version']} {name} {values}")
                return


def _contradiction(event: Event, wrong: str) -> Event:
    return replace(event, says=Says.CONTRADICTS, fields={"wrong": wrong})
