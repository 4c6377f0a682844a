"""What an upgrade changes about the answers of an audit: a row for each answer, a column for each stage of the upgrade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acked.audit.decision.questions import AuditQuestion, AuditVerdict, worst_of
from acked.audit.decision.upgrade import Stage, Upgrade, UpgradeAnswer, stage_words
from acked.audit.reports.overview import MARKS, SHORT, STYLES
from acked.model.language.words import says_list
from acked.model.partition.rules.versions import changes_of, rules_of
from acked.reports.console import put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.runs.sentences import sentences_of
from acked.reports.table import Table, TableCell, print_table, table, table_markdown

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_HEADS = {
    "before": "before", "mixed": "both run", "software": "all new", "raising": "raising", "finished": "raised",
    "features": "feature on",
}  # fmt: skip


def upgrade_part(upgrade: Upgrade | None) -> dict[str, Any]:
    """The part of an audit's document that is about an upgrade; nothing where none is asked about."""
    if upgrade is None:
        return {}
    target, plane = upgrade.target, upgrade.plane
    sources = changes_of(rules_of(target), plane)
    stages = [stage for stage in Stage if any(stage in answer.replies for answer in upgrade.answers)]
    return {
        "upgrade": {
            "to": target.name,
            "stages": [
                {"name": stage.value, "heading": _HEADS[stage.value], "words": stage_words(stage, plane, target.name)}
                for stage in stages
            ],
            "rules": [
                {"name": name, "stage": stage.value, "source": sources[name].source if name in sources else ""}
                for stage, names in upgrade.rules.items()
                for name in names
            ],
            "every_mixture": not upgrade.is_sampled,
            "answers": [_answer(answer) for answer in upgrade.answers],
            "in_words": _in_words(upgrade),
            "assumes": assumes_in_words(upgrade),
        }
    }


def _answer(answer: UpgradeAnswer) -> dict[str, Any]:
    story = None
    if answer.story is not None and answer.asked_between is not None:
        run = sentences_of(answer.asked_between, answer.story)
        story = {"property": run.property, "happened": run.happened, "steps": list(run.steps), "actions": list(run.actions)}
    return {
        "question": answer.question.asked.value,
        "faults": answer.faults.name,
        "answers": {stage.value: reply.value for stage, reply in answer.replies.items()},
        "turned_by": [list(names) for names in answer.turned_by],
        "worse_between": answer.is_worse_between,
        "worse_with": None if answer.worse_with is None else list(answer.worse_with),
        "story": story,
        "in_words": _answer_in_words(answer),
    }


def _answer_in_words(answer: UpgradeAnswer) -> str:
    """What becomes of one answer, in a sentence."""
    what = f"{SHORT[answer.question.asked.value]} ({answer.faults.name})"
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


def upgrade_table(part: Document) -> Table:
    """A row for each answer, a column for each stage."""
    rows = [
        (TableCell(f"{SHORT[answer['question']]} ({answer['faults']})"),
         *(_cell(answer["answers"].get(stage["name"])) for stage in part["stages"]))
        for answer in part["answers"]
    ]  # fmt: skip
    return table(("records", *(stage["heading"] for stage in part["stages"])), rows)


def _cell(reply: str | None) -> TableCell:
    return TableCell("-") if reply is None else TableCell(reply, STYLES[reply], MARKS[reply])


def _legend(part: Document) -> list[str]:
    return [f"{stage['heading']}: {stage['words']}" for stage in part["stages"]]


def _rules(part: Document) -> list[str]:
    stages = {stage["name"]: stage["words"] for stage in part["stages"]}
    return [f"{rule['name']} ({rule['source']}): {stages.get(rule['stage'], rule['stage'])}" for rule in part["rules"]]


def print_upgrade(console: Console, document: Document) -> None:
    """The table of the upgrade, its rules, and what becomes of each answer that does not stay."""
    part = document.get("upgrade")
    if part is None:
        return
    put(console, [])
    put_paragraph(console, f"Upgrade to Kafka {part['to']}: {part['in_words']}", "bold", "", "  ")
    put(console, [])
    print_table(console, upgrade_table(part))
    put(console, [])
    for line in [*_legend(part), part["assumes"]]:
        put_paragraph(console, line, "dim", "  ", "    ")
    for line in _rules(part):
        put_paragraph(console, line, "", "  ", "      ")
    for answer in part["answers"]:
        if len(set(answer["answers"].values())) > 1:
            put_paragraph(console, answer["in_words"], "bold", "  ", "    ")
            for step, text in enumerate((answer["story"] or {"steps": []})["steps"], 1):
                put_paragraph(console, text, "", f"    {step:>2}  ", " " * 8)


def upgrade_markdown(document: Document) -> list[str]:
    """The same as Markdown."""
    part = document.get("upgrade")
    if part is None:
        return []
    lines = ["", f"## Upgrade to Kafka {md_text(part['to'])}", "", f"**{md_text(part['in_words'])}.**", ""]
    lines += [*table_markdown(upgrade_table(part)), ""]
    lines += [f"- {md_text(line)}" for line in [*_legend(part), part["assumes"], *_rules(part)]]
    for answer in part["answers"]:
        if len(set(answer["answers"].values())) > 1:
            lines += ["", f"{md_text(answer['in_words'])}.", ""]
            lines += [f"{at}. {md_text(step)}" for at, step in enumerate((answer["story"] or {"steps": []})["steps"], 1)]
    return lines


def verdict_with(document: Document, upgrade: Upgrade | None, required: Sequence[AuditQuestion]) -> dict[str, Any]:
    """The document, with a verdict on the way of the upgrade where that is worse than today's."""
    if upgrade is None:
        return dict(document)
    worst = upgrade.worst(required)
    today = AuditVerdict(document["verdict"])
    if worst_of([today, worst]) is today:
        return dict(document)
    bad = [answer for answer in upgrade.answers if answer.question.asked in required and answer.on_the_way is worst]
    said = says_list([f"{SHORT[answer.question.asked.value]} ({answer.faults.name})" for answer in bad])
    head = {AuditVerdict.YES: "FAIL", AuditVerdict.UNDECIDED: "UNDECIDED"}[worst]
    words = f"{head}: on the way to Kafka {upgrade.target.name} an answer gets worse: {said}"
    return {**document, "verdict": worst.value, "verdict_in_words": words}
