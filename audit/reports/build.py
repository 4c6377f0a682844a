"""From an audit to its view: every sentence that the forms of an audit have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from acked.audit.clusters.several import Audited, Hinge
from acked.audit.decision.advice import VERSION_KEY, SettingsChange
from acked.audit.decision.audit import Answer, Audit
from acked.audit.decision.faults import AuditQuestion, AuditVerdict, Faults, not_asked
from acked.audit.decision.joint import is_by_proof
from acked.audit.decision.questions import worst_of
from acked.audit.decision.release import Contexts, Deployment, span
from acked.audit.decision.settings import Configuration, SettingValue
from acked.audit.reports.telling import HEADS, SHORT, Tell, told
from acked.audit.reports.transactional import transactions_view
from acked.audit.reports.view import (
    FORMAT,
    AnswerView,
    AuditView,
    CauseView,
    ColumnView,
    ContextView,
    DecidedBy,
    ElsewhereView,
    FaultsView,
    FindingView,
    InsteadView,
    OtherView,
    PassedOverView,
    RecommendedView,
    ReleaseView,
    RemedyView,
    SettingView,
    TurnView,
    ValueView,
)
from acked.checker.batch.cache import ResultCache
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import IMAGE, OLDEST, REPLICATION_FACTOR, STATED, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Read
from acked.model.language.telling import says_list
from acked.reports.units import plural

_HIDDEN = (keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.METADATA_VERSION, keys.DEFAULT_FACTOR, IMAGE, STATED,
           OLDEST)  # fmt: skip
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


def view_of(one: Audited, cache: ResultCache | None = None, is_told: bool = True) -> AuditView | None:
    """The audit of a group of topics, with what hangs on controllers and on the way of an upgrade; None if it was not asked.

    What happens in a run is told once and kept in the cache; unless `is_told`, of a summary, it is left out.
    """
    if one.audit is None or one.contexts is None:
        return None
    tell: Tell = partial(told, cache) if is_told else lambda answer: None
    found = _audit_view(one.audit, one.required, one.contexts, tell, one.group.topics)
    return verdict_with(apply_hinges(replace(found, upgrade=one.upgrade), one.hinges), one.required)


def _audit_view(
    audit: Audit, required: Sequence[AuditQuestion], contexts: Contexts, tell: Tell, topics: tuple[str, ...]
) -> AuditView:
    configuration = audit.configuration
    return AuditView(
        format=FORMAT,
        topics=topics,
        kafka_version=configuration.release.name,
        rules=configuration.rules,
        control_plane=configuration.plane,
        release=ReleaseView(contexts.is_named, contexts.source, release_in_words(audit, contexts)),
        others=tuple(OtherView(other.release.name, other.plane, refused or None) for other, refused in audit.others),
        asked_of_others=audit.everywhere if audit.others else (),
        faults=tuple(map(_faults, audit.assumed.all_faults)),
        columns=tuple(ColumnView(faults.name, faults.words, faults.heading) for faults in _columns(audit)),
        model=model_in_words(configuration),
        assumed=assumed_in_words(audit),
        not_asked=tuple(FaultsView(name, words) for name, words in not_asked(audit.assumed.all_faults)),
        required=tuple(required),
        verdict=audit.worst(required),
        verdict_in_words=verdict_in_words(audit, required),
        settings=tuple(map(_setting, shown_settings(configuration))),
        findings=tuple(FindingView(one.rule, one.level, one.text, *_place(one.entry)) for one in configuration.findings),
        passed_over=tuple(PassedOverView(_name_of(one), *_place(one)) for one in _passed_over(audit)),
        advice=audit.is_advised,
        answers=_tell_once(_answer(configuration, answer, audit, tell) for answer in audit.answers),
        recommended=_recommendation(audit),
        warnings=audit.warnings,
        transactions=transactions_view(audit.transactions),
    )


def shown_settings(configuration: Configuration) -> list[SettingValue]:
    """The settings that count, in the order of their table."""
    values = (configuration.values[key] for key in KEYS if key in configuration.values and key not in _HIDDEN)
    return [value for value in values if value.key not in _ONLY_IF_SET or value.entry is not None]


def _setting(value: SettingValue) -> SettingView:
    instead = () if value.entry is None else value.entry.instead_of
    old = tuple(InsteadView(one.value, *_place(one)) for one in instead)
    return SettingView(value.key, value.value, value.source, *_place(value.entry), old)


def _place(one: Read | None) -> tuple[str | None, int | None]:
    """File and line, as far as there are some."""
    return (None, None) if one is None else (one.file, one.line or None)


def _faults(faults: Faults) -> FaultsView:
    return FaultsView(faults.name, faults.words)


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
        faults.setdefault(answer.question.asked, {})[answer.faults.heading] = None
    said = "; ".join(f"{_claim(worst, asked)} (faults: {', '.join(names)})" for asked, names in faults.items())
    text = f"{HEADS[worst]}: {said}"
    text += _hanging_on_release(bad)
    if audit.passed_over:
        text += f"; ignored (--lenient): {', '.join(f'{_name_of(entry)} ({entry.where})' for entry in _passed_over(audit))}"
    return text


def _hanging_on_release(answers: Iterable[Answer]) -> str:
    """What would decide answers that are yes in some of the releases that may be meant, and not in others."""
    replies: dict[AuditVerdict, list[Deployment]] = {reply: [] for reply in AuditVerdict}
    for answer in answers:
        both = (answer, *answer.elsewhere)
        if len({one.reply for one in both}) > 1:
            for one in both:
                replies[one.reply].append(one.context)
    if not replies[AuditVerdict.YES]:
        return ""
    every = [context for contexts in replies.values() for context in contexts]
    options = ["--kafka-version"] if len({one.release for one in every}) > 1 else []
    options += ["--control-plane"] if len({one.plane for one in every}) > 1 else []
    safe = [one for one in every if one not in replies[AuditVerdict.YES] and one not in replies[AuditVerdict.UNDECIDED]]
    but = f", and not in {span(safe)}" if safe else ""
    return f"; it can in {span(replies[AuditVerdict.YES])}{but}; {' and '.join(options)} will decide it"


def apply_hinges(view: AuditView, hinges: Sequence[Hinge]) -> AuditView:
    """The view, undecided where answers that are no hang on what is not known of controllers."""
    view = replace(view, answers=tuple(_on_hinge(answer, hinges) for answer in view.answers))
    if not hinges or view.verdict is AuditVerdict.YES:
        return view
    by_words: dict[str, list[str]] = {}
    for hinge in hinges:
        claim = _claim(AuditVerdict.UNDECIDED, hinge.answer.question.asked)
        by_words.setdefault(hinge.on, []).append(f"{claim} (faults: {hinge.answer.faults.heading})")
    said = "; ".join(f"{says_list(claims)} hangs on {on}" for on, claims in by_words.items())
    text = f"{HEADS[AuditVerdict.UNDECIDED]}: {said}"
    return replace(view, verdict=AuditVerdict.UNDECIDED, verdict_in_words=text)


def _on_hinge(answer: AnswerView, hinges: Sequence[Hinge]) -> AnswerView:
    of = answer.question, answer.faults.name
    on = next((one.on for one in hinges if (one.answer.question.asked, one.answer.faults.name) == of), None)
    words = f"undecided: it hangs on {on}; without that {answer.in_words}"
    return answer if on is None else replace(answer, worst=AuditVerdict.UNDECIDED, in_words=words)


def verdict_with(view: AuditView, required: Sequence[AuditQuestion]) -> AuditView:
    """The view, with a verdict on the way of the upgrade where that is worse than today's."""
    upgrade = view.upgrade
    if upgrade is None:
        return view
    worst = upgrade.worst(required)
    if worst_of([view.verdict, worst]) is view.verdict:
        return view
    bad = [answer for answer in upgrade.answers if answer.question.asked in required and answer.on_the_way is worst]
    said = says_list([f"{SHORT[answer.question.asked]} ({answer.faults.name})" for answer in bad])
    words = f"{HEADS[worst]}: on the way to Kafka {upgrade.target.name} an answer gets worse: {said}"
    return replace(view, verdict=worst, verdict_in_words=words)


