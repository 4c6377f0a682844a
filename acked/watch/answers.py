"""What is asked of a cluster that was read: of its state what `roll` asks, of its settings what an audit asks.

A question is answered in a process of its own that ends with it; what cannot be decided is undecided, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import date
from enum import Enum, unique
from fnmatch import fnmatchcase
from io import StringIO
from itertools import product
from typing import TypeVar

from acked.audit.clusters.live import NOT_RUNNING, LiveCluster, LivePartition, assume_producers, is_kraft
from acked.audit.clusters.policy import Cluster, Policy, judge, reply_of_group
from acked.audit.clusters.several import Asked, Audited, audit_groups
from acked.audit.clusters.topics import INTERNAL
from acked.audit.clusters.units import groups_of_units, units_of
from acked.audit.commands.options import ClusterFacts
from acked.audit.decision.faults import BY_DEFAULT, Assumptions, AuditQuestion, AuditVerdict, Wanted
from acked.audit.decision.joint import SHIPPED
from acked.audit.decision.questions import worst_of
from acked.base.errors import AckedError, SystemFailure
from acked.base.frozen import frozen
from acked.base.processes import Done, Limits, Lost, ProcessPool, Service
from acked.checker.batch.local import ROOM_FOR_CODE, KeptProcesses
from acked.cluster.vocabulary.entry import Scope
from acked.reports.console import open_console
from acked.reports.shell.batches import BatchOptions
from acked.roll.decision.answered import Answered
from acked.roll.decision.judge import BrokerAnswer, Case, Judge, Verdict, Wish, brokers_to_ask
from acked.roll.decision.rules import rules_of_topics
from acked.roll.partitions.living import cluster_now
from acked.roll.partitions.now import ClusterNow, PartitionNow
from acked.roll.questions.ask import Asker
from acked.roll.reports.text import print_answer

T = TypeVar("T")

_SECONDS = 1800.0
"""The most that one question may take; an audit of new settings takes a minute."""

_WIDTH = 100_000
"""Columns of the text of an answer, so that a paragraph is a line."""


@frozen
class Watched:
    """A cluster and what is asked of it."""

    cluster: Cluster
    facts: ClusterFacts
    policy: Policy
    wish: Wish
    batch: BatchOptions = field(default_factory=BatchOptions)

    @property
    def name(self) -> str:
        """As metrics and the page name it."""
        return self.cluster.name

    @property
    def own_policy(self) -> Policy:
        """What the policy says of this cluster."""
        required = tuple(replace(one, unit="*") for one in self.policy.required if fnmatchcase(self.name, one.unit))
        accepted = tuple(replace(one, unit="*") for one in self.policy.accepted if fnmatchcase(self.name, one.unit))
        return replace(self.policy, required=required, accepted=accepted)

    @property
    def assumptions(self) -> Assumptions:
        """What the policy counts, and of every other question what an audit counts by default."""
        return replace(BY_DEFAULT, besides=(), of_loss_besides=()).deciding(self.own_policy.every)

    def read(self) -> LiveCluster:
        """What it says of itself now; one of the errors of a command if it says nothing."""
        return self.facts.ask(self.cluster.bootstrap, self.cluster.command_config, with_moves=True)


# -- the state ----------------------------------------------------------------------------------------------------------


@unique
class Risk(Enum):
    """What may become of a partition. A stop is that of one broker, after which at most one thing more fails."""

    REFUSES = "refusing_writes"
    REFUSES_AFTER_STOP = "refusing_writes_after_stop"
    LOSES_AFTER_FAILURE = "losing_after_failure"
    LOSES_AFTER_STOP = "losing_after_stop"


@unique
class Cause(Enum):
    """Whether a risk would be there while all replicas are in sync, too."""

    STATE = "state"
    SETTINGS = "settings"


@frozen
class TopicState:
    """A topic's partitions: how many there are, how many are undecided, and at each risk, of which some are known."""

    topic: str
    partitions: int
    undecided: int
    at_risk: Mapping[tuple[Risk, Cause], int]

    def count(self, risk: Risk, *causes: Cause) -> int:
        """How many are known to be at a risk of any of these causes."""
        return sum(self.at_risk.get((risk, cause), 0) for cause in causes)

    def is_known(self, risk: Risk) -> bool:
        """Whether anything is known of a risk."""
        return (risk, Cause.STATE) in self.at_risk


@frozen
class BrokerState:
    """Whether a broker runs, and if it does whether it may go down."""

    broker: int
    is_up: bool
    verdict: Verdict | None


