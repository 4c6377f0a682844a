"""An audit as plain data: what every format says, and the JSON document itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acked.audit.clusters.controllers import Hinge
from acked.audit.decision.advice import VERSION_KEY, SettingsChange
from acked.audit.decision.audit import Answer, Audit
from acked.audit.decision.faults import Faults, not_asked
from acked.audit.decision.questions import AuditQuestion, AuditVerdict
from acked.audit.decision.release import Contexts, span
from acked.audit.decision.settings import Configuration, SettingValue
from acked.audit.reports.transactional import transactions_part
from acked.checker.batch.cache import ResultCache
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import IMAGE, REPLICATION_FACTOR, STATED, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Read
from acked.reports.runs.sentences import sentences_of
from acked.reports.units import plural

FORMAT = "acked-audit/2"

Document = Mapping[str, Any]
"""An audit, or a part of it, as JSON has it; what every other format is made from."""

_HIDDEN = (keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.METADATA_VERSION, keys.DEFAULT_FACTOR, IMAGE, STATED)
"""Settings that are shown in other ways."""

_ONLY_IF_SET = (keys.FLUSH_MESSAGES, keys.ISOLATION)
"""Settings whose defaults are of no interest."""

_YES = {
    AuditQuestion.LOSS: "acknowledged records can be lost",
    AuditQuestion.DUPLICATES: "records can be duplicated",
    AuditQuestion.REORDERING: "records can be reordered",
    AuditQuestion.VANISHING: "records can be read and then vanish",
    AuditQuestion.WRITES: "writes can stop with one broker down",
}
_NO = {
    AuditQuestion.LOSS: "no acknowledged record is lost",
    AuditQuestion.DUPLICATES: "no record is duplicated",
    AuditQuestion.REORDERING: "no records are reordered",
    AuditQuestion.VANISHING: "no record that was read vanishes",
    AuditQuestion.WRITES: "writes do not stop with one broker down",
}
"""What the answers yes and no to a question say."""

_HEADS = {AuditVerdict.NO: "PASS", AuditVerdict.YES: "FAIL", AuditVerdict.UNDECIDED: "UNDECIDED"}


def audit_document(
    audit: Audit,
    required: Sequence[AuditQuestion],
    contexts: Contexts,
    cache: ResultCache | None = None,
    topics: Sequence[str] = (),
) -> dict[str, Any]:
    """The audit as JSON: `verdict` is yes, no or undecided of what is `required`; `contexts` how the release is known.

    `topics` are those whose settings these are.

    What happens in a run is told once and kept in the cache.
    """
    configuration = audit.configuration
    return {
        "format": FORMAT,
        "topics": list(topics),
        "kafka_version": configuration.release.name,
        "rules": configuration.rules,
        "control_plane": configuration.plane,
        "release": {"is_named": contexts.is_named, "source": contexts.source, "in_words": release_in_words(audit, contexts)},
        "others": [
            {"kafka_version": other.release.name, "control_plane": other.plane, "refused": refused or None}
            for other, refused in audit.others
        ],
        "asked_of_others": [asked.value for asked in audit.everywhere] if audit.others else [],
        "faults": [_faults(faults) for faults in audit.assumed.all_faults],
        "columns": [{**_faults(faults), "heading": faults.heading} for faults in _columns(audit)],
        "model": model_in_words(configuration),
        "assumed": assumed_in_words(audit),
        "not_asked": [{"name": name, "words": words} for name, words in not_asked(audit.assumed.all_faults)],
        "required": [asked.value for asked in required],
        "verdict": audit.worst(required).value,
        "verdict_in_words": verdict_in_words(audit, required),
        "settings": [_setting(value) for value in in_effect(configuration)],
        "findings": [
            {"rule": finding.rule, "level": finding.level.value, "text": finding.text, **_place(finding.entry)}
            for finding in configuration.findings
        ],
        "passed_over": [{"key": _name_of(entry), **_place(entry)} for entry in _passed_over(audit)],
        "advice": audit.is_advised,
        "answers": _told_once([_answer(configuration, answer, audit, cache) for answer in audit.answers]),
        "recommended": _recommended(audit),
        "warnings": list(audit.warnings),
        **transactions_part(audit.transactions),
    }


def in_effect(configuration: Configuration) -> list[SettingValue]:
    """The settings that count, in the order of their table."""
    values = (configuration.values[key] for key in KEYS if key in configuration.values and key not in _HIDDEN)
    return [value for value in values if value.key not in _ONLY_IF_SET or value.entry is not None]


def _setting(value: SettingValue) -> dict[str, object]:
    instead = [] if value.entry is None else [{"value": old.value, **_place(old)} for old in value.entry.instead_of]
    return {"key": value.key, "value": value.value, "source": value.source, **_place(value.entry), "instead_of": instead}


def _place(entry: Read | None) -> dict[str, object]:
    return {"file": None, "line": None} if entry is None else {"file": entry.file, "line": entry.line or None}


def _faults(faults: Faults) -> dict[str, str]:
    return {"name": faults.name, "words": faults.words}


def _columns(audit: Audit) -> list[Faults]:
    """The faults that something was asked under."""
    asked = {answer.faults for answer in audit.answers}
    return [faults for faults in audit.assumed.all_faults if faults in asked]


# -- about the whole ----------------------------------------------------------------------------------------------------


def release_in_words(audit: Audit, contexts: Contexts) -> str:
    """How the release is known, and what is asked of which others."""
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


def model_in_words(configuration: Configuration) -> str:
    """What may happen in every cell of the table, in one sentence."""
    unclean = configuration[keys.UNCLEAN]
    return always(f", uncleanly too ({unclean.key}=true: {unclean.source})" if unclean.on else "")


def always(elected: str = "") -> str:
    """The same of several configurations, without what only one of them has."""
    return (
        "Always: answers may be late or never come, followers may fall behind and leave the ISR, and leaders may be elected "
        f"any number of times{elected}; a column says what goes wrong besides."
    )


def assumed_in_words(audit: Audit) -> str:
    """Under which faults what decides is asked."""
    text = "; or ".join(faults.words for faults in audit.assumed.faults)
    if audit.assumed.of_loss and audit.all_of(AuditQuestion.LOSS):
        text += f"; {AuditQuestion.LOSS.value} also: {'; or '.join(faults.words for faults in audit.assumed.of_loss)}"
    for asked, decisive in audit.assumed.decisive:
        text += f"; {asked.value} instead: {'; or '.join(faults.words for faults in decisive)}"
    return text


def verdict_in_words(audit: Audit, required: Sequence[AuditQuestion]) -> str:
    """The last line: what the exit code says, and which settings were ignored."""
    worst = audit.worst(required)
    bad = [answer for asked in required for answer in audit.all_of(asked) if answer.worst is worst]
    faults: dict[AuditQuestion, dict[str, None]] = {}
    for answer in bad:
        faults.setdefault(answer.question.asked, {})[answer.faults.name] = None
    said = "; ".join(f"{_said(worst, asked)} (faults: {', '.join(names)})" for asked, names in faults.items())
    text = f"{_HEADS[worst]}: {said}"
    if worst is not AuditVerdict.NO and all(answer.reply is not worst for answer in bad):
        text += ", in some of the releases that may be meant; name yours with --kafka-version and --control-plane"
    if audit.passed_over:
        text += f"; ignored (--lenient): {', '.join(f'{_name_of(entry)} ({entry.where})' for entry in _passed_over(audit))}"
    return text


def with_hinges(document: dict[str, Any], hinges: Sequence[Hinge]) -> dict[str, Any]:
    """The document, undecided where answers that are no hang on what is not known of controllers."""
    if not hinges or document["verdict"] == AuditVerdict.YES.value:
        return document
    by_words: dict[str, list[Answer]] = {}
    for hinge in hinges:
        by_words.setdefault(hinge.on, []).append(hinge.answer)
    said = "; ".join(
        f"{_joined([f'{_said(AuditVerdict.UNDECIDED, one.question.asked)} (faults: {one.faults.name})' for one in answers])} "
        f"hangs on {on}"
        for on, answers in by_words.items()
    )
    text = f"{_HEADS[AuditVerdict.UNDECIDED]}: {said}"
    return {**document, "verdict": AuditVerdict.UNDECIDED.value, "verdict_in_words": text}


def _said(reply: AuditVerdict, asked: AuditQuestion) -> str:
    if reply is AuditVerdict.NO:
        return _NO[asked]
    return _YES[asked] if reply is AuditVerdict.YES else f"whether {_YES[asked]}"


def _passed_over(audit: Audit) -> list[Read]:
    return [finding.entry for finding in audit.passed_over if finding.entry is not None]


def _name_of(one: Read) -> str:
    return one.key if isinstance(one, SettingEntry) else "imported file"  # No other note is passed over.


def _names(asked: Iterable[AuditQuestion]) -> str:
    return ", ".join(item.value for item in asked)


def _told_once(answers: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers, each with the faults under which the same steps were told before (`same_as`)."""
    told: dict[tuple[str, ...], str] = {}
    found = []
    for answer in answers:
        story = answer["story"]
        key = () if story is None else (answer["question"], *story["actions"])
        found.append({**answer, "same_as": told.get(key) if key else None})
        told.setdefault(key, answer["faults"]["name"])
    return found


