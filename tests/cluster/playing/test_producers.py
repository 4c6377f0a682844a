"""How records of idempotent producers are numbered (KIP-98, KIP-360)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from acked.cluster.playing.producers import Identity, Numbering
from acked.model.partition.state import ACKED, FAILED, SENT, UNSENT


def ids() -> Callable[[], tuple[int, int]]:
    numbers = count(7)
    return lambda: (next(numbers), 0)


def test_a_retry_has_the_number_of_the_first_request_and_records_are_numbered_as_they_were_given() -> None:
    numbering = Numbering(ids(), bumps=True)
    assert numbering.of(1, [UNSENT, UNSENT]) == Identity(7, 0, 1)
    assert numbering.of(0, [UNSENT, SENT]) == Identity(7, 0, 0)
    assert numbering.of(1, [SENT, SENT]) == Identity(7, 0, 1)


@pytest.mark.parametrize(("bumps", "expected"), [(True, Identity(7, 1, 0)), (False, Identity(8, 0, 0))])
def test_behind_a_record_that_was_given_up_numbers_begin_anew(bumps: bool, expected: Identity) -> None:
    numbering = Numbering(ids(), bumps)
    assert numbering.of(0, [UNSENT, UNSENT, UNSENT]) == Identity(7, 0, 0)
    assert numbering.of(1, [FAILED, UNSENT, UNSENT]) == expected
    assert numbering.of(2, [FAILED, SENT, UNSENT]) == Identity(expected.producer, expected.epoch, 1)


def test_a_restarted_producer_begins_with_what_was_not_acknowledged_under_another_id() -> None:
    numbering = Numbering(ids(), bumps=True)
    numbering.of(0, [UNSENT, UNSENT])
    numbering.of(1, [ACKED, UNSENT])
    numbering.restart([ACKED, SENT])
    assert numbering.of(1, [ACKED, SENT]) == Identity(8, 0, 0)
