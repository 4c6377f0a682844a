"""An audit in the terminal and as Markdown. What does not live here: its words (`audit_document.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reports.console import glyphs_of, harmless, put, put_paragraph

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"yes": "bold red", "no": "bold green", "undecided": "bold yellow"}
_LEVELS = {"error": "bold red", "warning": "yellow", "note": "dim"}


def head_of(document: Mapping[str, Any]) -> tuple[str, str]:
    """Two lines: what is audited, and what is assumed."""
    rules = "" if document["rules"] == document["kafka_version"] else f" (rules of {document['rules']})"
    plane = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}[document["control_plane"]]
    return f"Kafka {document['kafka_version']}{rules} with {plane}", f"assumed: {document['faults']['words']}"


def verdict_of(document: Mapping[str, Any]) -> str:
    """The last line: what the exit code says."""
    names = ", ".join(document["required"])
    return {
        "yes": f"not as required: the answer to one of {names} is yes",
        "no": f"as required: {names} decided no",
        "undecided": f"undecided: of {names} not everything could be explored",
    }[document["verdict"]]


def print_audit(console: Console, document: Mapping[str, Any]) -> None:
    """The audit, fitting the console's width."""
    glyphs = glyphs_of(console)
    sign = {"yes": glyphs.bad, "no": glyphs.good, "undecided": glyphs.open}
    title, assumed = head_of(document)
    put_paragraph(console, title, "bold")
    put_paragraph(console, assumed, "dim")
    put(console, [])
    for item in document["settings"]:
        put_paragraph(console, f"{item['key']}={item['value']}", "bold", "  ", "  ")
        put_paragraph(console, item["source"], "dim", "      ", "      ")
    if document["findings"]:
        put(console, [])
    for item in document["findings"]:
        where = f"{item['file']}:{item['line']}: " if item["line"] else ""
        put_paragraph(console, f"{where}{item['text']}", _LEVELS[item["level"]], f"  {item['level']:<8} ", " " * 11)
    for number, answer in enumerate(document["answers"], 1):
        put(console, [])
        put_paragraph(console, answer["text"], "bold", f"{number}. ", "   ")
        put_paragraph(console, answer["in_words"], _STYLES[answer["answer"]], f"   {sign[answer['answer']]} ", "     ")
        _print_reasons(console, answer)
    put(console, [])
    put_paragraph(console, verdict_of(document), _STYLES[document["verdict"]], f"{sign[document['verdict']]} ", "  ")
    for warning in document["warnings"]:
        put_paragraph(console, f"note: {warning}", "dim")


def _print_reasons(console: Console, answer: Mapping[str, Any]) -> None:
    if answer["story"] is not None:
        for step, sentence in enumerate(answer["story"]["steps"], 1):
            put_paragraph(console, sentence, "", f"     {step:>2}  ", " " * 9)
        put_paragraph(console, answer["story"]["happened"], "", "     ", "     ")
    if answer["answer"] != "yes":
        return
    for cause in answer["causes"]:
        put_paragraph(console, cause["in_words"], "", "     because of  ", " " * 17)
    if not answer["causes"]:
        put_paragraph(console, "no single setting changes that", "", "     because of  ", " " * 17)
    remedy = answer["remedy"]
    text = "none of the changes tried makes it a no" if remedy is None else f"{remedy['in_words']} (checked)"
    put_paragraph(console, text, "bold", "     smallest change  ", " " * 22)


# -- Markdown -----------------------------------------------------------------------------------------------------------

_ESCAPED = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_{}[]<>#|~"})


def escaped(text: object) -> str:
    """Text as Markdown shows it, on one line."""
    return " ".join(harmless(text).translate(_ESCAPED).split())


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def audit_markdown(document: Mapping[str, Any]) -> str:
    """The audit as a Markdown page."""
    title, assumed = head_of(document)
    lines = [f"# Audit: {escaped(title)}", "", sentence(escaped(assumed)), "", f"**{escaped(verdict_of(document))}**"]
    lines += ["", "| question | answer |", "|---|---|"]
    lines += [f"| {escaped(item['text'])} | **{item['answer']}** |" for item in document["answers"]]
    for answer in document["answers"]:
        lines += ["", f"## {escaped(answer['text'])}", "", sentence(escaped(answer["in_words"]))]
        if answer["story"] is not None:
            lines += ["", *(f"{at}. {escaped(step)}" for at, step in enumerate(answer["story"]["steps"], 1))]
            lines += ["", escaped(answer["story"]["happened"])]
        if answer["causes"]:
            lines += ["", "Because of:", "", *(f"- {escaped(cause['in_words'])}" for cause in answer["causes"])]
        if answer["remedy"] is not None:
            lines += ["", f"Smallest change: **{escaped(answer['remedy']['in_words'])}** (checked)."]
    lines += ["", "## Settings", "", "| setting | value | from |", "|---|---|---|"]
    lines += [f"| {escaped(s['key'])} | {escaped(s['value'])} | {escaped(s['source'])} |" for s in document["settings"]]
    if document["findings"]:
        lines += ["", "## Findings", ""]
        for item in document["findings"]:
            where = f"{escaped(item['file'])}:{item['line']}: " if item["line"] else ""
            lines.append(f"- **{item['level']}** {where}{escaped(item['text'])}")
    return "\n".join(lines) + "\n"
