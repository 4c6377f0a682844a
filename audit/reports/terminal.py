"""An audit in the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from acked.audit.reports.document import Document
from acked.audit.reports.overview import STYLES, legend, overview
from acked.audit.reports.transactional import print_transactions, transactions_markdown
from acked.audit.reports.upgrading import print_upgrade, upgrade_markdown
from acked.reports.console import glyphs_of, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Table, fits, print_table, table, table_markdown

if TYPE_CHECKING:
    from rich.console import Console

_LEVELS = {"error": "bold red", "warning": "yellow", "note": "dim"}


def head_of(document: Document) -> tuple[str, list[str]]:
    """What is audited, and lines on how the release is known and what is assumed."""
    rules = "" if document["rules"] == document["kafka_version"] else f" (rules of {document['rules']})"
    plane = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}[document["control_plane"]]
    title = f"Kafka {document['kafka_version']}{rules} with {plane}"
    return title, [f"release: {document['release']['in_words']}"]


def not_asked_of(document: Document) -> str:
    """What else may go wrong, and was not asked about."""
    return "not asked: " + ", ".join(f"{item['words']} ({item['name']})" for item in document["not_asked"])


def by_question(document: Document) -> list[tuple[str, list[Document]]]:
    """Answers by the text of their question, those that are told of.

    A question may have been asked under several kinds of faults. Of what was asked besides only a yes is told of, where its
    steps have not been told before: the table has the rest.
    """
    grouped = groupby(document["answers"], lambda answer: str(answer["text"]))
    return [(text, told) for text, answers in grouped if (told := list(_told(answers)))]


def _told(answers: Iterable[Document]) -> Iterator[Document]:
    for answer in answers:
        if answer["decides"] or (answer["story"] is not None and answer["same_as"] is None):
            yield answer


def same_as(answer: Document) -> str:
    """Where the steps have been told, if they have been."""
    return f", by the same steps as with {answer['same_as']}" if answer["same_as"] is not None else ""


def print_audit(console: Console, document: Document) -> None:
    """The audit, fitting the console's width."""
    print_head(console, *head_of(document), document["model"])
    print_answers(console, overview(document))
    put(console, [])
    for line in legend(document):
        put_paragraph(console, line, "dim", "  ", "    ")
    print_body(console, document)
    print_verdict(console, document, document)


def print_head(console: Console, title: str, lines: Iterable[str], model: str) -> None:
    """What is audited, and what may go wrong at all: what stands above the table."""
    put_paragraph(console, title, "bold")
    for line in lines:
        put_paragraph(console, line, "dim", "", "  ")
    put(console, [])
    put_paragraph(console, model)
    put(console, [])


def print_answers(console: Console, shown: Table) -> None:
    """A table of answers, whose columns stand closer together where they would not fit otherwise."""
    print_table(console, shown, is_narrow=not fits(console, shown))


def print_verdict(console: Console, document: Document, asked: Document | None) -> None:
    """The verdict of one audit or several, and what `asked`, one of them, leaves out and warns of."""
    verdict = document["verdict"]
    put(console, [])
    put_paragraph(console, document["verdict_in_words"], STYLES[verdict], f"{signs(console)[verdict]} ", "  ")
    if asked is None:
        return
    put_paragraph(console, not_asked_of(asked), "dim", "  ", "  ")
    for warning in asked["warnings"]:
        put_paragraph(console, f"note: {warning}", "dim")


def signs(console: Console) -> Mapping[str, str]:
    """By answer the sign before it: a yes is the bad one."""
    glyphs = glyphs_of(console)
    return {"yes": glyphs.bad, "no": glyphs.good, "undecided": glyphs.open}


def print_body(console: Console, document: Document) -> None:
    """Settings, findings and stories: what stands below the table."""
    sign = signs(console)
    put(console, [])
    for item in document["settings"]:
        put_paragraph(console, f"{item['key']}={item['value']}", "bold", "  ", "  ")
        put_paragraph(console, item["source"], "dim", "      ", "      ")
    if document["findings"]:
        put(console, [])
    for item in document["findings"]:
        where = f"{item['file']}:{item['line']}: " if item["line"] else ""
        put_paragraph(console, f"{where}{item['text']}", _LEVELS[item["level"]], f"  {item['level']:<8} ", " " * 11)
    for number, (text, answers) in enumerate(by_question(document), 1):
        put(console, [])
        put_paragraph(console, text, "bold", f"{number}. ", "   ")
        for answer in answers:
            if len(answers) > 1:
                put_paragraph(console, f"{answer['faults']['name']}: {answer['faults']['words']}", "dim", "   ", "     ")
            _print_answer(console, answer, sign)
    print_transactions(console, document)
    print_upgrade(console, document)
    if document["recommended"] is not None:
        put(console, [])
        put_paragraph(console, document["recommended"]["in_words"], "bold", "Recommended: ", " " * 13)
        for cost in document["recommended"]["costs"]:
            put_paragraph(console, cost, "", "  cost: ", " " * 8)


