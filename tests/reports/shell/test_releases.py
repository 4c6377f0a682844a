"""`--kafka-version`: one option by which every command asks a spec of `partition` with the rules of a release."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from acked.base.errors import ConfigurationError
from acked.checker.spec.spec import parse_spec
from acked.cli import cli
from acked.reports.shell.options import AskedSpec
from acked.reports.shell.specs import find_spec, under_release

ASKS = ("check", "prove", "simulate", "find", "explore", "states", "query", "graph", "view", "export", "diff", "ablate")
TEXT = """\
title = "t"
protocol = "partition"
{version}
[constants]
replicas = 2
log_size = 1
records = 1
acks = "all"
crashes = "clean"
[check]
invariants = ["AckedRecordsSurvive"]
"""


@pytest.mark.parametrize("name", [*ASKS, "list", "matrix", "audit"])
def test_every_command_that_asks_about_a_release_calls_it_the_same(name: str) -> None:
    command = cli.get_command(click.Context(cli, **cli.context_settings), name)
    assert command is not None
    options = {text: item for item in command.params if isinstance(item, click.Option) for text in item.opts}
    assert "--kafka-version" in options
    if name in ("list", "matrix"):
        assert options["--version"] is options["--kafka-version"]  # as it was called before
    assert "-c" in options or name in ("list", "matrix", "audit")


@pytest.mark.parametrize(("version", "plane"), [("0.8", None), ("2.8.1", None), ("3.9", "zookeeper"), ("4.1", None)])
def test_a_spec_with_the_option_is_the_spec_that_names_the_release_itself(version: str, plane: str | None) -> None:
    spec = parse_spec(TEXT.format(version=""), Path("t.toml"))
    line = f'version = "{version}"\n' + (f'control_plane = "{plane}"' if plane else "")
    named = parse_spec(TEXT.format(version=line), Path("t.toml"))
    asked = under_release(spec, version, plane)
    assert asked.constants == named.constants
    assert asked.version == version
    assert under_release(named, "latest", "kraft").constants == under_release(spec, "latest", None).constants


@pytest.mark.parametrize(
    ("name", "version", "rules"),
    [
        ("offsets-survive-failover", "4.3.0", "4.3"), ("offsets-survive-failover", "4.3.1", "4.3.1"),
        ("offsets-survive-failover", "4.2.3", "4.2.2"), ("compaction", "3.0.2", "3.0.2"), ("kraft", "3.5.1", "3.5"),
        ("transactions", "latest", "latest"),
    ],
)  # fmt: skip
def test_each_protocol_tells_releases_apart_by_itself(name: str, version: str, rules: str) -> None:
    """KAFKA-20634 was mended in 4.2.2 and 4.3.1, at which nothing changed for `partition`."""
    spec = find_spec(name, True)
    asked = under_release(spec, version, None)
    assert asked.version == rules
    decided = {item: setting.value for item, setting in spec.protocol.profile(rules, None).items() if item not in spec.given}
    assert decided.items() <= asked.constants.items()


def test_a_release_before_a_protocol_began_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no version '2\.0\.1'"):
        under_release(find_spec("kraft"), "2.0.1", None)


def test_a_release_refuses_what_spec_and_command_line_say_together_and_not_the_spec_alone() -> None:
    """A producer of 0.11 that is idempotent has one request in flight (KAFKA-5494); the spec has three."""
    with pytest.raises(ConfigurationError, match="connection=3"):
        AskedSpec.from_options("idempotence-keeps-order", version="0.11").load()
    asked = AskedSpec.from_options("idempotence-keeps-order", constants=(("in_flight", 1),), version="0.11").load()
    assert (asked.constants["in_flight"], asked.constants["idempotence"], asked.warnings) == (1, 1, ())
    with pytest.raises(ConfigurationError, match="connection=2"):
        AskedSpec.from_options("idempotence-keeps-order", constants=(("in_flight", 2),), version="0.11").load()


def test_a_default_of_the_release_that_the_spec_alone_would_drop_is_kept_by_what_the_command_line_says() -> None:
    spec = parse_spec(TEXT.format(version="").replace('"all"', '"1"'), Path("t.toml"))
    alone, asked = under_release(spec, "3.2", None), under_release(spec, "3.2", None, {"acks": "all"})
    assert [found.constants["idempotence"] for found in (alone, asked)] == [0, 1]
    assert [len(found.warnings) for found in (alone, asked)] == [1, 0]


def test_what_the_spec_says_itself_stays_and_what_the_command_line_says_comes_last() -> None:
    spec = AskedSpec.from_options("partition", constants=(("retries", True),), version="2.0").load()
    assert spec.constants["retries"] == 1
    assert spec.constants["acks"] == find_spec("partition").constants["acks"]
    assert spec.constants != AskedSpec.from_options("partition", constants=(("retries", True),)).load().constants
    assert spec.expect is None


@pytest.mark.parametrize(
    ("name", "version", "plane", "sentence"),
    [
        ("partition", "9.9", None, "one from 0.8 to 4.4, such as 3.6 or 2.8.1, or latest"),
        ("partition", "3.61", None, "Kafka 3.61 is not known here"),
        ("partition", "new", None, "'new' is not a version of Kafka"),
        ("partition", "2.8", "kraft", "it runs on zookeeper; see --control-plane"),
        ("kip320", "3.6", None, "one set of rules, whatever the release"),
    ],
)
def test_a_release_that_cannot_be_is_refused_with_those_that_can(
    name: str, version: str, plane: str | None, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        AskedSpec.from_options(name, version=version, control_plane=plane).load()


def test_a_patch_release_has_the_rules_of_the_newest_release_before_it_that_is_told_apart() -> None:
    assert AskedSpec.from_options("partition", version="3.6.2").load().version == "3.6"


def test_a_release_that_is_named_as_a_constant_is_led_to_the_option() -> None:
    with pytest.raises(ConfigurationError, match="or --kafka-version"):
        AskedSpec.from_options("partition", constants=(("version", "3.6"),)).load()
