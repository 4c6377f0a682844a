"""Whether a broker may go down now: every partition of which it has a replica, asked once for all that are alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, unique

from acked.audit.decision.settings import MAX_REPLICAS
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.model.partition.rules import facts, settings
from acked.roll.decision.rules import Constants, TopicRules
from acked.roll.partitions.now import ClusterNow, PartitionNow
from acked.roll.questions.ask import Answer, Asked, Asker, Failing, Loss, Stop, constants_with
from acked.roll.questions.start import Role, Shape


@unique
class Verdict(Enum):
    """The worst first."""

    MAY_NOT = "may not"
    UNDECIDED = "undecided"
    MAY = "may"


@frozen
class Wish:
    """What counts: refused writes, losses, how the broker stops, and whether what settings alone bring counts too."""

    writes: bool = True
    loss: bool = True
    stops: tuple[Stop, ...] = tuple(Stop)
    accepts_settings: bool = False


@frozen
class Case:
    """Partitions that are alike for a broker, and what its going down does to them.

    `losses` has the answer for each way to stop; `names` are the brokers of the first partition by their numbers in the
    answers' words. `refuses` says whether writes are refused, `refused_before` whether they are already. What is
    `by_settings` would be so, too, if all replicas were in sync now. `open_` says why it is not decided.
    """

    partitions: tuple[PartitionNow, ...]
    min_isr: int = 0
    refuses: bool = False
    refused_before: bool = False
    refuses_by_settings: bool = False
    losses: tuple[tuple[Stop, Answer], ...] = ()
    loss_by_settings: bool = False
    names: tuple[int, ...] = ()
    open_: str = ""

    @property
    def worst(self) -> Loss | None:
        """The loss that takes the least to go wrong."""
        found = [answer.worst for _, answer in self.losses if answer.worst is not None]
        return min(found, key=lambda loss: _RANK[loss.failing], default=None)

    def counts(self, wish: Wish) -> Verdict:
        """What it makes of the broker's verdict."""
        may_refuse = wish.writes and self.refuses and not (wish.accepts_settings and self.refuses_by_settings)
        may_lose = wish.loss and self.worst is not None and not (wish.accepts_settings and self.loss_by_settings)
        if may_refuse or may_lose:
            return Verdict.MAY_NOT
        return Verdict.UNDECIDED if self.open_ else Verdict.MAY

    @property
    def rank(self) -> int:
        """The smaller the less has to fail for the worst loss."""
        return len(_RANK) if self.worst is None else _RANK[self.worst.failing]

    @property
    def takes(self) -> str:
        """What has to fail for the worst loss, in words."""
        return "" if self.worst is None else self.worst.failing.words

    @property
    def is_by_settings(self) -> bool:
        """Whether all that is wrong would be wrong at the best of times, too."""
        return (self.refuses_by_settings or not self.refuses) and (self.loss_by_settings or self.worst is None)

    def is_passed(self, wish: Wish) -> bool:
        """Whether something is wrong that does not count, because settings alone bring it."""
        is_wrong = (wish.writes and self.refuses) or (wish.loss and self.worst is not None)
        return is_wrong and self.counts(wish) is Verdict.MAY

    @property
    def story(self) -> tuple[str, ...]:
        """The shortest run to the worst loss, with the names that the first partition's brokers have."""
        return () if self.worst is None else tuple(named(step, self.names) for step in self.worst.steps)


_RANK = {failing: at for at, failing in enumerate(Failing)}


def named(step: str, names: Sequence[int]) -> str:
    """A step's words with the brokers' own numbers."""

    def name(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(names[int(number[0])]), match[0])

    return re.sub(r"\b(?:brokers?|leader) \d+(?:(?:, | and )\d+)*(?!\d)|\{\d+(?:, \d+)*\}", name, step)


@frozen
class BrokerAnswer:
    """What is known of one broker's going down. `controllers` says what is wrong with the quorum without it, or not known."""

    broker: int
    cases: tuple[Case, ...]
    leads: int = 0
    votes: bool = False
    controllers: str = ""
    controller_verdict: Verdict = Verdict.MAY

    def verdict(self, wish: Wish) -> Verdict:
        """The worst of its partitions and of the controllers."""
        found = {self.controller_verdict, *(case.counts(wish) for case in self.cases)}
        return next(verdict for verdict in Verdict if verdict in found or verdict is Verdict.MAY)


OnAsked = Callable[[int, int], None]
"""Told how many questions are answered, of how many."""


