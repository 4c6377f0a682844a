"""The audit of several groups of topics: what they share is searched once, and one that is refused stops no other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from acked.audit.clusters.topics import CONTROLLERS_UNREAD, TopicGroup
from acked.audit.decision.audit import Answer, Audit, Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, CrashKind, Wanted
from acked.audit.decision.gather import FOR_ALL_BROKERS, Given, RefusedByKafka
from acked.audit.decision.joint import OnDecided, Searches
from acked.audit.decision.questions import reply_of, task_of, worst_of
from acked.audit.decision.release import Contexts, contexts
from acked.audit.decision.settings import configure
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.release import Release
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Runner
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import SettingEntry

if TYPE_CHECKING:
    from acked.audit.decision.upgrade import Upgrade

_REFUSED_SINCE = "2.2"
"""Since then a broker refuses what a controller sent to it before it was restarted (KIP-380)."""


@frozen
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
    return (*_fail_over_hinges(audit, good), *_unclean_hinges(audit, given, good, searches))


def _fail_over_hinges(audit: Audit, good: Collection[Answer]) -> tuple[Hinge, ...]:
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


def _unclean_hinges(audit: Audit, given: Given, good: Collection[Answer], searches: Searches) -> tuple[Hinge, ...]:
    """The answers that would not be no if the controllers' unclean.leader.election.enable were on.

    There are none where a setting of the topic, one for all brokers, or the user says it for the controllers, too.
    """
    if not is_unclean_open(given) or audit.configuration[keys.UNCLEAN].on:
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


def is_unclean_open(given: Given) -> bool:
    """Whether the controllers may have another unclean.leader.election.enable than what brokers tell of theirs."""
    if not any(finding.rule == CONTROLLERS_UNREAD for finding in given.findings):
        return False
    entry = given.entries.get(keys.UNCLEAN)
    return entry is None or FOR_ALL_BROKERS not in entry.said_by


# -- the audits of all groups -------------------------------------------------------------------------------------------


@frozen
class Audited:
    """A group with its audit and how its release is known; without them `refusal` says why it was not asked about.

    `required` is what must be a no of it. `upgrade` has the answers on the way to another release, if one was asked about.
    `hinges` are the answers that are no as far as was searched, and hang on something else of controllers.
    """

    group: TopicGroup
    contexts: Contexts | None
    audit: Audit | None
    required: tuple[AuditQuestion, ...]
    refusal: str = ""
    upgrade: Upgrade | None = None
    hinges: tuple[Hinge, ...] = ()

    @property
    def worst(self) -> AuditVerdict:
        """The worst of the required answers, today and on the way of an upgrade; undecided where nothing was asked."""
        if self.audit is None:
            return AuditVerdict.UNDECIDED
        found = [self.audit.worst(self.required), *([AuditVerdict.UNDECIDED] if self.hinges else [])]
        return worst_of(found if self.upgrade is None else [*found, self.upgrade.worst(self.required)])


@frozen
class Asked:
    """What is asked of every group; `of_group` says what is required of one where that is not the same of all."""

    questions: tuple[AuditQuestion, ...]
    required: tuple[AuditQuestion, ...]
    assumed: Assumptions
    advise: bool = True
    version: str | None = None
    plane: str | None = None
    runner: Runner | None = None
    cache: ResultCache | None = None
    on_decided: OnDecided = field(default=lambda done, total: None)
    upgrade_to: Release | None = None
    of_group: Callable[[TopicGroup], tuple[Wanted, ...]] | None = None

    def about(self, group: TopicGroup) -> Asked:
        """What is asked of one group."""
        if self.of_group is None:
            return self
        wanted = self.of_group(group)
        required = tuple(asked for asked in AuditQuestion if asked in dict(wanted))
        return replace(self, required=required, assumed=self.assumed.deciding(wanted), of_group=None)


def audit_groups(groups: Sequence[TopicGroup], asked: Asked) -> list[Audited]:
    """Every group's audit, the worst first; the only one's errors are raised, those of one of several are told beside it."""
    searches = Searches(asked.runner, asked.cache, asked.on_decided, asked.assumed.bound_besides)
    prepared: list[tuple[TopicGroup, Asked, Contexts | None, Auditor | None, str]] = []
    for group in groups:
        of_it = asked.about(group)
        if group.refusal:
            prepared.append((group, of_it, None, None, group.refusal))
            continue
        try:
            found = contexts(group.given, asked.version, asked.plane)
            if not found.is_named:  # Clients may be newer than the oldest brokers that are meant.
                group = replace(group, given=replace(group.given, clients=found.first.release))
            auditor = Auditor(group.given, found.first.release, found.first.plane, of_it.assumed, asked.runner, asked.cache,
                              others=found.others, searches=searches)  # fmt: skip
            _check(auditor, found, of_it)
        except ConfigurationError as error:
            if len(groups) == 1:
                raise
            prepared.append((group, of_it, None, None, str(error)))
        else:
            prepared.append((group, of_it, found, auditor, ""))
    ready = [(auditor, of_it.required) for _, of_it, _, auditor, _ in prepared if auditor is not None]
    searches.decide(task for auditor, required in ready for task in auditor.tasks(asked.questions, required))
    audited = []
    for group, of_it, known, ready_one, refusal in prepared:
        audit = None if ready_one is None else ready_one.run(asked.questions, asked.advise, of_it.required)
        way = None if audit is None else _upgrade(audit, of_it, searches, group.given.coordinators)
        hinges = () if audit is None else hinges_of(audit, group.given, of_it.required, searches)
        audited.append(Audited(group, known, audit, of_it.required, refusal, way, hinges))
    return sorted(audited, key=lambda one: (not one.group.decides, _ORDER.index(one.worst), _badness(one)))


def _upgrade(audit: Audit, asked: Asked, searches: Searches, kept: Sequence[SettingEntry]) -> Upgrade | None:
    if asked.upgrade_to is None:
        return None
    from acked.audit.decision.upgrade import ask_upgrade

    return ask_upgrade(audit.configuration, asked.upgrade_to, asked.assumed, asked.questions, searches, kept)


_ORDER = (AuditVerdict.YES, AuditVerdict.UNDECIDED, AuditVerdict.NO)


def worst_of_groups(audited: Iterable[Audited]) -> AuditVerdict:
    """What the exit code goes by: the worst of those that decide."""
    return worst_of(one.worst for one in audited if one.group.decides)


def _check(auditor: Auditor, found: Contexts, asked: Asked) -> None:
    """Finds what Kafka would refuse, and what a running cluster did not tell, before anything is searched."""
    is_live = any(entry.said_by for entry in auditor.given.entries.values())
    newer = [one for one in (found.first, *found.others) if one.release.since("4.1")]
    if is_live and newer and keys.ELR not in auditor.given.entries:
        raise ConfigurationError(
            f"the cluster did not tell whether {newer[0].words} keeps eligible leader replicas; say it with --set "
            f"{keys.ELR}=0, or =1 if kafka-features describe has it"
        )
    try:
        auditor.tasks(asked.questions, asked.required)
    except RefusedByKafka as error:
        if found.is_named:
            raise
        raise RefusedByKafka(f"{error} (as of {found.first.words}; nothing names your release, so name it with "
                      "--kafka-version)") from None  # fmt: skip
    if asked.upgrade_to is not None:
        from acked.audit.decision.upgrade import check_upgrade

        check_upgrade(found.first, asked.upgrade_to)


def _badness(one: Audited) -> tuple[int, int]:
    """How many cells that decide are a yes, and how many at all: the more, the earlier."""
    if one.audit is None:
        return 0, 0
    bad = [answer for answer in one.audit.answers if answer.worst is AuditVerdict.YES]
    return -sum(answer.decides and answer.question.asked in one.required for answer in bad), -len(bad)
