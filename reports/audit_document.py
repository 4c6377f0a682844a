"""An audit as plain data: what every format says, and the JSON document itself.

What lives here: one place that puts answers, causes and changes into words. What does not: layout (`audit.py`,
`audit_pages.py`, `audit_sarif.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checker import audit_keys as keys
from checker.audit import VERSION_KEY, Answer, Asked, Audit, Change, Reply
from checker.audit_keys import KEYS
from checker.audit_read import REPLICATION_FACTOR
from checker.audit_settings import Configuration, Value
from reports.told import told
from reports.units import plural

FORMAT = "acked-audit/1"

_HIDDEN = (keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.DEFAULT_FACTOR)
"""Settings that are told in other ways."""

_ONLY_IF_SET = (keys.FLUSH_MESSAGES, keys.ISOLATION)
"""Settings whose defaults are of no interest."""

_QUESTION_WORDS = {
    Asked.LOSS: "acknowledged records can be lost",
    Asked.DUPLICATES: "records can be duplicated",
    Asked.REORDERING: "records can be reordered",
    Asked.VANISHING: "records can be read and then vanish",
    Asked.WRITES: "writes can stop with one broker down",
}


def audit_document(audit: Audit, required: Sequence[Asked]) -> dict[str, Any]:
    """The audit as JSON: `verdict` is yes, no or undecided of what is `required`."""
    configuration = audit.configuration
    return {
        "format": FORMAT,
        "kafka_version": configuration.release.name,
        "rules": configuration.rules,
        "control_plane": configuration.plane,
        "faults": {"name": audit.scene.faults.name, "words": audit.scene.faults.words},
        "required": [asked.value for asked in required],
        "verdict": audit.worst(required).value,
        "settings": [_setting(value) for value in in_effect(configuration)],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text, **_place(finding.entry)}
            for finding in configuration.findings
        ],
        "answers": [_answer(configuration, answer) for answer in audit.answers],
        "warnings": list(audit.warnings),
    }


def in_effect(configuration: Configuration) -> list[Value]:
    """The settings that count, in the order of their table."""
    values = (configuration.values[key] for key in KEYS if key in configuration.values and key not in _HIDDEN)
    return [value for value in values if value.key not in _ONLY_IF_SET or value.entry is not None]


def _setting(value: Value) -> dict[str, Any]:
    return {"key": value.key, "value": value.value, "source": value.source, **_place(value.entry)}


def _place(entry: Any) -> dict[str, Any]:
    return {"file": None, "line": None} if entry is None else {"file": entry.file, "line": entry.line or None}


def _answer(configuration: Configuration, answer: Answer) -> dict[str, Any]:
    outcome = answer.outcome
    story = None
    if answer.story is not None:
        run = told(answer.task, answer.story)
        story = {"property": run.property, "happened": run.happened, "steps": list(run.steps)}
    return {
        "question": answer.question.asked.value,
        "text": answer.question.text,
        "answer": answer.reply.value,
        "in_words": in_words(answer),
        "property": answer.question.property,
        "bounds": answer.bounds,
        "constants": dict(answer.task.constants),
        "distinct_states": None if outcome is None else outcome.distinct_states,
        "nothing_accepted": answer.is_empty,
        "story": story,
        "causes": [_cause(configuration, change) for change in answer.causes],
        "remedy": None if answer.remedy is None else _remedy(answer.remedy),
    }


def in_words(answer: Answer) -> str:
    """Yes, no or undecided, with what that stands on."""
    outcome = answer.outcome
    if outcome is None:
        return f"undecided: {answer.failure}"
    if answer.story is not None:
        return f"yes, in {plural(answer.story.trace_length - 1, 'step')} ({answer.bounds})"
    if answer.reply is Reply.UNDECIDED:
        return (
            f"undecided: {outcome.stopped.value} after {plural(outcome.distinct_states, 'distinct state')} and "
            f"{plural(outcome.depth, 'complete level')} ({answer.bounds}); give it more --max-states or --memory"
        )
    empty = "no, but only because no record is ever accepted" if answer.is_empty else "no"
    return f"{empty}: every reachable state was seen ({plural(outcome.distinct_states, 'state')}; {answer.bounds})"


def _cause(configuration: Configuration, change: Change) -> dict[str, Any]:
    key, value = change.settings[0]
    now = configuration.values.get(key)
    source = {"value": None, "source": None, "file": None, "line": None} if now is None else _setting(now)
    return {"key": key, "now": source["value"], "source": source["source"], "file": source["file"], "line": source["line"],
            "no_with": value, "in_words": cause_in_words(now, key, value)}  # fmt: skip


def cause_in_words(now: Value | None, key: str, value: str) -> str:
    """`acks=1 (producer.properties:3); with all it is no`."""
    is_ = f"{key} is not set" if now is None or not now.value else f"{key}={now.value} ({now.source})"
    with_ = f"with {value}" if value else "without it"
    return f"{is_}; {with_} the answer is no"


def _remedy(change: Change) -> dict[str, Any]:
    return {
        "settings": [{"key": key, "value": value or None} for key, value in change.settings],
        "turns": [{"question": asked.value, "answer": reply.value} for asked, reply in change.turns],
        "in_words": remedy_in_words(change),
    }


def remedy_in_words(change: Change) -> str:
    """What to change, and what else that would change."""
    words = []
    for key, value in change.settings:
        if key == VERSION_KEY:
            words.append(f"upgrade to Kafka {value}")
        elif key == REPLICATION_FACTOR:
            words.append(f"give the topic {value} replicas")
        elif not value:
            words.append(f"take {key} out")
        else:
            words.append(f"set {key}={value}")
    text = " and ".join(words)
    for asked, reply in change.turns:
        what = _QUESTION_WORDS[asked]
        text += f"; but then {what}" if reply is Reply.YES else f"; whether then {what} is undecided"
    return text
