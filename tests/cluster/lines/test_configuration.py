"""The configuration of logging that `acked kafka observe` prints has every logger that is read."""

from __future__ import annotations

import pytest

from acked.base.errors import ConfigurationError
from acked.cluster.lines.configuration import DROPPED, PATTERN, Format, configuration, loggers
from acked.cluster.lines.wordings import STRICT


@pytest.mark.parametrize(("release", "library"), [((3, 9, 1), "log4j"), ((4, 1), "log4j2")])
def test_the_configuration_has_every_logger_that_is_read_and_the_layout(release: tuple[int, ...], library: str) -> None:
    text = configuration(release, None, "orders")
    assert PATTERN in text
    assert all(name in text for name, _ in loggers(release))
    assert {name for name, _ in loggers(release)} <= STRICT
    assert ("shutdownHook=disable" in text) == (library == "log4j2")
    assert all(part in text for part in DROPPED)


def test_a_form_that_the_release_does_not_read_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"Kafka 4\.1 is configured with log4j2, not with log4j"):
        configuration((4, 1), Format.LOG4J, "orders")


def test_a_running_cluster_is_told_by_kafka_configs() -> None:
    text = configuration((4, 1), Format.RUNNING, "orders")
    assert text.count("kafka-configs.sh") == 2
    assert "org.apache.kafka.storage.internals.log.UnifiedLog=TRACE" in text


@pytest.mark.parametrize(
    ("release", "commands", "about_controllers"),
    [((2, 8, 2), 1, 0), ((3, 6, 2), 1, 1), ((3, 7, 1), 2, 1)],
)
def test_controllers_are_told_while_they_run_where_that_can_be(
    release: tuple[int, ...], commands: int, about_controllers: int
) -> None:
    text = configuration(release, Format.RUNNING, "orders")
    assert text.count("kafka-configs.sh") == commands
    assert text.count("ReplicationControlManager=DEBUG") == about_controllers
