"""What a failure costs at each step of a change of the quorum: searches of `kraft`, begun in the state after the step.

Up to there everything goes well: whoever runs has all that the leader has before the next step is taken. Each voter may be
the first leader, and each controller that can be elected the next. From the step on everything may happen that `kraft` has:
what was appended may have reached nobody, leaders restart and resign, and who is stopped may come back with its disk.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, unique
from typing import Any

from acked.audit.decision.faults import AuditVerdict
from acked.audit.decision.questions import worst_of
from acked.audit.quorum.plan import QuorumPlan, QuorumStep, StepKind, changes_in
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.frozen import frozen
from acked.base.release import LATEST, release
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Verdict
from acked.checker.search.local import search
from acked.checker.spec.resolve import property_named
from acked.model.kraft import settings
from acked.model.kraft.protocol import kraft
from acked.model.kraft.versions import VERSIONS
from acked.model.language.tracings import ActionInstance, Tracings
from acked.reports.runs.view import steps_of

PROPERTIES: Mapping[str, str] = {
    "OneLeaderPerEpoch": "two controllers lead at once, in one epoch",
    "MetadataSurvives": "metadata that was acknowledged is lost",
    "QuorumCanElect": "nobody can be elected any more, whoever is started",
}
"""What is asked, and in words what it is if it is broken."""

MOST_STATES = 5_000_000
"""Distinct states of one search, unless the user says otherwise; three controllers have some 500,000."""


@unique
class QuorumFailure(Enum):
    """What goes wrong besides."""

    NOTHING = "nothing"
    DISK = "disk"

    @property
    def words(self) -> str:
        """What happens."""
        return {
            QuorumFailure.NOTHING: "controllers stop and start again",
            QuorumFailure.DISK: "one more disk is lost, and comes back empty",
        }[self]


@frozen
class QuorumAnswer:
    """Whether something is lost from a step on; `broken` is the property, `story` the run, from the step on, in words."""

    failure: QuorumFailure
    reply: AuditVerdict
    states: int
    broken: str = ""
    story: tuple[str, ...] = ()


@frozen
class AskedStep:
    """A step (None: before the first) with what each failure costs from there on."""

    step: QuorumStep | None
    answers: tuple[QuorumAnswer, ...]


@frozen
class QuorumAudit:
    """What was asked of a plan under the rules of a release."""

    plan: QuorumPlan
    version: str
    asked: tuple[AskedStep, ...]

    @property
    def worst(self) -> AuditVerdict:
        """Yes if something is lost at a step, else undecided if that is open, else no."""
        return worst_of(answer.reply for one in self.asked for answer in one.answers)


def audit_quorum(
    plan: QuorumPlan, version: str | None, max_states: int, on_step: Callable[[int, int], None] = lambda done, total: None
) -> QuorumAudit:
    """The answers; `SpecUnreadable` for a step that needs a leader where none can be, `ConfigurationError` for a release."""
    rules = _rules(version, plan)
    tracings = Tracings()
    _widest(plan, plan.steps, rules, tracings).runs()  # A step that cannot be taken is told before anything is searched.
    asked = []
    for count in range(len(plan.steps) + 1):
        asked.append(_ask(plan, count, rules, tracings, max_states))
        on_step(count + 1, len(plan.steps) + 1)
    return QuorumAudit(plan, rules, tuple(asked))


def _rules(version: str | None, plan: QuorumPlan) -> str:
    """The newest release that `kraft` tells apart and that is not newer than the one that is meant."""
    if version is None or release(version).name == LATEST:
        return LATEST
    needs = [("KRaft", VERSIONS[0])]
    if plan.is_dynamic:
        needs.append(("dynamic voters (KIP-853)", "3.9"))
    if plan.upgrades:
        needs.append(("upgrade of kraft.version (KAFKA-16538)", "4.1"))
    for what, since in needs:
        if not release(version).since(since):
            raise ConfigurationError(f"Kafka {version} has no {what}, which is new in {since}; name a later --kafka-version")
    return release(version).newest_of(VERSIONS)


def _ask(plan: QuorumPlan, count: int, rules: str, tracings: Tracings, max_states: int) -> AskedStep:
    """The answers from the state after so many steps on."""
    steps = plan.steps[:count]
    widest = _widest(plan, steps, rules, tracings)
    used = max(map(widest.newest_epoch, widest.runs()))
    course = _Course(plan, steps, rules, tracings, used + plan.epochs_after)
    runs = course.runs()
    answers: list[QuorumAnswer] = []
    for failure in QuorumFailure:
        answers.append(course.search(runs, failure, max_states))
        if answers[-1].reply is AuditVerdict.YES:
            break  # What is lost without a failure is lost with one.
    return AskedStep(steps[-1] if steps else None, tuple(answers))


def _widest(plan: QuorumPlan, steps: Sequence[QuorumStep], rules: str, tracings: Tracings) -> _Course:
    """The steps with as many leader epochs as they may take: whoever is stopped may have been the leader."""
    return _Course(plan, steps, rules, tracings, 1 + sum(step.kind is StepKind.STOP for step in steps))


class _Course:
    """The first steps of a plan, as runs of `kraft` in which all goes well."""

    def __init__(
        self, plan: QuorumPlan, steps: Sequence[QuorumStep], rules: str, tracings: Tracings, max_epoch: int
    ) -> None:
        self.plan, self.steps = plan, steps
        self.number = {one: at for at, one in enumerate(plan.controllers)}
        kinds = [step.kind for step in self.steps]
        own = {
            settings.servers.name: len(plan.controllers),
            settings.records.name: plan.records,
            settings.max_epoch.name: max_epoch,
            settings.voters.name: settings.DYNAMIC if plan.is_dynamic else settings.STATIC,
            settings.initial_voters.name: len(plan.voters),
            settings.changes.name: changes_in(steps),
            settings.upgrades.name: StepKind.UPGRADE in kinds,
            settings.formats.name: kinds.count(StepKind.FORMAT) + 1,
        }
        given = {name: item.value for name, item in kraft.profile(rules, None).items()}
        self.instance = kraft.instantiate(kraft.bind({**given, **own}), tracings=tracings)

    def runs(self) -> list[Run]:
        """The runs to just after the last step, one for each controller that may lead first, and then next."""
        runs = self._settle(Run(self.instance.initial, ()), frozenset())
        for step, standing in zip(self.steps, self.plan.standings, strict=False):
            down = frozenset(self.number[one] for one in standing.down)
            runs = _distinct(self._take(settled, step) for run in runs for settled in self._settle(run, down))
        return runs

    def newest_epoch(self, run: Run) -> int:
        """The newest epoch that a controller knows at the end."""
        return max(int(server["epoch"]) for server in self._last(run)["server"])

    def search(self, runs: Sequence[Run], failure: QuorumFailure, max_states: int) -> QuorumAnswer:
        """What a failure costs from the ends of these runs on."""
        begun = copy.copy(self.instance)
        begun.initial = tuple(dict.fromkeys(self._packed(run, failure) for run in runs))
        question = Question(begun, tuple(property_named(kraft, name) for name in PROPERTIES))
        result = search(question, Bounds(max_states=max_states))
        if result.verdict is Verdict.VIOLATED:
            found = result.violations[0]
            story = tuple(step.sentence for step in steps_of(question, found.run)[1:])
            return QuorumAnswer(failure, AuditVerdict.YES, result.distinct_states, found.property.name, story)
        reply = AuditVerdict.NO if result.verdict is Verdict.HOLDS else AuditVerdict.UNDECIDED
        return QuorumAnswer(failure, reply, result.distinct_states)

    # -- all goes well ----------------------------------------------------------------------------------------------------

    def _take(self, run: Run, step: QuorumStep) -> Run:
        """A step of the plan; who starts, or stops without having led, leaves nothing behind."""
        leader = self._leader(run)
        if step.controller is None:
            for other in set(self.number.values()) - {leader}:
                run = self._fire_if(run, f"TellDirectory(leader={leader}, server={other})")
            return self._fire_step(run, step, f"Upgrade(leader={leader})")
        one = self.number[step.controller]
        labels = {
            StepKind.ADD: f"AddVoter(leader={leader}, server={one})",
            StepKind.REMOVE: f"RemoveVoter(leader={leader}, server={one})",
            StepKind.FORMAT: f"FormatDisk(server={one})",
        }
        if step.kind is StepKind.STOP and leader == one:
            labels[StepKind.STOP] = f"Restart(leader={one})"
        return self._fire_step(run, step, labels[step.kind]) if step.kind in labels else run

    def _fire_step(self, run: Run, step: QuorumStep, label: str) -> Run:
        if label not in self._enabled(run):
            raise SpecUnreadable(
                f"{self.plan.file}:{step.line}: {step.words}: those that run cannot lead or commit; start one before"
            )
        return self._fire(run, label)

    def _settle(self, run: Run, down: frozenset[int]) -> list[Run]:
        """With a leader, if there can be one, metadata that was acknowledged, and all of it with everybody who runs."""
        leader = self._leader(run)
        led = [run] if leader is not None and leader not in down else self._elections(run, down)
        return _distinct(self._replicate(one, down) for one in led) or [run]

    def _elections(self, run: Run, down: frozenset[int]) -> list[Run]:
        """The run with each way to elect a leader in the next epoch by those that run."""
        epoch, elected = self.newest_epoch(run) + 1, []
        for step in self._enabled(run).values():
            voters = step.arguments.get("voters")
            if isinstance(voters, Sequence) and step.arguments["epoch"] == epoch and down.isdisjoint(voters):
                elected.append(run.then(self.instance, step))
        return elected

    def _replicate(self, run: Run, down: frozenset[int]) -> Run:
        leader = self._leader(run)
        if self._last(run)["next_record"] == 0:
            run = self._fire(run, f"Write(leader={leader})")
        # A follower truncates, fetches, and tells with the next fetch what it has.
        for _ in range(3):
            for one in set(self.number.values()) - down - {leader}:
                end = self._last(run)["log"][leader]["end"]
                labels = (
                    f"Fetch(follower={one}, leader={leader}, log_end={end})",
                    f"FetchDiverging(follower={one}, leader={leader})",
                )
                run = self._fire_if(run, *labels)
        return run

    # -- states -----------------------------------------------------------------------------------------------------------

    def _leader(self, run: Run) -> int | None:
        """Who leads in the newest epoch, if anybody does."""
        servers = self._last(run)["server"]
        leaders = [at for at, server in enumerate(servers) if server["leads"]]
        return max(leaders, key=lambda at: int(servers[at]["epoch"]), default=None)

    def _last(self, run: Run) -> Any:
        return self.instance.schema.decode(self.instance.schema.unpack(run.states[-1]))

    def _enabled(self, run: Run) -> dict[str, ActionInstance]:
        codes = self.instance.schema.unpack(run.states[-1])
        return {step.label: step for step in self.instance.enabled_actions(codes)}

    def _fire(self, run: Run, label: str) -> Run:
        return run.then(self.instance, self._enabled(run)[label])

    def _fire_if(self, run: Run, *labels: str) -> Run:
        """The run with the first of these steps that can be taken."""
        enabled = self._enabled(run)
        return next((run.then(self.instance, enabled[label]) for label in labels if label in enabled), run)

    def _packed(self, run: Run, failure: QuorumFailure) -> tuple[int, ...]:
        state = {**self._last(run), "formats_left": int(failure is QuorumFailure.DISK)}
        return self.instance.schema.pack(self.instance.schema.encode(state))


def _distinct(runs: Iterable[Run]) -> list[Run]:
    """One run to each state: what led there does not matter."""
    return list({run.states[-1]: run for run in runs}.values())
