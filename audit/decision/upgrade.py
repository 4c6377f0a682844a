"""An upgrade of the brokers: every answer before it, while both releases run, before the protocol is raised, and after it.

Which rules come with the software, which wait for inter.broker.protocol.version or metadata.version, which for a feature of
their own, and which are the clients'. Of a cluster that compacts topics or has share groups also which bugs of these go, come
and stay: each row of the gallery under the rules of both releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, unique
from functools import partial
from itertools import combinations

from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, Faults
from acked.audit.decision.joint import Searches
from acked.audit.decision.questions import NEVER_ASKED, QUESTIONS, SizedQuestion, reply_of, task_of, worst_of
from acked.audit.decision.release import Deployment, plane_words, planes_in
from acked.audit.decision.settings import Configuration
from acked.base.errors import ConfigurationError
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.release import Release
from acked.checker.batch.outcome import FoundViolation, Task
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import specs_in
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import SettingEntry
from acked.model.compaction.protocol import compaction
from acked.model.compaction.versions import HISTORY as COMPACTION_HISTORY
from acked.model.coordinator.protocol import coordinator
from acked.model.coordinator.versions import HISTORY as COORDINATOR_HISTORY
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import KRAFT, VERSIONS, profile, rules_of
from acked.model.releases import History
from acked.model.share.protocol import share
from acked.model.share.versions import HISTORY as SHARE_HISTORY
from acked.reports.shell.bundled import bundled_specs

Rules = Mapping[str, int]
"""Constants of `partition` by name."""

Stages = Mapping["Stage", tuple[Rules, ...]]
"""By stage the rules of the new release that are in force, for each mixture that is asked about."""

MOST_MIXED = 4
"""Of so many rules that come with the software every mixture is asked about; of more, each alone, and all but each."""

MOST_TOGETHER = 2
"""Rules of which it is tried whether they turn an answer together, if none does alone."""

_CLIENTS: tuple[Constant, ...] = (
    settings.acks, settings.retries, settings.idempotence, settings.in_flight, settings.five_in_flight,
    settings.in_flight_refused, settings.client_epoch,
)  # fmt: skip
"""What a release's clients bring: an upgrade of brokers leaves them as they are."""

_PROTOCOL: Mapping[tuple[Constant, str], str] = {
    (settings.truncation, "0.11"): "OffsetsForLeaderEpoch is asked from 0.11.0-IV2 on",
    (settings.truncation, "2.0"): "the answer to OffsetsForLeaderEpoch names the epoch from 2.0-IV0 on",
    (settings.fetch_fencing, "2.1"): "a fetch names the leader epoch from 2.1-IV2 on",
    (settings.truncation_fencing, "2.1"): "OffsetsForLeaderEpoch names the leader epoch from 2.1-IV1 on",
    (settings.reregistration_noticed, "2.2"): "the controller's requests name broker epochs from 2.2-IV0 on",
    (settings.asynchronous_isr, "2.7"): "AlterPartition is asked from 2.7-IV2 on",
    (settings.truncation, "2.8"): "a fetch is told where to truncate from 2.7-IV1 on",
    (settings.isr_checks_broker_epoch, "3.5"): "a fetch names the broker epoch from 3.5-IV1 on",
    (settings.shrink_bumps_epoch, "3.6"): "the controller asks for 3.6-IV0",
    (settings.alter_bumps_epoch, "3.6"): "the controller asks for 3.6-IV0",
}
"""Changes that wait until inter.broker.protocol.version or metadata.version is raised, with what waits.

Read from ReplicaFetcherThread of 2.1.1, 2.5.1 and 2.8.0, ControllerChannelManager of 2.2.0, ApiVersion of 2.8.0, and
MetadataVersion of 3.6.0. From 2.7 the new truncation comes with the software, as the protocol has been raised already.
"""

_FEATURE: Mapping[Constant, str] = {
    settings.eligible_leader_replicas: "eligible.leader.replicas.version",
}
"""Rules with a feature of their own: it is on in new clusters, and raising metadata.version alone leaves it off."""


@unique
class Stage(Enum):
    """How far an upgrade has come."""

    BEFORE = "before"
    MIXED = "mixed"
    SOFTWARE = "software"
    RAISING = "raising"
    FINISHED = "finished"
    FEATURES = "features"