@dataclass
class Judge:
    """Answers for brokers of one cluster."""

    cluster: ClusterNow
    rules: Mapping[str, Sequence[TopicRules]]
    asker: Asker
    wish: Wish = field(default_factory=Wish)
    has_controllers: bool = True
    on_asked: OnAsked = lambda done, total: None

    def answers(self, brokers: Iterable[int]) -> list[BrokerAnswer]:
        """For each broker, worst first."""
        wanted = list(brokers)
        sorted_out = {broker: self._groups(broker) for broker in wanted}
        total, done = sum(map(len, sorted_out.values())), 0
        found = []
        for broker in wanted:
            cases = []
            for partitions in sorted_out[broker]:
                cases.append(self._case(broker, partitions))
                done += 1
                self.on_asked(done, total)
            leads = sum(partition.leader == broker for partition in self.cluster.partitions)
            controllers, verdict = self._controllers(broker)
            votes = self.cluster.quorum is not None and broker in self.cluster.quorum.voters
            cases.sort(key=lambda case: (_ORDER[case.counts(self.wish)], -len(case.partitions)))
            found.append(BrokerAnswer(broker, tuple(cases), leads, votes, controllers, verdict))
        return sorted(found, key=lambda one: (_ORDER[one.verdict(self.wish)], -_weight(one, self.wish), one.broker))

    def as_they_are(self) -> list[Case]:
        """What one failure does to the partitions while no broker is to go down, and whether writes are refused already."""
        return [self._case(None, partitions) for partitions in self._groups(None)]

    # -- which partitions are alike -------------------------------------------------------------------------------------

    def _groups(self, broker: int | None) -> list[list[PartitionNow]]:
        groups: dict[object, list[PartitionNow]] = {}
        for partition in self.cluster.partitions:
            if broker is None or broker in partition.replicas:
                groups.setdefault(self._key(partition, broker), []).append(partition)
        return list(groups.values())

    def _key(self, partition: PartitionNow, broker: int | None) -> object:
        rules = tuple(id(one) for one in self._rules_of(partition))
        if partition.contradiction:
            return rules, partition.contradiction
        roles, _ = self._roles(partition, broker, partition.eligible)
        return rules, roles, partition.eligible is None

    def _rules_of(self, partition: PartitionNow) -> list[TopicRules]:
        """The rules that count; those of brokers that do not run cannot come to lead."""
        return [
            rules for rules in self.rules.get(partition.topic, ())
            if rules.holds_under(partition.leader) or not rules.refusal
            or any(int(name) in (self.cluster.running or ()) for name in rules.brokers if name.isdecimal())
        ]  # fmt: skip

    def _roles(
        self, partition: PartitionNow, broker: int | None, eligible: tuple[int, ...] | None
    ) -> tuple[tuple[Role, ...], tuple[int, ...]]:
        """The shape of a partition, and the brokers in its order."""
        def role(replica: int) -> Role:
            return Role(
                replica == partition.leader, replica in (partition.isr or ()), replica in (eligible or ()),
                replica in partition.led_last, replica == broker or self.cluster.is_up(replica),
                replica in partition.adding, replica in partition.removing, replica == broker,
            )  # fmt: skip

        ordered = sorted(((role(replica), -replica) for replica in partition.replicas), reverse=True)
        return tuple(one for one, _ in ordered), tuple(-replica for _, replica in ordered)

    # -- what is asked of them -------------------------------------------------------------------------------------------

    def _case(self, broker: int | None, partitions: list[PartitionNow]) -> Case:
        alike, first = tuple(partitions), partitions[0]
        reason = first.contradiction
        if not reason and len(first.replicas) > MAX_REPLICAS:
            reason = f"{len(first.replicas)} replicas are more than can be asked about, which is {MAX_REPLICAS}"
        rules = self._rules_of(first)
        if not reason and not rules:
            reason = "its settings were not read"
        if reason:
            return Case(alike, open_=reason)
        found = [self._under(broker, alike, one) for one in rules]
        worst = min(found, key=lambda case: _ORDER[case.counts(self.wish)])
        open_ = next((case.open_ for case in found if case.open_), "")
        return worst if worst.open_ or not open_ else replace(worst, open_=open_)

    def _under(self, broker: int | None, partitions: tuple[PartitionNow, ...], rules: TopicRules) -> Case:
        if rules.refusal:
            return Case(partitions, open_=rules.refusal)
        case = self._decide(broker, partitions, rules.certain)
        if case.counts(self.wish) is not Verdict.MAY:
            return case
        for constants, why in rules.maybe:
            other = self._decide(broker, partitions, constants)
            if other.counts(self.wish) is not Verdict.MAY:
                return replace(case, open_=f"it hangs on something that is not known: {why}")
        return case

    def _decide(self, broker: int | None, partitions: tuple[PartitionNow, ...], known: Constants) -> Case:
        first, has = partitions[0], dict(known)
        eligible, open_ = self._eligible(first, has)
        roles, names = self._roles(first, broker, eligible)
        shape = Shape(roles)
        constants = constants_with(has, shape)
        enough = facts.enough_replicas.make(dict(constants))
        if has[settings.acks.name] != settings.ACKS_ALL:
            enough = 1
        in_sync = shape.in_sync if first.leader is not None else 0
        after = in_sync - (broker in (first.isr or ()))
        refuses = after < enough and broker in (first.isr or ())
        losses, by_settings = [], True
        for stop in self.wish.stops if broker is not None else self.wish.stops[:1]:
            answer = self.asker.answer(Asked(shape, stop, constants))
            losses.append((stop, answer))
            open_ = open_ or answer.open_
            if answer.worst is not None:
                by_settings &= self._is_by_settings(shape, stop, has, answer)
        return Case(
            partitions, has[settings.min_insync_replicas.name], refuses, in_sync < enough,
            len(roles) - sum(role.adding for role in roles) - 1 < enough, tuple(losses), by_settings, names, open_,
        )  # fmt: skip

    def _eligible(self, partition: PartitionNow, has: Mapping[str, int]) -> tuple[tuple[int, ...] | None, str]:
        """Who is eligible besides; that nobody knows it matters only while the ISR is too small."""
        if not has[settings.eligible_leader_replicas.name]:
            return (), ""
        enough = min(has[settings.min_insync_replicas.name], len(partition.replicas))
        if partition.eligible is None and len(partition.isr or ()) < enough:
            return (), f"its eligible leaders (Elr, {keys.ELR}) were not read, and its ISR is short"
        return partition.eligible or (), ""

    def _is_by_settings(self, shape: Shape, stop: Stop, has: Mapping[str, int], answer: Answer) -> bool:
        """Whether the same can happen where all replicas are in sync before."""
        asked = shape.asked
        well = shape.healthy_but(None if asked is None else shape.roles[asked].leads)
        best = self.asker.answer(Asked(well, stop, constants_with(has, well)))
        return not best.open_ and set(answer.by) <= set(best.by)

    def loses_acks_1(self, partition: PartitionNow) -> bool:
        """Whether a partition loses what was acknowledged with acks=1 though no broker stops and nothing fails."""
        if partition.contradiction or len(partition.replicas) > MAX_REPLICAS:
            return False
        for rules in self._rules_of(partition):
            if rules.refusal:
                continue
            has = {**dict(rules.certain), settings.acks.name: settings.ACKS_1, settings.idempotence.name: 0}
            shape = Shape(self._roles(partition, None, partition.eligible)[0])
            if Failing.NOTHING in self.asker.answer(Asked(shape, Stop.CLEANLY, constants_with(has, shape))).by:
                return True
        return False

    # -- controllers -----------------------------------------------------------------------------------------------------

    def _controllers(self, broker: int) -> tuple[str, Verdict]:
        """What else is in the way: controllers, or something that concerns every broker."""
        if self.cluster.unread:
            return self.cluster.unread, Verdict.UNDECIDED
        if not self.has_controllers:
            return "", Verdict.MAY
        quorum = self.cluster.quorum
        if quorum is None:
            return "whether it is a controller, and what the quorum is without it, was not read", Verdict.UNDECIDED
        if quorum.stays_without(broker):
            return "", Verdict.MAY
        left = [voter for voter in quorum.present if voter != broker]
        return (
            f"the controllers lose their majority: of the voters {_ids(quorum.voters)} only {_ids(left)} would be left",
            Verdict.MAY_NOT,
        )


