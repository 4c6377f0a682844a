"""The audit of a configuration: five questions about one partition, what each answer hangs on, and the least that changes it.

What lives here: the questions as searches of `partition`, which settings an answer hangs on, and the smallest change that
makes it a no. What does not: what is in effect (`audit_settings.py`), how many searches run at once (`batch.py`), words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique
from itertools import combinations

from checker import audit_keys as keys
from checker.audit_keys import Release
from checker.audit_read import REPLICATION_FACTOR
from checker.audit_settings import Configuration, Given, Refused, configure
from checker.batch import Answered, BatchLimits, answer_all
from checker.errors import ConfigurationError
from checker.faults import BEFORE_KIP_380, CrashKind, Faults
from checker.outcome import Broken, Outcome, Task
from checker.result import Verdict
from checker.resultcache import ResultCache
from model.partition import settings
from model.partition.protocol import partition
from model.partition.versions import KRAFT, LATEST, VERSIONS

MOST_STATES = 20_000_000
"""Distinct states after which a question is left undecided, unless the user says otherwise."""

VERSION_KEY = "kafka version"
"""What a change of the release is called among settings."""

FEW_BROKERS = 3
"""Brokers that a question about the order of records is asked with, unless it is to be thorough.

It takes the most states; states that differ only in the names of brokers are visited once for it.
"""


@unique
class Asked(Enum):
    """What people ask, in their order."""

    LOSS = "loss"
    DUPLICATES = "duplicates"
    REORDERING = "reordering"
    VANISHING = "vanishing"
    WRITES = "writes"


@dataclass(frozen=True)
class Question:
    """One of the five: the property whose violation is a yes, and the sizes it takes to see one.

    Two records, because logs that part hold different ones at an offset: with one record KAFKA-13141 loses none.
    """

    asked: Asked
    text: str
    property: str
    log_size: int
    records: int


QUESTIONS: tuple[Question, ...] = (
    Question(Asked.LOSS, "Can a record that was acknowledged be lost?", "AckedRecordsSurvive", 1, 2),
    Question(Asked.DUPLICATES, "Can a record be duplicated?", "NoDuplicates", 2, 1),
    Question(Asked.REORDERING, "Can records be reordered?", "NoReordering", 2, 2),
    Question(Asked.VANISHING, "Can a record be read and then vanish?", "ReadsStay", 1, 2),
    Question(Asked.WRITES, "Can the partition stop accepting writes with one broker down?", "WritesWithOneDown", 1, 1),
)


@dataclass(frozen=True)
class Scene:
    """Under what the questions are asked: faults, bounds, and whether with all brokers where fewer usually do."""

    faults: Faults = field(default_factory=Faults)
    log_size: int | None = None
    records: int | None = None
    is_thorough: bool = False
    max_states: int = MOST_STATES


@unique
class Reply(Enum):
    """Yes is a run that shows it; no is every reachable state."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Change:
    """Settings and their new values; an empty value takes the setting out. `turns` are the other answers that it spoils."""

    settings: tuple[tuple[str, str], ...]
    turns: tuple[tuple[Asked, Reply], ...] = ()

    @property
    def words(self) -> str:
        """`acks=all, min.insync.replicas=2`."""
        return ", ".join(f"{key}={value}" if value else f"no {key}" for key, value in self.settings)


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    `task` is what was searched and `outcome` what was found (None: `failure` says why); `replicas` is the topic's number, of
    which a search may take fewer. `causes` are the changes of one
    setting that each make it a no; `remedy` is the smallest change that does, None if none was found.
    """

    question: Question
    task: Task
    outcome: Outcome | None
    failure: str
    replicas: int
    causes: tuple[Change, ...] = ()
    remedy: Change | None = None

    @property
    def reply(self) -> Reply:
        """What was decided."""
        return reply_of(self.outcome)

    @property
    def is_empty(self) -> bool:
        """No record is ever accepted: the answer is a no because nothing happens."""
        return self.outcome is not None and self.reply is Reply.NO and "Produce" in self.outcome.never_fired

    @property
    def story(self) -> Broken | None:
        """The shortest run that shows a yes."""
        return self.outcome.violations[0] if self.outcome is not None and self.outcome.violations else None

    @property
    def bounds(self) -> str:
        """What was explored, in words."""
        constants = dict(self.task.constants)
        of = f" of the {self.replicas}" if self.replicas > constants["replicas"] else ""
        sizes = f"{constants['replicas']}{of} brokers, {constants['log_size']} offsets, {constants['records']} records"
        if constants["replicas"] == 1:
            sizes = sizes.replace("brokers", "broker")
        for number, name in ((constants["log_size"], "offset"), (constants["records"], "record")):
            if number == 1:
                sizes = sizes.replace(f"1 {name}s", f"1 {name}")
        others = ", the other brokers keeping up" if self.question.asked is Asked.WRITES else ""
        renamed = ", states that differ only in the names of brokers counted once" if self.task.symmetry else ""
        return f"{sizes}, any number of leader epochs{others}{renamed}"


@dataclass(frozen=True)
class Audit:
    """Everything there is to say of a configuration."""

    configuration: Configuration
    scene: Scene
    answers: tuple[Answer, ...]
    warnings: tuple[str, ...] = ()

    def of(self, asked: Asked) -> Answer:
        """The answer to a question."""
        return next(answer for answer in self.answers if answer.question.asked is asked)

    def worst(self, required: Iterable[Asked]) -> Reply:
        """Yes if one of the answers is yes, else undecided if one is, else no."""
        replies = {self.of(asked).reply for asked in required}
        return next(reply for reply in (Reply.YES, Reply.UNDECIDED, Reply.NO) if reply in replies or reply is Reply.NO)


def reply_of(outcome: Outcome | None) -> Reply:
    """What an outcome decides; an unfinished search decides nothing."""
    if outcome is None or outcome.verdict is Verdict.INCOMPLETE:
        return Reply.UNDECIDED
    return Reply.YES if outcome.verdict is Verdict.VIOLATED else Reply.NO


# -- a configuration as constants ---------------------------------------------------------------------------------------


def task_of(question: Question, configuration: Configuration, scene: Scene) -> Task:
    """The search that answers a question about a configuration."""
    constants = constants_of(configuration, scene.faults)
    constants["log_size"] = max(scene.log_size or 0, question.log_size)
    constants["records"] = max(scene.records or 0, question.records)
    if question.asked is Asked.VANISHING:
        follows = keys.SELECTOR in configuration.values and not configuration.reads_from_leader  # a setting from 2.4 on
        constants["consumer"] = settings.FROM_FOLLOWERS if follows else settings.FROM_LEADER
    if question.asked is Asked.WRITES and scene.faults.crashes is CrashKind.NONE:
        constants |= CrashKind.CLEAN.constants()  # The question itself takes a broker down.
    if question.asked is Asked.REORDERING and not scene.is_thorough:
        spare = max(constants["replicas"] - FEW_BROKERS, 0)
        constants["replicas"] -= spare
        constants["min_insync_replicas"] = max(1, constants["min_insync_replicas"] - spare)
    constants["in_flight"] = min(constants["in_flight"], constants["records"])
    bound = partition.bind(constants)
    is_renamed = question.asked is Asked.REORDERING and constants["replicas"] > 1
    return Task(
        partition.name, tuple(bound.items()), (question.property,), max_states=scene.max_states, symmetry=is_renamed
    )


def constants_of(configuration: Configuration, faults: Faults) -> dict[str, int]:
    """What is in effect as constants of `partition`, without sizes of logs."""
    constants = {name: setting.value for name, setting in partition.profile(configuration.rules, configuration.plane).items()}
    replicas = configuration[REPLICATION_FACTOR].number
    acks = {"0": settings.ACKS_0, "1": settings.ACKS_1, "all": settings.ACKS_ALL}[configuration[keys.ACKS].value]
    idempotence = configuration.values.get(keys.IDEMPOTENCE)
    elr = configuration.values.get(keys.ELR)
    constants |= faults.constants(not _since(configuration.rules, BEFORE_KIP_380))
    constants |= {
        "replicas": replicas,
        "min_insync_replicas": min(configuration[keys.MIN_ISR].number, replicas + 1, settings.min_insync_replicas.hi),
        "acks": acks,
        # acks=0 waits for no answer, so there is never a reason to send again.
        "retries": int(configuration[keys.RETRIES].number > 0 and acks != settings.ACKS_0),
        "idempotence": int(idempotence is not None and idempotence.on),
        "in_flight": min(configuration[keys.IN_FLIGHT].number, settings.in_flight.hi),
        "unclean_election": int(configuration[keys.UNCLEAN].on),
    }
    if elr is not None and configuration.plane == KRAFT:
        constants["eligible_leader_replicas"] = elr.number
    if configuration[keys.FLUSH_MESSAGES].value == "1" and faults.crashes is not CrashKind.NONE:
        # What is acknowledged or fetched has been flushed before: no crash loses a suffix.
        constants |= CrashKind.CLEAN.constants()
    return constants


def _since(rules: str, version: str) -> bool:
    return VERSIONS.index(rules) >= VERSIONS.index(version)


# -- what could be changed ----------------------------------------------------------------------------------------------


def candidates(configuration: Configuration, scene: Scene, asked: Asked) -> list[tuple[str, str]]:
    """Values that one setting could have instead, those first that ask least of an operator."""
    now = {key: value.value for key, value in configuration.values.items()}
    replicas = configuration[REPLICATION_FACTOR].number
    least = configuration[keys.MIN_ISR].number
    found: list[tuple[str, str]] = [(keys.ACKS, "all"), (keys.UNCLEAN, "false")]
    if configuration.release.since("0.11"):
        found.append((keys.IDEMPOTENCE, "true"))
    if asked is Asked.WRITES:
        found += [(keys.MIN_ISR, str(n)) for n in range(min(least, replicas) - 1, 0, -1)]
        found.append((keys.ACKS, "1"))
    else:
        found += [(keys.MIN_ISR, str(n)) for n in range(least + 1, replicas + 1)]
    if asked in (Asked.DUPLICATES, Asked.REORDERING):
        found += [(keys.IN_FLIGHT, "1"), (keys.IN_FLIGHT, "5"), (keys.RETRIES, "0")]
    found.append((keys.RETRIES, str(keys.MAX_INT)))
    if configuration.release.since("4.0") and configuration.plane == KRAFT:
        found.append((keys.ELR, "1"))
    found += [(REPLICATION_FACTOR, str(n)) for n in range(replicas + 1, min(max(3, replicas + 1), 4) + 1)]
    if keys.SELECTOR in now:
        found.append((keys.SELECTOR, ""))
    if scene.faults.crashes not in (CrashKind.NONE, CrashKind.CLEAN):
        found.append((keys.FLUSH_MESSAGES, "1"))
    return [(key, value) for key, value in dict.fromkeys(found) if now.get(key, "") != value]


def _upgrades(release: Release) -> list[tuple[str, str]]:
    later = [version for version in VERSIONS if version != LATEST and not release.since(version)]
    return [(VERSION_KEY, version) for version in later]


# -- deciding -----------------------------------------------------------------------------------------------------------

OnDecided = Callable[[int, int], None]
"""Told how many searches are done, of how many."""


@dataclass
class Auditor:
    """Answers the questions about one configuration, asking no search twice."""

    given: Given
    release: Release
    plane: str | None = None
    scene: Scene = field(default_factory=Scene)
    limits: BatchLimits | None = None
    cache: ResultCache | None = None
    on_decided: OnDecided = lambda done, total: None
    _known: dict[Task, Answered] = field(default_factory=dict, init=False)

    def run(self, asked: Sequence[Asked] = tuple(Asked), advise: bool = True) -> Audit:
        """The answers; with `advise` also causes and the smallest change for each yes."""
        configuration = configure(self.given, self.release, self.plane)
        questions = [question for question in QUESTIONS if question.asked in asked]
        tasks = [task_of(question, configuration, self.scene) for question in questions]
        self._decide(tasks)
        answers = []
        for question, task in zip(questions, tasks, strict=True):
            found = self._known[task]
            answers.append(Answer(question, task, found.outcome, found.failure, configuration[REPLICATION_FACTOR].number))
        if advise:
            answers = self._advised(configuration, answers)
        warnings = tuple(self.cache.warnings) if self.cache is not None else ()
        return Audit(configuration, self.scene, tuple(answers), warnings)

    def _decide(self, tasks: Iterable[Task]) -> None:
        wanted = [task for task in dict.fromkeys(tasks) if task not in self._known]
        if not wanted:
            return
        for done, answered in enumerate(answer_all(wanted, self.limits, self.cache), 1):
            self._known[wanted[answered.task]] = answered
            self.on_decided(done, len(wanted))

    # -- advice ---------------------------------------------------------------------------------------------------

    def _advised(self, configuration: Configuration, answers: list[Answer]) -> list[Answer]:
        open_ = [answer for answer in answers if answer.reply is Reply.YES]
        possible = {item.question.asked: candidates(configuration, self.scene, item.question.asked) for item in open_}
        self._decide_changes((item.question, (one,)) for item in open_ for one in possible[item.question.asked])
        advised: dict[Asked, Answer] = {}
        for answer in open_:
            items = possible[answer.question.asked]
            causes = [(one,) for one in items if self._reply(answer.question, (one,)) is Reply.NO]
            remedies = causes or self._larger(answer.question, items)
            remedy = self._gentlest(answers, answer, remedies) if remedies else None
            advised[answer.question.asked] = Answer(
                answer.question,
                answer.task,
                answer.outcome,
                answer.failure,
                answer.replicas,
                tuple(Change(change) for change in causes),
                remedy,
            )
        return [advised.get(answer.question.asked, answer) for answer in answers]

    def _larger(self, question: Question, items: Sequence[tuple[str, str]]) -> list[tuple[tuple[str, str], ...]]:
        """The smallest changes of more than one setting that make an answer a no; then later releases, with few settings."""
        upgrades = _upgrades(self.release)
        for changes in (
            _sets(items, 2),
            [(upgrade,) for upgrade in upgrades],
            [(upgrade, item) for upgrade in upgrades[-1:] for item in items],
            _sets(items, 3),
        ):
            self._decide_changes((question, change) for change in changes)
            fitting = [change for change in changes if self._reply(question, change) is Reply.NO]
            if fitting:
                return fitting
        return []

    def _gentlest(
        self, answers: Sequence[Answer], answer: Answer, changes: Sequence[tuple[tuple[str, str], ...]]
    ) -> Change:
        """Of equally small changes the first that spoils no other answer; if all do, the one that spoils the fewest."""
        others = [item for item in answers if item is not answer and item.reply is Reply.NO]
        best: Change | None = None
        for change in changes:
            self._decide_changes((item.question, change) for item in others)
            replies = [(item.question.asked, self._reply(item.question, change)) for item in others]
            turned = tuple((asked, reply or Reply.UNDECIDED) for asked, reply in replies if reply is not Reply.NO)
            if best is None or len(turned) < len(best.turns):
                best = Change(change, turned)
            if not turned:
                break
        assert best is not None
        return best

    def _decide_changes(self, asked: Iterable[tuple[Question, tuple[tuple[str, str], ...]]]) -> None:
        tasks = [self._task(question, change) for question, change in asked]
        self._decide(task for task in tasks if task is not None)

    def _reply(self, question: Question, change: tuple[tuple[str, str], ...]) -> Reply | None:
        """The answer after a change; None where Kafka would refuse it, or where no record would be accepted any more."""
        task = self._task(question, change)
        if task is None:
            return None
        outcome = self._known[task].outcome
        if outcome is not None and "Produce" in outcome.never_fired:
            return None
        return reply_of(outcome)

    def _task(self, question: Question, change: tuple[tuple[str, str], ...]) -> Task | None:
        wanted: Mapping[str, str] = dict(change)
        release = keys.release(wanted[VERSION_KEY]) if VERSION_KEY in wanted else self.release
        plain = {key: value for key, value in wanted.items() if key != VERSION_KEY}
        # A new release may run on another control plane only.
        plane = self.plane if VERSION_KEY not in wanted else None
        try:
            return task_of(question, configure(self.given.but(plain), release, plane), self.scene)
        except (Refused, ConfigurationError):
            return None


def _sets(items: Sequence[tuple[str, str]], size: int) -> list[tuple[tuple[str, str], ...]]:
    """So many items, of different keys."""
    return [chosen for chosen in combinations(items, size) if len({key for key, _ in chosen}) == size]

