"""What agents are offered: commands as tools, whose inputs are the commands' own options, and listings as resources."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from acked.asking.listing import Filter, listing_document
from acked.base.errors import ConfigurationError
from acked.base.files import read_text, write_text
from acked.base.frozen import frozen
from acked.checker.spec.spec import protocol_in
from acked.checker.spec.user_protocol import is_reference
from acked.checker.spec.variants import file_and_variant
from acked.reports.shell.bundled import bundled_of
from acked.reports.shell.output import json_text

_SPEC = "The name of a bundled spec (tool `list`, what=specs), the path of a spec file, or the text of one, in TOML."
_ARGUMENTS = {
    "spec": _SPEC,
    "first": _SPEC,
    "second": _SPEC,
    "files": "Files or folders with settings of brokers, topics, producers; for `roll` what kafka-topics --describe printed.",
    "what": "One of protocols, invariants, constants, specs, found (losses of today's Kafka), or the name of a protocol.",
    "words": "List only what has all of these in its name, title or promise; 'claims/*' is a pattern of names.",
}  # fmt: skip
"""What agents are told of a command's arguments, which have no help of their own."""

_SPECS = ("spec", "first", "second")


@frozen
class Offer:
    """A command as a tool: `arguments` and options that agents may give, and what is always `added`.

    `asks_cluster`: it can read a running cluster too, if the server was told of one. `plays`: it starts brokers.
    """

    name: str
    about: str
    command: str
    arguments: tuple[str, ...]
    options: tuple[str, ...] = ()
    added: tuple[str, ...] = ("--quiet", "--format=json")
    asks_cluster: bool = False
    plays: bool = False


_RULES = ("--constant", "--kafka-version", "--control-plane")

OFFERS = (
    Offer("audit", "Decides whether settings of Kafka keep what was acknowledged: can a record be lost, duplicated, "
          "reordered, can it vanish after it was read, can writes stop? Each answer is yes, no or undecided under a class "
          "of faults, decided by exploring every order of events; a yes has its story, causes and the smallest change. "
          "exit_code 0: every required answer is no; 12: one is yes; 152: one is undecided, which is not safe.",
          "audit", ("files",),
          ("--set", "--producer", "--kafka-version", "--control-plane", "--topic", "--entity", "--ask", "--require",
           "--faults", "--advice", "--lenient", "--show-settings"), asks_cluster=True),
    Offer("roll", "Decides whether a broker may go down now, and in which order to roll the rest, from the state of each "
          "partition. exit_code 0: every broker that was asked about may; 12: one may not; 152: undecided, which is no yes.",
          "roll", ("files",),
          ("--set", "--producer", "--kafka-version", "--control-plane", "--topic", "--broker", "--ask", "--stop"),
          asks_cluster=True),
    Offer("check", "Explores every reachable state of a spec of Kafka's replication and decides its properties, with a "
          "shortest counterexample. exit_code 0: all hold; 12 or 13: one is violated; 152: a bound ended the search, so "
          "nothing is decided.",
          "check", ("spec",), (*_RULES, "--deadlock", "--continue", "--max-depth", "--max-states")),
    Offer("explain", "Tells a spec's counterexample in sentences: of the shortest traces the one that is easiest to follow, "
          "which actions it needs, and the nearest trace that keeps the promise. Exit codes are those of `check`.",
          "check", ("spec",), (*_RULES, "--max-states"), ("--quiet", "--easiest", "--explain")),
    Offer("diff", "Compares the rules of two specs, or of one under two releases (kafka_version=3.6,4.1): the shortest trace "
          "that one allows and the other forbids, and every property on both. exit_code 1: they differ.",
          "diff", ("first", "second"), (*_RULES, "--max-states")),
    Offer("list", "Lists bundled specs with the answers that they expect, protocols, properties, constants with their "
          "documentation, or the losses of today's Kafka that were found, with releases.",
          "list", ("what", "words"), ("--kafka-version",), ("--format=json",)),
    Offer("reproduce", "Plays the shortest counterexample of a spec on real Kafka brokers of this machine, on loopback "
          "addresses. exit_code 12: the loss was seen; 14: brokers did as the model says, and it was not; 1: they differ.",
          "reproduce", ("spec",), ("--kafka", "--control", *_RULES), plays=True),
)  # fmt: skip
"""The tools, in the order in which agents are told of them."""

RESOURCES: Mapping[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "acked://gallery": ("Bugs of Kafka's replication, each with its fix, as specs with answers",
                        lambda: listing_document("specs", Filter(("gallery/*",)))),
    "acked://claims": ("Claims about Kafka's durability, each a spec with its answer",
                       lambda: listing_document("specs", Filter(("claims/*",)))),
    "acked://found": ("Losses of today's Kafka: releases, commands, pages", lambda: listing_document("found")),
}  # fmt: skip
"""By address what a resource is, and what makes its document."""

SPEC_ADDRESS = "acked://spec/"
"""Before the name of a bundled spec: the address of its text."""


