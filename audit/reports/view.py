"""What an audit says, as frozen data: terminal, pages, SARIF, JUnit and the JSON document are made from it.

The document is the view itself: its keys are the fields, in their order (`document_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from enum import Enum, unique
from typing import TYPE_CHECKING, Any

from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.gather import Severity
from acked.audit.decision.joint import is_by_proof
from acked.base.frozen import frozen
from acked.checker.batch.outcome import Outcome
from acked.reports.runs.sentences import TraceSentences

if TYPE_CHECKING:
    from acked.audit.decision.upgrade import Upgrade

FORMAT = "acked-audit/2"
TOPICS_FORMAT = "acked-audit-topics/1"

KEY = "key"
"""Of a field the name that the document has for it, where Python has that name for something else."""
_ONLY_IF_ANY: Mapping[str, bool] = {"only if any": True}
"""Of a field that the document leaves out where there is nothing in it."""
_AS = "as"
"""Of a field what makes the document's part of it."""


def document_of(view: object) -> Any:
    """A view as JSON has it."""
    if is_dataclass(view):
        shown = ((item, getattr(view, item.name)) for item in fields(view))
        return {
            item.metadata.get(KEY, item.name): item.metadata.get(_AS, document_of)(value)
            for item, value in shown
            if value or not item.metadata.keys() & _ONLY_IF_ANY.keys()
        }
    if isinstance(view, Enum):
        return view.value
    if isinstance(view, Mapping):
        return {document_of(key): document_of(value) for key, value in view.items()}
    if isinstance(view, tuple):
        return [document_of(item) for item in view]
    return view


# -- settings -----------------------------------------------------------------------------------------------------------


@frozen
class InsteadView:
    """A value in whose place another is asked about; a file and a line are None where it stands in none."""

    value: str
    file: str | None
    line: int | None


@frozen
class SettingView:
    """A setting in effect, and in words where it comes from."""

    key: str
    value: str
    source: str
    file: str | None = None
    line: int | None = None
    instead_of: tuple[InsteadView, ...] = ()


@frozen
class FindingView:
    """A remark on the settings themselves; `rule` is its name for machines."""

    rule: str
    level: Severity
    text: str
    file: str | None = None
    line: int | None = None


@frozen
class PassedOverView:
    """A name that may decide an answer, and is passed over by wish (--lenient)."""

    key: str
    file: str | None
    line: int | None


# -- what is asked, and answered ----------------------------------------------------------------------------------------


@frozen
class FaultsView:
    """What may go wrong, by its name and in words."""

    name: str
    words: str


@frozen
class ColumnView(FaultsView):
    """What may go wrong as the column of a table."""

    heading: str


@frozen
class ContextView:
    """A release on a control plane."""

    kafka_version: str
    control_plane: str


@frozen
class OtherView(ContextView):
    """Another one that may be meant; `refused` is why Kafka would not start there."""

    refused: str | None


@frozen
class ReleaseView:
    """How the release is known."""

    is_named: bool
    source: str
    in_words: str


@frozen
class ElsewhereView:
    """What is answered in other releases that may be meant, and a story where there is none here."""

    answer: AuditVerdict
    contexts: tuple[ContextView, ...]
    in_words: str
    story: TraceSentences | None


@frozen
class CauseView:
    """A setting that a yes hangs on: what it is `now`, and the value with which the answer is a no."""

    key: str
    now: str | None
    source: str | None
    file: str | None
    line: int | None
    no_with: str
    in_words: str


@frozen
class ValueView:
    """A setting and its new value; None takes it out."""

    key: str
    value: str | None


@frozen
class TurnView:
    """What a change makes of another answer."""

    question: AuditQuestion
    answer: AuditVerdict


@frozen
class RemedyView:
    """The smallest change that makes a yes a no, the other answers that it spoils, and what it costs."""

    settings: tuple[ValueView, ...]
    turns: tuple[TurnView, ...]
    price: tuple[str, ...]
    in_words: str


@frozen
class RecommendedView:
    """One change after which every required answer is a no, and what it costs."""

    settings: tuple[ValueView, ...]
    costs: tuple[str, ...]
    in_words: str


