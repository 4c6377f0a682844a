"""Settings that go against each other, in spec files: what is refused, dropped or only warned about."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.spec.spec import Spec, parse_spec


def spec(constants: str, top: str = "") -> Spec:
    text = f'title = "t"\nprotocol = "partition"\n{top}\n[constants]\n{constants}\n[check]\ninvariants = ["NoDuplicates"]\n'
    return parse_spec(text, Path("t.toml"))


@pytest.mark.parametrize(
    ("constants", "top", "message"),
    [
        ('idempotence = true\nacks = "1"\nretries = true', "", r"t\.toml:4: enable\.idempotence=true is refused .* acks=1"),
        ("idempotence = true\nretries = false", "", "is refused by the producer together with retries=0"),
        ("idempotence = true\nretries = true\nin_flight = 6", "", "together with max.in.flight.requests.per.connection=6"),
        ('idempotence = true\nacks = "all"\nretries = true\nin_flight = 2', 'version = "0.11"', "connection=2"),
        ("in_flight = 6", 'version = "4.0"', "from 4.0 the producer refuses .*=6 unless enable.idempotence=false is set"),
        ("alter_bumps_epoch = true", 'version = "3.9"\ncontrol_plane = "zookeeper"', "needs control_plane"),
        ("eligible_leader_replicas = true", 'version = "3.9"\ncontrol_plane = "zookeeper"', "needs control_plane"),
        ('acks = "2"', "", r't\.toml:5: constant acks is \'2\' and must be one of "0", "1", "all"'),
        ("retries = 3", "", "constant retries is 3 and must be true or false"),
        ("", 'version = "5.0"', r"t\.toml:3: there is no version '5\.0'"),
        ("", 'version = "4.0"\ncontrol_plane = "zookeeper"', "does not run on control plane 'zookeeper'"),
        ("replicas = 5\nlog_size = 3", "", "bound the elections with max_leader_epoch"),
    ],
)
def test_what_kafka_refuses_is_refused_with_its_reason(constants: str, top: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        spec(constants, top).question()


def test_idempotence_by_default_is_dropped_in_silence_by_kafka_and_with_a_warning_here() -> None:
    found = spec('acks = "1"', 'version = "3.2"')
    assert found.constants["idempotence"] == 0
    assert found.warnings == ("idempotence, the release's default, is dropped in silence because of acks=1",)
    kept = spec('acks = "all"', 'version = "3.2"')
    assert kept.constants["idempotence"] == 1
    assert kept.warnings == ()


def test_more_than_five_in_flight_switch_default_idempotence_off_until_3_9() -> None:
    assert spec("in_flight = 6", 'version = "3.9"').constants["idempotence"] == 0
    assert spec("in_flight = 6\nidempotence = false", 'version = "4.0"').warnings == ()


def test_an_idempotent_producer_of_0_11_has_one_request_in_flight_unless_it_is_refused() -> None:
    asked = 'idempotence = true\nacks = "all"\nretries = true'
    found = spec(asked, 'version = "0.11"')
    assert found.constants["in_flight"] == 1
    assert ["before 1.0" in text for text in found.warnings] == [True]
    assert spec(f"{asked}\nin_flight = 1", 'version = "0.11"').warnings == ()
    assert spec(asked, 'version = "1.0"').constants["in_flight"] == 5


@pytest.mark.parametrize(
    ("asked", "constants", "missing"),
    [
        ("ReadsStay", "", "consumer"),
        ("LatestOffsetStays", "", "offset_queries"),
        ("RefusalsAreTrue", 'acks = "0"', "acks"),
    ],
)
def test_a_promise_about_a_part_that_is_turned_off_is_refused(asked: str, constants: str, missing: str) -> None:
    text = f'title = "t"\nprotocol = "partition"\n[constants]\n{constants}\n[check]\ninvariants = ["{asked}"]\n'
    with pytest.raises(ConfigurationError, match=rf"t\.toml:\d: {asked} would hold vacuously: .*{missing}"):
        parse_spec(text, Path("t.toml"))


@pytest.mark.parametrize(
    ("constants", "version", "warning"),
    [
        ("replicas = 2\nmin_insync_replicas = 3\nacks = \"all\"", "3.6", "no record with acks=all is ever accepted"),
        ("replicas = 2\nmin_insync_replicas = 3\nacks = \"all\"", "3.7", "from 3.7 it counts as 2"),
        ('min_insync_replicas = 2\nacks = "1"\nidempotence = false', "2.1", "does not protect records with acks=1"),
        ('min_insync_replicas = 2\nacks = "1"\nidempotence = false', "3.7", "only delays what consumers see"),
    ],
)
def test_what_kafka_takes_and_ignores_is_warned_about(constants: str, version: str, warning: str) -> None:
    (said,) = spec(constants, f'version = "{version}"').warnings
    assert warning in said


def test_settings_that_agree_are_not_warned_about() -> None:
    assert spec('acks = "all"\nmin_insync_replicas = 2\nretries = true\nidempotence = true').warnings == ()