# -- answers ------------------------------------------------------------------------------------------------------------


def _answer(
    configuration: Configuration, answer: Answer, audit: Audit, cache: ResultCache | None
) -> dict[str, object]:
    outcome, advice = answer.outcome, answer.advice
    is_asked_elsewhere = not answer.decides or answer.question.asked in audit.everywhere
    is_here_only = any(not refused for _, refused in audit.others) and not is_asked_elsewhere
    alone = "; of the other releases that may be meant it was not asked (use --require all)" if is_here_only else ""
    return {
        "question": answer.question.asked.value,
        "text": answer.question.text,
        "faults": _faults(answer.faults),
        "decides": answer.decides,
        "answer": answer.reply.value,
        "worst": answer.worst.value,
        "in_words": f"{in_words(answer)}{alone}",
        "property": answer.question.property,
        "page": None,
        "bounds": answer.bounds,
        "constants": dict(answer.task.asked.constants),
        "distinct_states": None if outcome is None else outcome.distinct_states,
        "nothing_accepted": answer.is_empty,
        "story": _story(answer, cache),
        "elsewhere": _elsewhere(answer, cache),
        "tried": None if advice is None else [change.words for change in advice.tried],
        "causes": None if advice is None else [_cause(answer.question.asked, configuration, item) for item in advice.causes],
        "no_cause": None if advice is None or advice.causes else no_cause_in_words(advice.tried, advice.undecided),
        "remedy": None if advice is None or advice.remedy is None else _remedy(advice.remedy),
        "undecided": None if advice is None else [change.words for change in advice.undecided],
        "undecided_in_words": "" if advice is None else undecided_in_words(advice.undecided),
    }