def _print_answer(console: Console, answer: Document, sign: Mapping[str, str]) -> None:
    said = f"{answer['in_words']}{same_as(answer)}"
    put_paragraph(console, said, STYLES[answer["answer"]], f"   {sign[answer['answer']]} ", "     ")
    _print_story(console, answer["story"] if answer["same_as"] is None else None)
    for other in answer["elsewhere"]:
        put_paragraph(console, other["in_words"], STYLES[other["answer"]], f"   {sign[other['answer']]} ", "     ")
        _print_story(console, other["story"])
    if answer["causes"] is None:
        return  # Without advice nothing is known.
    for cause in answer["causes"]:
        put_paragraph(console, f"{cause['in_words']}.", "", "     Cause: ", " " * 12)
    if answer["no_cause"] is not None:
        put_paragraph(console, f"{answer['no_cause']}.", "", "     Cause: ", " " * 12)
    remedy = answer["remedy"]
    text = "none of the changes tried turns the answer to no" if remedy is None else f"{remedy['in_words']} (checked)"
    put_paragraph(console, text + answer["undecided_in_words"], "bold", "     Smallest change: ", " " * 22)


def _print_story(console: Console, story: Document | None) -> None:
    if story is None:
        return
    for step, text in enumerate(story["steps"], 1):
        put_paragraph(console, text, "", f"     {step:>2}  ", " " * 9)
    put_paragraph(console, story["happened"], "", "     ", "     ")


# -- Markdown -----------------------------------------------------------------------------------------------------------


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def audit_markdown(document: Document) -> str:
    """The audit as a Markdown page."""
    title, head = head_of(document)
    lines = [f"# Audit: {md_text(title)}", ""]
    for line in head:
        lines += [sentence(md_text(line)), ""]
    lines += [f"**{md_text(document['verdict_in_words'])}**", "", sentence(md_text(not_asked_of(document)))]
    lines += ["", document["model"], "", *table_markdown(overview(document)), ""]
    lines += [f"- {md_text(line)}" for line in legend(document)]
    return "\n".join([*lines, *body_markdown(document)]) + "\n"


def body_markdown(document: Document) -> list[str]:
    """Stories, settings and findings: what stands below the table."""
    lines: list[str] = []
    for text, answers in by_question(document):
        lines += ["", f"## {md_text(text)}"]
        for answer in answers:
            if len(answers) > 1:
                lines += ["", f"### {md_text(answer['faults']['name'])}: {md_text(answer['faults']['words'])}"]
            lines += _answer_lines(answer)
    if document["recommended"] is not None:
        lines += ["", "## Recommended", "", f"**{md_text(sentence(document['recommended']['in_words']))}**"]
        lines += ["", *(f"- Cost: {md_text(cost)}" for cost in document["recommended"]["costs"])]
    lines += transactions_markdown(document)
    lines += upgrade_markdown(document)
    settings = [(item["key"], item["value"], item["source"]) for item in document["settings"]]
    lines += ["", "## Settings", "", *table_markdown(table(("setting", "value", "from"), settings))]
    if document["findings"]:
        lines += ["", "## Findings", ""]
        for item in document["findings"]:
            where = f"{md_text(item['file'])}:{item['line']}: " if item["line"] else ""
            lines.append(f"- **{item['level']}** {where}{md_text(item['text'])}")
    return lines


def _answer_lines(answer: Document) -> list[str]:
    story = answer["story"] if answer["same_as"] is None else None
    lines = ["", sentence(md_text(f"{answer['in_words']}{same_as(answer)}")), *_story_lines(story)]
    for other in answer["elsewhere"]:
        lines += ["", sentence(md_text(other["in_words"])), *_story_lines(other["story"])]
    if answer["causes"]:
        lines += ["", *(f"- Cause: {md_text(cause['in_words'])}." for cause in answer["causes"])]
    if answer["no_cause"] is not None:
        lines += ["", sentence(f"Cause: {md_text(answer['no_cause'])}")]
    if answer["causes"] is not None:
        remedy = answer["remedy"]
        found = "none of those tried turns the answer to no"
        if remedy is not None:
            found = f"**{md_text(remedy['in_words'])}** (checked)"
        lines += ["", f"Smallest change: {found}{md_text(answer['undecided_in_words'])}."]
    return lines


def _story_lines(story: Document | None) -> Sequence[str]:
    if story is None:
        return []
    steps = [f"{at}. {md_text(step)}" for at, step in enumerate(story["steps"], 1)]
    return ["", *steps, "", md_text(story["happened"])]
