"""What reports have to know of a protocol to show a run of it that was played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic

from acked.base.frozen import frozen
from acked.cluster.playing.driver import A, S
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.protocol import PlayedProtocol, PreparedRun
from acked.cluster.playing.script import State
from acked.reports.pictures.picture import Look, Picture


@frozen
class Presentation(Generic[S, A]):
    """How a protocol is shown: in cells of a table, in words, in pictures and in documents.

    `model_cells` and `real_cells` are those of a state and of what is seen, under `heads`; `real_cells` is told how many rows
    the model has. `clients_in_words` is what `clients` were answered, `end_in_words` what has become of a promise by its
    name (empty: of all), `details` what else is seen in the end, a line each. `painter` makes what draws one moment after the
    other. `answers_document` and `seen_document` are parts of a document, `end_document` all that is decided in the end, with
    what is the same of all protocols in it; `read_answers` and `read_seen` read them, `SpecUnreadable` if they are none.
    """

    played: PlayedProtocol[S, A]
    look: Look
    clients: str
    no_answers: A
    heads: Callable[[State], list[str]]
    model_cells: Callable[[State], list[str]]
    real_cells: Callable[[S, int], list[str]]
    clients_in_words: Callable[[PlayedRun[S, A]], str]
    end_in_words: Callable[[PlayedRun[S, A], str], str]
    painter: Callable[[PreparedRun], Callable[[S, A], Picture]]
    answers_document: Callable[[A], dict[str, Any]]
    seen_document: Callable[[S, int], dict[str, Any]]
    end_document: Callable[[PlayedRun[S, A], dict[str, Any]], dict[str, Any]]
    read_answers: Callable[[Mapping[str, Any]], A]
    read_seen: Callable[[Mapping[str, Any], int], S]
    details: Callable[[S], list[str]] = lambda seen: []
