"""Runs as diagrams in text: ShiViz logs, Mermaid sequence diagrams, Graphviz.

What lives here: each format's grammar and escapes. What does not: who told whom (`reports/lanes.py`).
"""

from __future__ import annotations

import json
import re

from reports.console import harmless
from reports.exports.exported import Exported
from reports.lanes import lanes_of
from reports.picture import Message

SHIVIZ_PARSER = r"(?<host>\S+) (?<clock>\{[^}]*\}) (?<event>.*)"
"""How ShiViz reads a line of ours; it stands on top of the log."""


def shiviz(exported: Exported) -> str:
    """A ShiViz log: an event a line with its host and vector clock; the second line says that there is one execution."""
    steps = exported.view.steps
    lanes = lanes_of(steps)
    clocks: dict[str, dict[str, int]] = {}
    sent: dict[str, dict[str, int]] = {}
    lines = [SHIVIZ_PARSER, ""]

    def event(actor: str, text: str, heard: list[Message]) -> None:
        host = re.sub(r"[^\w.-]+", "-", actor) or "-"
        clock = clocks.setdefault(host, {})
        for message in heard:
            for other, time in sent.get(message.key, {}).items():
                clock[other] = max(clock.get(other, 0), time)
        clock[host] = clock.get(host, 0) + 1
        lines.append(f"{host} {json.dumps(clock)} {harmless(text)}")
        for message in lanes.messages:
            if message.sent == at and message.sender == actor:
                sent.setdefault(message.key, dict(clock))

    for at, step in enumerate(steps):
        actor = lanes.acting[at] or "state"
        here = [message for message in lanes.messages if message.received == at]
        # Who is not acting but tells something in this step does so before it; who is told does not act, either.
        for message in here:
            if message.sent == at and message.sender != actor:
                event(message.sender, f"tells {message.receiver}: {message.text}", [])
        event(actor, step.sentence, [message for message in here if message.receiver == actor])
        for message in here:
            if message.receiver != actor:
                event(message.receiver, f"hears from {message.sender}: {message.text}", [message])
    return "\n".join(lines) + "\n"


def mermaid(exported: Exported) -> str:
    """A Mermaid sequence diagram: what is sent and arrives later is drawn twice, dashed where it is sent."""
    steps = exported.view.steps
    lanes = lanes_of(steps)
    actors = list(lanes.actors) or ["state"]
    name = {actor: f"a{at}" for at, actor in enumerate(actors)}
    lines = ["sequenceDiagram", *(f"    participant {name[actor]} as {_mermaid(actor)}" for actor in actors)]
    for at, step in enumerate(steps):
        actor = lanes.acting[at]
        over = f"over {name[actor]}" if actor else f"over {name[actors[0]]},{name[actors[-1]]}"
        lines.append(f"    Note {over}: {at} {_mermaid(step.sentence)}")
        for message in lanes.messages:
            pair = (name[message.sender], name[message.receiver])
            text = _mermaid(message.text)
            if message.sent == at and message.received == at:
                lines.append(f"    {pair[0]}->>{pair[1]}: {text}")
            elif message.sent == at:
                fate = "never received" if message.received is None else f"arrives in step {message.received}"
                lines.append(f"    {pair[0]}{'-x' if message.received is None else '--)'}{pair[1]}: {text} ({fate})")
            elif message.received == at:
                late = ", late" if message.is_late else ""
                lines.append(f"    {pair[0]}->>{pair[1]}: {text} (sent in step {message.sent}{late})")
        if step.remark:
            lines.append(f"    Note over {name[actors[0]]},{name[actors[-1]]}: {_mermaid(step.remark)}")
        for broken in step.violated:
            lines.append(f"    Note over {name[actors[0]]},{name[actors[-1]]}: ✗ {_mermaid(broken)} is violated")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Text whose letters mean nothing to Mermaid, nor to the HTML that it makes."""
    line = re.sub(r"[^\w .,·:(){}=+/✗'-]", lambda found: f"#{ord(found[0])};", harmless(text))
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
    if exported.run.loop is not None:
        lines.append(f'  s{len(view.steps) - 1} -> s{exported.run.loop} [style=dashed, label="for ever"];')
    return "\n".join([*lines, "}"]) + "\n"


def dot_text(text: str) -> str:
    """A quoted string of Graphviz's language; its own escapes are taken for text, line ends stay line ends."""
    lines = [harmless(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    return '"' + "\\l".join([*lines, ""] if len(lines) > 1 else lines) + '"'
