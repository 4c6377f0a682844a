"""What a yes hangs on, and what to change: settings that a senior operator would change first, each change searched.

Changes, their order of preference and their price, and finding those that help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations

from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, CrashKind, Faults
from acked.audit.decision.gather import Given
from acked.audit.decision.joint import Searches
from acked.audit.decision.questions import SizedQuestion, reply_of, task_of, worst_of
from acked.audit.decision.release import Deployment, planes_in
from acked.audit.decision.settings import Configuration, configure
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.release import LATEST, Release, release
from acked.checker.batch.outcome import Task
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR
from acked.model.partition.rules.versions import KRAFT, VERSIONS

VERSION_KEY = "kafka version"
"""What a change of the release is called among settings."""

_AT_ONCE = 4
"""Changes that are searched together before it is asked whether one of them will do."""

_FEATURED, _ADVISED = "4.0", "4.1"
"""The first release that can switch eligible leader replicas on (KIP-966), and the first where that is no preview."""

_WHOLE = (CrashKind.NONE, CrashKind.CLEAN)
"""Crashes that leave every log as it is."""

One = tuple[str, str]
"""A setting and its new value; an empty value takes it out."""

Several = tuple[One, ...]


@frozen
class SettingsChange:
    """Settings and their new values. `turns` are the other answers that it spoils, `price` is what it costs, in words."""

    settings: Several
    turns: tuple[tuple[AuditQuestion, AuditVerdict], ...] = ()
    price: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`acks=all, min.insync.replicas=2`."""
        return ", ".join(f"{key}={value}" if value else f"no {key}" for key, value in self.settings)


@frozen
class Advice:
    """What was found out about a yes, by search.

    `tried` are the changes of one setting that were searched, `causes` those of them that make it a no; `remedy` is the
    change that is recommended, None if none of the changes tried makes it a no; `undecided` are those that would have been
    preferred to it, and whose searches ended at a bound.
    """

    tried: tuple[SettingsChange, ...]
    causes: tuple[SettingsChange, ...]
    remedy: SettingsChange | None
    undecided: tuple[SettingsChange, ...] = ()


@frozen
class Open:
    """A question under faults, whose answer a change should make, or leave, a no."""

    question: SizedQuestion
    faults: Faults


# -- what could be changed, and in which order --------------------------------------------------------------------------


def preferences(configuration: Configuration, asked: AuditQuestion, faults: Faults) -> list[One]:
    """Values that one setting could have instead, in the order in which an operator would rather have them.

    acks and idempotence, then clean elections, replicas, min.insync.replicas, a feature of the release. Where logs stay
    whole, neither duplicates nor the order hang on how many copies there are.
    """
    replicas = configuration[REPLICATION_FACTOR].number
    least = configuration[keys.MIN_ISR].number
    found: list[One] = [(keys.ACKS, "all")]
    if configuration.release.since("0.11"):
        found.append((keys.IDEMPOTENCE, "true"))
    # What switches idempotence off, or makes Kafka refuse it.
    found += [(keys.RETRIES, str(keys.MAX_INT))] * (configuration[keys.RETRIES].number == 0)
    found += [(keys.IN_FLIGHT, "5")] * (configuration[keys.IN_FLIGHT].number > 5)
    found.append((keys.UNCLEAN, "false"))
    if asked in (AuditQuestion.DUPLICATES, AuditQuestion.REORDERING) and faults.crashes in _WHOLE:
        return _new(found, configuration)
    found += [(REPLICATION_FACTOR, str(number)) for number in range(replicas + 1, 4)]
    if asked is AuditQuestion.WRITES:
        found += [(keys.MIN_ISR, str(number)) for number in range(min(least, replicas) - 1, 0, -1)]
    else:
        found += [(keys.MIN_ISR, str(number)) for number in range(least + 1, max(replicas, 3))]
    if configuration.release.since(_FEATURED) and configuration.plane == KRAFT:
        found.append((keys.ELR, "1"))
    if keys.SELECTOR in configuration.values:
        found.append((keys.SELECTOR, ""))
    return _new(found, configuration)


def costly(configuration: Configuration, asked: AuditQuestion, faults: Faults) -> list[One]:
    """Values that buy the answer with something else, and are proposed only where nothing better helps."""
    replicas = configuration[REPLICATION_FACTOR].number
    found: list[One] = []
    if replicas == 3:
        found.append((REPLICATION_FACTOR, "4"))
    if asked is AuditQuestion.WRITES:
        found.append((keys.ACKS, "1"))
    else:
        found.append((keys.MIN_ISR, str(replicas)))
    if asked in (AuditQuestion.DUPLICATES, AuditQuestion.REORDERING):
        found += [(keys.IN_FLIGHT, "1"), (keys.RETRIES, "0")]
    if faults.crashes.loses_unflushed:
        found.append((keys.FLUSH_MESSAGES, "1"))
    return _new(found, configuration)