@unique
class DecidedBy(Enum):
    """What an answer stands on: a search, here or kept in the cache, one whose answer ships with acked, or a proof."""

    SEARCH = "search"
    SHIPPED = "shipped answer"
    PROOF = "proof"

    @classmethod
    def of(cls, outcome: Outcome) -> DecidedBy:
        """What an outcome stands on."""
        return cls.PROOF if is_by_proof(outcome) else cls.SHIPPED if outcome.is_shipped else cls.SEARCH


@frozen
class AnswerView:
    """The answer to a question under faults: `answer` in the first context, `worst` what is so in all that may be meant,
    undecided where they differ.

    `tried`, `causes` and `undecided` are None without advice. `same_as` names the faults, or the group of topics, with which
    the same steps were told before. `decided_by` is None where nothing was found.
    """

    question: AuditQuestion
    text: str
    faults: FaultsView
    decides: bool
    answer: AuditVerdict
    worst: AuditVerdict
    in_words: str
    promise: str = field(metadata={KEY: "property"})
    page: str | None
    bounds: str
    constants: Mapping[str, int]
    distinct_states: int | None
    nothing_accepted: bool
    story: TraceSentences | None
    elsewhere: tuple[ElsewhereView, ...]
    tried: tuple[str, ...] | None
    causes: tuple[CauseView, ...] | None
    no_cause: str | None
    remedy: RemedyView | None
    undecided: tuple[str, ...] | None
    undecided_in_words: str
    same_as: str | None = None
    decided_by: DecidedBy | None = None

    @property
    def new_story(self) -> TraceSentences | None:
        """What happens, where it has not been told before."""
        return None if self.same_as is not None else self.story


@frozen
class TransactionView:
    """The answer to a question about transactions with some clients; `same_as` is the group of topics that told it before."""

    question: str
    text: str
    clients: str
    answer: AuditVerdict
    in_words: str
    same_as: str | None
    page: str | None
    bounds: str
    constants: Mapping[str, int]
    distinct_states: int | None
    story: TraceSentences | None

    @property
    def new_story(self) -> TraceSentences | None:
        """What happens, where it has not been told before."""
        return None if self.same_as is not None else self.story


# -- beside an earlier audit --------------------------------------------------------------------------------------------


@frozen
class DifferenceView:
    """A required answer that is another than before; `before` is None where it was not asked, `topic` empty for none."""

    topic: str
    question: AuditQuestion
    faults: str
    before: AuditVerdict | None
    now: AuditVerdict
    is_worse: bool
    in_words: str


@frozen
class BaselineView:
    """What changed since the audit in a file, and the verdict of what got worse; `notes` are on what is not known now."""

    file: str
    verdict: AuditVerdict
    differences: tuple[DifferenceView, ...]
    notes: tuple[str, ...] = field(default=(), metadata=_ONLY_IF_ANY)


@frozen
class AcceptedView:
    """A risk that somebody accepts, why, until which day, and where the policy says so."""

    reason: str
    until: str
    line: int


@frozen
class PolicyLineView:
    """What a policy requires or accepts of some topics, and what is so.

    Topics are named with their cluster, folder or file; without a question none was asked. With `accepted` and a yes the day
    of that is over; `line` is that of a requirement that is about no topic.
    """

    verdict: AuditVerdict
    in_words: str
    topics: tuple[str, ...] = field(default=(), metadata=_ONLY_IF_ANY)
    question: AuditQuestion | None = field(default=None, metadata=_ONLY_IF_ANY)
    faults: str | None = field(default=None, metadata=_ONLY_IF_ANY)
    accepted: AcceptedView | None = field(default=None, metadata=_ONLY_IF_ANY)
    line: int | None = field(default=None, metadata=_ONLY_IF_ANY)

    @property
    def is_slip(self) -> bool:
        """Whether it is about no topic, as what was misspelt."""
        return self.line is not None


