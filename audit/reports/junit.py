"""An audit as JUnit XML: a case for every cell of the tables, red where the exit code is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from acked.audit.reports.document import Document
from acked.audit.reports.topics import named
from acked.audit.reports.transactional import told_in_lines

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def audit_junit(document: Document) -> str:
    """The document; what was asked besides, and for comparison, is a case that is not red, and the verdict is the output."""
    cases = list(_cases(document))
    root = ET.Element("testsuites", name="acked audit")
    kinds = [kind for _, _, kind, _ in cases]
    suite = ET.SubElement(root, "testsuite", name="acked audit", tests=str(len(cases)), failures=str(kinds.count("failure")),
                          errors=str(kinds.count("error")), skipped="0")  # fmt: skip
    for of, name, kind, lines in cases:
        case = ET.SubElement(suite, "testcase", classname=_text(of), name=_text(name))
        if kind:
            shown = ET.SubElement(case, kind, message=_text(lines[0]))
            shown.text = _text("\n".join(lines))
        elif lines:
            ET.SubElement(case, "system-out").text = _text("\n".join(lines))
    ET.SubElement(suite, "system-out").text = _text("\n".join([document["verdict_in_words"], *_passed_over(document)]))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _passed_over(document: Document) -> list[str]:
    """What the audit did not look at, though it seems to count (--lenient)."""
    audits = [group["audit"] for group in document["groups"]] if "groups" in document else [document]
    found = [one for audit in audits if audit is not None for one in audit.get("passed_over", ())]
    return list(dict.fromkeys(f"passed over (--lenient): {one['key']} ({one['file']}:{one['line']})" for one in found))


def _cases(document: Document) -> Iterator[tuple[str, str, str, list[str]]]:
    """What each is of, its name, `failure`, `error` or nothing, and what is to be said."""
    if "groups" not in document:
        yield from _of_audit(", ".join(document["topics"]) or "audit", document, True)
        return
    for group in document["groups"]:
        if group["audit"] is None:
            yield named(group), "asked", "error" if group["decides"] else "", [f"not asked about: {group['refusal']}"]
        else:
            of = named(group) + (f" ({group['producer']})" if group["producer"] else "")
            yield from _of_audit(of, group["audit"], group["decides"])


def _of_audit(of: str, audit: Document, decides: bool) -> Iterator[tuple[str, str, str, list[str]]]:
    for answer in audit["answers"]:
        is_red = decides and answer["decides"] and answer["question"] in audit["required"]
        kind = {"yes": "failure", "undecided": "error"}.get(answer["worst"], "") if is_red else ""
        steps = [] if answer["story"] is None else [*answer["story"]["steps"], answer["story"]["happened"]]
        for other in answer["elsewhere"]:
            steps += [other["in_words"], *([] if other["story"] is None else other["story"]["steps"])]
        lines = [] if answer["worst"] == "no" else [f"{answer['text']} {answer['in_words']}", *steps]
        yield of, f"{answer['question']} ({answer['faults']['name']})", kind, lines
    for item in audit.get("transactions", ()):
        lines = [] if item["answer"] == "no" else told_in_lines(item)
        yield of, f"transactions: {item['question']} ({item['clients']})", "", lines


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
