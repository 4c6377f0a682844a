"""What stands behind a state in the concrete reading: a code for every leaf but the records of logs, and logs as versions.

`Layout`, the leaves of a state of any size, and `RunStore`, which keeps of each log what was done to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NoReturn

from acked.base.frozen import frozen
from acked.model.concrete.inputs import Inputs
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import literal
from acked.model.language.domain import Constants, Domain, LeafDomain, Path, PresentDomain, path_name
from acked.model.language.storage.composites import ArrayDomain, Declaration, LogDomain, StructDomain, is_absent
from acked.model.language.storage.layout import Leaf, Schema, counts_of
from acked.model.language.storage.store import Store, SymbolicPath


@frozen
class LogPlace:
    """Where a log is, the leaf of its end, and the fields of its records that are kept, each with its greatest code."""

    path: Path
    end: int
    fields: tuple[tuple[Path, int], ...]


class Layout(Schema):
    """The leaves of a state whose logs may have any size: all but those of records.

    A state is a tuple: the code of every leaf, then of every log its runs. `unseen` names families of fields that are left
    out, as they are called without indices: `producer`, `log.records.id`; they read as 0 and what is assigned goes nowhere.
    """

    def __init__(self, state: type[Declaration], constants: Constants, unseen: Collection[str] = ()) -> None:
        self.constants = dict(constants)
        self._unseen = frozenset(unseen)
        self._logs: list[tuple[Path, LogDomain]] = []
        leaves = [*self._leaves(StructDomain(state), ())]
        self.leaves = tuple(
            Leaf(path_name(path), path, domain, domain.cardinality(self.constants), 0, 0, 0) for path, domain in leaves
        )
        self.by_path = {leaf.path: number for number, leaf in enumerate(self.leaves)}
        self.counts = counts_of(self.leaves)
        self.log_places = tuple(self._place(path, domain) for path, domain in self._logs)
        """All logs, in the order in which a state has their runs."""
        self.logs = frozenset(place.path for place in self.log_places)

    def log_number(self, path: SymbolicPath) -> int | None:
        """The number of the log that a path leads into, if it does."""
        return next((at for at, place in enumerate(self.log_places) if path[: len(place.path)] == place.path), None)

    def _leaves(self, domain: Domain, path: Path) -> Iterator[tuple[Path, LeafDomain]]:
        if isinstance(domain, LeafDomain):
            yield path, self._domain(path, domain)
        elif isinstance(domain, StructDomain):
            for name, inner in domain.struct.domains().items():
                yield from self._leaves(inner, (*path, name))
        elif isinstance(domain, ArrayDomain):
            for k in range(domain.index.cardinality(self.constants)):
                yield from self._leaves(domain.element, (*path, k))
        else:
            assert isinstance(domain, LogDomain)
            if domain.view is not None:
                raise ModelError(f"{path_name(path)} is a queue, and only logs can be of any size")
            if not is_absent(domain, self.constants):
                self._logs.append((path, domain))
            yield (*path, LogDomain.END), domain.end

    def _domain(self, path: Path, domain: LeafDomain) -> LeafDomain:
        names = [part for part in path if isinstance(part, str)]
        hidden = any(".".join(names[:count]) in self._unseen for count in range(1, len(names) + 1))
        return PresentDomain(domain, 0) if hidden else domain

    def _place(self, path: Path, domain: LogDomain) -> LogPlace:
        fields = [(field, self._domain((*path, LogDomain.RECORDS, *field), leaf)) for field, leaf in domain.record_leaves()]
        present = [(field, leaf) for field, leaf in fields if not is_absent(leaf, self.constants)]
        kept = [(field, leaf.cardinality(self.constants) - 1) for field, leaf in present]
        return LogPlace(path, self.by_path[*path, LogDomain.END], tuple(kept))


# -- what was done to a log ---------------------------------------------------------------------------------------------


@frozen(eq=False)
class Before:
    """A log as it was before the step."""

    log: int


@frozen(eq=False)
class Appended:
    """A log with a record, or several that are the same, at its end."""

    log: Version
    end: Expr
    record: tuple[Expr, ...]


@frozen(eq=False)
class Cut:
    """A log without what it had from an offset on."""

    log: Version
    to: Expr


@frozen(eq=False)
class Copied:
    """A log with what another one has from an offset on, up to and without a second."""

    log: Version
    other: Version
    first: Expr
    stop: Expr


Version = Before | Appended | Cut | Copied


class RunStore(Store):
    """The current expression of every leaf, and the current version of every log.

    `batch` is how many offsets an append takes: Kafka appends a batch of records in one step, and so does the reading.
    Appends of single records in a row, with nothing between them, are the same (`tests/model/concrete`).
    """

    def __init__(self, layout: Layout, codes: list[Expr], pool: Inputs, batch: Expr) -> None:
        super().__init__(layout, codes)
        self.layout = layout
        self.versions: list[Version] = [Before(number) for number in range(len(layout.log_places))]
        self._pool, self._batch = pool, batch
        self._history: list[list[Version]] = []
        self._appending: tuple[int, dict[Path, Expr]] | None = None

    def begin(self, writer: object, replaces: bool, place: SymbolicPath | None = None) -> None:
        """What is written from now on is one change; `place` is a record's where it is appended."""
        super().begin(writer, replaces, place)
        self._history.append(list(self.versions))
        number = None if place is None else self._record_log(place)
        self._appending = None if number is None else (number, {})

    def read(self, path: SymbolicPath, moment: int | None = None) -> Expr:
        number = self._record_log(path)
        if number is None:
            return super().read(path, moment)
        versions = self.versions if moment is None or moment >= len(self._history) else self._history[moment]
        place = self.layout.log_places[number]
        offset, field = path[len(place.path) + 1], path[len(place.path) + 2 :]
        where = literal(offset) if isinstance(offset, int) else offset
        at = next((at for at, (kept, _) in enumerate(place.fields) if kept == field), None)
        return literal(0) if at is None else self._look(versions[number], at, where)

    def is_changed(self, path: SymbolicPath, number: int) -> bool:
        if self._record_log(path) is None:
            return super().is_changed(path, number)
        return self.read(path, number) is not self.read(path, number + 1)

    def write(self, path: SymbolicPath, code: Expr, when: Expr | None = None) -> None:
        """Replaces the code at a path; of a record only where it is appended."""
        number = self._record_log(path)
        if number is None:
            place = None if self._appending is None else self.layout.log_places[self._appending[0]]
            if place is not None and path == (*place.path, LogDomain.END):
                self._append(code)
                code = self._pool.add(code, self._pool.add(self._batch, self._pool.int(-1)))
            super().write(path, code, when)
            return
        if self._appending is None or self._appending[0] != number:
            raise ModelError("a record that is in a log is changed there, for which there is no concrete reading")
        self._appending[1][path[len(self.layout.log_places[number].path) + 2 :]] = code

    def blank_from(self, slots: SymbolicPath, log: LogDomain, cut: Expr) -> None:
        """The log is cut."""
        number = self._the_log(slots)
        self.versions[number] = Cut(self.versions[number], cut)

    def copy(self, slots: SymbolicPath, source: SymbolicPath, log: LogDomain, between: tuple[Expr, Expr]) -> None:
        """The log gets what another one has."""
        number, other = self._the_log(slots), self._the_log(source)
        self.versions[number] = Copied(self.versions[number], self.versions[other], *between)

    def slot(self, offset: int | Expr, log: LogDomain) -> int | Expr | None:
        """The offset itself."""
        return offset

    def leaves(self) -> NoReturn:
        """There are none for records."""
        raise ModelError("a predicate written in a spec is about states of bounded size, and not about a run")

    def _append(self, new_end: Expr) -> None:
        assert self._appending is not None
        number, codes = self._appending
        self._appending = None
        end = self._pool.add(new_end, self._pool.int(-1))
        record = tuple(codes[field] for field, _ in self.layout.log_places[number].fields)
        self.versions[number] = Appended(self.versions[number], end, record)

    def _look(self, version: Version, field: int, offset: Expr) -> Expr:
        pool = self._pool
        match version:
            case Before(log):
                return pool.lookup(log, field, offset, self.layout.log_places[log].fields[field][1])
            case Appended(log, end, record):
                return pool.ite(pool.le(end, offset), record[field], self._look(log, field, offset))
            case Cut(log):
                return self._look(log, field, offset)
            case Copied(log, other, first, stop):
                taken = pool.and_(pool.le(first, offset), pool.lt(offset, stop))
                return pool.ite(taken, self._look(other, field, offset), self._look(log, field, offset))

    def _record_log(self, path: SymbolicPath) -> int | None:
        number = self.layout.log_number(path)
        if number is None:
            return None
        rest = path[len(self.layout.log_places[number].path) :]
        return number if rest and rest[0] == LogDomain.RECORDS else None

    def _the_log(self, slots: SymbolicPath) -> int:
        number = self.layout.log_number(slots)
        if number is None:
            raise ModelError("which log is changed depends on the state, for which there is no concrete reading")
        return number