def stage_words(stage: Stage, plane: str, target: str) -> str:
    """What is so at a stage, in words."""
    protocol = "metadata.version" if plane == KRAFT else "inter.broker.protocol.version"
    return {
        Stage.BEFORE: "before the upgrade",
        Stage.MIXED: "while brokers of both releases run",
        Stage.SOFTWARE: f"every broker runs {target}, {protocol} is not raised",
        Stage.RAISING: f"{protocol} is raised, broker by broker",
        Stage.FINISHED: f"{protocol} is raised",
        Stage.FEATURES: f"{' and '.join(_FEATURE.values())} is raised, too",
    }[stage]


@frozen
class UpgradeAnswer:
    """The answers to a question under faults, by stage.

    `turned_by` are the smallest sets of rules that turn the answer of before to that of the end; `worse_with` the rules of
    the new release under which an answer in between is worse than before and after, None where none is; `asked_between` is
    what was searched then, and `story` the run that shows it.
    """

    question: SizedQuestion
    faults: Faults
    replies: Mapping[Stage, AuditVerdict]
    turned_by: tuple[tuple[str, ...], ...]
    worse_with: tuple[str, ...] | None
    story: FoundViolation | None
    asked_between: Task | None

    @property
    def last(self) -> AuditVerdict:
        """The answer once the upgrade is finished, without features that it leaves off."""
        return self.replies[Stage.FINISHED]

    @property
    def on_the_way(self) -> AuditVerdict:
        """The worst answer of all stages, but that with features that the upgrade leaves off."""
        return worst_of(reply for stage, reply in self.replies.items() if stage is not Stage.FEATURES)

    @property
    def is_worse_between(self) -> bool:
        """Whether an answer in between is worse than those before and after."""
        return self.worse_with is not None


@unique
class Part(Enum):
    """What a cluster may use besides, in words."""

    GROUPS = "consumer groups"
    CLEANER = "log cleaner"
    SHARE_GROUPS = "share groups"


@frozen
class KnownBug:
    """A row of the gallery that can happen before an upgrade or after it; `spec` shows it, and is named for `acked check`."""

    part: Part
    spec: str
    title: str
    before: AuditVerdict
    after: AuditVerdict


@frozen
class Upgrade:
    """An upgrade with its answers; `rules` are those that differ, by stage at which they are the new release's.

    `is_sampled`: not every mixture of them was asked about. `bugs` are those of parts that the cluster uses; no verdict
    counts them.
    """

    source: Release
    target: Release
    plane: str
    rules: Mapping[Stage, tuple[str, ...]]
    answers: tuple[UpgradeAnswer, ...]
    is_sampled: bool
    bugs: tuple[KnownBug, ...] = ()

    def worst(self, required: Iterable[AuditQuestion]) -> AuditVerdict:
        """Yes if a required answer is yes at one of the stages, those of features apart."""
        asked = tuple(required)
        return worst_of(answer.on_the_way for answer in self.answers if answer.question.asked in asked)


def ask_upgrade(
    configuration: Configuration,
    target: Release,
    assumed: Assumptions,
    asked: Sequence[AuditQuestion],
    searches: Searches,
    kept: Sequence[SettingEntry] = (),
) -> Upgrade:
    """Asks the questions that decide at every stage of an upgrade; `ConfigurationError` for one that there is not.

    `kept` are the settings of what coordinators and the cleaner keep: by these a part is used or not.
    """
    source = configuration.release
    new, stages, is_sampled = stages_of(configuration, target)
    questions = [question for question in QUESTIONS if question.asked in asked]
    opened = [(question, faults) for question in questions for faults in assumed.under(question.asked)]

    def task(question: SizedQuestion, faults: Faults, rules: Rules) -> Task:
        return task_of(question, configuration, assumed, faults, rules)

    searches.decide(
        task(question, faults, rules) for question, faults in opened for every in stages.values() for rules in every
    )

    answers = tuple(
        _answer(question, faults, stages, partial(task, question, faults), searches) for question, faults in opened
    )
    names = {stage: tuple(rules) for stage, rules in new.items()}
    bugs = _bugs(parts_of(kept), source, target, assumed.max_states, searches)
    return Upgrade(source, target, configuration.plane, names, answers, is_sampled, bugs)


def stages_of(configuration: Configuration, target: Release) -> tuple[dict[Stage, dict[str, int]], Stages, bool]:
    """The rules that differ by the stage at which they come, those in force at each, and whether some mixtures are left out.

    `ConfigurationError` for an upgrade that there is not.
    """
    check_upgrade(Deployment(configuration.release, configuration.plane), target)
    new = _differing(configuration, target)
    stages, is_sampled = _stages(new, configuration.plane)
    return new, stages, is_sampled