def _story(answer: Answer, cache: ResultCache | None) -> dict[str, object] | None:
    """What happens, in words; `actions` are the names of the steps: runs that have the same are one story."""
    if answer.story is None:
        return None
    parts = (json.dumps(answer.task.document(), sort_keys=True), repr((answer.story.property, answer.story.states)))
    known = cache.recall("told", *parts) if cache is not None else None
    if isinstance(known, dict):
        return known
    run = sentences_of(answer.task, answer.story)
    told: dict[str, object] = {
        "property": run.property, "happened": run.happened, "steps": list(run.steps), "actions": list(run.actions)
    }  # fmt: skip
    if cache is not None:
        cache.keep("told", told, *parts)
    return told


def in_words(answer: Answer) -> str:
    """Yes, no or undecided, with what that stands on."""
    outcome = answer.outcome
    if outcome is None:
        return f"undecided: {answer.failure}"
    if answer.story is not None:
        return f"yes, in {plural(answer.story.trace_length - 1, 'step')} ({answer.bounds})"
    if answer.reply is AuditVerdict.UNDECIDED:
        return (
            f"undecided: {outcome.stopped.value} after {plural(outcome.distinct_states, 'distinct state')} and "
            f"{plural(outcome.depth, 'complete level')} ({answer.bounds}); give it more --max-states or --memory"
        )
    empty = "no, but only because no record is ever accepted" if answer.is_empty else "no"
    return f"{empty}: every reachable state was seen ({plural(outcome.distinct_states, 'state')}; {answer.bounds})"


def _elsewhere(answer: Answer, cache: ResultCache | None) -> list[dict[str, object]]:
    """What is so in the other releases that may be meant, and a story where there is none here."""
    found: list[dict[str, object]] = []
    for reply in AuditVerdict:
        group = [item for item in answer.elsewhere if item.reply is reply]
        if not group:
            continue
        word = "also" if reply is answer.reply else "but"
        text = f"{word} {reply.value} in {span(item.context for item in group)}"
        told_of = group[0] if reply is AuditVerdict.YES and answer.reply is not AuditVerdict.YES else None
        if told_of is not None and told_of.story is not None:
            steps = plural(told_of.story.trace_length - 1, "step")
            text += f"; with {told_of.context.words}{_defaults_there(answer, told_of)} in {steps} ({told_of.bounds})"
        elif reply is AuditVerdict.UNDECIDED and reply is not answer.reply:
            text += f"; with {group[0].context.words}: {in_words(group[0])}"
        found.append({
            "answer": reply.value,
            "contexts": [{"kafka_version": item.context.release.name, "control_plane": item.context.plane} for item in group],
            "in_words": text,
            "story": None if told_of is None else _story(told_of, cache),
        })  # fmt: skip
    return found


