"""The messages of the loggers that `acked kafka observe` switches on, by Kafka's own sources: the table `templates.tsv`.

`python tools/lines/wordings.py` extracts them; what each tells was read in the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum, unique
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from acked.cluster.lines.wordings import LOGS, first_word

FAMILY = "UnifiedLog"
"""In the table for each logger of a partition's log."""


@unique
class Tells(StrEnum):
    """What a message tells: what `wordings.toml` reads, nothing that the model has or that no other line tells, or else."""

    EVENT = "event"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


class Template(NamedTuple):
    """One message: who prints it at which level, in which lines of releases, what it tells, and its text, {} for values."""

    logger: str
    level: str
    releases: str
    tells: Tells
    text: str


def read_templates() -> tuple[Template, ...]:
    """The table."""
    rows = files("acked.cluster.lines").joinpath("templates.tsv").read_text("utf-8").splitlines()[1:]
    return tuple(
        Template(logger, level, releases, Tells(tells), text)
        for logger, level, releases, tells, text in (row.split("\t") for row in rows)
    )


def template_of(logger: str, said: str) -> Template | None:
    """The message that a line is, after its prefix in brackets, that with most text of its own; None of one in no source."""
    table = _by_first_word()
    for word in (first_word(said), ""):
        for item, pieces in table.get((logger, word), ()):
            if _fits(said, pieces):
                return item
    return None


@cache
def _by_first_word() -> dict[tuple[str, str], list[tuple[Template, Sequence[str]]]]:
    """The table by logger and first word, which is empty where a value stands there or goes on from there."""
    found: dict[tuple[str, str], list[tuple[Template, Sequence[str]]]] = {}
    for item in sorted(read_templates(), key=lambda item: -len(item.text.replace("{}", ""))):
        pieces = item.text.split("{}")
        word = first_word(pieces[0])
        is_whole = word != pieces[0] or len(pieces) == 1
        for logger in LOGS if item.logger == FAMILY else (item.logger,):
            found.setdefault((logger, word if is_whole else ""), []).append((item, pieces))
    return found


def _fits(said: str, pieces: Sequence[str]) -> bool:
    """Whether a text has these pieces in this order, the first at its beginning and the last at its end."""
    first, *others = pieces
    if not said.startswith(first):
        return False
    at = len(first)
    for piece in others:
        at = said.find(piece, at) + len(piece)
        if at < len(piece):
            return False
    return said.endswith(pieces[-1]) if others else said == first
