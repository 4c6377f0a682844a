"""What several reports of an audit tell alike: words, colours and signs of answers, and what happens, step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict

from acked.audit.decision.audit import Answer
from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.gather import Severity
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.outcome import FoundViolation, Task
from acked.reports.console import Console, glyphs_of, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.runs.sentences import TraceSentences, sentences_of
from acked.reports.table import Mark

STYLES = {AuditVerdict.YES: "bold red", AuditVerdict.NO: "bold green", AuditVerdict.UNDECIDED: "bold yellow"}
MARKS = {AuditVerdict.YES: Mark.BAD, AuditVerdict.NO: Mark.GOOD, AuditVerdict.UNDECIDED: Mark.OPEN}

LEVELS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
HEADS = {AuditVerdict.NO: "PASS", AuditVerdict.YES: "FAIL", AuditVerdict.UNDECIDED: "UNDECIDED"}
SHORT = {
    AuditQuestion.LOSS: "lost",
    AuditQuestion.DUPLICATES: "duplicated",
    AuditQuestion.REORDERING: "reordered",
    AuditQuestion.VANISHING: "vanished",
    AuditQuestion.WRITES: "writes stop",
}


def story_of(task: Task | None, found: FoundViolation | None) -> TraceSentences | None:
    """What happens in the run that shows a yes, in words; None where there is none."""
    return None if task is None or found is None else sentences_of(task, found)


Tell = Callable[[Answer], TraceSentences | None]
"""What happens in the run of an answer, in words; None where there is none, or nobody asks."""


def told(cache: ResultCache | None, answer: Answer) -> TraceSentences | None:
    """What happens, in words, from the cache if that has it; runs with the same actions are one story."""
    if answer.story is None or cache is None:
        return story_of(answer.task, answer.story)
    parts = (json.dumps(answer.task.document(), sort_keys=True), repr((answer.story.property, answer.story.states)))
    known = cache.recall("told", *parts)
    if isinstance(known, dict):
        return TraceSentences(known["property"], known["happened"], tuple(known["steps"]), tuple(known["actions"]))
    made = sentences_of(answer.task, answer.story)
    cache.keep("told", asdict(made), *parts)
    return made


def signs(console: Console) -> Mapping[AuditVerdict, str]:
    """By answer the sign before it: a yes is the bad one."""
    glyphs = glyphs_of(console)
    return {AuditVerdict.YES: glyphs.bad, AuditVerdict.NO: glyphs.good, AuditVerdict.UNDECIDED: glyphs.open}


def style_and_sign(console: Console, verdict: AuditVerdict, is_slip: bool) -> tuple[str, str]:
    """How something is told that a policy says; what it requires of no topic is a slip, and nothing good."""
    return ("yellow", "- ") if is_slip else (STYLES[verdict], f"{signs(console)[verdict]} ")


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def number_steps(story: TraceSentences | None) -> list[str]:
    """`1. r0 is produced`."""
    return [] if story is None else [f"{at}. {step}" for at, step in enumerate(story.steps, 1)]


def print_story(console: Console, story: TraceSentences | None) -> None:
    """The steps, and what the last one breaks."""
    if story is None:
        return
    for step, text in enumerate(story.steps, 1):
        put_paragraph(console, text, "", f"     {step:>2}  ", " " * 9)
    put_paragraph(console, story.happened, "", "     ", "     ")


def story_markdown(story: TraceSentences | None) -> list[str]:
    """The same as lines of Markdown, with an empty one before."""
    if story is None:
        return []
    return ["", *(f"{at}. {md_text(step)}" for at, step in enumerate(story.steps, 1)), "", md_text(story.happened)]