def _new(found: Iterable[One], configuration: Configuration) -> list[One]:
    now = {key: value.value for key, value in configuration.values.items()}
    return [(key, value) for key, value in dict.fromkeys(found) if now.get(key, "") != value]


def price_of(change: Several, configuration: Configuration) -> tuple[str, ...]:
    """What settings that are proposed last cost, and an upgrade that moves to another control plane."""
    factor = dict(change).get(REPLICATION_FACTOR, configuration[REPLICATION_FACTOR].value)
    prices: Mapping[One, str] = {
        (keys.RETRIES, "0"): "a record whose request fails once, as at a change of leader, is not written then",
        (keys.IN_FLIGHT, "1"): "throughput falls to one request per round trip",
        (keys.FLUSH_MESSAGES, "1"): "every record then waits for the disk, and Kafka's documentation advises against it",
        (keys.ACKS, "1"): "a record that was acknowledged can then be lost with its leader",
        (REPLICATION_FACTOR, "4"): "a fourth copy of everything",
        (keys.MIN_ISR, factor): "with one broker down nothing is accepted then",
    }
    found = [prices[one] for one in change if one in prices]
    if VERSION_KEY in dict(change) and configuration.plane not in planes_in(release(dict(change)[VERSION_KEY])):
        found.append("a migration from ZooKeeper to KRaft")
    return tuple(found)


def costs_of(change: Several, configuration: Configuration) -> tuple[str, ...]:
    """What a recommended change costs, that of settings which are proposed first too."""
    wanted = dict(change)
    found = list(price_of(change, configuration))
    if wanted.get(keys.ACKS) == "all":
        found.append("a producer waits for all in-sync replicas rather than for the leader alone: latency, not throughput")
    if REPLICATION_FACTOR in wanted and wanted[REPLICATION_FACTOR] != "4":
        found.append(f"{wanted[REPLICATION_FACTOR]} copies of everything: disk and network")
    least = int(wanted.get(keys.MIN_ISR, "1"))
    replicas = int(wanted.get(REPLICATION_FACTOR, configuration[REPLICATION_FACTOR].value))
    if 1 < least < replicas:
        found.append(f"nothing is accepted while fewer than {least} replicas are in sync")
    if wanted.get(keys.UNCLEAN) == "false":
        found.append("a partition of which no in-sync replica is alive waits for one, rather than lose records")
    return tuple(dict.fromkeys(found))


def _upgrades(current: Release, feature: str) -> list[Several]:
    """Later releases, oldest first, and then those in which the feature can be switched on, unless it is on now.

    An upgrade leaves eligible leader replicas as they are: only clusters that are made with 4.1 or later begin with them
    (KIP-966).
    """
    later = [version for version in VERSIONS if version != LATEST and not current.since(version)]
    featured = [version for version in later if release(version).since(_ADVISED)] if feature != "1" else []
    alone: list[Several] = [((VERSION_KEY, version),) for version in later]
    return [*alone, *(((VERSION_KEY, version), (keys.ELR, "1")) for version in featured)]


def _join(upgrade: Several, change: Several) -> Several:
    """Both, with what they have in common once."""
    return tuple(dict((*upgrade, *change)).items())


def _upgrade(given: Given, release: Release, plane: str, feature: str) -> Given:
    """What is given once the cluster was upgraded and its protocol raised; an unset feature stays what it was."""
    given = given.but(dict.fromkeys((keys.IBP, keys.METADATA_VERSION), ""))
    return given.but({keys.ELR: feature}) if release.since(_FEATURED) and plane == KRAFT else given


def _sets(items: Sequence[One], size: int) -> list[Several]:
    """So many items, of different keys, the preferred ones first."""
    return [chosen for chosen in combinations(items, size) if len({key for key, _ in chosen}) == size]


MAX_ROUNDS = 6
"""Changes that are put together before it is given up to find one that serves all answers."""