def _claim(reply: AuditVerdict, asked: AuditQuestion) -> str:
    is_open = reply is AuditVerdict.UNDECIDED
    return _NO[asked] if reply is AuditVerdict.NO else f"{'whether ' if is_open else ''}{_YES[asked]}"


def _passed_over(audit: Audit) -> list[Read]:
    return [finding.entry for finding in audit.passed_over if finding.entry is not None]


def _name_of(one: Read) -> str:
    return one.key if isinstance(one, SettingEntry) else "imported file"  # No other note is passed over.


def _names(asked: Iterable[AuditQuestion]) -> str:
    return ", ".join(item.value for item in asked)


def _tell_once(answers: Iterable[AnswerView]) -> tuple[AnswerView, ...]:
    """The answers, each with the faults under which the same steps were told before."""
    told: dict[tuple[AuditQuestion, tuple[str, ...]], str] = {}
    found = []
    for answer in answers:
        key = None if answer.story is None else (answer.question, answer.story.actions)
        found.append(answer if key is None else replace(answer, same_as=told.get(key)))
        if key is not None:
            told.setdefault(key, answer.faults.name)
    return tuple(found)


# -- answers ------------------------------------------------------------------------------------------------------------


def _answer(configuration: Configuration, answer: Answer, audit: Audit, tell: Tell) -> AnswerView:
    outcome, advice, question = answer.outcome, answer.advice, answer.question
    is_asked_elsewhere = not answer.decides or question.asked in audit.everywhere
    is_here_only = any(not refused for _, refused in audit.others) and not is_asked_elsewhere
    alone = "; of the other releases that may be meant it was not asked (use --require all)" if is_here_only else ""
    return AnswerView(
        question=question.asked,
        text=question.text,
        faults=_faults(answer.faults),
        decides=answer.decides,
        answer=answer.reply,
        worst=answer.worst,
        in_words=f"{answer_in_words(answer)}{alone}",
        promise=question.property,
        page=None,
        bounds=answer.bounds,
        constants=dict(answer.task.asked.constants),
        distinct_states=None if outcome is None else outcome.distinct_states,
        nothing_accepted=answer.is_empty,
        story=tell(answer),
        elsewhere=tuple(_elsewhere(answer, tell)),
        tried=None if advice is None else _words(advice.tried),
        causes=None if advice is None else tuple(_cause(question.asked, configuration, item) for item in advice.causes),
        no_cause=None if advice is None or advice.causes else no_cause_in_words(advice.tried, advice.undecided),
        remedy=None if advice is None or advice.remedy is None else _remedy(advice.remedy),
        undecided=None if advice is None else _words(advice.undecided),
        undecided_in_words="" if advice is None else undecided_in_words(advice.undecided),
        decided_by=None if outcome is None else DecidedBy.of(outcome),
    )


