"""The options that several commands have, each declared once, and the values that a command gets from them.

`collects` makes a decorator of options that belong together: the command gets one frozen value for all of them. Specs are
imported when one is read: a command that reads none answers before they would be.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from acked.base.bounds import Bounds, default_memory, default_workers
from acked.base.cache import cache_folder, why_no_cache
from acked.base.errors import ConfigurationError
from acked.base.files import is_uri
from acked.base.frozen import frozen
from acked.base.names import repeats
from acked.reports.shell.completion import bundled_or_file, known_releases
from acked.reports.shell.output import Output, TraceFile, say

if TYPE_CHECKING:
    from acked.checker.spec.spec import Spec

Value = int | str
"""Of a constant: a number, true or false, or the name of a choice."""

Constants = tuple[tuple[str, Value], ...]
"""What `--constant` binds, in the order of the command line."""


# -- types of values ----------------------------------------------------------------------------------------------------


class MemorySize(click.ParamType[int]):
    """A number of bytes such as 800MB or 4GiB."""

    name = "size"
    _UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # noqa: RUF012

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(value), re.IGNORECASE)
        size = float(match[1]) * self._UNITS[match[2].upper()] if match else 0
        if not 1 <= size < 1 << 62:
            self.fail(f"{value!r} is not a memory size; use e.g. 800MB or 4GB", param, ctx)
        return int(size)


class Binding(click.ParamType[tuple[str, Value]]):
    """NAME=VALUE: a number, true or false, or the name of a choice."""

    name = "name=value"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Value]:
        name, separator, text = (part.strip() for part in str(value).partition("="))
        if not separator or not name or not text:
            self.fail(f"{value!r} does not set a constant; use NAME=VALUE, e.g. replicas=2", param, ctx)
        if re.fullmatch(r"-?\d{1,18}", text):
            return name, int(text)
        return name, {"true": True, "false": False}.get(text, text)


class KeyValue(click.ParamType[tuple[str, str]]):
    """KEY=VALUE."""

    name = "key=value"

    def __init__(self, example: str) -> None:
        self.example = example

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, separator, text = str(value).partition("=")
        if not separator or not name.strip():
            self.fail(f"{value!r} is not a setting; use KEY=VALUE, e.g. {self.example}", param, ctx)
        return name.strip(), text.strip()


class RunPlace(click.ParamType["Path | str"]):
    """A folder of this machine; as a text, a place in a file system that Spark has."""

    name = "dir"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        text = str(value)
        return text if is_uri(text) else Path(text)


# -- declaring options --------------------------------------------------------------------------------------------------

R = TypeVar("R")


@frozen
class Declared:
    """An option or, without dashes, an argument: how it is written, and what click is told of it."""

    names: tuple[str, ...]
    attributes: tuple[tuple[str, object], ...]

    def saying(self, text: str) -> Declared:
        """This option with the help of a command in which it means something of its own."""
        return self.having(help=text)

    def having(self, **attributes: object) -> Declared:
        """This option with other attributes for click."""
        return replace(self, attributes=tuple({**dict(self.attributes), **attributes}.items()))

    def under(self, key: str) -> Callable[[Callable[..., R]], Callable[..., R]]:
        """The decorator for a command whose parameter is called `key`."""
        if not self.names:
            return click.argument(key, **dict(self.attributes))  # type: ignore[arg-type]
        return click.option(*self.names, key, **dict(self.attributes))  # type: ignore[arg-type]


def option(*names: str, **attributes: object) -> Declared:
    """An option as `click.option` takes it, without the name of a parameter."""
    return Declared(names, tuple(attributes.items()))


def argument(**attributes: object) -> Declared:
    """An argument as `click.argument` takes it, without the name of a parameter."""
    return Declared((), tuple(attributes.items()))


def collects(
    parameter: str, make: Callable[..., object], /, **declared: Declared
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator that gives a command these options, collected by `make` into the one value of a parameter."""

    def decorate(command: Callable[..., R]) -> Callable[..., R]:
        @functools.wraps(command)
        def collected(**given: object) -> R:
            made = make(**{key: given.pop(key) for key in declared})
            return command(**given, **{parameter: made})

        decorated: Callable[..., R] = collected
        for key, item in reversed(declared.items()):
            decorated = item.under(key)(decorated)
        return decorated

    return decorate


# -- the options themselves ---------------------------------------------------------------------------------------------

SPEC = argument(metavar="SPEC", shell_complete=bundled_or_file)
CONSTANT = option("-c", "--constant", type=Binding(), multiple=True,
                  help="Change a constant of the spec, e.g. -c replicas=2.")  # fmt: skip
KAFKA_VERSION = option(
    "--kafka-version",
    metavar="V",
    shell_complete=known_releases,
    help="A spec of `partition` with the rules and defaults of this release of Kafka, e.g. 3.6.",
)
CONTROL_PLANE = option(
    "--control-plane",
    type=click.Choice(["kraft", "zookeeper"]),
    help="With --kafka-version: where the metadata is; default: what the spec says, then KRaft.",
)
WORKERS = option("-w", "--workers", type=click.IntRange(1, 256), help="Threads that search; default: one per core.")
MAX_DEPTH = option(
    "--max-depth",
    type=click.IntRange(1),
    help="Stop after this many levels, the initial state being the first; the answer is then incomplete.",
)
MAX_STATES = option("--max-states", type=click.IntRange(1),
                    help="Stop once more distinct states are known; the answer is then incomplete.")  # fmt: skip