def resource_text(address: str) -> str:
    """The text of a resource; `ConfigurationError` if there is none at this address."""
    if address in RESOURCES:
        return json_text(RESOURCES[address][1]())
    found = bundled_of(address.removeprefix(SPEC_ADDRESS)) if address.startswith(SPEC_ADDRESS) else None
    if found is None:
        raise ConfigurationError(f"there is no resource {address}; choose from {', '.join(RESOURCES)} and {SPEC_ADDRESS}NAME")
    return read_text(file_and_variant(found)[0], "spec file")


@frozen
class Permissions:
    """What the user lets agents do: read files below `root`, and only if told more.

    `trusts`: run the protocol files that specs name. `plays`: start brokers. `cluster`: the options that name a running one.
    `memory`: bytes for the states of a question.
    """

    root: Path
    trusts: bool
    plays: bool
    cluster: tuple[str, ...]
    memory: int

    def offers(self) -> tuple[Offer, ...]:
        """The tools that agents may use."""
        return tuple(offer for offer in OFFERS if self.plays or not offer.plays)

    def inside(self, name: str) -> Path:
        """The path of a file that an agent named; `ConfigurationError` if it is not below the root."""
        path = Path(os.path.realpath(self.root / name))
        if not path.is_relative_to(os.path.realpath(self.root)):
            raise ConfigurationError(f"{name} is not below {self.root}, where this server reads; see `acked mcp --root`")
        return path

    def spec(self, given: str, folder: Path) -> str:
        """How the command is to be told of a spec, whose file is copied into `folder`: what was looked at is what is read."""
        if "\n" not in given and not given.endswith(".toml") and ".toml#" not in given:
            return given  # A bundled one: the command runs where no file has its name.
        file, variant = (folder / "spec.toml", None) if "\n" in given else file_and_variant(self.inside(given))
        copy = folder / file.name
        write_text(copy, given if "\n" in given else read_text(file, "spec file"), "spec file")
        if is_reference(protocol := protocol_in(copy)):
            if not self.trusts:
                raise ConfigurationError(f"the spec would run {protocol}, a file of Python; see `acked mcp --trust`")
            copy = file
        return f"{copy}#{variant}" if variant else str(copy)


def schema_of(offer: Offer, command: click.Command, allowed: Permissions) -> dict[str, Any]:
    """The JSON schema of a tool's input, from the command's own parameters."""
    arguments = [item for item in command.params if isinstance(item, click.Argument)]
    properties: dict[str, Any] = {}
    for name, argument in zip(offer.arguments, arguments, strict=True):
        properties[name] = {**_type_of(argument), "description": _ARGUMENTS[name]}
    for item in _options(offer, command):
        properties[_key(item)] = {**_type_of(item), "description": item.help or ""}
    if offer.asks_cluster and allowed.cluster:
        properties["running_cluster"] = {"type": "boolean", "description": "Read the cluster that the user named, too."}
    required = [name for name in offer.arguments if name in _SPECS]
    required += [_key(item) for item in _options(offer, command) if item.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@contextmanager
def command_line(
    offer: Offer, command: click.Command, given: Mapping[str, Any], allowed: Permissions
) -> Iterator[tuple[list[str], Path]]:
    """The command's arguments for an input that fits the schema, and the folder to run it in, which is then removed."""
    with tempfile.TemporaryDirectory(prefix="acked-mcp-") as name:
        folder = Path(name)
        line = [offer.command, *offer.added]
        if given.get("running_cluster"):
            line += allowed.cluster
        if any("--memory" in item.opts for item in command.params):
            line.append(f"--memory={allowed.memory}")
        for item in _options(offer, command):
            value = given.get(_key(item))
            if value is True:
                line.append(item.opts[-1])
            elif value is False:
                line += item.secondary_opts
            elif value is not None:
                line += [f"{item.opts[-1]}={one}" for one in (value if isinstance(value, list) else [value])]
        line.append("--")
        for place, argument in enumerate(offer.arguments):
            value = given.get(argument, [])
            for one in value if isinstance(value, list) else [value]:
                if argument in _SPECS:
                    (folder / str(place)).mkdir()
                    one = allowed.spec(one, folder / str(place))
                line.append(str(allowed.inside(one)) if argument == "files" else one)
        (folder / "empty").mkdir()
        yield line, folder


def _options(offer: Offer, command: click.Command) -> list[click.Option]:
    found = {name: item for item in command.params if isinstance(item, click.Option) for name in item.opts}
    return [found[name] for name in offer.options]


def _key(item: click.Option) -> str:
    return item.opts[-1].lstrip("-").replace("-", "_")


def _type_of(item: click.Parameter) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": "string"}
    if isinstance(item.type, click.IntRange):
        kind = {"type": "integer", "minimum": item.type.min}
    elif isinstance(item.type, click.Choice):
        kind = {"enum": list(item.type.choices)}
    elif getattr(item, "is_flag", False):
        kind = {"type": "boolean"}
    return {"type": "array", "items": kind} if item.nargs == -1 or getattr(item, "multiple", False) else kind
