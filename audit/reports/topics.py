"""The audit of several groups of topics: the table of them first, then what each is about, every story once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acked.audit.clusters.several import Audited, worst_of_groups
from acked.audit.clusters.topics import INTERNAL
from acked.audit.decision.questions import AuditQuestion
from acked.audit.reports.document import Document, always, audit_document, with_hinges
from acked.audit.reports.overview import MARKS, SHORT, STYLES, legend, overview
from acked.audit.reports.terminal import (
    body_markdown,
    head_of,
    not_asked_of,
    print_answers,
    print_body,
    print_head,
    print_verdict,
    sentence,
)
from acked.audit.reports.transactional import transactions_told_once
from acked.audit.reports.upgrading import upgrade_part, verdict_with
from acked.checker.batch.cache import ResultCache
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR
from acked.reports.console import put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Column, Mark, Table, TableCell, fits, numbers, print_table, table, table_markdown
from acked.reports.units import plural

if TYPE_CHECKING:
    from rich.console import Console

FORMAT = "acked-audit-topics/1"
_NAMED = 3
"""Topics that the table names; the document has them all."""

_HEADS = {"no": "PASS", "yes": "FAIL", "undecided": "UNDECIDED"}


def topics_document(
    audited: Sequence[Audited], required: Sequence[AuditQuestion], left_out: Sequence[str], cache: ResultCache | None = None
) -> dict[str, Any]:
    """All groups as JSON, the worst first, each with its own audit as `audit_document` has it."""
    groups = [_group(number, one, required, cache) for number, one in enumerate(audited, 1)]
    verdict = worst_of_groups(audited, required).value
    return {
        "format": FORMAT,
        "required": [asked.value for asked in required],
        "verdict": verdict,
        "verdict_in_words": _verdict_in_words(groups, verdict),
        "groups": groups,
        "left_out": list(left_out),
    }


def _group(
    number: int, one: Audited, required: Sequence[AuditQuestion], cache: ResultCache | None
) -> dict[str, Any]:
    group, audit = one.group, one.audit
    told = None
    if audit is not None and one.contexts is not None:
        told = audit_document(audit, required, one.contexts, cache, group.topics)
        told = with_hinges(told | upgrade_part(one.upgrade), one.hinges)
        told = verdict_with(told, one.upgrade, required)
    values = {} if audit is None else audit.configuration.values
    return {
        "number": number,
        "topics": list(group.topics),
        "brokers": list(group.brokers),
        "producer": group.producer or None,
        "decides": group.decides,
        "replicas": values[REPLICATION_FACTOR].number if audit is not None else None,
        "min_insync_replicas": values[keys.MIN_ISR].number if audit is not None else None,
        "acks": values[keys.ACKS].value if audit is not None else None,
        "verdict": one.worst(required).value,
        "refusal": one.refusal or None,
        "audit": told,
    }


def _verdict_in_words(groups: Sequence[Mapping[str, Any]], verdict: str) -> str:
    bad = [group for group in groups if group["decides"] and group["verdict"] == verdict]
    if verdict == "no":
        said = next((group["audit"]["verdict_in_words"] for group in bad if group["audit"]), "PASS")
        return f"{said}, in {plural(len(bad), 'group')} of topics"
    topics = sum(len(group["topics"]) for group in bad)
    numbers_ = ", ".join(str(group["number"]) for group in bad)
    numbers_of: dict[str, list[str]] = {}
    for group in bad:
        what = group["audit"]["verdict_in_words"].partition(": ")[2] if group["audit"] else "not asked"
        numbers_of.setdefault(what, []).append(str(group["number"]))
    parts = [f"{', '.join(found)}: {what}" if len(numbers_of) > 1 else what for what, found in numbers_of.items()]
    of = f"{plural(len(bad), 'group')} of topics ({numbers_}; {plural(topics, 'topic')})"
    return f"{_HEADS[verdict]}: {of}: {'; '.join(parts)}"


# -- the table of groups ------------------------------------------------------------------------------------------------


def groups_table(document: Document) -> Table:
    """A row for each group: which topics, what decides, and for each question the first class of faults with a yes."""
    questions = list(dict.fromkeys(
        answer["question"] for group in document["groups"] if group["audit"] for answer in group["audit"]["answers"]
    ))  # fmt: skip
    rows = []
    for group in document["groups"]:
        cells = [_cell(group, asked) for asked in questions]
        known = [TableCell("-" if group[key] is None else str(group[key])) for key in _COLUMNS]
        rows.append((TableCell(f"{group['number']}. {named(group)}"), *known, *cells))
    return table((*_HEADINGS, *(SHORT[asked] for asked in questions)), rows)


_HEADINGS = ("topics", numbers("RF"), numbers("min ISR"), "acks")
_COLUMNS = ("replicas", "min_insync_replicas", "acks")


def named(group: Document) -> str:
    """`orders, payments and 12 more; brokers 2 and 3`."""
    topics = group["topics"]
    text = ", ".join(topics[:_NAMED]) + (f" and {len(topics) - _NAMED} more" if len(topics) > _NAMED else "")
    text = text or "every topic"
    if group["brokers"]:
        text += f" (led by {', '.join(group['brokers'])})"
    return text


def _cell(group: Document, asked: str) -> TableCell:
    """The mildest class of faults under which it can happen, else whether that is decided for all of them."""
    if group["audit"] is None:
        return TableCell("not asked", STYLES["undecided"], Mark.OPEN)
    audit = group["audit"]
    found = {answer["faults"]["name"]: answer for answer in audit["answers"] if answer["question"] == asked}
    for reply in ("yes", "undecided"):
        for column in audit["columns"]:
            answer = found.get(column["name"])
            if answer is not None and answer["worst"] == reply:
                return TableCell(column["heading"], STYLES[reply], MARKS[reply])
    return TableCell("no", STYLES["no"], MARKS["no"])


def table_legend(document: Document) -> list[str]:
    """How to read the cells of the table of groups."""
    lines = [
        "\u2717 with a fault: it can happen, and that is the mildest of the faults asked about under which it can; "
        "? with a fault: not decided there, and no yes elsewhere; no: under none of them"
    ]
    first = next((group["audit"] for group in document["groups"] if group["audit"]), None)
    lines += legend(first)[: len(first["columns"])] if first is not None else []
    own = [name for name in document["left_out"] if name in INTERNAL]
    others = [name for name in document["left_out"] if name not in INTERNAL]
    if own:
        lines.append(f"left out: {', '.join(own)} (--internal asks about them too)")
    if others:
        lines.append(f"left out: {', '.join(others)} (--topic names another)")
    return lines


# -- what stands above ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heads:
    """What stands above the groups' table, and above the sections of groups that differ in that."""

    title: str
    lines: Sequence[str]
    model: str
    is_common: bool

    @classmethod
    def of(cls, document: Document) -> Heads:
        """Groups may run different releases, as in a roll, and not all of them elect uncleanly."""
        heads = [(*head_of(audit), audit["model"]) for group in document["groups"] if (audit := group["audit"])]
        titles = list(dict.fromkeys(title for title, _, _ in heads))
        models = {model for _, _, model in heads}
        return cls(
            "; ".join(titles) or "topics",
            heads[0][1] if len(titles) == 1 else (),
            models.pop() if len(models) == 1 else always(),
            len(titles) < 2,
        )

    def of_group(self, audit: Document) -> list[str]:
        """What of this is a group's own."""
        title, lines = head_of(audit)
        own = [] if self.is_common else [", ".join([title, *lines])]
        return own if audit["model"] == self.model else [*own, audit["model"]]


