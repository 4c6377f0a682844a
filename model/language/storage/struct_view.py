"""What a struct in a variable means once the state has changed.

Arrays and logs stay where they are: one in a variable shows what it is now. A struct in a variable is what it was when it was
taken, and what was assigned through that variable. If something else has taken its place since (it was assigned whole, or its
record was truncated) it keeps what it held; if a field of it was assigned through another variable, what is meant is not
clear, and using that field is an error (`StructView._read`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Self

from acked.base.names import near
from acked.model.formulas.errors import StepError
from acked.model.formulas.expr import Expr
from acked.model.language.domain import LeafDomain
from acked.model.language.storage.composites import ArrayDomain, Declaration, LogDomain, StructDomain
from acked.model.language.storage.store import StateStore, SymbolicPath, Write, path_text
from acked.model.language.values import Bool


class StructView(Declaration):
    """A struct of a store, and since when it has been held."""

    _store: StateStore
    _path: SymbolicPath
    _holder: StructView | None
    """The struct that this one was taken out of, if it was one."""
    _since: int
    """How many changes the store had seen when this was taken."""
    _within: Callable[[], Bool] | None
    """Of what a log holds: whether the log has that record now."""

    @classmethod
    def at(
        cls, store: StateStore, path: SymbolicPath, holder: StructView | None = None, within: Callable[[], Bool] | None = None
    ) -> Self:
        """Access to the struct at `path` of a store, taken out of another one if `holder` is given."""
        view = cls.__new__(cls)
        # Past `__setattr__`, which assigns fields.
        view.__dict__.update(_store=store, _path=path, _holder=holder, _since=len(store.changes), _within=within)
        return view

    @classmethod
    def _not_made(cls, is_unnamed: bool, missing: Sequence[str], strange: Sequence[str]) -> str:
        """What is wrong where one is made in place without its fields, each by its name."""
        name, domains = cls.type_name, cls.domains()
        given = [part for part, domain in domains.items() if not isinstance(domain, (ArrayDomain, LogDomain))]
        if is_unnamed:
            return f"{name} takes its fields by name: {name}({', '.join(f'{part}=…' for part in given)})"
        what = [f"{one!r} is none of them{near(one, given)}" for one in strange]
        what += [f"{one} is missing, and has no default: field(…, default=…)" for one in missing if not strange]
        return f"{name} needs exactly the fields {', '.join(given)}: {', '.join(what)}"

    def _read(self, field: SymbolicPath) -> Expr:
        """The code of a field of it, or of a struct in it."""
        return self._read_at((*self._path, *field))

    def _read_at(self, path: SymbolicPath) -> Expr:
        """The code at a field's path: as it is now or, if something else has taken this struct's place, as it was before.

        `StepError` if the field was assigned through another variable since this struct was taken.
        """
        if not self._may_be_stale():
            return self._store.read(path)
        changes = self._foreign_changes(path)
        first = next(changes, None)
        if first is None:
            return self._store.read(path)
        number, change = first
        is_gone = change.replaces and change.place is not None and self._path[: len(change.place)] == change.place
        if is_gone or (change.replaces and all(later.replaces for _, later in changes)):
            return self._store.read(path, number)
        raise StepError(
            f"{path_text(path)} was assigned through another variable after this {self.type_name} was taken, so it is not "
            "clear which value is meant; take the field before that for the old one, or the "
            f"{self.type_name} again for the new one"
        )

    def _refuse_if_replaced(self) -> None:
        """`StepError` if something else has taken this struct's place: an assignment would go to that."""
        if not self._may_be_stale() or not any(change.replaces for change in self._store.changes[self._since :]):
            return
        for part, domain in StructDomain(type(self)).parts():
            path = (*self._path, *part)
            if isinstance(domain, LeafDomain) and any(change.replaces for _, change in self._foreign_changes(path)):
                raise StepError(
                    f"{path_text(self._path)} was replaced, or its log changed, after this {self.type_name} was taken, and "
                    f"an assignment through it would go to what is there now; take the {self.type_name} again"
                )

    def _may_be_stale(self) -> bool:
        """Whether anything has changed since this was taken; the state itself is always read as it is."""
        first: StructView = self
        while first._holder is not None:
            first = first._holder
        return bool(self._path) and first._since < len(self._store.changes)

    def _foreign_changes(self, path: SymbolicPath) -> Iterator[tuple[int, Write]]:
        """What has changed the code at a path since this struct was taken, other than through itself; by number."""
        store = self._store
        holders: list[StructView] = [self]
        while (outer := holders[-1]._holder) is not None:
            holders.append(outer)
        since = holders[-1]._since
        for number, change in enumerate(store.changes[since:], since):
            mine = next(holder for holder in holders if holder._since <= number)
            if not _is_through(change.writer, mine) and store.is_changed(path, number):
                yield number, change


def _is_through(writer: object, view: StructView) -> bool:
    """Whether an assignment went through a struct, or through one that was taken out of it."""
    while isinstance(writer, StructView) and writer is not view:
        writer = writer._holder
    return writer is view