def _words(changes: Iterable[SettingsChange]) -> tuple[str, ...]:
    return tuple(change.words for change in changes)


def answer_in_words(answer: Answer) -> str:
    """Yes, no or undecided, with what that stands on."""
    outcome = answer.outcome
    if outcome is None:
        return f"undecided: {answer.failure}"
    if answer.story is not None:
        return f"yes, in {plural(answer.story.trace_length - 1, 'step')} ({answer.bounds})"
    if answer.reply is AuditVerdict.UNDECIDED:
        seen = f"{plural(outcome.distinct_states, 'distinct state')} and {plural(outcome.depth, 'complete level')}"
        return f"undecided: {outcome.stopped.value} after {seen} ({answer.bounds}); give it more --max-states or --memory"
    if is_by_proof(outcome):
        return "no: proved for any number of brokers, offsets, records and elections (acked prove releases)"
    empty = "no, but only because no record is ever accepted" if answer.is_empty else "no"
    return f"{empty}: every reachable state was seen ({plural(outcome.distinct_states, 'state')}; {answer.bounds})"


def _elsewhere(answer: Answer, tell: Tell) -> Iterator[ElsewhereView]:
    """What is so in the other releases that may be meant, and a story where there is none here."""
    for reply in AuditVerdict:
        group = [item for item in answer.elsewhere if item.reply is reply]
        if not group:
            continue
        word = "also" if reply is answer.reply else "but"
        text = f"{word} {reply.value} in {span(item.context for item in group)}"
        told_of = group[0] if reply is AuditVerdict.YES and answer.reply is not AuditVerdict.YES else None
        if told_of is not None and told_of.story is not None:
            steps = plural(told_of.story.trace_length - 1, "step")
            text += f"; with {told_of.context.words} in {steps} ({told_of.bounds})"
        elif reply is AuditVerdict.UNDECIDED and reply is not answer.reply:
            text += f"; with {group[0].context.words}: {answer_in_words(group[0])}"
        contexts = tuple(ContextView(item.context.release.name, item.context.plane) for item in group)
        yield ElsewhereView(reply, contexts, text, None if told_of is None else tell(told_of))


