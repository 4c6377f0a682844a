"""An audit as SARIF 2.1.0, for tools that show results at lines.

One result for a cause: every yes that stands at one line (that of the first setting that causes it, else of the first setting
that was found) is one result, whose rule and level are those of the worst. Errors and warnings are answers that the exit code
counts, a risk that a policy accepts is a note that is suppressed, and what is undecided and not required is `open`, so that
no tool takes it for a pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from acked.audit.clusters.policy import NAMELESS
from acked.audit.decision.faults import AuditVerdict
from acked.audit.reports.baseline import NOT_ASKED, counts_beside, names_of
from acked.audit.reports.telling import number_steps, sentence
from acked.audit.reports.topics import title_of
from acked.audit.reports.transactional import plain_lines, transaction_place
from acked.audit.reports.view import (
    AnswerView,
    AuditView,
    CauseView,
    FindingView,
    GroupView,
    PolicyLineView,
    PolicyView,
    SettingView,
    TopicsView,
    View,
    audits_of,
    verdict_view,
)
from acked.base.frozen import frozen
from acked.base.names import first_of
from acked.reports.gate.sarif import SCHEMA

_ERROR, _WARNING, _NOTE, _OPEN = "error", "warning", "note", "none"
_LEVELS = (_ERROR, _WARNING, _NOTE, _OPEN)
_LEVEL = {AuditVerdict.YES: _ERROR, AuditVerdict.UNDECIDED: _WARNING, AuditVerdict.NO: _NOTE}

_EXPIRED, _UNUSED, _NOT_ASKED, _VERDICT = "policy/expired", "policy/unused", "audit/not-asked", "audit/verdict"
_RULES: Mapping[str, tuple[str, str]] = {
    _EXPIRED: ("A risk was accepted until a day that is over.", "in-ci"),
    _UNUSED: ("A risk is accepted that does not happen, or something is required of no topic.", "in-ci"),
    _NOT_ASKED: ("Topics could not be asked about.", "what-it-does-not-understand"),
    _VERDICT: ("The verdict of an audit.", "in-ci"),
}
"""Rules that are about no question and no setting: what they say, and the place of docs/audit.md that explains it."""

_HELP = (
    "A result is an answer that was decided by exhaustive search of a model of Kafka's replication under the rules of your "
    "release: its message has the shortest run that shows it and, unless advice was left out, the setting that it hangs on "
    "and a change that was checked. `none` as level is what could not be decided, and no pass."
)
_HELP_ON_SETTINGS = "A remark on the settings themselves; it decides no answer."

_TOLD = 12
"""Answers of one cause beside the first that one message names."""

_Result = dict[str, object]
_Place = tuple[str, int]
"""File, empty for none, and line."""


@frozen
class _Point:
    """Something to tell at a line: `brief` is for a message that begins with another point, too, and `details` for its own.

    Points of one `kind` at one line are one result. `accepted` is why the risk is.
    """

    rule: str
    level: str
    kind: str
    place: _Place
    brief: str
    details: tuple[str, ...] = ()
    accepted: str = ""


def audit_sarif(view: View, files: Sequence[str], version: str, source: str | None = None) -> dict[str, object]:
    """The audit as a SARIF log of one run; `files` are those that were read, `version` is acked's.

    `source` is the address of its repository, if that is known.
    """
    points = list(dict.fromkeys(_points(view, files)))
    is_by_baseline = view.baseline is not None and view.policy is None
    needed = _NOTE if is_by_baseline else _LEVEL[verdict_view(view).verdict]
    if needed != _NOTE and not any(point.level == needed for point in points):
        points.append(_Point(_VERDICT, needed, _VERDICT, (files[0] if files else "", 1), verdict_view(view).verdict_in_words))
    results = list(_results(points))
    rules = list(dict.fromkeys(str(result["ruleId"]) for result in results))
    described = [_rule(rule, view, source) for rule in rules]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "acked", "version": version, "rules": described}},
                "results": [{**result, "ruleIndex": rules.index(str(result["ruleId"]))} for result in results],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _rule(rule: str, view: View, source: str | None) -> dict[str, object]:
    """What is said of a rule on its page, with the address of the documentation where the repository has one."""
    names = {f"audit/{answer.question.value}": answer.text for _, audit in audits_of(view) for answer in audit.answers}
    names |= {f"audit/transactions-{item.question}": item.text for _, audit in audits_of(view) for item in audit.transactions}
    if rule in _RULES:
        text, place = _RULES[rule]
        more = text
    else:
        of_settings = rule.startswith("settings/")
        text = f"Settings: {rule.split('/')[1]}" if of_settings else names[rule]
        place = "what-it-reads" if of_settings else "the-audit-of-your-settings"
        more = f"{text} {_HELP}" if not of_settings else f"{text}. {_HELP_ON_SETTINGS}"
    at = f"docs/audit.md#{place}"
    address = None if source is None else f"{source.rstrip('/')}/blob/HEAD/{at}"
    link = f"`{at}`" if address is None else f"[docs/audit.md]({address})"
    help_text = {"text": f"{more} See {address or at}.", "markdown": f"{more}\n\nSee {link}."}
    told: dict[str, object] = {"id": rule, "shortDescription": {"text": text}, "help": help_text}
    return told if address is None else {**told, "helpUri": address}


def _results(points: Sequence[_Point]) -> Iterator[_Result]:
    """A result for every kind of point at a line, the worst first within it."""
    of_each: dict[tuple[_Place, str, str], list[_Point]] = {}
    for point in points:
        of_each.setdefault((point.place, point.kind, point.accepted), []).append(point)
    for (place, _, accepted), found in of_each.items():
        first = min(found, key=lambda point: _LEVELS.index(point.level))
        others = list(dict.fromkeys(point.brief for point in found if point.brief != first.brief))
        more = [f"And {len(others) - _TOLD} more."] if len(others) > _TOLD else []
        text = "\n".join([first.brief, *first.details, *(f"Also: {brief}" for brief in others[:_TOLD]), *more])
        file, line = place
        location = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}}
        result: _Result = {"ruleId": first.rule, "level": first.level, "message": {"text": text}}
        if first.level == _OPEN:
            result["kind"] = "open"
        result["locations"] = [location] if file else []
        if accepted:
            result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": accepted}]
        yield result


# -- what there is to tell ----------------------------------------------------------------------------------------------


def _points(view: View, files: Sequence[str]) -> Iterator[_Point]:
    policy = view.policy
    for group, audit in audits_of(view):
        for answer in audit.answers:
            yield from _of_answer(answer, audit, group, view, files)
        place = _place(transaction_place(audit) or audit.first_place, files)
        for item in audit.transactions:
            if item.answer is not AuditVerdict.NO:
                brief, *details = plain_lines(item)
                yield _Point(f"audit/transactions-{item.question}", _NOTE, item.question, place, brief, tuple(details))
        for found in audit.findings:
            place = _place(found if found.line else audit.first_place, files)
            yield _Point(f"settings/{found.rule}", found.level.value, found.text, place, found.text)
    for group in view.groups if isinstance(view, TopicsView) else ():
        if group.audit is None:
            counts = any(counts_beside(view, group, asked, NOT_ASKED) for asked in view.required)
            level = _WARNING if group.decides and policy is None and counts else _NOTE
            text = f"{title_of(group)}: {group.refusal}"
            yield _Point(_NOT_ASKED, level, text, _place(None, files), text)
    if policy is not None:
        yield from _of_policy(policy, view, files)


def _of_policy(policy: PolicyView, view: View, files: Sequence[str]) -> Iterator[_Point]:
    """What the policy says that is about no answer at a line: what was not asked, and what of it is over or for nothing."""
    answered = {(name, answer.question, answer.faults.name)
                for group, audit in audits_of(view) if group is None or group.decides
                for name in names_of(group, audit, NAMELESS)
                for answer in audit.answers if answer.worst is not AuditVerdict.NO}  # fmt: skip
    for line in policy.lines:
        is_over = line.accepted is not None and line.verdict is AuditVerdict.YES
        if line.accepted is not None and (is_over or not line.topics):
            rule = _EXPIRED if is_over else _UNUSED
            yield _Point(rule, _LEVEL[line.verdict], line.in_words, (policy.file, line.accepted.line), line.in_words)
        elif line.line is not None:
            yield _Point(_UNUSED, _LEVEL[line.verdict], line.in_words, (policy.file, line.line), line.in_words)
        elif not any((name, line.question, line.faults) in answered for name in line.topics):
            reason = "" if line.accepted is None else _justification(line)
            yield _Point(_NOT_ASKED, _LEVEL[line.verdict], line.in_words, _place(None, files), line.in_words, (), reason)


def _justification(line: PolicyLineView) -> str:
    return "" if line.accepted is None else f"{line.accepted.reason} (until {line.accepted.until})"


def _of_answer(
    answer: AnswerView, audit: AuditView, group: GroupView | None, view: View, files: Sequence[str]
) -> Iterator[_Point]:
    """A yes or what is undecided: more than a note where the exit code counts it, which it never does for comparison."""
    if answer.worst is AuditVerdict.NO:
        return
    decides, policy = group is None or group.decides, view.policy
    is_required = decides and answer.decides and answer.question in audit.required
    besides = _NOTE if answer.worst is AuditVerdict.YES else _OPEN
    if policy is None:
        is_counted = is_required and counts_beside(view, group, answer.question, answer.faults.name)
        told = [(_LEVEL[answer.worst] if is_counted else besides, "")]
    else:
        names = names_of(group, audit, NAMELESS) if decides else frozenset()
        lines = [line for line in policy.lines if line.question is answer.question and line.faults == answer.faults.name
                 and names.intersection(line.topics)]  # fmt: skip
        told = [(_LEVEL[line.verdict], "" if line.verdict is not AuditVerdict.NO else _justification(line))
                for line in lines] or [(besides, "")]  # fmt: skip
    of = f"Topics {first_of(audit.topics, _TOLD)}: " if audit.topics else ""
    brief = f"{of}{answer.text} {sentence(answer.in_words)} Faults: {answer.faults.words}."
    place = _place(_cause(answer, audit), files)
    for level, accepted in told:
        kind = f"{answer.worst.value}{' and open' if level == _OPEN else ''}"
        yield _Point(f"audit/{answer.question.value}", level, kind, place, brief, tuple(_details(answer)), accepted)


def _details(answer: AnswerView) -> Iterator[str]:
    yield from number_steps(answer.story)
    for other in answer.elsewhere:
        yield sentence(other.in_words)
        yield from number_steps(other.story)
    yield from (f"Cause: {cause.in_words}." for cause in answer.causes or ())
    if answer.no_cause is not None:
        yield f"Cause: {answer.no_cause}."
    if answer.causes is not None:
        remedy = answer.remedy
        found = ": none of those tried turns the answer to no" if remedy is None else f", checked: {remedy.in_words}"
        yield f"Smallest change{found}{answer.undecided_in_words}."


def _cause(answer: AnswerView, view: AuditView) -> CauseView | SettingView | None:
    """The first cause that stands in a line; if no single setting is one, the first that the smallest change is about."""
    if (cause := next((cause for cause in answer.causes or () if cause.line), None)) is not None:
        return cause
    changed = [] if answer.remedy is None else [item.key for item in answer.remedy.settings]
    return next((item for item in view.settings if item.line and item.key in changed), view.first_place)


def _place(stands: CauseView | FindingView | SettingView | None, files: Sequence[str]) -> _Place:
    """Where it stands, in one of the files that were read; else their beginning."""
    if stands is not None and stands.file is not None and stands.file in files:
        return stands.file, stands.line or 1
    return (files[0] if files else "", 1)


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
