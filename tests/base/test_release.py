"""Releases of Kafka: what they are called, which is the newest of a list, and that every protocol knows the same lines."""

from __future__ import annotations

import pytest

from acked.base.errors import ConfigurationError
from acked.base.release import LATEST, LINES, NEWEST, numbers, release
from acked.model import releases
from acked.model.partition.rules import versions as partition


def test_lines_ascend_and_the_last_is_the_newest() -> None:
    assert list(LINES) == sorted(LINES, key=numbers)
    assert LINES[-1] == NEWEST


@pytest.mark.parametrize("versions", [partition.VERSIONS, releases.TRANSACTIONAL], ids=["partition", "transactional"])
def test_no_protocol_knows_a_line_that_is_not_known_here_nor_lacks_the_newest(versions: tuple[str, ...]) -> None:
    told = [name for name in versions if name != LATEST]
    assert {numbers(name)[:2] for name in told} <= set(map(numbers, LINES))
    assert numbers(told[-1])[:2] == numbers(NEWEST)


def test_partition_tells_every_line_apart() -> None:
    assert {numbers(name)[:2] for name in partition.VERSIONS if name != LATEST} == set(map(numbers, LINES))


def test_the_newest_of_a_list_is_not_newer_than_the_release() -> None:
    assert release("3.9.2").newest_of(("3.9", "3.9.1", "4.0")) == "3.9.1"
    assert release(LATEST).newest_of(("3.9", LATEST)) == LATEST
    assert release("v3.6-IV2").name == "3.6"


@pytest.mark.parametrize("text", ["", "5.0", "0.7", "99.9", "three", "3", "1.2.3.4.5"])
def test_what_is_no_release_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"name one from 0\.8 to "):
        release(text)
