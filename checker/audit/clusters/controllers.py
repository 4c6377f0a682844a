"""Controllers of their own (KRaft), whose settings brokers cannot tell: which answers hang on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from acked.checker.audit import keys
from acked.checker.audit.audit import Answer, Audit
from acked.checker.audit.entry import CONTROLLERS_UNREAD, OPTION, Scope, SettingEntry
from acked.checker.audit.gather import Given
from acked.checker.audit.joint import Searches
from acked.checker.audit.questions import AuditQuestion, AuditVerdict, reply_of, task_of
from acked.checker.audit.settings import configure

_FOR_ALL = "(dynamic for all brokers)"
"""How a broker names a setting that is in the metadata, so that controllers have it too."""


def hinges_of(audit: Audit, given: Given, required: Collection[AuditQuestion], searches: Searches) -> tuple[Answer, ...]:
    """The required answers that are no, and would not be if the controllers' unclean.leader.election.enable were on.

    There are none where a setting of the topic, one for all brokers, or the user says it for the controllers, too.
    """
    if not _is_open(given) or audit.configuration[keys.UNCLEAN].on:
        return ()
    on = SettingEntry(keys.UNCLEAN, "true", "the controllers", 0)
    with_it = replace(given, entries={**given.entries, keys.UNCLEAN: on})
    other = configure(with_it, audit.context.release, audit.context.plane)
    good = [
        answer
        for answer in audit.answers
        if answer.decides and answer.question.asked in required and answer.worst is AuditVerdict.NO
    ]
    tasks = [task_of(answer.question, other, audit.assumed, answer.faults) for answer in good]
    searches.decide(tasks)
    return tuple(
        answer
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
