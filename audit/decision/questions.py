"""The five questions of an audit as searches of `partition`.

What of a configuration a search takes. The questions by name, and under what they are asked, are in `faults`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from acked.audit.decision.faults import BEFORE_KIP_380, Assumptions, AuditQuestion, AuditVerdict, CrashKind, Faults
from acked.audit.decision.settings import Configuration
from acked.base.frozen import frozen
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.question.result import Verdict
from acked.checker.spec.question_text import QuestionText
from acked.cluster.vocabulary import keys
from acked.model.language.context import Constant
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import KRAFT, VERSIONS

FEW_BROKERS = 3
"""Brokers that a question about the order of records is asked with, unless it is to be thorough: it takes the most states."""


@frozen
class SizedQuestion:
    """One of the five: the property whose violation is a yes, and the sizes it takes to see one.

    Two records, because logs that part hold different ones at an offset: with one record KAFKA-13141 loses none.
    """

    asked: AuditQuestion
    text: str
    property: str
    log_size: int
    records: int


QUESTIONS: tuple[SizedQuestion, ...] = (
    SizedQuestion(AuditQuestion.LOSS, "Can a record that was acknowledged be lost?", "AckedRecordsSurvive", 1, 2),
    SizedQuestion(AuditQuestion.DUPLICATES, "Can a record be duplicated?", "NoDuplicates", 2, 1),
    SizedQuestion(AuditQuestion.REORDERING, "Can records be reordered?", "NoReordering", 2, 2),
    SizedQuestion(AuditQuestion.VANISHING, "Can a record be read and then vanish?", "ReadsStay", 1, 2),
    SizedQuestion(
        AuditQuestion.WRITES, "Can the partition stop accepting writes with one broker down?", "WritesWithOneDown", 1, 1
    ),
)


def reply_of(outcome: Outcome | None) -> AuditVerdict:
    """What an outcome decides; an unfinished search decides nothing."""
    if outcome is None or outcome.verdict is Verdict.INCOMPLETE:
        return AuditVerdict.UNDECIDED
    return AuditVerdict.YES if outcome.verdict is Verdict.VIOLATED else AuditVerdict.NO


def worst_of(replies: Iterable[AuditVerdict]) -> AuditVerdict:
    """Yes if one of them is yes, else undecided if one is, else no."""
    found = set(replies)
    return next((reply for reply in (AuditVerdict.YES, AuditVerdict.UNDECIDED) if reply in found), AuditVerdict.NO)


# -- a configuration as constants ---------------------------------------------------------------------------------------


def task_of(
    question: SizedQuestion,
    configuration: Configuration,
    assumed: Assumptions,
    faults: Faults | None = None,
    rules: Mapping[str, int] | None = None,
) -> Task:
    """The search that answers a question about a configuration, by default under the first of the assumed's faults.

    `rules` are in force instead of the release's own.
    """
    faults = faults or assumed.faults[0]
    constants = constants_of(configuration, faults) | dict(rules or {})
    constants["log_size"] = max(assumed.log_size or 0, question.log_size)
    constants["records"] = max(assumed.records or 0, question.records)
    if question.asked is AuditQuestion.VANISHING:
        follows = keys.SELECTOR in configuration.values and not configuration.reads_from_leader  # a setting from 2.4 on
        constants["consumer"] = settings.FROM_FOLLOWERS if follows else settings.FROM_LEADER
    if question.asked is AuditQuestion.WRITES and faults.crashes is CrashKind.NONE:
        constants |= CrashKind.CLEAN.constants()  # The question itself takes a broker down.
    if question.asked is AuditQuestion.REORDERING and not assumed.is_thorough:
        spare = max(constants["replicas"] - FEW_BROKERS, 0)
        constants["replicas"] -= spare
        constants["min_insync_replicas"] = max(1, constants["min_insync_replicas"] - spare)
    constants["in_flight"] = min(constants["in_flight"], constants["records"])
    bound = without_effect(partition.bind(constants))
    # States that differ only in the names of brokers are visited once: a sixth of them with three brokers.
    asked = QuestionText(partition.name, tuple(bound.items()), (question.property,), symmetry=constants["replicas"] > 1)
    return Task(asked, max_states=assumed.bound_of(question.asked, faults))


def constants_of(configuration: Configuration, faults: Faults) -> dict[str, int]:
    """What is in effect as constants of `partition`, without sizes of logs."""
    constants = dict(_profile(configuration.rules, configuration.plane))
    constants |= faults.constants(VERSIONS.index(configuration.rules) < VERSIONS.index(BEFORE_KIP_380))
    given = {item.constant.name: item.constant_value(configuration[name].value) for name, item in keys.KEYS.items()
             if item.constant is not None and name in configuration.values}  # fmt: skip
    if configuration.plane != KRAFT:
        given.pop(settings.eligible_leader_replicas.name, None)
    constants |= {settings.idempotence.name: 0} | given
    constants["min_insync_replicas"] = min(constants["min_insync_replicas"], constants["replicas"] + 1)
    if constants["acks"] == settings.ACKS_0:
        constants["retries"] = 0  # Such a producer waits for no answer, so there is never a reason to send again.
    if configuration[keys.FLUSH_MESSAGES].value == "1" and faults.crashes.loses_unflushed:
        # What is acknowledged or fetched has been flushed before: no crash loses a suffix.
        constants |= CrashKind.CLEAN.constants()
    return constants


@cache
def _profile(rules: str, plane: str) -> Mapping[str, int]:
    return {name: setting.value for name, setting in partition.profile(rules, plane).items()}


NEEDS: Mapping[Constant, tuple[Constant, ...]] = {
    settings.answer_names_epoch: (settings.late_answers,),
    settings.truncating_takes_none: (settings.late_answers,),
    settings.fetcher_stops_first: (settings.late_answers,),
    settings.appends_up_to_epoch: (settings.late_reads,),
    settings.fetched_epoch_kept: (settings.late_answers, settings.unnoticed_restarts),
    settings.epoch_cache_truncated: (settings.epoch_cache,),
    settings.query_waits_for_epoch: (settings.offset_queries,),
    settings.client_epoch: (settings.offset_queries,),
    settings.five_in_flight: (settings.idempotence,),
    settings.sequence_check: (settings.idempotence,),
    settings.unknown_producers_accepted: (settings.idempotence,),
    settings.first_sequence_checked: (settings.idempotence,),
    settings.reregistration_noticed: (settings.unnoticed_restarts,),
    settings.assignment_keeps_elr: (settings.directories_move, settings.empty_disks),
    settings.move_completion: (settings.reassignment,),
    settings.moves_in_one_record: (settings.reassignment,),
    settings.larger_isr_shrinks: (settings.reassignment,),
    settings.moves_replaceable: (settings.reassignment,),
}
"""Rules that say nothing while all of these constants are off; `in_flight_refused` is about settings alone and never does."""

_NEVER_ON = (
    settings.late_answers, settings.late_reads, settings.epoch_cache, settings.offset_queries, settings.directories_move,
    settings.reassignment,
)  # fmt: skip
NEVER_ASKED = frozenset(
    {rule.name for rule, switches in NEEDS.items() if set(switches) <= set(_NEVER_ON)}
    | {settings.in_flight_refused.name, settings.fetched_epoch_kept.name}
)
"""Rules that make no difference to any question of an audit; unnoticed restarts are asked about before 2.2 alone, and what a
fetch names from 3.5.1 to 3.6.2 differs."""


def without_effect(constants: dict[str, int]) -> dict[str, int]:
    """The same for all constants that make the same steps: releases that a question cannot tell apart are searched once."""
    same = {
        rule.name: rule.default
        for rule, switches in NEEDS.items()
        if not any(constants[switch.name] for switch in switches)
    }
    same[settings.in_flight_refused.name] = settings.in_flight_refused.default
    same[settings.min_insync_replicas.name] = _least_in_sync(constants)
    return constants | {name: value for name, value in same.items() if value is not None}


def _least_in_sync(constants: Mapping[str, int]) -> int:
    """min.insync.replicas as far as anybody asks for it: a leader of acks=all, and from 3.7 a high watermark and the ELR."""
    least, replicas = constants[settings.min_insync_replicas.name], constants[settings.replicas.name]
    if constants[settings.strict_min_isr.name]:
        return min(least, replicas)
    return least if constants[settings.acks.name] == settings.ACKS_ALL else 1
