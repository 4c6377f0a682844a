"""The durability table: every combination of what people configure, each decided by exhaustive search of `partition`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import Enum, unique
from itertools import product
from pathlib import Path
from typing import Any

from acked.audit.decision.faults import BEFORE_KIP_380, CrashKind, Faults
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Answered, Runner, answer_all
from acked.checker.batch.outcome import FoundViolation, Outcome, Task
from acked.checker.question.result import Verdict
from acked.checker.spec.question_text import QuestionText
from acked.checker.spec.resolve import property_named
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, Switch
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.model.partition.rules.versions import VERSIONS, planes_of

MAX_CELLS = 20_000
MAX_STATES = 20_000_000


@frozen
class Axes:
    """The values of each axis, in the order of the table."""

    version: tuple[str, ...] = ("0.10", "2.4", "2.8.1", "3.9", "4.1", "4.4")
    acks: tuple[str, ...] = ("1", "all")
    min_insync_replicas: tuple[int, ...] = (1, 2)
    replicas: tuple[int, ...] = (3,)
    unclean_election: tuple[bool, ...] = (False, True)
    crashes: tuple[CrashKind, ...] = (CrashKind.CLEAN, CrashKind.ONE_MACHINE, CrashKind.ONE_LOSSY)

    @property
    def size(self) -> int:
        """Cells of the table."""
        number = 1
        for item in fields(self):
            number *= len(getattr(self, item.name))
        return number


_SETTINGS = {item.name: item for item in settings.CONFIGURED + settings.SIZES if hasattr(Axes, item.name)}
"""The constants of `partition` whose values are axes; `version` and `crashes` stand for several constants each."""


@frozen
class DurabilityTable:
    """What is asked: a property of `partition` over axes, and the bounds of each cell's search."""

    axes: Axes = field(default_factory=Axes)
    property: str = "AckedRecordsSurvive"
    log_size: int = 1
    records: int = 2
    max_states: int = MAX_STATES


@frozen
class Place:
    """Where a cell stands. `version` may name its control plane, as in 3.9:zookeeper."""

    version: str
    acks: str
    min_insync_replicas: int
    replicas: int
    unclean_election: bool
    crashes: CrashKind

    @property
    def release(self) -> str:
        """The release without its control plane."""
        return self.version.partition(":")[0]

    @property
    def plane(self) -> str:
        """The control plane that is named, or the release's default."""
        named = self.version.partition(":")[2]
        return named or planes_of(self.release)[0]


@unique
class State(Enum):
    """What a cell says. Nothing but a complete search says `KEEPS`."""

    KEEPS = "keeps"
    BREAKS = "breaks"
    UNWRITABLE = "unwritable"
    UNDECIDED = "undecided"


@frozen
class DurabilityCell:
    """A place, what was searched, and what was found (None: `failure` says why)."""

    place: Place
    task: Task
    outcome: Outcome | None
    failure: str = ""

    @property
    def state(self) -> State:
        """Kept, broken; kept only because no record is ever accepted; or not decided."""
        outcome = self.outcome
        if outcome is None or outcome.verdict is Verdict.INCOMPLETE:
            return State.UNDECIDED
        if outcome.verdict is Verdict.VIOLATED:
            return State.BREAKS
        return State.UNWRITABLE if "Produce" in outcome.never_fired else State.KEEPS

    @property
    def story(self) -> FoundViolation | None:
        """The shortest run that breaks the property."""
        return self.outcome.violations[0] if self.outcome is not None and self.outcome.violations else None


@frozen
class Filled:
    """A table with its cells, in the order of the axes."""

    table: DurabilityTable
    cells: tuple[DurabilityCell, ...]
    warnings: tuple[str, ...] = ()

    @property
    def is_decided(self) -> bool:
        """Whether every cell is."""
        return all(cell.state is not State.UNDECIDED for cell in self.cells)


# -- asking -------------------------------------------------------------------------------------------------------------


def places(axes: Axes) -> Iterator[Place]:
    """Every cell's place, the last axis fastest."""
    names = [item.name for item in fields(axes)]
    for values in product(*(getattr(axes, name) for name in names)):
        yield Place(**dict(zip(names, values, strict=True)))


def task_at(place: Place, table: DurabilityTable) -> Task:
    """The search that decides a cell: one producer that sends each record once, under the release's rules."""
    constants = {name: item.value for name, item in partition.profile(place.release, place.plane).items()}
    before = VERSIONS.index(place.release) < VERSIONS.index(BEFORE_KIP_380)
    constants |= Faults(place.crashes).constants(before)
    constants |= {name: constant.read(getattr(place, name)) for name, constant in _SETTINGS.items()}
    constants |= {
        "log_size": table.log_size,
        "records": table.records,
        "retries": 0,
        "idempotence": 0,
        "consumer": settings.FROM_LEADER if table.property == "ReadsStay" else settings.NO_CONSUMER,
        "offset_queries": int(table.property == "LatestOffsetStays"),
    }
    bound = partition.bind(constants)
    asked = QuestionText(partition.name, tuple(bound.items()), (table.property,))
    return Task(asked, max_states=table.max_states)


