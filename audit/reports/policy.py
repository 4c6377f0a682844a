"""What a policy makes of an audit, as it is shown: in the terminal, as Markdown, and as points at lines for other tools."""

from __future__ import annotations

from acked.audit.clusters.policy import JudgedTopics, Judgement, topic_name
from acked.audit.decision.questions import AuditVerdict
from acked.audit.reports.telling import HEADS, STYLES, sentence, signs
from acked.audit.reports.view import AcceptedView, AuditView, GroupView, PolicyLineView, PolicyView, View
from acked.reports.console import Console, put_paragraph
from acked.reports.escaping import md_text


def policy_view(file: str, judged: Judgement) -> PolicyView:
    """What a policy makes of an audit, as it is told."""
    lines = tuple(map(_line_view, judged.lines))
    return PolicyView(file, judged.verdict, f"{HEADS[judged.verdict]}: by {file}: {judged.words}", lines)


def _line_view(line: JudgedTopics) -> PolicyLineView:
    judged = line.judged
    risk = judged.accepted
    accepted = None if risk is None else AcceptedView(risk.reason, str(risk.until), risk.line)
    faults = None if judged.faults is None else judged.faults.name
    return PolicyLineView(judged.verdict, line.in_words, line.topics, judged.question, faults, accepted)


def verdict_view(view: View) -> PolicyView | View:
    """What has the verdict that the exit code says: the policy, where there is one."""
    return view.policy or view


def names_in_policy(group: GroupView | None, audit: AuditView | None) -> frozenset[str]:
    """The names that a policy's lines have for the topics of a group."""
    topics = group.topics if group is not None else () if audit is None else audit.topics
    unit = None if group is None else group.unit
    return frozenset(topic_name(topic, unit) for topic in topics or ("",))


def print_policy(console: Console, view: PolicyView) -> None:
    """Every line of it, and its verdict."""
    sign = signs(console)
    for line in view.lines:
        put_paragraph(console, line.in_words, STYLES[line.verdict], f"{sign[line.verdict]} ", "  ")
    put_paragraph(console, view.verdict_in_words, STYLES[view.verdict], f"{sign[view.verdict]} ", "  ")


_WORDS = {AuditVerdict.YES: "not kept", AuditVerdict.UNDECIDED: "undecided", AuditVerdict.NO: "counts as kept"}


def policy_markdown(view: PolicyView | None) -> list[str]:
    """A section with a line for each thing that is required or accepted and not a no."""
    if view is None or not view.lines:
        return []
    lines = (f"- **{_WORDS[line.verdict]}** {sentence(md_text(line.in_words))}" for line in view.lines)
    return ["", f"## Policy: {md_text(view.file)}", "", *lines]