# -- advice -------------------------------------------------------------------------------------------------------------


def _cause(asked: AuditQuestion, configuration: Configuration, change: SettingsChange) -> CauseView:
    key, value = change.settings[0]
    now = configuration.values.get(key)
    words = cause_in_words(asked, now, key, value)
    if now is None:
        return CauseView(key, None, None, None, None, value, words)
    return CauseView(key, now.value, now.source, *_place(now.entry), value, words)


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


def _recommendation(audit: Audit) -> RecommendedView | None:
    found = audit.recommended
    if found is None:
        return None
    is_upgrade = VERSION_KEY in dict(found.settings)
    held = "" if is_upgrade else f"on {audit.context.words} "
    words = remedy_in_words(SettingsChange(found.settings))
    words += f"; {held}every required answer ({_names(audit.everywhere)}) is then a no (checked)"
    words += f", and so is {says_list(turned)}" if (turned := [asked.value for asked in _turned(found)]) else ""
    for remedy, asked in _beside(audit, found).items():
        words += f"; {_names(asked)}, not required and a yes now: {remedy} (checked alone)"
    return RecommendedView(_values(found.settings), found.price, words)


def _turned(found: SettingsChange) -> list[AuditQuestion]:
    """The questions that are not required whose answers a change makes a no as well."""
    return [asked for asked, reply in found.turns if reply is AuditVerdict.NO]


def _beside(audit: Audit, found: SettingsChange) -> dict[str, list[AuditQuestion]]:
    """What makes other answers a no that decide and are a yes, and is not recommended already: by that, which answers."""
    beside: dict[str, list[AuditQuestion]] = {}
    for answer in audit.answers:
        remedy = None if answer.advice is None else answer.advice.remedy
        asked = answer.question.asked
        is_open = answer.decides and asked not in (*audit.everywhere, *_turned(found)) and answer.worst is AuditVerdict.YES
        if is_open and remedy is not None and not set(remedy.settings) <= set(found.settings):
            beside.setdefault(remedy_in_words(SettingsChange(remedy.settings)), []).append(asked)
    return beside


def _remedy(change: SettingsChange) -> RemedyView:
    turns = tuple(TurnView(asked, reply) for asked, reply in change.turns)
    return RemedyView(_values(change.settings), turns, change.price, remedy_in_words(change))


def _values(settings: Iterable[tuple[str, str]]) -> tuple[ValueView, ...]:
    return tuple(ValueView(key, value or None) for key, value in settings)


_SEVERAL = 3


def undecided_in_words(changes: Sequence[SettingsChange]) -> str:
    """`; whether min.insync.replicas=2 would do was not decided (give it more --max-states or --memory)`."""
    if not changes:
        return ""
    named = [change.words.replace(", ", " with ") for change in changes[:_SEVERAL]]
    named += [f"{len(changes) - _SEVERAL} more"] * (len(changes) > _SEVERAL)
    shown = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"; whether {shown} would do was not decided (give it more --max-states or --memory)"


def remedy_in_words(change: SettingsChange) -> str:
    """What to change, what else that would change, and what it costs."""
    phrases = [f"upgrade to Kafka {value}" for key, value in change.settings if key == VERSION_KEY]
    phrases += [f"give the topic {value} replicas" for key, value in change.settings if key == REPLICATION_FACTOR]
    values = [f"{key}={value}" for key, value in change.settings if value and key not in (VERSION_KEY, REPLICATION_FACTOR)]
    phrases += [f"set {says_list(values)}"] if values else []
    phrases += [f"remove {key}" for key, value in change.settings if not value]
    text = says_list(phrases)
    for asked, reply in change.turns:
        text += f"; but then {_YES[asked]}" if reply is AuditVerdict.YES else f"; whether then {_YES[asked]} is undecided"
    return text + "".join(f"; cost: {price}" for price in change.price)
