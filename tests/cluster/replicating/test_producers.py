"""How records of idempotent producers are numbered (KIP-98, KIP-360)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from acked.cluster.replicating.producers import Identity, NotAppended, Numbering, Producers
from acked.cluster.wire.client import Acknowledgement, BrokerGone
from acked.model.partition.state import ACKED, FAILED, SENT, UNSENT


def ids() -> Callable[[], tuple[int, int]]:
    numbers = count(7)
    return lambda: (next(numbers), 0)


def test_a_retry_has_the_number_of_the_first_request_and_records_are_numbered_as_they_were_given() -> None:
    numbering = Numbering(ids(), bumps=True)
    assert numbering.identify(1, [UNSENT, UNSENT]) == Identity(7, 0, 1)
    assert numbering.identify(0, [UNSENT, SENT]) == Identity(7, 0, 0)
    assert numbering.identify(1, [SENT, SENT]) == Identity(7, 0, 1)


@pytest.mark.parametrize(("bumps", "expected"), [(True, Identity(7, 1, 0)), (False, Identity(8, 0, 0))])
def test_behind_a_record_that_was_given_up_numbers_begin_anew(bumps: bool, expected: Identity) -> None:
    numbering = Numbering(ids(), bumps)
    assert numbering.identify(0, [UNSENT, UNSENT, UNSENT]) == Identity(7, 0, 0)
    assert numbering.identify(1, [FAILED, UNSENT, UNSENT]) == expected
    assert numbering.identify(2, [FAILED, SENT, UNSENT]) == Identity(expected.producer, expected.epoch, 1)


def test_a_restarted_producer_begins_with_what_was_not_acknowledged_under_another_id() -> None:
    numbering = Numbering(ids(), bumps=True)
    numbering.identify(0, [UNSENT, UNSENT])
    numbering.identify(1, [ACKED, UNSENT])
    numbering.restart([ACKED, SENT])
    assert numbering.identify(1, [ACKED, SENT]) == Identity(8, 0, 0)


def topic_of(log: tuple[str, ...], answers: Callable[[], Acknowledgement]) -> Any:
    """A topic on which a broker answers at once, and its log is this."""
    client = SimpleNamespace(
        send_record=lambda *_, **__: None, is_answered=lambda: True, acknowledgement=answers, close=lambda: None
    )
    plan = SimpleNamespace(release=SimpleNamespace(number=(4, 1, 0)))
    cluster = SimpleNamespace(plan=plan, client=lambda *_, **__: client, check=None)
    return SimpleNamespace(cluster=cluster, name="t", replica=lambda broker: SimpleNamespace(values=log))


def gone() -> Acknowledgement:
    raise BrokerGone("the connection has gone")


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (lambda: Acknowledgement(45, -1), "broker 2 refuses r1 with OUT_OF_ORDER_SEQUENCE_NUMBER, and in the model it"),
        (lambda: Acknowledgement(0, 0), "broker 2 acknowledges r1 without appending it, and in the model it appends it"),
        (gone, "broker 2 ends the connection on which it was sent r1, and in the model it appends it"),
    ],
)
def test_a_record_that_is_answered_and_not_appended_is_told_at_once(
    answers: Callable[[], Acknowledgement], sentence: str
) -> None:
    with pytest.raises(NotAppended, match=sentence):
        Producers(topic_of(("r1",), answers), -1, 5.0).send(1, 2)


def test_an_answer_that_a_gate_holds_is_an_answer() -> None:
    topic = topic_of(("r1",), lambda: Acknowledgement(0, 0))
    with pytest.raises(NotAppended, match="broker 2 answers r1 without appending it, and in the model it appends it"):
        Producers(topic, -1, 5.0).send(1, 2, is_held=lambda: True)