# -- terminal -----------------------------------------------------------------------------------------------------------


def print_topics(console: Console, document: Document) -> None:
    """The table of groups, then a section for each."""
    first = next((group["audit"] for group in document["groups"] if group["audit"]), None)
    heads = Heads.of(document)
    if first is not None:
        print_head(console, heads.title, heads.lines, heads.model)
    _print_groups(console, groups_table(document))
    put(console, [])
    for line in table_legend(document):
        put_paragraph(console, line, "dim", "  ", "    ")
    for group, audit in told_once(document):
        put(console, [])
        put_paragraph(console, title_of(group), "bold")
        if audit is None:
            put_paragraph(console, f"not asked about: {group['refusal']}", STYLES["undecided"], "  ", "  ")
            continue
        for line in heads.of_group(audit):
            put_paragraph(console, line, "dim", "  ", "  ")
        put(console, [])
        print_answers(console, overview(audit))
        print_body(console, audit)
    print_verdict(console, document, first)


def _print_groups(console: Console, shown: Table) -> None:
    """The table of groups; where the console is too narrow for it, what they are set to above what is answered."""
    for is_narrow in (False, True):
        if fits(console, shown, is_narrow):
            print_table(console, shown, is_narrow)
            return
    count = len(_HEADINGS)
    print_table(console, Table(shown.columns[:count], tuple(row[:count] for row in shown.rows)))
    put(console, [])
    numbered = tuple((TableCell(row[0].text.partition(" ")[0]), *row[count:]) for row in shown.rows)
    answers = Table((Column(""), *shown.columns[count:]), numbered)
    print_table(console, answers, is_narrow=not fits(console, answers))


