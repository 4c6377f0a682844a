"""An audit as SARIF 2.1.0, for tools that show results at lines.

Every yes and every undecided answer is a result, at the line of the first setting that causes it (else of the first setting
that was found); so is every finding. Errors and warnings are answers that the exit code counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from acked.audit.decision.questions import AuditVerdict
from acked.audit.reports.telling import number_steps, sentence
from acked.audit.reports.topics import title_of
from acked.audit.reports.transactional import plain_lines, transaction_place
from acked.audit.reports.view import (
    AnswerView,
    AuditView,
    CauseView,
    FindingView,
    SettingView,
    TopicsView,
    TransactionView,
    View,
    audits_of,
)
from acked.reports.gate.sarif import SCHEMA

_LEVEL = {AuditVerdict.YES: "error", AuditVerdict.UNDECIDED: "warning"}

_Place = CauseView | FindingView | SettingView | None
_Result = dict[str, object]


def audit_sarif(view: View, files: Sequence[str], version: str) -> dict[str, object]:
    """The audit as a SARIF log of one run; `files` are those that were read, `version` is acked's."""
    audits = list(audits_of(view))
    results = list(_unique(
        found
        for group, audit in audits
        for found in (*_answers(audit, group is None or group.decides, files), *_about_transactions(audit, files),
                      *_findings(audit, files))
    ))  # fmt: skip
    for group in view.groups if isinstance(view, TopicsView) else ():
        if group.audit is None:
            level = "warning" if group.decides else "note"
            results.append(_result("audit/not-asked", level, f"{title_of(group)}: {group.refusal}", None, files))
    rules = dict.fromkeys(str(result["ruleId"]) for result in results)
    names = {f"audit/{answer.question.value}": answer.text for _, audit in audits for answer in audit.answers}
    names |= {_rule_of(item): item.text for _, audit in audits for item in audit.transactions}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "acked",
                        "version": version,
                        "rules": [
                            {"id": rule, "shortDescription": {"text": names.get(rule, f"Settings: {rule.split('/')[1]}")}}
                            for rule in rules
                        ],
                    }
                },
                "results": [{**result, "ruleIndex": list(rules).index(str(result["ruleId"]))} for result in results],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _unique(results: Iterable[_Result]) -> Iterator[_Result]:
    """Each result once: groups of topics have the same to say of the settings that they share."""
    known: list[_Result] = []
    for result in results:
        if result not in known:
            known.append(result)
            yield result


def _answers(view: AuditView, decides: bool, files: Sequence[str]) -> Iterator[_Result]:
    """Every yes and what is undecided: more than a note where the exit code counts it, which it never does for comparison."""
    for answer in view.answers:
        if answer.worst not in _LEVEL:
            continue
        of = f"Topics {', '.join(view.topics)}: " if view.topics else ""
        parts = [f"{of}{answer.text} {sentence(answer.in_words)}", f"Faults: {answer.faults.words}."]
        parts += number_steps(answer.story)
        for other in answer.elsewhere:
            parts += [sentence(other.in_words), *number_steps(other.story)]
        parts += [f"Cause: {cause.in_words}." for cause in answer.causes or ()]
        if answer.no_cause is not None:
            parts.append(f"Cause: {answer.no_cause}.")
        if answer.causes is not None:
            remedy = answer.remedy
            found = ": none of those tried turns the answer to no" if remedy is None else f", checked: {remedy.in_words}"
            parts.append(f"Smallest change{found}{answer.undecided_in_words}.")
        is_required = decides and answer.decides and answer.question in view.required
        level = _LEVEL[answer.worst] if is_required else "note"  # What was asked besides decides nothing.
        yield _result(f"audit/{answer.question.value}", level, "\n".join(parts), _place_of(answer, view), files)


def _rule_of(about_transactions: TransactionView) -> str:
    return f"audit/transactions-{about_transactions.question}"


def _about_transactions(view: AuditView, files: Sequence[str]) -> Iterator[_Result]:
    """What was found about transactions, where the transactional.id is set; it decides nothing."""
    place = transaction_place(view) or view.first_place
    for item in view.transactions:
        if item.answer in _LEVEL:
            yield _result(_rule_of(item), "note", "\n".join(plain_lines(item)), place, files)


def _findings(view: AuditView, files: Sequence[str]) -> Iterator[_Result]:
    for finding in view.findings:
        place = finding if finding.line else view.first_place
        yield _result(f"settings/{finding.rule}", finding.level.value, finding.text, place, files)


def _place_of(answer: AnswerView, view: AuditView) -> _Place:
    """The first cause that stands in a line; if no single setting is one, the first that the smallest change is about."""
    if (cause := next((cause for cause in answer.causes or () if cause.line), None)) is not None:
        return cause
    changed = [] if answer.remedy is None else [item.key for item in answer.remedy.settings]
    return next((item for item in view.settings if item.line and item.key in changed), view.first_place)


def _result(rule: str, level: str, text: str, place: _Place, files: Sequence[str]) -> _Result:
    file, line = files[0] if files else "", 1
    if place is not None and place.file is not None and place.file in files:
        file, line = place.file, place.line or 1
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}}
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [location] if file else []}


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
