"""An audit as plain data: what every format says, and the JSON document itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acked.checker.audit import keys
from acked.checker.audit.advice import VERSION_KEY, Change
from acked.checker.audit.audit import Answer, Audit
from acked.checker.audit.entry import IMAGE, REPLICATION_FACTOR, Entry
from acked.checker.audit.faults import Faults, not_asked
from acked.checker.audit.keys import KEYS
from acked.checker.audit.questions import Asked, Reply
from acked.checker.audit.release import Contexts, span
from acked.checker.audit.settings import Configuration, Value
from acked.reports.runs.sentences import sentences_of
from acked.reports.units import plural

FORMAT = "acked-audit/2"

Document = Mapping[str, Any]
"""An audit, or a part of it, as JSON has it; what every other format is made from."""

_HIDDEN = (keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.METADATA_VERSION, keys.DEFAULT_FACTOR, IMAGE)
"""Settings that are sentences_of in other ways."""

_ONLY_IF_SET = (keys.FLUSH_MESSAGES, keys.ISOLATION)
"""Settings whose defaults are of no interest."""

_QUESTION_WORDS = {
    Asked.LOSS: "acknowledged records can be lost",
    Asked.DUPLICATES: "records can be duplicated",
    Asked.REORDERING: "records can be reordered",
    Asked.VANISHING: "records can be read and then vanish",
    Asked.WRITES: "writes can stop with one broker down",
}


def audit_document(audit: Audit, required: Sequence[Asked], contexts: Contexts) -> dict[str, Any]:
    """The audit as JSON: `verdict` is yes, no or undecided of what is `required`; `contexts` how the release is known."""
    configuration = audit.configuration
    return {
        "format": FORMAT,
        "kafka_version": configuration.release.name,
        "rules": configuration.rules,
        "control_plane": configuration.plane,
        "release": {"is_named": contexts.is_named, "source": contexts.source, "in_words": release_in_words(audit, contexts)},
        "others": [
            {"kafka_version": other.release.name, "control_plane": other.plane, "refused": refused or None}
            for other, refused in audit.others
        ],
        "asked_of_others": [asked.value for asked in audit.everywhere] if audit.others else [],
        "faults": [_faults(faults) for faults in audit.scene.all_faults],
        "assumed": assumed_in_words(audit),
        "not_asked": [{"name": name, "words": words} for name, words in not_asked(audit.scene.all_faults)],
        "required": [asked.value for asked in required],
        "verdict": audit.worst(required).value,
        "verdict_in_words": verdict_in_words(audit, required),
        "settings": [_setting(value) for value in in_effect(configuration)],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text, **_place(finding.entry)}
            for finding in configuration.findings
        ],
        "passed_over": [{"key": entry.key, **_place(entry)} for entry in _passed_over(audit)],
        "advice": audit.is_advised,
        "answers": [_answer(configuration, answer, audit) for answer in audit.answers],
        "warnings": list(audit.warnings),
    }


def in_effect(configuration: Configuration) -> list[Value]:
    """The settings that count, in the order of their table."""
    values = (configuration.values[key] for key in KEYS if key in configuration.values and key not in _HIDDEN)
    return [value for value in values if value.key not in _ONLY_IF_SET or value.entry is not None]


def _setting(value: Value) -> dict[str, object]:
    instead = [] if value.entry is None else [{"value": old.value, **_place(old)} for old in value.entry.instead_of]
    return {"key": value.key, "value": value.value, "source": value.source, **_place(value.entry), "instead_of": instead}


def _place(entry: Entry | None) -> dict[str, object]:
    return {"file": None, "line": None} if entry is None else {"file": entry.file, "line": entry.line or None}


def _faults(faults: Faults) -> dict[str, str]:
    return {"name": faults.name, "words": faults.words}


# -- about the whole ----------------------------------------------------------------------------------------------------


def release_in_words(audit: Audit, contexts: Contexts) -> str:
    """How the release is known, and of which others what is asked too."""
    text = contexts.source
    asked = [other for other, refused in audit.others if not refused]
    refusing = [other for other, refused in audit.others if refused]
    if asked:
        text += f"; {_names(audit.everywhere)} asked also of {span(asked)}"
        if any(answer.question.asked not in audit.everywhere for answer in audit.answers):
            text += f", the other questions of {audit.context.words} alone (--require all asks them of every release)"
    if refusing:
        text += f"; {span(refusing)} would refuse these settings"
    return text


def assumed_in_words(audit: Audit) -> str:
    """Under which faults what is asked."""
    text = "; or ".join(faults.words for faults in audit.scene.faults)
    if audit.scene.of_loss and audit.all_of(Asked.LOSS):
        text += f"; {Asked.LOSS.value} also: {'; or '.join(faults.words for faults in audit.scene.of_loss)}"
    return text


def verdict_in_words(audit: Audit, required: Sequence[Asked]) -> str:
    """The last line: what the exit code says, and what it does not stand on."""
    answers = [answer for asked in required for answer in audit.all_of(asked)]
    worst = audit.worst(required)
    names = _names(required)
    if worst is Reply.NO:
        under = list(dict.fromkeys(answer.faults.name for answer in answers))
        text = f"as required: {names} decided no (faults: {', '.join(under)})"
    else:
        bad = [answer for answer in answers if answer.worst is worst]
        what = "; ".join(dict.fromkeys(f"{answer.question.asked.value} under {answer.faults.name}" for answer in bad))
        text = f"not as required: yes to {what}" if worst is Reply.YES else f"undecided: {what}"
        if all(answer.reply is not worst for answer in bad):
            text += " in some of the releases that may be meant; name yours with --kafka-version and --control-plane"
    if audit.passed_over:
        text += f"; passed over (--lenient): {', '.join(f'{entry.key} ({entry.where})' for entry in _passed_over(audit))}"
    return text


def _passed_over(audit: Audit) -> list[Entry]:
    return [finding.entry for finding in audit.passed_over if finding.entry is not None]


def _names(asked: Iterable[Asked]) -> str:
    return ", ".join(item.value for item in asked)


# -- answers ------------------------------------------------------------------------------------------------------------


def _answer(configuration: Configuration, answer: Answer, audit: Audit) -> dict[str, object]:
    outcome, advice = answer.outcome, answer.advice
    is_here_only = any(not refused for _, refused in audit.others) and answer.question.asked not in audit.everywhere
    alone = "; of the other releases that may be meant it was not asked (--require all)" if is_here_only else ""
    return {
        "question": answer.question.asked.value,
        "text": answer.question.text,
        "faults": _faults(answer.faults),
        "answer": answer.reply.value,
        "worst": answer.worst.value,
        "in_words": f"{in_words(answer)}{alone}",
        "property": answer.question.property,
        "bounds": answer.bounds,
        "constants": dict(answer.task.asked.constants),
        "distinct_states": None if outcome is None else outcome.distinct_states,
        "nothing_accepted": answer.is_empty,
        "story": _story(answer),
        "elsewhere": _elsewhere(answer),
        "tried": None if advice is None else [change.words for change in advice.tried],
        "causes": None if advice is None else [_cause(configuration, change) for change in advice.causes],
        "no_cause": None if advice is None or advice.causes else no_cause_in_words(advice.tried),
        "remedy": None if advice is None or advice.remedy is None else _remedy(advice.remedy),
    }


def _story(answer: Answer) -> dict[str, object] | None:
    if answer.story is None:
        return None
    run = sentences_of(answer.task, answer.story)
    return {"property": run.property, "happened": run.happened, "steps": list(run.steps)}


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


def _elsewhere(answer: Answer) -> list[dict[str, object]]:
    """What is so in the other releases that may be meant, and a story where there is none here."""
    found: list[dict[str, object]] = []
    for reply in Reply:
        group = [item for item in answer.elsewhere if item.reply is reply]
        if not group:
            continue
        word = "also" if reply is answer.reply else "but"
        text = f"{word} {reply.value} in {span(item.context for item in group)}"
        told_of = group[0] if reply is Reply.YES and answer.reply is not Reply.YES else None
        if told_of is not None and told_of.story is not None:
            steps = plural(told_of.story.trace_length - 1, "step")
            text += f"; with {told_of.context.words} in {steps} ({told_of.bounds})"
        elif reply is Reply.UNDECIDED and reply is not answer.reply:
            text += f"; with {group[0].context.words}: {in_words(group[0])}"
        found.append({
            "answer": reply.value,
            "contexts": [{"kafka_version": item.context.release.name, "control_plane": item.context.plane} for item in group],
            "in_words": text,
            "story": None if told_of is None else _story(told_of),
        })  # fmt: skip
    return found


# -- advice -------------------------------------------------------------------------------------------------------------


def _cause(configuration: Configuration, change: Change) -> dict[str, object]:
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


def no_cause_in_words(tried: Sequence[Change]) -> str:
    """That none of the changes of one setting that were searched makes it a no, and which they were."""
    if not tried:
        return "none of the settings: there was none to try alone"
    return f"none of the settings that were tried alone: {', '.join(change.words for change in tried)}"


def _remedy(change: Change) -> dict[str, object]:
    return {
        "settings": [{"key": key, "value": value or None} for key, value in change.settings],
        "turns": [{"question": asked.value, "answer": reply.value} for asked, reply in change.turns],
        "price": list(change.price),
        "in_words": remedy_in_words(change),
    }


def remedy_in_words(change: Change) -> str:
    """What to change, what else that would change, and what it costs."""
    phrases = [f"upgrade to Kafka {value}" for key, value in change.settings if key == VERSION_KEY]
    phrases += [f"give the topic {value} replicas" for key, value in change.settings if key == REPLICATION_FACTOR]
    values = [f"{key}={value}" for key, value in change.settings if value and key not in (VERSION_KEY, REPLICATION_FACTOR)]
    phrases += [f"set {_and(values)}"] * bool(values)
    phrases += [f"take {key} out" for key, value in change.settings if not value]
    text = _and(phrases)
    for asked, reply in change.turns:
        what = _QUESTION_WORDS[asked]
        text += f"; but then {what}" if reply is Reply.YES else f"; whether then {what} is undecided"
    return text + "".join(f"; its price: {price}" for price in change.price)


def _and(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