_DEFAULTS = {
    "acks": (keys.ACKS, ("0", "1", "all")),
    "idempotence": (keys.IDEMPOTENCE, ("false", "true")),
    "unclean_election": (keys.UNCLEAN, ("false", "true")),
}
"""Constants whose defaults differ by release: what Kafka calls them and their values, from 0 on."""


def _defaults_there(here: Answer, there: Answer) -> str:
    """What another release takes instead where nothing is set: the settings that are shown are those here."""
    mine, its = dict(here.task.asked.constants), dict(there.task.asked.constants)
    found = [f"{key}={values[its[name]]}" for name, (key, values) in _DEFAULTS.items() if mine[name] != its[name]]
    return f" (its defaults: {', '.join(found)})" if found else ""


# -- advice -------------------------------------------------------------------------------------------------------------


def _cause(asked: AuditQuestion, configuration: Configuration, change: SettingsChange) -> dict[str, object]:
    key, value = change.settings[0]
    now = configuration.values.get(key)
    source = {"value": None, "source": None, "file": None, "line": None} if now is None else _setting(now)
    return {"key": key, "now": source["value"], "source": source["source"], "file": source["file"], "line": source["line"],
            "no_with": value, "in_words": cause_in_words(asked, now, key, value)}  # fmt: skip


def cause_in_words(asked: AuditQuestion, now: SettingValue | None, key: str, value: str) -> str:
    """`acks=1 (producer.properties:3). With acks=all no acknowledged record is lost`."""
    is_ = f"{key} is not set" if now is None or not now.value else f"{key}={now.value} ({now.source})"
    with_ = f"With {key}={value}" if value else "Without it"
    return f"{is_}. {with_} {_NO[asked]}"


def no_cause_in_words(tried: Sequence[SettingsChange], undecided: Sequence[SettingsChange]) -> str:
    """That no change of a single setting that was searched turns the answer to no, and which they were."""
    if not tried:
        return "no single setting; there was none to try"
    none = "none is known" if any(change in undecided for change in tried) else "no single setting"
    return f"{none}; tried one at a time: {', '.join(change.words for change in tried)}"


def _recommended(audit: Audit) -> dict[str, object] | None:
    found = audit.recommended
    if found is None:
        return None
    is_upgrade = VERSION_KEY in dict(found.settings)
    held = "" if is_upgrade else f"with {audit.context.words} "
    return {
        "settings": [{"key": key, "value": value or None} for key, value in found.settings],
        "costs": list(found.costs),
        "in_words": f"{remedy_in_words(SettingsChange(found.settings))}; {held}every required answer "
        f"({_names(audit.everywhere)}) is then a no (checked)",
    }


def _remedy(change: SettingsChange) -> dict[str, object]:
    return {
        "settings": [{"key": key, "value": value or None} for key, value in change.settings],
        "turns": [{"question": asked.value, "answer": reply.value} for asked, reply in change.turns],
        "price": list(change.price),
        "in_words": remedy_in_words(change),
    }


_SEVERAL = 3


def undecided_in_words(changes: Sequence[SettingsChange]) -> str:
    """`; whether min.insync.replicas=2 would do was not decided (give it more --max-states or --memory)`."""
    if not changes:
        return ""
    named = [change.words.replace(", ", " with ") for change in changes[:_SEVERAL]]
    if len(changes) > _SEVERAL:
        named.append(f"{len(changes) - _SEVERAL} more")
    return f"; whether {_joined(named, 'or')} would do was not decided (give it more --max-states or --memory)"


def remedy_in_words(change: SettingsChange) -> str:
    """What to change, what else that would change, and what it costs."""
    phrases = [f"upgrade to Kafka {value}" for key, value in change.settings if key == VERSION_KEY]
    phrases += [f"give the topic {value} replicas" for key, value in change.settings if key == REPLICATION_FACTOR]
    values = [f"{key}={value}" for key, value in change.settings if value and key not in (VERSION_KEY, REPLICATION_FACTOR)]
    phrases += [f"set {_joined(values)}"] * bool(values)
    phrases += [f"remove {key}" for key, value in change.settings if not value]
    text = _joined(phrases)
    for asked, reply in change.turns:
        what = _YES[asked]
        text += f"; but then {what}" if reply is AuditVerdict.YES else f"; whether then {what} is undecided"
    return text + "".join(f"; cost: {price}" for price in change.price)


def _joined(parts: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
