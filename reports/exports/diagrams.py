"""Runs as diagrams in text: ShiViz logs, Mermaid sequence diagrams, Graphviz."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto, unique

from acked.base.frozen import frozen
from acked.reports.console import harmless
from acked.reports.exports.subject import Exported
from acked.reports.pictures.picture import Message
from acked.reports.runs.lanes import lanes_of

SHIVIZ_PARSER = r"(?<host>\S+) (?<clock>\{[^}]*\}) (?<event>.*)"
"""How ShiViz reads a line of ours; it stands on top of the log."""


def shiviz(exported: Exported) -> str:
    """A ShiViz log: an event a line with its host and vector clock; the second line says that there is one execution."""
    steps = exported.view.steps
    lanes = lanes_of(steps)
    clocks = _Clocks()
    for at, step in enumerate(steps):
        actor = lanes.acting[at] or "state"
        here = [message for message in lanes.messages if at in (message.sent, message.received)]
        answers = [number for number, message in enumerate(here) if message.received == at and message.receiver == actor]
        last, is_said = max(answers, default=-1), False
        for number, message in enumerate(here):
            if number > last and not is_said:
                is_said = clocks.event(actor, step.sentence)
            # Whoever acts says in one event what they do, and in events before that what they asked for it.
            if message.sent == at:
                if message.sender != actor or not is_said:
                    clocks.event(message.sender, f"tells {message.receiver}: {message.text}")
                clocks.sends(message)
            if message.received == at:
                clocks.hears(message)
                if message.receiver != actor:
                    clocks.event(message.receiver, f"hears from {message.sender}: {message.text}")
        if not is_said:
            clocks.event(actor, step.sentence)
    return "\n".join([SHIVIZ_PARSER, "", *clocks.lines]) + "\n"


class _Clocks:
    """Vector clocks: every event counts its host on; what is heard brings the sender's clock as of the sending."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._clocks: dict[str, dict[str, int]] = {}
        self._sent: dict[str, dict[str, int]] = {}

    def event(self, actor: str, text: str) -> bool:
        """Writes an event down; True, for there is one now."""
        clock = self._clock(actor)
        clock[_host(actor)] = clock.get(_host(actor), 0) + 1
        self.lines.append(f"{_host(actor)} {json.dumps(clock)} {text}")
        return True

    def sends(self, message: Message) -> None:
        """The message departs with its sender's last event."""
        self._sent[message.key] = dict(self._clock(message.sender))

    def hears(self, message: Message) -> None:
        """The message comes before the receiver's next event."""
        clock = self._clock(message.receiver)
        for host, time in self._sent.get(message.key, {}).items():
            clock[host] = max(clock.get(host, 0), time)

    def _clock(self, actor: str) -> dict[str, int]:
        return self._clocks.setdefault(_host(actor), {})


def _host(actor: str) -> str:
    return re.sub(r"[^\w.-]+", "-", actor) or "-"


@unique
class End(Enum):
    """Where an arrow ends: with its receiver, under way, or lost."""

    ARRIVES = auto()
    LEAVES = auto()
    LOST = auto()


_SIGNS = {End.ARRIVES: "->>", End.LEAVES: "--)", End.LOST: "-x"}


@frozen
class Arrow:
    """A message as a step draws it; `fate` says in words when it is sent or arrives, where that is another step."""

    message: Message
    end: End
    fate: str = ""


def arrows(messages: Iterable[Message], at: int) -> Iterator[Arrow]:
    """What a sequence diagram draws in a step: what arrives, or is dropped, in a later one is drawn in both."""
    for message in messages:
        late = ", late" if message.is_late else ""
        if at == message.sent == message.received:
            yield Arrow(message, End.ARRIVES)
        elif at == message.sent and message.received is not None:
            yield Arrow(message, End.LEAVES, f"arrives in step {message.received}{late}")
        elif at == message.sent and message.is_late and message.dropped not in (None, at):
            yield Arrow(message, End.LEAVES, f"dropped in step {message.dropped}{late}")
        elif at == message.sent:
            yield Arrow(message, End.LOST, f"never received{late}")
        elif at == message.received:
            yield Arrow(message, End.ARRIVES, f"sent in step {message.sent}{late}")
        elif at == message.dropped and message.is_late:
            yield Arrow(message, End.LOST, f"sent in step {message.sent}, late, and dropped")


def mermaid(exported: Exported) -> str:
    """A Mermaid sequence diagram: what is sent and arrives, or is dropped, later is drawn twice, dashed where it is sent."""
    steps = exported.view.steps
    lanes = lanes_of(steps)
    actors = list(lanes.actors) or ["state"]
    name = {actor: f"a{at}" for at, actor in enumerate(actors)}
    lines = ["sequenceDiagram", *(f"    participant {name[actor]} as {_mermaid(actor)}" for actor in actors)]
    for at, step in enumerate(steps):
        actor = lanes.acting[at]
        over = f"over {name[actor]}" if actor else f"over {name[actors[0]]},{name[actors[-1]]}"
        lines.append(f"    Note {over}: {at} {_mermaid(step.sentence)}")
        for arrow in arrows(lanes.messages, at):
            message = arrow.message
            sign, fate = _SIGNS[arrow.end], f" ({arrow.fate})" if arrow.fate else ""
            lines.append(f"    {name[message.sender]}{sign}{name[message.receiver]}: {_mermaid(message.text)}{fate}")
        if step.remark:
            lines.append(f"    Note over {name[actors[0]]},{name[actors[-1]]}: {_mermaid(step.remark)}")
        for broken in step.violated:
            lines.append(f"    Note over {name[actors[0]]},{name[actors[-1]]}: ✗ {_mermaid(broken)} is violated")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Text whose characters mean nothing to Mermaid, nor to the HTML that it makes."""
    line = re.sub(r"[^\w .,·:(){}=+/✗'-]", lambda found: f"#{ord(found[0])};", text)
    return re.sub(r"\bend\b", "#101;nd", line)  # Mermaid takes this word for its own, wherever it stands.


def dot(exported: Exported) -> str:
    """The run as a path in Graphviz's language: a box a state, an arrow an action."""
    view = exported.view
    lines = ["digraph run {", "  rankdir=LR;", '  node [shape=box, fontname="monospace"];']
    lines.append(f"  label={dot_text(view.title)};")
    for step in view.steps:
        colour = ', color="#b3131e", penwidth=2' if step.violated else ""
        text = "\n".join([f"{step.index}", *(f"{change.field} = {change.after}" for change in step.changes[:8])])
        lines.append(f"  s{step.index} [label={dot_text(text)}{colour}];")
    for step in view.steps[1:]:
        lines.append(f"  s{step.index - 1} -> s{step.index} [label={dot_text(step.label or '')}];")
    if exported.found.run.loop is not None:
        lines.append(f'  s{len(view.steps) - 1} -> s{exported.found.run.loop} [style=dashed, label="forever"];')
    return "\n".join([*lines, "}"]) + "\n"


def dot_text(text: str) -> str:
    """A quoted string of Graphviz's language; its own escapes are text, line ends stay line ends."""
    lines = [harmless(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\l".join([*lines, ""] if len(lines) > 1 else lines) + '"'
