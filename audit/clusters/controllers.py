"""What hangs on controllers and is not known: settings of those that brokers cannot tell, and those that fail over."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from acked.audit.clusters.topics import CONTROLLERS_UNREAD
from acked.audit.decision.audit import Answer, Audit
from acked.audit.decision.faults import CrashKind
from acked.audit.decision.gather import Given
from acked.audit.decision.joint import Searches
from acked.audit.decision.questions import AuditQuestion, AuditVerdict, reply_of, task_of
from acked.audit.decision.settings import configure
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OPTION, Scope, SettingEntry

_FOR_ALL = "(dynamic for all brokers)"
"""How a broker names a setting that is in the metadata, so that controllers have it too."""


_REFUSED_SINCE = "2.2"
"""Since then a broker refuses what a controller sent to it before it was restarted (KIP-380)."""


@dataclass(frozen=True)
class Hinge:
    """A required answer that is no as far as was searched, and what it hangs on besides."""

    answer: Answer
    on: str


def hinges_of(audit: Audit, given: Given, required: Collection[AuditQuestion], searches: Searches) -> tuple[Hinge, ...]:
    """All of them."""
    good = [
        answer
        for answer in audit.answers
        if answer.decides and answer.question.asked in required and answer.worst is AuditVerdict.NO
    ]
    return (*_on_failing_over(audit, good), *_on_unclean(audit, given, good, searches))


def _on_failing_over(audit: Audit, good: Collection[Answer]) -> tuple[Hinge, ...]:
    """To 2.1 what an old controller sent late makes a restarted broker lead, and records are lost; no search has both.

    `acked check zombie-controller-and-restarts-2-1` shows it. Later releases have ZooKeeper or not, and refuse it.
    """
    if audit.context.release.since(_REFUSED_SINCE):
        return ()
    on = (
        "controllers that never fail over: to 2.1 a broker that has restarted believes what an old one sent late "
        "(KIP-380, acked check zombie-controller-and-restarts-2-1)"
    )
    return tuple(
        Hinge(answer, on)
        for answer in good
        if answer.question.asked is AuditQuestion.LOSS and answer.faults.crashes is not CrashKind.NONE
    )


def _on_unclean(audit: Audit, given: Given, good: Collection[Answer], searches: Searches) -> tuple[Hinge, ...]:
    """The answers that would not be no if the controllers' unclean.leader.election.enable were on.

    There are none where a setting of the topic, one for all brokers, or the user says it for the controllers, too.
    """
    if not _is_open(given) or audit.configuration[keys.UNCLEAN].on:
        return ()
    on = SettingEntry(keys.UNCLEAN, "true", "the controllers", 0)
    with_it = replace(given, entries={**given.entries, keys.UNCLEAN: on})
    other = configure(with_it, audit.context.release, audit.context.plane)
    tasks = [task_of(answer.question, other, audit.assumed, answer.faults) for answer in good]
    searches.decide(tasks)
    return tuple(
        Hinge(answer, f"the controllers' {keys.UNCLEAN}, which brokers cannot tell")
        for answer, task in zip(good, tasks, strict=True)
        if reply_of(searches[task].outcome) is not AuditVerdict.NO
    )


def _is_open(given: Given) -> bool:
    if not any(finding.rule == CONTROLLERS_UNREAD for finding in given.findings):
        return False
    entry = given.entries.get(keys.UNCLEAN)
    if entry is None:
        return True
    return entry.file != OPTION and entry.scope is not Scope.TOPIC and _FOR_ALL not in entry.said_by
