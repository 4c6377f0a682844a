"""The audit of a configuration: the answers to the questions, in every release that may be meant, and what they hang on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from acked.audit.decision.advice import Advice, Adviser, Open, SettingsChange, recommend
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, Faults
from acked.audit.decision.gather import Given, RefusedByKafka, Remark
from acked.audit.decision.joint import OnDecided, Searches
from acked.audit.decision.questions import QUESTIONS, SizedQuestion, reply_of, task_of, worst_of
from acked.audit.decision.release import Deployment
from acked.audit.decision.settings import Configuration, configure
from acked.audit.decision.transactional import Asked, Clients, TransactionAnswer, answers_of, tasks_of
from acked.base.frozen import frozen
from acked.base.release import Release
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Runner
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR


@frozen
class Answer:
    """The answer to one question under one kind of faults, in one context.

    `task` is what was searched, perhaps with more than the question needs, and `outcome` what was found (None: `failure` says
    why); `replicas` is the topic's number, of which a search may take fewer. `decides` is false of what was asked besides.
    `advice` is None where none was asked for, or none is needed. `elsewhere` are the answers in the other contexts that may
    be meant.
    """

    question: SizedQuestion
    faults: Faults
    context: Deployment
    task: Task
    outcome: Outcome | None
    failure: str
    replicas: int
    decides: bool = True
    advice: Advice | None = None
    elsewhere: tuple[Answer, ...] = ()

    @property
    def reply(self) -> AuditVerdict:
        """What was decided in this context."""
        return reply_of(self.outcome)

    @property
    def worst(self) -> AuditVerdict:
        """What is so in every context that may be meant; where they differ it is undecided which of them is."""
        replies = {self.reply, *(answer.reply for answer in self.elsewhere)}
        return self.reply if len(replies) == 1 else AuditVerdict.UNDECIDED

    @property
    def is_empty(self) -> bool:
        """No record is ever accepted: the answer is a no because nothing happens."""
        return self.outcome is not None and self.reply is AuditVerdict.NO and "Produce" in self.outcome.never_fired

    @property
    def story(self) -> FoundViolation | None:
        """The shortest run that shows a yes."""
        return self.outcome.violations[0] if self.outcome is not None and self.outcome.violations else None

    @property
    def bounds(self) -> str:
        """What was explored, in words."""
        constants = dict(self.task.asked.constants)
        of = f" of the {self.replicas}" if self.replicas > constants["replicas"] else ""
        sizes = f"{constants['replicas']}{of} brokers, {constants['log_size']} offsets, {constants['records']} records"
        if constants["replicas"] == 1:
            sizes = sizes.replace("brokers", "broker")
        for number, name in ((constants["log_size"], "offset"), (constants["records"], "record")):
            if number == 1:
                sizes = sizes.replace(f"1 {name}s", f"1 {name}")
        others = ", the other brokers keeping up" if self.question.asked is AuditQuestion.WRITES else ""
        renamed = ", modulo broker symmetry" if self.task.asked.symmetry else ""
        return f"{sizes}, unbounded leader epochs{others}{renamed}"


@frozen
class Audit:
    """Everything there is to say of a configuration.

    `others` are the other contexts that may be meant, for each the reason why Kafka would not start there, or an empty text;
    `everywhere` are the questions that were asked of them too, those that are required. `is_advised` tells whether advice was
    asked for; `recommended` is one change after which all that is required is a no here, None where none is needed or found.
    `transactions` are the answers about those of a producer that has a transactional.id; no verdict counts them.
    """

    configuration: Configuration
    context: Deployment
    assumed: Assumptions
    answers: tuple[Answer, ...]
    others: tuple[tuple[Deployment, str], ...] = ()
    everywhere: tuple[AuditQuestion, ...] = ()
    is_advised: bool = True
    warnings: tuple[str, ...] = ()
    recommended: SettingsChange | None = None
    transactions: tuple[TransactionAnswer, ...] = ()

    def all_of(self, asked: AuditQuestion) -> tuple[Answer, ...]:
        """The answers to a question that decide, under each kind of faults."""
        return tuple(answer for answer in self.answers if answer.question.asked is asked and answer.decides)

    def of(self, asked: AuditQuestion, faults: Faults | None = None) -> Answer:
        """The answer to a question, by default under the first kind of faults."""
        return next(answer for answer in self.all_of(asked) if faults is None or answer.faults == faults)

    def worst(self, required: Iterable[AuditQuestion]) -> AuditVerdict:
        """Yes if one of the answers is yes in every context, under any faults, else undecided if one is, else no."""
        return worst_of(answer.worst for asked in required for answer in self.all_of(asked))

    @property
    def passed_over(self) -> tuple[Remark, ...]:
        """What may decide an answer and was left out, because the user wanted it so."""
        return tuple(finding for finding in self.configuration.findings if finding.is_passed_over)


@frozen
class _Plan:
    """What is searched for an audit: in the first context, and in the others that may be meant."""

    configuration: Configuration
    context: Deployment
    here: tuple[tuple[Open, Task], ...]
    there: tuple[tuple[Open, Deployment, Task], ...]
    others: tuple[tuple[Deployment, str], ...]
    of_transactions: tuple[tuple[Asked, Clients, Task], ...]

    @property
    def tasks(self) -> list[Task]:
        """Every search, what decides first."""
        return [
            *(task for _, task in self.here),
            *(task for _, _, task in self.there),
            *(task for _, _, task in self.of_transactions),
        ]


@frozen
class Advised:
    """The advice of each answer, and the change that is recommended for all that is required; kept under this name."""

    each: tuple[Advice | None, ...]
    recommended: SettingsChange | None


@dataclass
class Auditor:
    """Answers the questions about one configuration, asking no search twice.

    `others` are further contexts that may be meant. Several audits may share their `searches`, which then count, and not
    `runner`, `cache` and `on_decided`.
    """

    given: Given
    release: Release
    plane: str | None = None
    assumed: Assumptions = field(default_factory=Assumptions)
    runner: Runner | None = None
    cache: ResultCache | None = None
    on_decided: OnDecided = lambda done, total: None
    others: Sequence[Deployment] = ()
    searches: Searches | None = None
    _plans: dict[tuple[tuple[AuditQuestion, ...], tuple[AuditQuestion, ...]], _Plan] = field(default_factory=dict, init=False)

    def tasks(
        self, asked: Sequence[AuditQuestion] = tuple(AuditQuestion), everywhere: Sequence[AuditQuestion] | None = None
    ) -> list[Task]:
        """The searches that `run` begins with; `RefusedByKafka` or `ConfigurationError` as there."""
        return self._plan(asked, _everywhere(asked, everywhere)).tasks

    def run(
        self,
        asked: Sequence[AuditQuestion] = tuple(AuditQuestion),
        advise: bool = True,
        everywhere: Sequence[AuditQuestion] | None = None,
    ) -> Audit:
        """The answers; with `advise` also causes and the smallest change for each yes.

        `everywhere` are the questions that are asked of the other contexts too, by default all.
        """
        searches = self.searches or Searches(self.runner, self.cache, self.on_decided)
        everywhere = _everywhere(asked, everywhere)
        plan = self._plan(asked, everywhere)
        configuration, context = plan.configuration, plan.context
        searches.decide(plan.tasks)
        about_transactions = answers_of(plan.of_transactions, searches.__getitem__)
        replicas = configuration[REPLICATION_FACTOR].number

        def answer(item: Open, where: Deployment, task: Task, elsewhere: tuple[Answer, ...] = ()) -> Answer:
            found = searches[task]
            return Answer(
                item.question,
                item.faults,
                where,
                found.task,
                found.outcome,
                found.failure,
                replicas,
                item.faults in self.assumed.under(item.question.asked),
                elsewhere=elsewhere,
            )

        answers = [
            answer(item, context, task, tuple(answer(one, other, it) for one, other, it in plan.there if one == item))
            for item, task in plan.here
        ]
        answers.sort(key=lambda answer: list(AuditQuestion).index(answer.question.asked))
        recommended = None
        if advise:
            advised = self._advised(plan, answers, everywhere, searches)
            answers = [replace(answer, advice=advice) for answer, advice in zip(answers, advised.each, strict=True)]
            recommended = advised.recommended
        warnings = tuple(self.cache.warnings) if self.cache is not None else ()
        return Audit(
            configuration, context, self.assumed, tuple(answers), plan.others, everywhere, advise, warnings, recommended,
            about_transactions,
        )  # fmt: skip

    def _advised(
        self, plan: _Plan, answers: Sequence[Answer], required: Sequence[AuditQuestion], searches: Searches
    ) -> Advised:
        """What is advised: as it was found before of the same inputs, or by hundreds of questions."""
        inputs = (self.given.entries, self.given.clients, plan.context, self.assumed, tuple(map(_open, answers)), required)

        def find() -> Advised:
            adviser = Adviser(self.given, plan.context, plan.configuration, self.assumed, searches)
            each = tuple(_advise(adviser, answers))
            found = self._recommendation(plan, answers, required, searches)
            both = zip(answers, each, strict=True)
            return Advised(each, None if found is None else _with_turns(adviser, found, both, required))

        return searches.kept(Advised, inputs, find)

    def _recommendation(
        self, plan: _Plan, answers: Sequence[Answer], required: Sequence[AuditQuestion], searches: Searches
    ) -> SettingsChange | None:
        """One change for all that is required, where one of it is a yes."""
        decisive = [answer for answer in answers if answer.decides]
        wanted = [answer for answer in decisive if answer.question.asked in required]
        if not any(answer.reply is AuditVerdict.YES for answer in wanted):
            return None
        others = [answer for answer in decisive if answer not in wanted and answer.reply is AuditVerdict.NO]
        adviser = Adviser(self.given, plan.context, plan.configuration, self.assumed, searches)
        return recommend(adviser, [_open(answer) for answer in wanted], [_open(answer) for answer in others])

    def _plan(self, asked: Sequence[AuditQuestion], everywhere: Sequence[AuditQuestion]) -> _Plan:
        wanted = tuple(asked), tuple(everywhere)
        if wanted not in self._plans:
            self._plans[wanted] = self._make_plan(*wanted)
        return self._plans[wanted]

    def _make_plan(self, asked: Sequence[AuditQuestion], everywhere: Sequence[AuditQuestion]) -> _Plan:
        configuration = configure(self.given, self.release, self.plane)
        possible, refused = self._elsewhere()
        here = [*self._open(asked), *self._besides(asked)]
        return _Plan(
            configuration,
            Deployment(self.release, configuration.plane),
            tuple((item, task_of(item.question, configuration, self.assumed, item.faults)) for item in here),
            tuple(
                (item, other, task_of(item.question, other_configuration, self.assumed, item.faults))
                for other, other_configuration in possible
                for item in self._open(everywhere)
            ),
            (*((other, "") for other, _ in possible), *refused),
            tuple(tasks_of(configuration, self.assumed.max_states)),
        )

    def _open(self, asked: Iterable[AuditQuestion]) -> list[Open]:
        questions = [question for question in QUESTIONS if question.asked in asked]
        return [Open(question, faults) for question in questions for faults in self.assumed.under(question.asked)]

    def _besides(self, asked: Iterable[AuditQuestion]) -> list[Open]:
        questions = [question for question in QUESTIONS if question.asked in asked]
        return [Open(question, faults) for question in questions for faults in self.assumed.also(question.asked)]

    def _elsewhere(self) -> tuple[list[tuple[Deployment, Configuration]], list[tuple[Deployment, str]]]:
        """The other contexts with what is in effect there, and those in which Kafka would not start."""
        possible, refused = [], []
        for other in self.others:
            try:
                possible.append((other, configure(self.given, other.release, other.plane)))
            except RefusedByKafka as error:
                refused.append((other, str(error)))
        return possible, refused


def _open(answer: Answer) -> Open:
    return Open(answer.question, answer.faults)


def _everywhere(asked: Sequence[AuditQuestion], wanted: Sequence[AuditQuestion] | None) -> tuple[AuditQuestion, ...]:
    return tuple(question for question in asked if wanted is None or question in wanted)


def _with_turns(
    adviser: Adviser,
    found: SettingsChange,
    answers: Iterable[tuple[Answer, Advice | None]],
    required: Sequence[AuditQuestion],
) -> SettingsChange:
    """The change with what it makes of answers that are not required and have a remedy of the same settings.

    Told beside it, another number of replicas would read as a contradiction.
    """
    named = {key for key, _ in found.settings}
    same = [_open(answer) for answer, advice in answers
            if answer.question.asked not in required and advice is not None and advice.remedy is not None
            and {key for key, _ in advice.remedy.settings} <= named]  # fmt: skip
    after = adviser.after(found.settings)
    replies = {} if after is None else after.replies(same)
    of_each = {asked: worst_of(reply for item, reply in replies.items() if item.question.asked is asked)
               for asked in dict.fromkeys(item.question.asked for item in replies)}  # fmt: skip
    return replace(found, turns=tuple(of_each.items()))


def _advise(adviser: Adviser, answers: Sequence[Answer]) -> list[Advice | None]:
    decisive = [answer for answer in answers if answer.decides]
    bad = [_open(answer) for answer in decisive if answer.reply is AuditVerdict.YES]
    kept = [_open(answer) for answer in decisive if answer.reply is AuditVerdict.NO]
    adviser.prepare(bad, kept)
    return [adviser.advise(_open(answer), kept) if _open(answer) in bad else None for answer in answers]