@frozen
class StateAnswer:
    """What `roll` says of a cluster's state; `controllers_to_spare` may fail before their majority is lost.

    `text` is what the command prints, a paragraph a line, or why there is no answer.
    """

    brokers: tuple[BrokerState, ...]
    topics: tuple[TopicState, ...]
    verdict: Verdict
    text: str
    controllers_to_spare: int | None = None


def ask_state(watched: Watched, live: LiveCluster) -> StateAnswer:
    """Asks the model of every partition as it is."""
    facts, now = watched.facts, cluster_now(live)
    rules = rules_of_topics(facts.read((), live=live), now.sizes, facts.version, facts.control_plane, facts.entities)
    asked = Judge(now, rules, Asker(watched.batch.cache()), watched.wish, is_kraft(live))
    answers = asked.answers(brokers_to_ask(now, ()))
    answered = Answered(watched.name, now, watched.wish, tuple(answers))
    return StateAnswer(
        tuple(_brokers(live, {one.broker: one.verdict(watched.wish) for one in answers})),
        tuple(_topics(now, asked.as_they_are(), answers)),
        answered.verdict,
        _text(answered),
        None if now.quorum is None else len(now.quorum.present) - len(now.quorum.voters) // 2 - 1,
    )


def unknown_state(live: LiveCluster, reason: str) -> StateAnswer:
    """The answer where nothing can be asked: all undecided."""
    topics = (TopicState(one.name, len(one.partitions), len(one.partitions), {}) for one in live.topics)
    return StateAnswer(tuple(_brokers(live, {})), tuple(topics), Verdict.UNDECIDED, reason)


def _brokers(live: LiveCluster, verdicts: Mapping[int, Verdict]) -> Iterable[BrokerState]:
    for one in live.brokers:
        is_up = one.failure != NOT_RUNNING
        yield BrokerState(one.number, is_up, verdicts.get(one.number, Verdict.UNDECIDED) if is_up else None)


def _topics(now: ClusterNow, present: Iterable[Case], answers: Iterable[BrokerAnswer]) -> Iterable[TopicState]:
    risks: dict[PartitionNow, dict[Risk, Cause]] = {one: {} for one in now.partitions}
    undecided = {*now.partitions} if now.unread else set[PartitionNow]()
    unknown = {risk: {*undecided} for risk in Risk}

    def doubt(case: Case, refusing: Risk, losing: Risk) -> None:
        if case.open_:
            undecided.update(case.partitions)
            unknown[losing].update(case.partitions)
            unknown[refusing].update(() if case.losses else case.partitions)  # Who refuses is known once it was asked.

    def note(partitions: Iterable[PartitionNow], risk: Risk, is_by_settings: bool) -> None:
        for one in partitions:
            if not is_by_settings or risk not in risks[one]:
                risks[one][risk] = Cause.SETTINGS if is_by_settings else Cause.STATE

    for case in present:
        if case.refused_before:
            for one in case.partitions:
                note([one], Risk.REFUSES, one.leader is not None and {*one.replicas} == {*(one.isr or ())})
        if case.worst is not None:
            note(case.partitions, Risk.LOSES_AFTER_FAILURE, case.loss_by_settings)
        doubt(case, Risk.REFUSES, Risk.LOSES_AFTER_FAILURE)
    for case in (case for answer in answers for case in answer.cases):
        if case.refuses:
            note(case.partitions, Risk.REFUSES_AFTER_STOP, case.refuses_by_settings)
        if case.worst is not None:
            note(case.partitions, Risk.LOSES_AFTER_STOP, case.loss_by_settings)
        doubt(case, Risk.REFUSES_AFTER_STOP, Risk.LOSES_AFTER_STOP)
    by_topic: dict[str, list[PartitionNow]] = {}
    for one in now.partitions:
        by_topic.setdefault(one.topic, []).append(one)
    for topic, own in by_topic.items():
        counts = Counter(risk for one in own for risk in risks[one].items())
        known = [risk for risk in Risk if any(risk in risks[one] or one not in unknown[risk] for one in own)]
        at_risk = {(risk, cause): counts[risk, cause] for risk, cause in product(known, Cause)}
        yield TopicState(topic, len(own), sum(one in undecided for one in own), at_risk)


def _text(answered: Answered) -> str:
    stream = StringIO()
    print_answer(open_console(stream, _WIDTH), answered, is_full=False)
    return stream.getvalue()


# -- the settings -------------------------------------------------------------------------------------------------------


