"""The durability table as one HTML page, whose cells open their stories, and the stories as pages of the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from acked.audit.decision.durability import Filled
from acked.audit.reports.durability import Stories, cell_in_words, detail, row_title, rows_of, summary
from acked.checker.batch.outcome import Task
from acked.checker.question.result import Counterexample
from acked.invariants.property import Property
from acked.reports.pages.page import render, trace_data
from acked.reports.pages.static_page import render_report


def story_pages(filled: Filled, promise: Property) -> Iterator[tuple[Task, str, str]]:
    """For every story its task, a file name, and the viewer's page; cells with the same search share one."""
    seen: dict[Task, str] = {}
    for cell in filled.cells:
        if cell.story is None or cell.task in seen:
            continue
        place = cell.place
        unclean = "unclean" if place.unclean_election else "clean"
        seen[cell.task] = (
            f"{place.version}-acks-{place.acks}-min-{place.min_insync_replicas}-of-{place.replicas}-{unclean}-"
            f"{place.crashes.value}.html"
        ).replace(" ", "-").replace(":", "-")
        title = f"{promise.name} with {row_title(place)}, {place.crashes.value} crashes"
        question = cell.task.question()
        data = trace_data(Counterexample(title, question, cell.story.run(question), promise))
        yield cell.task, seen[cell.task], render(data, packed=True)


def durability_page(filled: Filled, promise: Property, pages: Mapping[Task, str] | None = None) -> str:
    """The page; it needs no script and no network. `pages` are the addresses of the stories' pages, if there are any."""
    stories = Stories()
    rows = [
        {
            "place": row[0].place,
            "cells": [
                {
                    "state": cell.state.value,
                    "words": cell_in_words(cell),
                    "detail": detail(cell),
                    "story": stories.of(cell),
                    "page": (pages or {}).get(cell.task),
                }
                for cell in row
            ],
        }
        for row in rows_of(filled)
    ]
    data = {
        "property": promise.name,
        "promise": promise.promise,
        "kinds": filled.table.axes.crashes,
        "rows": rows,
        "summary": summary(filled),
    }
    return render_report("durability.html.j2", data)