def title_of(group: Document) -> str:
    """What stands above a group's section."""
    text = f"Group {group['number']}: {named(group)}"
    if group["producer"] is not None:
        decides = "" if group["decides"] else "; for comparison, and without weight for the exit code"
        text += f" ({group['producer']}{decides})"
    return text


def told_once(document: Document) -> Iterator[tuple[Document, Document | None]]:
    """Every group with its audit, in which stories that another group has told refer to that one."""
    told: dict[tuple[str, ...], str] = {}
    told_of_transactions: dict[str, str] = {}
    remarked: set[tuple[object, ...]] = set()
    for group in document["groups"]:
        audit = group["audit"]
        if audit is None:
            yield group, None
            continue
        answers = []
        for answer in audit["answers"]:
            story = answer["story"]
            key = (answer["question"], *story["actions"]) if story is not None else ()
            elsewhere = told.get(key)
            if story is not None and answer["same_as"] is None and elsewhere is None:
                told[key] = f"{answer['faults']['name']} in group {group['number']}"
            answers.append({**answer, "same_as": answer["same_as"] or elsewhere} if story is not None else answer)
        findings = [item for item in audit["findings"] if (item["rule"], item["text"], item["line"]) not in remarked]
        remarked.update((item["rule"], item["text"], item["line"]) for item in findings)
        once = transactions_told_once(audit.get("transactions", ()), told_of_transactions, f"group {group['number']}")
        yield group, {**audit, "answers": answers, "findings": findings, "transactions": once}


# -- Markdown -----------------------------------------------------------------------------------------------------------


def topics_markdown(document: Document) -> str:
    """The table of groups, then a section for each, as Markdown."""
    first = next((group["audit"] for group in document["groups"] if group["audit"]), None)
    lines = ["# Audit of topics", "", f"**{md_text(document['verdict_in_words'])}**", ""]
    heads = Heads.of(document)
    if first is not None:
        lines += [md_text(line) for line in (heads.title, *heads.lines)]
        lines += ["", sentence(md_text(not_asked_of(first))), "", md_text(heads.model), ""]
    lines += [*table_markdown(groups_table(document)), ""]
    lines += [f"- {md_text(line)}" for line in table_legend(document)]
    for group, audit in told_once(document):
        lines += ["", f"## {md_text(title_of(group))}"]
        if audit is None:
            lines += ["", sentence(md_text(f"not asked about: {group['refusal']}"))]
            continue
        lines += [part for line in heads.of_group(audit) for part in ("", md_text(line))]
        lines += ["", *table_markdown(overview(audit)), *body_markdown(audit)]
    return "\n".join(lines) + "\n"
