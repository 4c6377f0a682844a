"""An audit as JUnit XML: a case for every cell of the tables, red where the exit code is, and for a verdict that none shows.

By a policy red is what it says is not kept: a case for each of its lines, and those of cells are then for reading alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.baseline import NOT_ASKED, counts_beside
from acked.audit.reports.topics import group_name
from acked.audit.reports.transactional import plain_lines
from acked.audit.reports.view import AuditView, GroupView, View, audits_of, verdict_view
from acked.reports.gate.junit import xml_document, xml_text


def audit_junit(view: View) -> str:
    """The document; what was asked besides, and for comparison, is a case that is not red, and the verdict is the output."""
    cases = list(_cases(view))
    verdict = verdict_view(view)
    is_by_baseline = view.baseline is not None and view.policy is None
    if not is_by_baseline and _KINDS[verdict.verdict] and not any(kind in _RED for _, _, kind, _ in cases):
        cases.append(("verdict", verdict.verdict_in_words, _KINDS[verdict.verdict], [verdict.verdict_in_words]))
    root = ET.Element("testsuites", name="acked audit")
    kinds = [kind for _, _, kind, _ in cases]
    suite = ET.SubElement(root, "testsuite", name="acked audit", tests=str(len(cases)), failures=str(kinds.count("failure")),
                          errors=str(kinds.count("error")), skipped=str(kinds.count("skipped")))  # fmt: skip
    for of, name, kind, lines in cases:
        case = ET.SubElement(suite, "testcase", classname=xml_text(of), name=xml_text(name))
        if kind:
            shown = ET.SubElement(case, kind, message=xml_text(lines[0]))
            shown.text = xml_text("\n".join(lines))
        elif lines:
            ET.SubElement(case, "system-out").text = xml_text("\n".join(lines))
    said = [verdict.verdict_in_words, *_passed_over_lines(view)]
    ET.SubElement(suite, "system-out").text = xml_text("\n".join(said))
    return xml_document(root)


def _passed_over_lines(view: View) -> list[str]:
    """What the audit did not look at, though it seems to count (--lenient)."""
    found = [one for _, audit in audits_of(view) for one in audit.passed_over]
    return list(dict.fromkeys(f"passed over (--lenient): {one.key} ({one.file}:{one.line})" for one in found))


def _cases(view: View) -> Iterator[tuple[str, str, str, list[str]]]:
    """What each is of, its name, `failure`, `error`, `skipped` or nothing, and what is to be said."""
    policy = view.policy
    is_decisive = policy is None
    for line in () if policy is None else policy.lines:
        kind = "skipped" if line.accepted is not None and line.verdict is AuditVerdict.NO else _KINDS[line.verdict]
        yield "policy", line.in_words, kind, [line.in_words]
    if isinstance(view, AuditView):
        yield from _audit_cases(", ".join(view.topics) or "audit", view, view if is_decisive else None)
        return
    for group in view.groups:
        decides = group.decides and is_decisive
        if group.audit is None:
            is_red = decides and any(counts_beside(view, group, asked, NOT_ASKED) for asked in view.required)
            yield group_name(group), "asked", "error" if is_red else "", [f"not asked about: {group.refusal}"]
        else:
            of = group_name(group) + (f" ({group.producer})" if group.producer else "")
            yield from _audit_cases(of, group.audit, view if decides else None, group)


_KINDS = {AuditVerdict.YES: "failure", AuditVerdict.UNDECIDED: "error", AuditVerdict.NO: ""}
_RED = ("failure", "error")


def _audit_cases(
    of: str, audit: AuditView, deciding: View | None, group: GroupView | None = None
) -> Iterator[tuple[str, str, str, list[str]]]:
    """`deciding` is the whole whose exit code the answers may count in, if they may."""
    for answer in audit.answers:
        is_red = (
            deciding is not None and answer.decides and answer.question in audit.required
            and counts_beside(deciding, group, answer.question, answer.faults.name)
        )  # fmt: skip
        steps = [] if answer.story is None else [*answer.story.steps, answer.story.happened]
        for other in answer.elsewhere:
            steps += [other.in_words, *(() if other.story is None else other.story.steps)]
        lines = [] if answer.worst is AuditVerdict.NO else [f"{answer.text} {answer.in_words}", *steps]
        yield of, f"{answer.question.value} ({answer.faults.name})", _KINDS[answer.worst] if is_red else "", lines
    for item in audit.transactions:
        lines = [] if item.answer is AuditVerdict.NO else plain_lines(item)
        yield of, f"transactions: {item.question} ({item.clients})", "", lines