def _answer(
    question: SizedQuestion, faults: Faults, stages: Stages, task: Callable[[Rules], Task], searches: Searches
) -> UpgradeAnswer:
    def reply(rules: Rules) -> AuditVerdict:
        return reply_of(searches[task(rules)].outcome)

    replies = {stage: worst_of(map(reply, every)) for stage, every in stages.items() if every}
    ends = (replies[Stage.BEFORE], replies[Stage.FINISHED])
    turned: tuple[tuple[str, ...], ...] = ()
    if ends[0] is not ends[1]:
        (all_new,) = stages[Stage.FINISHED]
        for count in range(1, min(MOST_TOGETHER, len(all_new)) + 1):
            sets = list(combinations(all_new, count))
            searches.decide(task({name: all_new[name] for name in names}) for names in sets)
            turned = tuple(names for names in sets if reply({name: all_new[name] for name in names}) is ends[1])
            if turned:
                break
    worst = worst_of(ends)
    between = [rules for stage in (Stage.MIXED, Stage.SOFTWARE, Stage.RAISING) for rules in stages[stage]]
    worse = [rules for rules in between if worst_of([worst, reply(rules)]) is not worst]
    fewest = min(worse, key=len, default=None)
    if fewest is None:
        return UpgradeAnswer(question, faults, replies, turned, None, None, None)
    outcome = searches[task(fewest)].outcome
    story = outcome.violations[0] if outcome is not None and outcome.violations else None
    return UpgradeAnswer(question, faults, replies, turned, tuple(fewest), story, task(fewest))


def check_upgrade(now: Deployment, target: Release) -> None:
    """`ConfigurationError` for an upgrade that there is not."""
    source, plane = now.release, now.plane
    if target.numbers <= source.numbers:
        raise ConfigurationError(f"--to {target.name} is not newer than Kafka {source.name}, from which it is asked")
    if plane not in planes_in(target):
        raise ConfigurationError(
            f"--to {target.name}: there is no {plane_words(plane)} in it; a cluster is migrated to KRaft first "
            "(at the latest with 3.9), so ask about that with --control-plane kraft"
        )


def _differing(configuration: Configuration, target: Release) -> dict[Stage, dict[str, int]]:
    """The rules that are other ones in the target, by the stage at which they come; what the user sets stays."""
    plane = configuration.plane
    own = [keys.KEYS[name] for name, value in configuration.values.items() if value.entry is not None]
    given = {key.constant.name for key in own if key.constant is not None}
    stays = given | {constant.name for constant in _CLIENTS}
    rules = (configuration.rules, rules_of(target))
    old, now = ({name: setting.value for name, setting in profile(one, plane).items()} for one in rules)
    waiting = {constant.name for constant, since in _PROTOCOL if _is_between(configuration.rules, since, rules[1])}
    elr = settings.eligible_leader_replicas.name
    found: dict[Stage, dict[str, int]] = {Stage.SOFTWARE: {}, Stage.FINISHED: {}, Stage.FEATURES: {}}
    for name, value in now.items():
        if value != old[name] and name not in (*stays, *NEVER_ASKED, elr):
            found[Stage.FINISHED if name in waiting else Stage.SOFTWARE][name] = value
    if plane == KRAFT and target.since("4.0") and not old[elr] and elr not in given:
        found[Stage.FEATURES][elr] = 1
    return found


def _is_between(source: str, since: str, target: str) -> bool:
    return VERSIONS.index(source) < VERSIONS.index(since) <= VERSIONS.index(target)


def _stages(new: Mapping[Stage, Rules], plane: str) -> tuple[Stages, bool]:
    """The rules of the target that are in force at each stage, each mixture of them; whether these are not all.

    inter.broker.protocol.version is a setting of each broker, and metadata.version one of the cluster.
    """
    software, protocol, feature = new[Stage.SOFTWARE], new[Stage.FINISHED], new[Stage.FEATURES]
    finished = {**software, **protocol}
    raising = () if plane == KRAFT else _mixtures(protocol)
    stages: dict[Stage, tuple[Rules, ...]] = {
        Stage.BEFORE: ({},),
        Stage.MIXED: _mixtures(software),
        Stage.SOFTWARE: (dict(software),),
        Stage.RAISING: tuple({**software, **rules} for rules in raising),
        Stage.FINISHED: (finished,),
        Stage.FEATURES: ({**finished, **feature},) if feature else (),
    }
    return stages, len(software) > MOST_MIXED or (bool(raising) and len(protocol) > MOST_MIXED)


def _mixtures(rules: Rules) -> tuple[Rules, ...]:
    """Some of the rules, but not all: every mixture, or of many each alone and all but each."""
    counts: Iterable[int] = (1, len(rules) - 1) if len(rules) > MOST_MIXED else range(1, len(rules))
    return tuple({name: rules[name] for name in names} for count in counts for names in combinations(rules, count))


