"""What an upgrade changes about the answers of an audit: a row for each answer, a column for each stage of the upgrade."""

from __future__ import annotations

from dataclasses import asdict

from acked.audit.decision.faults import AuditVerdict
from acked.audit.decision.upgrade import KnownBug, Stage, Upgrade, UpgradeAnswer, stage_words
from acked.audit.reports.telling import MARKS, SHORT, STYLES, story_of
from acked.model.language.telling import says_list
from acked.model.partition.rules.versions import changes_of, rules_of
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Table, TableCell, print_table, table, table_markdown

_HEADS = {
    Stage.BEFORE: "before", Stage.MIXED: "both run", Stage.SOFTWARE: "all new", Stage.RAISING: "raising",
    Stage.FINISHED: "raised", Stage.FEATURES: "feature on",
}  # fmt: skip


def upgrade_document(upgrade: Upgrade) -> dict[str, object]:
    """The part of an audit's document that is about an upgrade."""
    sources = changes_of(rules_of(upgrade.target), upgrade.plane)
    return {
        "to": upgrade.target.name,
        "stages": [
            {"name": stage.value, "heading": _HEADS[stage], "words": _words(upgrade, stage)}
            for stage in _stages(upgrade)
        ],
        "rules": [
            {"name": name, "stage": stage.value, "source": sources[name].source if name in sources else ""}
            for stage, names in upgrade.rules.items()
            for name in names
        ],
        "every_mixture": not upgrade.is_sampled,
        "answers": [_answer(answer) for answer in upgrade.answers],
        "bugs": [
            {**asdict(bug), "part": bug.part.value, "before": bug.before.value, "after": bug.after.value}
            for bug in upgrade.bugs
        ],
        "in_words": _summary(upgrade),
        "assumes": assumes_in_words(upgrade),
    }


def _stages(upgrade: Upgrade) -> list[Stage]:
    """The stages that something was asked of."""
    return [stage for stage in Stage if any(stage in answer.replies for answer in upgrade.answers)]


def _answer(answer: UpgradeAnswer) -> dict[str, object]:
    story = story_of(answer.asked_between, answer.story)
    return {
        "question": answer.question.asked.value,
        "faults": answer.faults.name,
        "answers": {stage.value: reply.value for stage, reply in answer.replies.items()},
        "turned_by": [list(names) for names in answer.turned_by],
        "worse_between": answer.is_worse_between,
        "worse_with": None if answer.worse_with is None else list(answer.worse_with),
        "story": None if story is None else asdict(story),
        "in_words": answer_in_words(answer),
    }


def answer_in_words(answer: UpgradeAnswer) -> str:
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


def bug_in_words(bug: KnownBug) -> str:
    """What becomes of a known bug, and which command shows it."""
    is_before, is_after = (reply is not AuditVerdict.NO for reply in (bug.before, bug.after))
    became = "stays" if is_before and is_after else "mended" if is_before else "new"
    unsure = " (not decided)" if AuditVerdict.UNDECIDED in (bug.before, bug.after) else ""
    return f"{bug.part.value}, {became}{unsure}: {bug.title} (acked check {bug.spec})"


_BUGS = "Known bugs of what the cluster uses besides, each asked as its spec has it; no verdict counts them:"


def _summary(upgrade: Upgrade) -> str:
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


def upgrade_table(upgrade: Upgrade) -> Table:
    """A row for each answer, a column for each stage."""
    stages = _stages(upgrade)
    rows = [
        (TableCell(f"{SHORT[answer.question.asked]} ({answer.faults.name})"),
         *(_cell(answer.replies.get(stage)) for stage in stages))
        for answer in upgrade.answers
    ]  # fmt: skip
    return table(("records", *(_HEADS[stage] for stage in stages)), rows)


def _cell(reply: AuditVerdict | None) -> TableCell:
    return TableCell("-") if reply is None else TableCell(reply.value, STYLES[reply], MARKS[reply])


def _words(upgrade: Upgrade, stage: Stage) -> str:
    return stage_words(stage, upgrade.plane, upgrade.target.name)


def _legend(upgrade: Upgrade) -> list[str]:
    return [*(f"{_HEADS[stage]}: {_words(upgrade, stage)}" for stage in _stages(upgrade)), assumes_in_words(upgrade)]


def _rules(upgrade: Upgrade) -> list[str]:
    sources, stages = changes_of(rules_of(upgrade.target), upgrade.plane), _stages(upgrade)
    return [
        f"{name} ({sources[name].source if name in sources else ''}): "
        f"{_words(upgrade, stage) if stage in stages else stage.value}"
        for stage, names in upgrade.rules.items()
        for name in names
    ]


def _changing(upgrade: Upgrade) -> list[UpgradeAnswer]:
    """The answers that do not stay, which are told of."""
    return [answer for answer in upgrade.answers if len(set(answer.replies.values())) > 1]


def _steps(answer: UpgradeAnswer) -> tuple[str, ...]:
    story = story_of(answer.asked_between, answer.story)
    return () if story is None else story.steps


def print_upgrade(console: Console, upgrade: Upgrade | None) -> None:
    """The table of the upgrade, its rules, and what becomes of each answer that does not stay."""
    if upgrade is None:
        return
    put(console, [])
    put_paragraph(console, f"Upgrade to Kafka {upgrade.target.name}: {_summary(upgrade)}", "bold", "", "  ")
    put(console, [])
    print_table(console, upgrade_table(upgrade))
    put(console, [])
    for line in _legend(upgrade):
        put_paragraph(console, line, "dim", "  ", "    ")
    for line in _rules(upgrade):
        put_paragraph(console, line, "", "  ", "      ")
    for answer in _changing(upgrade):
        put_paragraph(console, answer_in_words(answer), "bold", "  ", "    ")
        for step, text in enumerate(_steps(answer), 1):
            put_paragraph(console, text, "", f"    {step:>2}  ", " " * 8)
    if upgrade.bugs:
        put_paragraph(console, _BUGS, "bold", "  ", "    ")
    for bug in upgrade.bugs:
        put_paragraph(console, bug_in_words(bug), STYLES[bug.after], "  ", "    ")


def upgrade_markdown(upgrade: Upgrade | None) -> list[str]:
    """The table, rules and changes as lines of Markdown; none where no upgrade is asked about."""
    if upgrade is None:
        return []
    lines = ["", f"## Upgrade to Kafka {md_text(upgrade.target.name)}", "", f"**{md_text(_summary(upgrade))}.**", ""]
    lines += [*table_markdown(upgrade_table(upgrade)), ""]
    lines += [f"- {md_text(line)}" for line in [*_legend(upgrade), *_rules(upgrade)]]
    for answer in _changing(upgrade):
        steps = (f"{at}. {md_text(step)}" for at, step in enumerate(_steps(answer), 1))
        lines += ["", f"{md_text(answer_in_words(answer))}.", "", *steps]
    if upgrade.bugs:
        lines += ["", _BUGS, "", *(f"- {md_text(bug_in_words(bug))}" for bug in upgrade.bugs)]
    return lines