def recommend(adviser: Adviser, required: Sequence[Open], others: Sequence[Open]) -> SettingsChange | None:
    """The remedies of the answers put together until all that are required are a no, with what that costs; else None.

    `others` decide as well, are no now, and are kept so where that can be.
    """
    change: dict[str, str] = {}
    for _ in range(MAX_ROUNDS):
        now = adviser.after(tuple(change.items()))
        if now is None:
            return None
        replies = now.replies(required)
        if all(reply is AuditVerdict.NO for reply in replies.values()):
            settings = tuple(change.items())
            costs = costs_of(settings, adviser.configuration)
            return SettingsChange(settings, price=costs) if settings else None
        bad = next((item for item, reply in replies.items() if reply is AuditVerdict.YES), None)
        if bad is None:
            return None  # Undecided: nothing can be promised.
        kept = [item for item, reply in replies.items() if reply is AuditVerdict.NO]
        remedy = now.advise(bad, list(dict.fromkeys([*kept, *others]))).remedy
        if remedy is None:
            return None
        change |= dict(remedy.settings)
    return None


# -- which help ---------------------------------------------------------------------------------------------------------


@frozen
class Adviser:
    """Finds what one configuration's answers hang on."""

    given: Given
    context: Deployment
    configuration: Configuration
    assumed: Assumptions
    searches: Searches
    _tasks: dict[tuple[Open, Several], Task | None] = field(default_factory=dict, init=False, compare=False)

    def prepare(self, bad: Sequence[Open], others: Sequence[Open]) -> None:
        """Searches at once what `advise` will ask first of each yes.

        That is every single change, and of the first, which most often will do, whether it spoils one of the others.
        """
        singles = {item: self._singles(item) for item in bad}
        first = dict.fromkeys(changes[0] for changes in singles.values() if changes)
        asked = [(item, change) for item, changes in singles.items() for change in changes]
        self._decide([*asked, *((other, change) for change in first for other in others)])

    def advise(self, item: Open, others: Sequence[Open]) -> Advice:
        """What makes a yes a no; `others` are the answers that are a no and should stay so."""
        tried = self._search(item, self._singles(item))
        causes = [change for change in tried if self._reply(item, change) is AuditVerdict.NO]
        if causes:
            return Advice(_changes(tried), _changes(causes), self._gentlest(item, others, causes))
        passed = [*tried]
        for stage in self._stages(item):
            remedy = self._least_release(item, others, self._gentlest(item, others, stage))
            singles = [change for change in stage if len(change) == 1 and change[0][0] != VERSION_KEY]
            tried += self._search(item, singles)
            if remedy is not None:
                causes = [change for change in singles if self._reply(item, change) is AuditVerdict.NO]
                return Advice(_changes(tried), _changes(causes), remedy, self._open_changes(item, passed))
            passed += stage
        return Advice(_changes(tried), (), None, self._open_changes(item, passed))

    def _open_changes(self, item: Open, changes: Iterable[Several]) -> tuple[SettingsChange, ...]:
        return _changes(change for change in changes if self._reply(item, change) is AuditVerdict.UNDECIDED)

    def replies(self, items: Iterable[Open]) -> dict[Open, AuditVerdict]:
        """The answers as things are; where nothing is ever accepted a no is none."""
        found = list(items)
        self._decide((item, ()) for item in found)
        return {item: self._reply(item, ()) or AuditVerdict.UNDECIDED for item in found}

    def after(self, change: Several) -> Adviser | None:
        """The adviser of the configuration after a change; None if Kafka would refuse it."""
        wanted = dict(change)
        context, given = self.context, self.given
        if VERSION_KEY in wanted:
            chosen = release(wanted.pop(VERSION_KEY))
            planes = planes_in(chosen)
            # Who upgrades also raises the protocol, and moves to the control plane that the release has.
            context = Deployment(chosen, context.plane if context.plane in planes else planes[0])
            given = _upgrade(given, context.release, context.plane, self._feature)
        given = given.but(wanted)
        try:
            configuration = configure(given, context.release, context.plane)
        except ConfigurationError:
            return None
        return Adviser(given, context, configuration, self.assumed, self.searches)

    def _singles(self, item: Open) -> list[Several]:
        good = preferences(self.configuration, item.question.asked, item.faults)
        return [(one,) for one in good if not self._is_costly(item, (one,))]

    def _is_costly(self, item: Open, change: Several) -> bool:
        """Whether a part of a change buys the answer with something else, or all replicas would have to be in sync."""
        now = {key: value.value for key, value in self.configuration.values.items()} | dict(change)
        every = item.question.asked is not AuditQuestion.WRITES and int(now[keys.MIN_ISR]) >= int(now[REPLICATION_FACTOR])
        last = costly(self.configuration, item.question.asked, item.faults)
        return any(one in last and one[0] != keys.MIN_ISR for one in change) or (every and keys.MIN_ISR in dict(change))

    def _stages(self, item: Open) -> Iterator[list[Several]]:
        """Ever larger changes; a later release before three settings, and what is costly after all that is not."""
        good = preferences(self.configuration, item.question.asked, item.faults)
        every = list(dict.fromkeys([*good, *costly(self.configuration, item.question.asked, item.faults)]))
        upgrades = self._upgrades()
        gentle = [change for size in (2, 3) for change in _sets(good, size) if not self._is_costly(item, change)]
        harsh = [change for size in (1, 2) for change in _sets(every, size) if self._is_costly(item, change)]
        yield [change for change in gentle if len(change) == 2]
        yield upgrades
        yield [_join(upgrade, change) for upgrade in upgrades[-1:] for change in self._singles(item)]
        yield [change for change in gentle if len(change) == 3]
        for size in (2, 3):
            yield [_join(upgrade, change) for upgrade in upgrades[-1:] for change in gentle if len(change) == size]
        yield [change for change in harsh if len(change) == 1]
        yield [change for change in harsh if len(change) == 2]

    def _least_release(self, item: Open, others: Sequence[Open], remedy: SettingsChange | None) -> SettingsChange | None:
        """The same change with the first release that will do, where one was tried with the newest alone."""
        if remedy is None or len(remedy.settings) == 1 or remedy.settings[0][0] != VERSION_KEY:
            return remedy
        upgrades = self._upgrades()
        rest = remedy.settings[len(upgrades[-1]) :]
        return self._gentlest(item, others, [(*upgrade, *rest) for upgrade in upgrades]) or remedy

    @property
    def _feature(self) -> str:
        """Whether eligible leader replicas are switched on now, which an upgrade leaves as it is."""
        now = self.configuration.values.get(keys.ELR)
        return "0" if now is None else now.value

    def _upgrades(self) -> list[Several]:
        return _upgrades(self.context.release, self._feature)

    def _search(self, item: Open, changes: Sequence[Several]) -> list[Several]:
        """Those of some changes that Kafka would take, searched."""
        self._decide((item, change) for change in changes)
        return [change for change in changes if self._task(item, change) is not None]

    def _gentlest(self, item: Open, others: Sequence[Open], changes: Sequence[Several]) -> SettingsChange | None:
        """Of changes that help the first that spoils no other answer; if all do, the one that spoils the fewest."""
        best: SettingsChange | None = None
        for at, change in enumerate(changes):
            if at % _AT_ONCE == 0:
                self._decide((item, each) for each in changes[at : at + _AT_ONCE])
            if self._reply(item, change) is not AuditVerdict.NO:
                continue
            self._decide((other, change) for other in others)
            turned = self._turns(others, change)
            if best is None or len(turned) < len(best.turns):
                best = SettingsChange(change, turned, price_of(change, self.configuration))
            if not turned:
                break
        return best

    def _turns(self, others: Sequence[Open], change: Several) -> tuple[tuple[AuditQuestion, AuditVerdict], ...]:
        replies: dict[AuditQuestion, list[AuditVerdict]] = {}
        for other in others:
            replies.setdefault(other.question.asked, []).append(self._reply(other, change) or AuditVerdict.UNDECIDED)
        worst = {asked: worst_of(found) for asked, found in replies.items()}
        return tuple((asked, reply) for asked, reply in worst.items() if reply is not AuditVerdict.NO)

    def _decide(self, asked: Iterable[tuple[Open, Several]]) -> None:
        self.searches.decide(self._task(item, change) for item, change in asked)

    def _reply(self, item: Open, change: Several) -> AuditVerdict | None:
        """The answer after a change; None where Kafka would refuse it, or where no record would be accepted any more."""
        task = self._task(item, change)
        if task is None:
            return None
        outcome = self.searches[task].outcome
        if outcome is not None and "Produce" in outcome.never_fired:
            return None
        return reply_of(outcome)

    def _task(self, item: Open, change: Several) -> Task | None:
        if (item, change) not in self._tasks:
            after = self.after(change)
            task = None if after is None else task_of(item.question, after.configuration, self.assumed, item.faults)
            self._tasks[item, change] = task
        return self._tasks[item, change]


def _changes(found: Iterable[Several]) -> tuple[SettingsChange, ...]:
    return tuple(SettingsChange(change) for change in dict.fromkeys(found))