# -- what groups and the cleaner change -----------------------------------------------------------------------------------

_OF_GROUPS = frozenset({keys.OFFSETS_FACTOR, keys.OFFSETS_ACKS, keys.OFFSETS_RETENTION, keys.GROUP_PROTOCOL})
_OF_SHARE_GROUPS = frozenset({keys.SHARE_FACTOR, keys.SHARE_MIN_ISR, keys.SHARE_RESET})

_PARTS: Mapping[Part, tuple[Protocol, History, str]] = {
    Part.GROUPS: (coordinator, COORDINATOR_HISTORY, COORDINATOR_HISTORY.versions[0]),
    Part.CLEANER: (compaction, COMPACTION_HISTORY, COMPACTION_HISTORY.versions[0]),
    Part.SHARE_GROUPS: (share, SHARE_HISTORY, "4.0"),  # What 3.9 has of them nothing calls.
}
"""Who models a part, what its releases are, and since when there is one."""


def parts_of(kept: Iterable[SettingEntry]) -> tuple[Part, ...]:
    """The parts that settings show to be used: offsets.…, cleanup.policy=compact, share in rebalance protocols, share.…"""
    said = [(entry.key, {word.strip() for word in entry.value.lower().split(",")}) for entry in kept]
    groups = any(key in _OF_GROUPS for key, _ in said)
    compacts = any(key in (keys.CLEANUP, keys.BROKER_CLEANUP) and "compact" in words for key, words in said)
    shares = any(key in _OF_SHARE_GROUPS or (key == keys.REBALANCE_PROTOCOLS and "share" in words) for key, words in said)
    used = {Part.GROUPS: groups, Part.CLEANER: compacts, Part.SHARE_GROUPS: shares}
    return tuple(part for part, is_used in used.items() if is_used)


def _bugs(
    parts: Iterable[Part], source: Release, target: Release, max_states: int, searches: Searches
) -> tuple[KnownBug, ...]:
    """The rows of the gallery that can happen under the rules of one of the releases."""
    asked = [
        (part, spec, [_task_of_bug(part, spec, lacks, release, max_states) for release in (source, target)])
        for part in parts
        for spec, lacks in _gallery(part)
    ]
    searches.decide(task for _, _, tasks in asked for task in tasks)

    def reply(task: Task | None) -> AuditVerdict:
        return AuditVerdict.NO if task is None else reply_of(searches[task].outcome)

    found = [KnownBug(part, spec.name, spec.title, *map(reply, tasks)) for part, spec, tasks in asked]
    return tuple(bug for bug in found if {bug.before, bug.after} != {AuditVerdict.NO})


def _gallery(part: Part) -> list[tuple[Spec, dict[str, int]]]:
    """The bugs of a part, by their rows, each with what its fix has otherwise. A file names its protocol at its top."""
    line = f'protocol = "{_PARTS[part][0].name}"'
    files = (bundled_specs() / "gallery").glob("*.toml")
    about = [file for file in files if line in read_text(file, "spec file").splitlines()]
    specs = {spec.name: spec for file in about for spec in map(load_spec, specs_in(file))}
    bugs = [(spec.gallery.row, spec) for spec in specs.values() if spec.gallery is not None and spec.gallery.role == "bug"]
    fixed = {spec.name: specs[spec.name.removesuffix("bug") + "fix"].constants for _, spec in bugs}
    return [
        (spec, {name: value for name, value in spec.constants.items() if fixed[spec.name][name] != value})
        for _, spec in sorted(bugs, key=lambda bug: bug[0])
    ]


def _task_of_bug(part: Part, spec: Spec, lacks: Mapping[str, int], release: Release, max_states: int) -> Task | None:
    """Whether it can happen under the rules of a release, at the sizes and with the faults of its spec, and what that sets
    otherwise than the release that it names.

    None where the release has no such part, and where it has what mends the bug: then another breaks the promise, if any.
    """
    protocol, history, since = _PARTS[part]
    if not release.since(since):
        return None
    rules = {name: item.value for name, item in history.settings(release.newest_of(history.versions)).items()}
    if any(rules.get(name, value) != value for name, value in lacks.items()):
        return None
    own = history.settings(spec.version)
    apart = {name: spec.constants[name] for name, item in own.items() if spec.constants[name] != item.value}
    constants = protocol.bind({**spec.constants, **rules, **apart})
    text = QuestionText(protocol.name, tuple(constants.items()), spec.asked.properties)
    return Task(text, max_states=max_states)
