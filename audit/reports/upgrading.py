"""What an upgrade changes about the answers of an audit: a row for each answer, a column for each stage of the upgrade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acked.audit.decision.questions import AuditQuestion, AuditVerdict, worst_of
from acked.audit.decision.upgrade import Stage, Upgrade, UpgradeAnswer, stage_words
from acked.audit.reports.overview import HEADS, MARKS, SHORT, STYLES
from acked.audit.reports.view import AuditView, RuleView, StageView, UpgradeAnswerView, UpgradeView, story_of
from acked.model.language.words import says_list
from acked.model.partition.rules.versions import changes_of, rules_of
from acked.reports.console import put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Table, TableCell, print_table, table, table_markdown

if TYPE_CHECKING:
    from rich.console import Console

_HEADS = {
    Stage.BEFORE: "before", Stage.MIXED: "both run", Stage.SOFTWARE: "all new", Stage.RAISING: "raising",
    Stage.FINISHED: "raised", Stage.FEATURES: "feature on",
}  # fmt: skip


def upgrade_view(upgrade: Upgrade | None) -> UpgradeView | None:
    """What is told of an upgrade; None where none is asked about."""
    if upgrade is None:
        return None
    target, plane = upgrade.target, upgrade.plane
    sources = changes_of(rules_of(target), plane)
    stages = [stage for stage in Stage if any(stage in answer.replies for answer in upgrade.answers)]
    return UpgradeView(
        to=target.name,
        stages=tuple(StageView(stage.value, _HEADS[stage], stage_words(stage, plane, target.name)) for stage in stages),
        rules=tuple(
            RuleView(name, stage, sources[name].source if name in sources else "")
            for stage, names in upgrade.rules.items()
            for name in names
        ),
        every_mixture=not upgrade.is_sampled,
        answers=tuple(map(_answer, upgrade.answers)),
        in_words=_in_words(upgrade),
        assumes=assumes_in_words(upgrade),
    )


def _answer(answer: UpgradeAnswer) -> UpgradeAnswerView:
    return UpgradeAnswerView(
        question=answer.question.asked,
        faults=answer.faults.name,
        answers=answer.replies,
        turned_by=answer.turned_by,
        worse_between=answer.is_worse_between,
        worse_with=answer.worse_with,
        story=story_of(answer.asked_between, answer.story),
        in_words=_answer_in_words(answer),
    )


def _answer_in_words(answer: UpgradeAnswer) -> str:
    """What becomes of one answer, in a sentence."""
    what = f"{SHORT[answer.question.asked]} ({answer.faults.name})"
    before, last = answer.replies[Stage.BEFORE], answer.last
    if before is last:
        text = f"{what}: {before.value} before and after"
    else:
        sets = [" with ".join(names) for names in answer.turned_by]
        by = f", because of {' or '.join(sets)}" if sets else ", by several rules together"
        text = f"{what}: {before.value} before, {last.value} after{by}"
    if answer.is_worse_between:
        new = says_list(list(answer.worse_with)) if answer.worse_with else "none of the new rules"
        text += f"; worse in between, with {new} and the other rules still as they were"
    feature = answer.replies.get(Stage.FEATURES)
    if feature is not None and feature is not last:
        text += f"; {feature.value} once the feature is on, which raising metadata.version alone does not do"
    return text


def _in_words(upgrade: Upgrade) -> str:
    changed = sum(answer.replies[Stage.BEFORE] is not answer.last for answer in upgrade.answers)
    worse = sum(answer.is_worse_between for answer in upgrade.answers)
    between = f"{worse} worse only in between" if worse else "none is worse only in between"
    after = f"after it {changed} of {len(upgrade.answers)} answers are others" if changed else "no answer changes for good"
    return f"{after}; {between}"


def assumes_in_words(upgrade: Upgrade) -> str:
    """What the columns between stand on."""
    mixtures = "each new rule alone and all but each" if upgrade.is_sampled else "every mixture of old and new rules"
    return (
        f"Clients stay as they are. Where both releases run, {mixtures} is asked about, as if all brokers had it; that two "
        "brokers have different rules is not modelled."
    )


def upgrade_table(view: UpgradeView) -> Table:
    """A row for each answer, a column for each stage."""
    stages = [Stage(stage.name) for stage in view.stages]
    rows = [
        (TableCell(f"{SHORT[answer.question]} ({answer.faults})"), *(_cell(answer.answers.get(stage)) for stage in stages))
        for answer in view.answers
    ]
    return table(("records", *(stage.heading for stage in view.stages)), rows)


def _cell(reply: AuditVerdict | None) -> TableCell:
    return TableCell("-") if reply is None else TableCell(reply.value, STYLES[reply], MARKS[reply])


def _legend(view: UpgradeView) -> list[str]:
    return [*(f"{stage.heading}: {stage.words}" for stage in view.stages), view.assumes]


def _rules(view: UpgradeView) -> list[str]:
    stages = {stage.name: stage.words for stage in view.stages}
    return [f"{rule.name} ({rule.source}): {stages.get(rule.stage.value, rule.stage.value)}" for rule in view.rules]


def _changing(view: UpgradeView) -> list[UpgradeAnswerView]:
    """The answers that do not stay, which are told of."""
    return [answer for answer in view.answers if len(set(answer.answers.values())) > 1]


def print_upgrade(console: Console, audit: AuditView) -> None:
    """The table of the upgrade, its rules, and what becomes of each answer that does not stay."""
    view = audit.upgrade
    if view is None:
        return
    put(console, [])
    put_paragraph(console, f"Upgrade to Kafka {view.to}: {view.in_words}", "bold", "", "  ")
    put(console, [])
    print_table(console, upgrade_table(view))
    put(console, [])
    for line in _legend(view):
        put_paragraph(console, line, "dim", "  ", "    ")
    for line in _rules(view):
        put_paragraph(console, line, "", "  ", "      ")
    for answer in _changing(view):
        put_paragraph(console, answer.in_words, "bold", "  ", "    ")
        for step, text in enumerate(() if answer.story is None else answer.story.steps, 1):
            put_paragraph(console, text, "", f"    {step:>2}  ", " " * 8)


def upgrade_markdown(audit: AuditView) -> list[str]:
    """The table, rules and changes as lines of Markdown; none where no upgrade is asked about."""
    view = audit.upgrade
    if view is None:
        return []
    lines = ["", f"## Upgrade to Kafka {md_text(view.to)}", "", f"**{md_text(view.in_words)}.**", ""]
    lines += [*table_markdown(upgrade_table(view)), ""]
    lines += [f"- {md_text(line)}" for line in [*_legend(view), *_rules(view)]]
    for answer in _changing(view):
        steps = () if answer.story is None else answer.story.steps
        lines += ["", f"{md_text(answer.in_words)}.", "", *(f"{at}. {md_text(step)}" for at, step in enumerate(steps, 1))]
    return lines


def verdict_with(view: AuditView, upgrade: Upgrade | None, required: Sequence[AuditQuestion]) -> AuditView:
    """The view, with a verdict on the way of the upgrade where that is worse than today's."""
    if upgrade is None:
        return view
    worst = upgrade.worst(required)
    if worst_of([view.verdict, worst]) is view.verdict:
        return view
    bad = [answer for answer in upgrade.answers if answer.question.asked in required and answer.on_the_way is worst]
    said = says_list([f"{SHORT[answer.question.asked]} ({answer.faults.name})" for answer in bad])
    words = f"{HEADS[worst]}: on the way to Kafka {upgrade.target.name} an answer gets worse: {said}"
    return replace(view, verdict=worst, verdict_in_words=words)
