"""What is known of clusters as metrics, whose names and labels docs/watch.md promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from acked.audit.decision.faults import AuditVerdict
from acked.roll.decision.judge import Verdict
from acked.watch.answers import Risk, StateAnswer
from acked.watch.clusters import Seen

_WORST = "0 no, 1 undecided, 2 yes"

FAMILIES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "acked_up": ((), "Whether the cluster was read when it was last tried."),
    "acked_read_timestamp_seconds": (("answer",), "When the state (roll) or the settings (audit) that the answers are about "
                                     "were last read."),
    "acked_audit_verdict": ((), "Whether something required of the settings is not kept: 0 kept, 1 undecided, 2 not kept."),
    "acked_answer": (("topic", "question", "fault"), f"Whether it can happen by the topic's settings: {_WORST}."),
    "acked_broker_up": (("broker",), "Whether a broker runs."),
    "acked_roll_verdict": (("broker",), "Whether a broker that runs must not go down now: 0 it may, 1 undecided, "
                                  "2 it may not."),
    "acked_controllers_to_spare": ((), "How many controllers more may fail before their majority is lost."),
    "acked_partitions": (("topic",), "Partitions."),
    "acked_partitions_undecided": (("topic",), "Partitions of which something is not decided."),
    f"acked_partitions_{Risk.REFUSES.value}": (("topic", "cause"), "Partitions that refuse writes (acks=all) now."),
    f"acked_partitions_{Risk.REFUSES_AFTER_STOP.value}": (("topic", "cause"), "Partitions that would refuse writes if one "
                                                          "broker went down."),
    f"acked_partitions_{Risk.LOSES_AFTER_FAILURE.value}": (("topic", "cause"), "Partitions that would lose acknowledged "
                                                           "records if one process, machine or disk failed."),
    f"acked_partitions_{Risk.LOSES_AFTER_STOP.value}": (("topic", "cause"), "Partitions that would lose acknowledged records "
                                                        "if one broker went down, and then one more failed."),
}  # fmt: skip
"""Of each metric its labels besides `cluster`, and what it says."""

_VERDICTS = {Verdict.MAY: 0, Verdict.UNDECIDED: 1, Verdict.MAY_NOT: 2}
_ANSWERS = {AuditVerdict.NO: 0, AuditVerdict.UNDECIDED: 1, AuditVerdict.YES: 2}

Sample = tuple[str, tuple[str, ...], float]
"""A metric's name, the values of its labels without the cluster, and its value."""


class Metrics(Collector):
    """What `seen` says at the moment at which it is asked."""

    def __init__(self, seen: Callable[[], Sequence[Seen]]) -> None:
        self._seen = seen

    def collect(self) -> Iterable[Metric]:
        """Every family, in the order of its table."""
        families = {name: GaugeMetricFamily(name, text, labels=("cluster", *labels))
                    for name, (labels, text) in FAMILIES.items()}  # fmt: skip
        for one in self._seen():
            for name, labels, value in _samples(one):
                families[name].add_metric((one.name, *labels), value)
        return families.values()

    @property
    def registry(self) -> CollectorRegistry:
        """These metrics alone, nothing of this process."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    @property
    def text(self) -> str:
        """OpenMetrics, which Prometheus' own older format has nothing against."""
        return str(generate_latest(self.registry).decode())  # type: ignore[no-untyped-call]


def _samples(one: Seen) -> Iterator[Sample]:
    yield "acked_up", (), one.is_up
    if one.state is not None:
        yield "acked_read_timestamp_seconds", ("roll",), one.state.read_at
        yield from _of_state(one.state.value)
    if one.settings is not None:
        yield "acked_read_timestamp_seconds", ("audit",), one.settings.read_at
        yield "acked_audit_verdict", (), _ANSWERS[one.settings.value.verdict]
        for topic, answers in one.settings.value.answers.items():
            for (asked, faults), reply in answers.items():
                yield "acked_answer", (topic, asked.value, faults.name), _ANSWERS[reply]


def _of_state(state: StateAnswer) -> Iterator[Sample]:
    for broker in state.brokers:
        yield "acked_broker_up", (str(broker.broker),), broker.is_up
        if broker.verdict is not None:
            yield "acked_roll_verdict", (str(broker.broker),), _VERDICTS[broker.verdict]
    if state.controllers_to_spare is not None:
        yield "acked_controllers_to_spare", (), state.controllers_to_spare
    for topic in state.topics:
        yield "acked_partitions", (topic.topic,), topic.partitions
        yield "acked_partitions_undecided", (topic.topic,), topic.undecided
        for (risk, cause), count in topic.at_risk.items():
            yield f"acked_partitions_{risk.value}", (topic.topic, cause.value), count