@frozen
class SettingsAnswer:
    """What an audit says of a cluster's settings: of each topic each answer, and what is required and not kept."""

    verdict: AuditVerdict
    lines: tuple[tuple[AuditVerdict, str], ...]
    answers: Mapping[str, Mapping[Wanted, AuditVerdict]]


def ask_settings(watched: Watched, live: LiveCluster, today: date) -> SettingsAnswer:
    """Audits the topics by the policy."""
    if not _topics_of(watched, live):
        return SettingsAnswer(AuditVerdict.NO, (), {})
    facts, assumed = watched.facts, watched.assumptions
    found = facts.read((), live=live)
    groups = groups_of_units(units_of(found), facts.topic, facts.entities, facts.internal)
    if not any(entry.scope is Scope.PRODUCER for entry in found.known):
        groups = [group for group in assume_producers(groups) if group.decides]
    with KeptProcesses(watched.batch.limits) as runner:
        required = tuple(dict(watched.own_policy.every))
        asked = Asked(tuple(AuditQuestion), required, assumed, False, facts.version, facts.control_plane, runner,
                      watched.batch.cache(SHIPPED))  # fmt: skip
        audited = audit_groups(groups, asked)
    judged = judge(watched.own_policy, audited, today, is_whole=len(watched.policy.clusters) < 2)
    lines = tuple((line.judged.verdict, line.in_words) for line in judged.lines)
    return SettingsAnswer(judged.verdict, lines, _answers(audited, wanted_of(assumed)))


def unknown_settings(watched: Watched, live: LiveCluster, reason: str) -> SettingsAnswer:
    """The answer where nothing can be asked: all undecided."""
    open_ = dict.fromkeys(wanted_of(watched.assumptions), AuditVerdict.UNDECIDED)
    answers = dict.fromkeys(_topics_of(watched, live), open_)
    return SettingsAnswer(AuditVerdict.UNDECIDED, ((AuditVerdict.UNDECIDED, reason),), answers)


def wanted_of(assumed: Assumptions) -> tuple[Wanted, ...]:
    """Every question with the faults under which it counts."""
    return tuple((asked, faults) for asked in AuditQuestion for faults in assumed.under(asked))


def settings_of(live: LiveCluster) -> LiveCluster:
    """The cluster without what changes while its settings stay: who is in sync, who leads, and the controllers."""
    def bare(one: LivePartition) -> LivePartition:
        return LivePartition(one.number, one.replicas, one.replicas, adding=one.adding, removing=one.removing)

    topics = tuple(replace(topic, partitions=tuple(map(bare, topic.partitions))) for topic in live.topics)
    return replace(live, topics=topics, quorum=None)


def _topics_of(watched: Watched, live: LiveCluster) -> list[str]:
    """The topics that are audited."""
    return [one.name for one in live.topics if watched.facts.internal or one.name not in INTERNAL]


def _answers(audited: Iterable[Audited], wanted: Iterable[Wanted]) -> dict[str, dict[Wanted, AuditVerdict]]:
    """Of each topic the worst of its groups; where brokers' settings are not known the others' count."""
    groups: dict[str, list[Audited]] = {}
    for one in audited:
        for topic in one.group.topics:
            groups.setdefault(topic, []).append(one)
    counted = {topic: [one for one in of if not one.group.is_unread] or of for topic, of in groups.items()}
    return {topic: {(asked, faults): worst_of(reply_of_group(one, asked, faults) for one in of) for asked, faults in wanted}
            for topic, of in sorted(counted.items())}  # fmt: skip


# -- in a process of its own --------------------------------------------------------------------------------------------

_SERVICE = Service("acked.watch.answers:Desk", "question")


def ask_apart(ask: Callable[[], T], memory: int) -> T:
    """What a question answers in a process that ends with it; `SystemFailure` too if that ends or finds no end."""
    with ProcessPool(Limits(1, _SECONDS, 2 * memory + ROOM_FOR_CODE), _SERVICE) as pool:
        pool.load(None)
        for reply in pool.run([ask]):
            match reply:
                case Done(value=AckedError() as error):
                    raise error
                case Done(value=found):
                    return found  # type: ignore[no-any-return]
                case Lost(reason=reason):
                    raise SystemFailure(f"there is no answer: {reason}; see --memory")
    raise SystemFailure("there is no answer; see --memory")


class Desk:
    """Answers in such a process; a refusal is an answer as well."""

    def __init__(self, problem: None, timeout: float) -> None:
        pass

    def answer(self, ask: Callable[[], T], note: Callable[[object], None]) -> T | AckedError:
        """The answer, or why there is none."""
        try:
            return ask()
        except AckedError as error:
            return error