MEMORY = option("--memory", type=MemorySize(),
                help="Memory for the visited states, e.g. 4GB; default: most of what is free.")  # fmt: skip
JOBS = option("-j", "--jobs", type=click.IntRange(1, 256), help="Searches at a time; default: one per core.")
CACHE = option("--cache/--no-cache", default=True,
               help="Reuse answers that were found before; with --no-cache search anew and store nothing.")  # fmt: skip
FORMAT = option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                help="The form of the answer on stdout.")  # fmt: skip
QUIET = option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
TRACE_OUT = option("--trace-out", type=click.Path(path_type=Path), metavar="FILE",
                   help="Write the shortest counterexample to this file, for `acked show`, `view` and `export`.")  # fmt: skip
OUT = option("-o", "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file; default: stdout.")


# -- the values that they are collected into ----------------------------------------------------------------------------


@frozen
class SpecChanges:
    """What the command line changes in a spec: constants, and the release of Kafka whose rules and defaults it has."""

    constants: Constants = ()
    version: str | None = None
    control_plane: str | None = None

    @property
    def are_none(self) -> bool:
        """Whether the spec stays as it is."""
        return not self.constants and self.version is None and self.control_plane is None

    def put_into(self, spec: Spec, deadlock: bool = False) -> Spec:
        """The spec with these changes; `deadlock` also asks whether some action is enabled in every state."""
        from acked.reports.shell.specs import change_spec, under_release

        constants = bound(self.constants)
        if self.version is not None or self.control_plane is not None:
            spec, constants = under_release(spec, self.version, self.control_plane, constants), {}
        return change_spec(spec, constants, deadlock) if constants or deadlock else spec


UNCHANGED = SpecChanges()


@frozen
class AskedSpec:
    """What the command line calls a spec, and what it changes in it."""

    name: str
    changes: SpecChanges = UNCHANGED

    @classmethod
    def from_options(cls, name: str, **changes: Any) -> AskedSpec:
        """From the options of a command."""
        return cls(name, SpecChanges(**changes))

    def load(self, deadlock: bool = False) -> Spec:
        """The spec with its changes; `deadlock` also asks whether some action is enabled in every state."""
        from acked.reports.shell.specs import find_spec

        return self.changes.put_into(find_spec(self.name, not self.changes.are_none), deadlock)


def bound(constants: Constants) -> dict[str, Value]:
    """The constants by name; `ConfigurationError` if one is given twice."""
    if twice := repeats(name for name, _ in constants):
        raise ConfigurationError(f"constant {', '.join(twice)} is given twice; give each once")
    return dict(constants)


@frozen
class SearchLimits:
    """How far one search goes; None stands for the default."""

    workers: int | None = None
    max_depth: int | None = None
    max_states: int | None = None
    memory: int | None = None

    @property
    def bounds(self) -> Bounds:
        """With the defaults of this machine."""
        workers, memory = self.workers or default_workers(), self.memory or default_memory()
        return Bounds(workers, memory, self.max_depth, self.max_states)


@frozen
class TraceSource:
    """How a trace is read: as a run of the spec that the user names, or trusting the protocol file that it names.

    Of another tool's trace a file may say where it has the fields of that spec's protocol.
    """

    spec: str | None = None
    trusts: bool = False
    mapping: Path | None = None

    def __post_init__(self) -> None:
        if self.mapping is not None and self.spec is None:
            raise ConfigurationError("--map says where a trace has the fields of a spec; name that with --spec")
        if self.spec is not None and self.trusts:
            raise ConfigurationError("--spec names the protocol, so the trace's own is not run; leave out --trust or --spec")


ANYWHERE = TraceSource()
"""A trace that says itself what it is a run of."""

changing = {"constants": CONSTANT, "version": KAFKA_VERSION, "control_plane": CONTROL_PLANE}
"""The options that change a spec; a command in which one of them means something of its own has it beside the others."""

asks_spec = collects("asked", AskedSpec.from_options, name=SPEC, **changing)
changes_spec = collects("changes", SpecChanges, **changing)
searches = collects(
    "search", SearchLimits, workers=WORKERS, max_depth=MAX_DEPTH, max_states=MAX_STATES, memory=MEMORY
)
reads_trace = collects(
    "source",
    TraceSource,
    spec=option("--spec", metavar="SPEC", shell_complete=bundled_or_file,
                help="The spec that TRACE is a trace of, if TLC or Apalache wrote it or the protocol is your own."),
    trusts=option("--trust", is_flag=True, help="Run the protocol file that TRACE names, if its protocol is not shipped."),
    mapping=option("--map", type=click.Path(path_type=Path), metavar="FILE",
                   help="With --spec: a TOML file that says where TLC's or Apalache's TRACE has the spec's fields."),
)  # fmt: skip
writes_trace = collects("trace_out", TraceFile, path=TRACE_OUT)
shows = collects("output", Output, form=FORMAT, quiet=QUIET)
shows_without_progress = collects("output", Output, form=FORMAT)


def warn_without_cache() -> None:
    """Warns that the usual place for the cache is not used; `ConfigurationError` if the chosen one must not be."""
    if cache_folder() is None and (reason := why_no_cache()):
        say(f"warning: {reason}")