@frozen
class PolicyView:
    """What the policy in a file makes of an audit: its verdict, which the exit code says, and why."""

    file: str
    verdict: AuditVerdict
    verdict_in_words: str
    lines: tuple[PolicyLineView, ...]


# -- the whole ----------------------------------------------------------------------------------------------------------


def _upgrade_document(upgrade: Upgrade) -> Any:
    from acked.audit.reports.upgrading import upgrade_document  # which few audits need

    return upgrade_document(upgrade)


@frozen
class AuditView:
    """The audit of one configuration; `verdict` is yes, no or undecided of what is `required`.

    `topics` are those whose settings these are, `contexts` how the release is known, `columns` the faults that something
    was asked under.
    """

    format: str
    topics: tuple[str, ...]
    kafka_version: str
    rules: str
    control_plane: str
    release: ReleaseView
    others: tuple[OtherView, ...]
    asked_of_others: tuple[AuditQuestion, ...]
    faults: tuple[FaultsView, ...]
    columns: tuple[ColumnView, ...]
    model: str
    assumed: str
    not_asked: tuple[FaultsView, ...]
    required: tuple[AuditQuestion, ...]
    verdict: AuditVerdict
    verdict_in_words: str
    settings: tuple[SettingView, ...]
    findings: tuple[FindingView, ...]
    passed_over: tuple[PassedOverView, ...]
    advice: bool
    answers: tuple[AnswerView, ...]
    recommended: RecommendedView | None
    warnings: tuple[str, ...]
    transactions: tuple[TransactionView, ...] = field(default=(), metadata=_ONLY_IF_ANY)
    upgrade: Upgrade | None = field(default=None, metadata={**_ONLY_IF_ANY, _AS: _upgrade_document})
    baseline: BaselineView | None = field(default=None, metadata=_ONLY_IF_ANY)
    policy: PolicyView | None = field(default=None, metadata=_ONLY_IF_ANY)

    @property
    def first_place(self) -> SettingView | None:
        """The first setting that stands in a line of a file."""
        return next((item for item in self.settings if item.line), None)


@frozen
class GroupView:
    """A group of topics; without an audit `refusal` says why it was not asked about. `unit` is the cluster, folder or file
    that it is of, where there are several. Of what is `unread` the settings of its brokers are not known.
    """

    number: int
    topics: tuple[str, ...]
    brokers: tuple[str, ...]
    producer: str | None
    decides: bool
    replicas: int | None
    min_insync_replicas: int | None
    acks: str | None
    verdict: AuditVerdict
    refusal: str | None
    audit: AuditView | None
    unit: str | None = field(default=None, metadata=_ONLY_IF_ANY)
    unread: bool = field(default=False, metadata=_ONLY_IF_ANY)


@frozen
class TopicsView:
    """The audits of several groups of topics, the worst first."""

    format: str
    required: tuple[AuditQuestion, ...]
    verdict: AuditVerdict
    verdict_in_words: str
    groups: tuple[GroupView, ...]
    left_out: tuple[str, ...]
    baseline: BaselineView | None = field(default=None, metadata=_ONLY_IF_ANY)
    policy: PolicyView | None = field(default=None, metadata=_ONLY_IF_ANY)

    @property
    def first(self) -> AuditView | None:
        """The audit of the first group that was asked about."""
        return next((group.audit for group in self.groups if group.audit is not None), None)

    def judged_by_others(self, group: GroupView) -> frozenset[str]:
        """The topics of an unread group for which other brokers' settings answer."""
        if not group.unread:
            return frozenset()
        others = (other for other in self.groups if other.decides and other.audit is not None and other.unit == group.unit)
        return frozenset(group.topics).intersection(name for other in others for name in other.topics)


View = AuditView | TopicsView


def audits_of(view: View) -> Iterator[tuple[GroupView | None, AuditView]]:
    """Every audit, with its group where there are several."""
    if isinstance(view, AuditView):
        yield None, view
    else:
        yield from ((group, group.audit) for group in view.groups if group.audit is not None)


def verdict_view(view: View) -> PolicyView | View:
    """What has the verdict that the exit code says: the policy, where there is one."""
    return view.policy or view