_ORDER = {verdict: at for at, verdict in enumerate(Verdict)}


def _weight(answer: BrokerAnswer, wish: Wish) -> int:
    return sum(len(case.partitions) for case in answer.cases if case.counts(wish) is Verdict.MAY_NOT)


def _ids(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


# -- which brokers are asked about, and in which order they may go -------------------------------------------------------


def brokers_to_ask(cluster: ClusterNow, wanted: Sequence[int]) -> tuple[int, ...]:
    """The brokers that are named, else every one that runs; `ConfigurationError` for one that is not known, or is down."""
    for broker in wanted:
        if broker not in cluster.brokers:
            known = ", ".join(map(str, cluster.brokers)) or "none"
            raise ConfigurationError(f"--broker {broker}: nothing that was read names such a broker; it names {known}")
        if cluster.running is not None and broker not in cluster.running:
            raise ConfigurationError(f"--broker {broker} does not run, so it cannot be stopped; leave it out")
    return tuple(wanted) or tuple(broker for broker in cluster.brokers if cluster.is_up(broker))


def order_of(answers: Sequence[BrokerAnswer], cluster: ClusterNow, wish: Wish) -> list[int]:
    """Those that may go down, in the order in which that disturbs least: controllers last, the active one at the very end."""
    active = None if cluster.quorum is None else cluster.quorum.leader
    free = [one for one in answers if one.verdict(wish) is Verdict.MAY]
    return [one.broker for one in sorted(free, key=lambda one: (one.broker == active, one.votes, one.leads, one.broker))]


def awaited(answer: BrokerAnswer, wish: Wish) -> Iterator[tuple[int, int]]:
    """Which brokers have to be in sync again before this one may go down, each with how many partitions that concerns."""
    lacking: dict[int, int] = {}
    for case in answer.cases:
        if case.counts(wish) is Verdict.MAY_NOT:
            for partition in case.partitions:
                for replica in set(partition.replicas) - {*(partition.isr or ()), *partition.adding}:
                    lacking[replica] = lacking.get(replica, 0) + 1
    yield from sorted(lacking.items())