def fill(
    table: DurabilityTable,
    runner: Runner | None = None,
    cache: ResultCache | None = None,
    on_decided: Callable[[int, int], None] = lambda done, total: None,
) -> Filled:
    """Decides every cell; what the cache has from an earlier, perhaps interrupted, run is not searched again."""
    check(table)
    spots = list(places(table.axes))
    tasks = [task_at(place, table) for place in spots]
    found: dict[int, Answered] = {}
    for answered in answer_all(tasks, runner, cache):
        found[answered.task] = answered
        on_decided(len(found), len(tasks))
    cells = [
        DurabilityCell(place, task, found[at].outcome, found[at].failure)
        for at, (place, task) in enumerate(zip(spots, tasks, strict=True))
    ]
    return Filled(table, tuple(cells), tuple(cache.warnings) if cache is not None else ())


# -- what may be asked --------------------------------------------------------------------------------------------------


def check(table: DurabilityTable) -> None:
    """`ConfigurationError` if an axis is empty, has a value twice or one that there is not, or if the table is too large."""
    property_named(partition, table.property)
    axes = table.axes
    for item in fields(axes):
        values = getattr(axes, item.name)
        if not values:
            raise ConfigurationError(f"axis {item.name} has no values; give one")
        if len(set(values)) < len(values):
            raise ConfigurationError(f"axis {item.name} has a value twice; leave one out")
    if axes.size > MAX_CELLS:
        raise ConfigurationError(f"the table has {axes.size:,} cells, more than {MAX_CELLS:,}; leave values out")
    for version in axes.version:
        _check_version(version)
    bounded: list[tuple[Constant, Sequence[object]]] = [
        *((constant, getattr(axes, name)) for name, constant in _SETTINGS.items()),
        (settings.log_size, [table.log_size]),
        (settings.records, [table.records]),
    ]
    for constant, values in bounded:
        for value in values:
            try:
                constant.read(value)
            except ModelError as error:
                raise ConfigurationError(f"axis {constant.name}: {error}") from None


def _check_version(text: str) -> None:
    release, _, plane = text.partition(":")
    if release not in VERSIONS:
        raise ConfigurationError(f"axis version: unknown release {release!r}{near(release, VERSIONS)}; "
                                 f"choose from {', '.join(VERSIONS)}")  # fmt: skip
    if plane and plane not in planes_of(release):
        raise ConfigurationError(f"axis version: {release} runs on {' or '.join(planes_of(release))}, not on {plane}")


def set_axis(axes: Axes, name: str, values: Sequence[object]) -> Axes:
    """The axes with other values of one, in their own words: off and on, names of crashes, numbers."""
    readers: Mapping[str, Callable[[object], Any]] = {
        item.name: _READERS[item.name] if item.name in _READERS else _reader_of(_SETTINGS[item.name]) for item in fields(axes)
    }
    if name not in readers:
        raise ConfigurationError(f"there is no axis {name!r}{near(name, readers)}; the axes are {', '.join(readers)}")
    try:
        return replace(axes, **{name: tuple(readers[name](value) for value in values)})
    except ValueError as error:
        raise ConfigurationError(f"axis {name}: {error}") from None


def _reader_of(constant: Constant) -> Callable[[object], object]:
    return _switch if isinstance(constant, Switch) else _number


def _acks(value: object) -> str:
    return "all" if str(value) == "-1" else str(value)


def _number(value: object) -> int:
    if isinstance(value, bool) or not str(value).isascii() or not str(value).isdigit() or len(str(value)) > 9:
        raise ValueError(f"{value!r} is not a number")
    return int(str(value))


def _switch(value: object) -> bool:
    words = {"on": True, "true": True, "off": False, "false": False}
    if str(value).lower() not in words:
        raise ValueError(f"{value!r} is neither on nor off")
    return words[str(value).lower()]


def _crashes(value: object) -> CrashKind:
    try:
        return CrashKind(value)
    except ValueError:
        names = [kind.value for kind in CrashKind]
        raise ValueError(f"{value!r} is not a kind of crash{near(str(value), names)}; choose from {choices(names)}") from None


_READERS: Mapping[str, Callable[[object], object]] = {"version": str, "acks": _acks, "crashes": _crashes}


# -- a table as a file --------------------------------------------------------------------------------------------------

_BOUNDS = ("log_size", "records", "max_states")


def read_table(path: Path) -> DurabilityTable:
    """The table that a TOML file asks for: `property`, `[axes]`, `[bounds]`; what it leaves out is as by default."""
    text = read_text(path, "table")
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecUnreadable(f"{path} is not valid TOML: {error}") from None
    table = DurabilityTable()
    for key, value in document.items():
        if key == "property" and isinstance(value, str):
            table = replace(table, property=value)
        elif key == "axes" and isinstance(value, dict):
            for name, values in value.items():
                if not isinstance(values, list):
                    raise ConfigurationError(f"{path}: axis {name} must be a list, such as [{values!r}]")
                table = replace(table, axes=set_axis(table.axes, name, values))
        elif key == "bounds" and isinstance(value, dict):
            table = _set_bounds(path, table, value)
        else:
            known = ("property", "axes", "bounds")
            if key in known:
                kind = "a text" if key == "property" else "a table"
                raise ConfigurationError(f"{path}: {key} is {value!r} and must be {kind}")
            raise ConfigurationError(f"{path}: there is no key {key!r}{near(key, known)}; use {', '.join(known)}")
    return table


def _set_bounds(path: Path, table: DurabilityTable, bounds: Mapping[str, Any]) -> DurabilityTable:
    for name, value in bounds.items():
        if name not in _BOUNDS:
            raise ConfigurationError(f"{path}: there is no bound {name!r}{near(name, _BOUNDS)}; choose {choices(_BOUNDS)}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigurationError(f"{path}: bound {name} is {value!r} and must be a number from 1")
    return replace(table, **bounds)
