"""What an audit asks about transactions, where a producer has a transactional.id.

Can one be committed or aborted by half, be left open for ever, or swallow a record of another one? It depends on the brokers'
release, on whether the clients know transaction.version=2, and on verification: searches of `transactions`, each of them with
clients of the brokers' release and with clients before 4.0, unless brokers or features rule the former out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, unique

from acked.audit.decision.faults import AuditVerdict
from acked.audit.decision.joint import Decided
from acked.audit.decision.questions import reply_of
from acked.audit.decision.settings import Configuration
from acked.base.frozen import frozen
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.checker.spec.question_text import QuestionText
from acked.cluster.vocabulary import keys
from acked.model.releases import TRANSACTIONAL
from acked.model.transactions import settings


@unique
class TransactionQuestion(Enum):
    """What people ask of transactions, in their order."""

    TORN = "torn"
    HANGING = "hanging"
    MIXED = "mixed"


@frozen
class Asked:
    """A question in words, what is said to each answer, and the promises whose violation is a yes."""

    question: TransactionQuestion
    text: str
    yes: str
    no: str
    properties: tuple[str, ...]


QUESTIONS: tuple[Asked, ...] = (
    Asked(
        TransactionQuestion.TORN,
        "Can a transaction be committed or aborted by half?",
        "a transaction can be committed or aborted by half",
        "every transaction is committed or aborted as a whole",
        ("AtomicTransactions", "NoAbortedRead", "NoTornTransaction"),
    ),
    Asked(
        TransactionQuestion.HANGING,
        "Can a transaction be left open for ever?",
        "a transaction can hang, and consumers in read_committed get nothing beyond it",
        "no transaction hangs",
        ("NoHangingTransaction",),
    ),
    Asked(
        TransactionQuestion.MIXED,
        "Can a transaction swallow a record of another one?",
        "a record of one transaction can be committed with another",
        "no transaction has records of another",
        ("NoRecordOfAnother",),
    ),
)


@unique
class Clients(Enum):
    """Which clients are asked about; how a transaction ends is negotiated by each of them."""

    NEW = "with clients of 4.0 or later"
    OLD = "with clients before 4.0"


@frozen
class TransactionAnswer:
    """The answer to one question about transactions with some clients; `failure` says why there is none."""

    asked: Asked
    clients: Clients
    task: Task
    outcome: Outcome | None
    failure: str = ""

    @property
    def reply(self) -> AuditVerdict:
        """What was decided."""
        return reply_of(self.outcome)

    @property
    def in_words(self) -> str:
        """The answer in a sentence, for these clients."""
        said = {AuditVerdict.YES: self.asked.yes, AuditVerdict.NO: self.asked.no, AuditVerdict.UNDECIDED: "not decided"}
        return f"{self.clients.value}: {said[self.reply]}"

    @property
    def story(self) -> FoundViolation | None:
        """The shortest run that shows a yes."""
        return self.outcome.violations[0] if self.outcome is not None and self.outcome.violations else None


def is_asked(configuration: Configuration) -> bool:
    """Whether a producer uses transactions, with brokers that have them."""
    return keys.TRANSACTIONAL_ID in configuration.values and configuration.release.since("0.11")


def clients_of(configuration: Configuration) -> tuple[Clients, ...]:
    """The clients that may be meant: transaction.version=2 needs brokers of 4.0 and the feature, on in new clusters."""
    version = configuration.values.get(keys.TRANSACTION_VERSION)
    has_feature = configuration.release.since("4.0") and (version is None or version.number >= settings.TV2)
    return (Clients.NEW, Clients.OLD) if has_feature else (Clients.OLD,)


def rules_of(configuration: Configuration) -> str:
    """The newest release that `transactions` tells apart and that is not newer than the brokers."""
    return configuration.release.newest_of(TRANSACTIONAL)


def task_of(asked: Asked, configuration: Configuration, clients: Clients, max_states: int) -> Task:
    """The search: one instance, two partitions, two transactions, and one late request of each of three kinds."""
    from acked.model.transactions.protocol import transactions

    constants = {name: item.value for name, item in transactions.profile(rules_of(configuration), None).items()}
    constants |= {settings.producers.name: 1, settings.late_init.name: 0, settings.late_add.name: 0}
    if clients is Clients.OLD:
        constants[settings.transaction_version.name] = settings.TV1
    verification = configuration.values.get(keys.VERIFICATION)
    if verification is not None and configuration.release.since("3.6"):
        constants[settings.verification.name] = int(verification.on)
    return Task(
        QuestionText(transactions.name, tuple(transactions.bind(constants).items()), asked.properties), max_states=max_states
    )


def tasks_of(configuration: Configuration, max_states: int) -> list[tuple[Asked, Clients, Task]]:
    """Everything that is to be searched; nothing without a transactional.id."""
    if not is_asked(configuration):
        return []
    return [
        (asked, clients, task_of(asked, configuration, clients, max_states))
        for asked in QUESTIONS
        for clients in clients_of(configuration)
    ]


def answers_of(
    tasks: Sequence[tuple[Asked, Clients, Task]], found: Callable[[Task], Decided]
) -> tuple[TransactionAnswer, ...]:
    """The answers, once the searches are done."""
    return tuple(
        TransactionAnswer(asked, clients, task, found(task).outcome, found(task).failure) for asked, clients, task in tasks
    )
