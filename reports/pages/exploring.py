"""The page in which somebody walks through the states of a question: `reports/web/live.js` is its other half."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acked.checker.predicate.text import example_of
from acked.checker.question.question import GRAPH_KINDS, Question
from acked.reports.console import harmless
from acked.reports.pages.page import EXPLORER, page_of
from acked.reports.runs.answers import subject_in_words
from acked.reports.runs.packet import head_of
from acked.reports.standalone.protocol import protocol_data, words_script


def explorer_page(title: str, spec: str, question: Question, engine: Mapping[str, Any]) -> str:
    """The HTML; `engine` is what searches: the `token` of a server, or as `search` the script of a worker.

    Links of the page name the `spec` as the command line does, and its constants.
    """
    instance = question.instance
    subject = harmless(subject_in_words(instance))
    trace = {"name": instance.protocol.name, "subject": subject, "head": head_of(question), "packet": None, "end": None}
    live = {
        **engine,
        "protocol": protocol_data(title, question),
        "example": harmless(example_of(instance.schema)),
        "spec": harmless(spec),
        "subject": ", ".join(f"{name}={value}" for name, value in instance.telling_constants.items()),
        "constants": instance.constants,
        "promises": [item.name for item in question.properties if item.kind not in GRAPH_KINDS],
    }
    data = {"title": harmless(title), "subject": subject, "story": None, "traces": [trace], "live": live}
    return page_of(data, EXPLORER, more=words_script(question), packed="search" in engine)
