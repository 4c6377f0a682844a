"""The gate's report as JUnit XML, as Jenkins, GitLab and others read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from acked.checker.gate.gate import Candidate, GateEntry, GateReport
from acked.checker.spec.expectation import Reason
from acked.reports.gate.failures import Failure

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ERRORS = (Reason.UNREADABLE, Reason.NO_ANSWER)
"""Reasons that are not about the protocol: the spec was not decided."""


def junit_xml(report: GateReport, failures: Sequence[Failure]) -> str:
    """The document; `failures` has the details of the red entries."""
    stories = {item.entry.candidate.path: item for item in failures}
    errors = sum(_is_error(entry) for entry in report.red) + bool(report.refusal)
    root = ET.Element("testsuites", name="acked gate")
    suite = ET.SubElement(
        root,
        "testsuite",
        name="acked gate",
        tests=str(len(report.entries) + len(report.left_out) + bool(report.refusal)),
        failures=str(len(report.red) - sum(_is_error(entry) for entry in report.red)),
        errors=str(errors),
        skipped=str(len(report.left_out)),
        time=f"{report.seconds:.3f}",
    )
    for entry in report.entries:
        seconds = 0.0 if entry.outcome is None or entry.is_cached else entry.outcome.seconds
        case = _case(suite, entry.candidate, seconds)
        if not entry.is_green:
            item = stories[entry.candidate.path]
            kind = "error" if _is_error(entry) else "failure"
            shown = ET.SubElement(case, kind, type=entry.departures[0].reason.value, message=xml_text(item.sentence))
            shown.text = xml_text(item.text)
    for candidate in report.left_out:
        why = "slow; add --slow" if candidate.is_slow else "large; leave --up-to out"
        ET.SubElement(_case(suite, candidate, 0.0), "skipped", message=why)
    if report.refusal:
        case = ET.SubElement(suite, "testcase", name="specs", classname="gate", time="0.000")
        ET.SubElement(case, "error", type=Reason.NO_SPEC.value, message=xml_text(report.refusal))
    return xml_document(root)


def _case(suite: ET.Element, candidate: Candidate, seconds: float) -> ET.Element:
    folder = ".".join(candidate.path.parent.parts) or "specs"
    return ET.SubElement(suite, "testcase", name=xml_text(candidate.name), classname=xml_text(folder), time=f"{seconds:.3f}")


def _is_error(entry: GateEntry) -> bool:
    return any(departure.reason in _ERRORS for departure in entry.departures)


def xml_text(text: str) -> str:
    """Text in which what XML cannot hold, escaped or not, is replaced."""
    return _NOT_XML.sub("\ufffd", text)


def xml_document(root: ET.Element) -> str:
    """The text of a file, indented."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
