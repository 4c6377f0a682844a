"""An audit beside an earlier one: what got worse, and what got better."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.questions import worst_of
from acked.audit.reports.telling import SHORT
from acked.audit.reports.view import (
    FORMAT,
    TOPICS_FORMAT,
    AuditView,
    BaselineView,
    DifferenceView,
    GroupView,
    TopicsView,
    View,
    document_of,
)
from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import first_of
from acked.reports.units import plural

NOT_ASKED = "-"
"""The faults of what was not asked."""

_NAMED = 3
"""Topics that a line names for which the same changed."""

_ORDER = (AuditVerdict.NO, AuditVerdict.UNDECIDED, AuditVerdict.YES)


@frozen
class Cell:
    """A topic (empty where none is described), a question, and the name of the faults."""

    topic: str
    question: AuditQuestion
    faults: str


Cells = Mapping[Cell, AuditVerdict]
"""The worst answer of each cell that the exit code goes by."""


def read_baseline(path: Path) -> Cells:
    """An earlier audit as `--format json` wrote it; `SpecUnreadable` if it is something else."""
    try:
        document = json.loads(read_text(path, "baseline"))
        if document["format"] not in (FORMAT, TOPICS_FORMAT):
            raise KeyError("format")
        return _worst_of_each(_cells_in(document))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SpecUnreadable(f"{path} is not an earlier audit; write one with --format json --out {path.name}") from None


def _cells_in(document: Mapping[str, Any]) -> Iterator[tuple[Cell, AuditVerdict]]:
    """The cells of a document, as it was stored or would be.

    What is not known of a topic under the lead of one broker alone, which is down, is no cell: the others answer for it.
    """
    groups = document.get("groups", [{**document, "decides": True, "audit": document}])
    answered = {f"{_of(group)}{name}" for group in groups if group["decides"] and group["audit"] for name in group["topics"]}
    for group in groups:
        for topic in (f"{_of(group)}{name}" for name in group["topics"] or [""]) if group["decides"] else ():
            audit = group["audit"]
            is_known = group.get("unread") and topic in answered
            for asked in document["required"] if audit is None and not is_known else ():
                yield Cell(topic, AuditQuestion(asked), NOT_ASKED), AuditVerdict.UNDECIDED
            for answer in () if audit is None else audit["answers"]:
                if answer["decides"] and answer["question"] in audit["required"]:
                    cell = Cell(topic, AuditQuestion(answer["question"]), answer["faults"]["name"])
                    yield cell, AuditVerdict(answer["worst"])


def _of(group: Mapping[str, Any]) -> str:
    return f"{group['unit']}: " if group.get("unit") else ""


def cells_of(view: View) -> Cells:
    """The cells of an audit; a group that was not asked about is undecided."""
    return _worst_of_each(_cells_in(document_of(view)))


def _worst_of_each(cells: Iterable[tuple[Cell, AuditVerdict]]) -> Cells:
    found: dict[Cell, AuditVerdict] = {}
    for cell, reply in cells:
        found[cell] = worst_of([found.get(cell, AuditVerdict.NO), reply])
    return found


def differences(before: Cells, now: Cells) -> list[DifferenceView]:
    """Required answers that changed, worse ones first; what is not asked any more is none."""
    found = [_difference(cell, before.get(cell), reply) for cell, reply in now.items()
             if before.get(cell, AuditVerdict.NO) is not reply]  # fmt: skip
    return sorted(found, key=lambda one: (not one.is_worse, -_ORDER.index(one.now)))


def _difference(cell: Cell, before: AuditVerdict | None, now: AuditVerdict) -> DifferenceView:
    """One answer that changed; what was not asked before counts as a no."""
    is_worse = _ORDER.index(now) > _ORDER.index(before or AuditVerdict.NO)
    found = DifferenceView(cell.topic, cell.question, cell.faults, before, now, is_worse, "")
    return replace(found, in_words=difference_in_words(found, (cell.topic,)))


def difference_in_words(one: DifferenceView, topics: Sequence[str]) -> str:
    """`worse: orders, lost (clean): no before, yes now`, of the first of these topics, for which it is the same."""
    of = f"{first_of(topics, _NAMED)}, " if any(topics) else ""
    then = f"{one.before.value} before" if one.before is not None else "not asked before"
    change = "worse" if one.is_worse else "better"
    return f"{change}: {of}{SHORT[one.question]} ({one.faults}): {then}, {one.now.value} now"


def since(view: View, before: Cells, path: Path) -> BaselineView:
    """What changed since an earlier audit, and the verdict of what got worse."""
    found = differences(before, cells_of(view))
    notes = () if isinstance(view, AuditView) else unknown_brokers(view)
    return BaselineView(str(path), worst_of(one.now for one in found if one.is_worse), tuple(found), notes)


def counts_beside(view: View, group: GroupView | None, question: AuditQuestion, faults: str) -> bool:
    """Whether the exit code counts a required answer: of those beside an earlier audit only what got worse."""
    if view.baseline is None or view.policy is not None:
        return True
    names = names_of(group, view if isinstance(view, AuditView) else None)
    return any(
        one.is_worse and one.topic in names and one.question is question and one.faults == faults
        for one in view.baseline.differences
    )


def names_of(group: GroupView | None, audit: AuditView | None, nameless: str = "") -> frozenset[str]:
    """What the topics of a group are called, with what it is of; settings that name none are of the `nameless`."""
    topics = group.topics if group is not None else () if audit is None else audit.topics
    unit = f"{group.unit}: " if group is not None and group.unit else ""
    return frozenset(f"{unit}{topic or nameless}" for topic in topics or ("",))


def unknown_brokers(view: TopicsView) -> tuple[str, ...]:
    """A line for each broker whose settings are not known, with how many topics the others are judged by."""
    topics: dict[tuple[str, ...], set[str]] = {}
    for group in view.groups:
        if group.refusal and (judged := view.judged_by_others(group)):
            topics.setdefault((group.refusal, *group.brokers), set()).update(judged)
    return tuple(f"{reason}; {plural(len(names), 'topic')} are judged by the other brokers' settings; what one failure more "
                 "would cost now, acked roll says" for (reason, *_), names in topics.items())  # fmt: skip
