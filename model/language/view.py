"""What the views of arrays and logs have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, NoReturn, TypeVar

from acked.model.formulas.errors import ModelError, UnknownName
from acked.model.language.domain import Domain
from acked.model.language.store import StateStore, SymbolicPath

D = TypeVar("D", bound=Domain)


class View(Generic[D]):
    """An array or a log, which stays in its store, and refuses what Python does with a list."""

    __slots__ = ("_domain", "_path", "_store")
    no_loop: ClassVar[str]
    no_length: ClassVar[str]
    no_truth: ClassVar[str]
    no_equality: ClassVar[str]
    no_other: ClassVar[str]
    no_index: ClassVar[str]
    _store: StateStore
    _path: SymbolicPath
    _domain: D

    def __init__(self, store: StateStore, path: SymbolicPath, domain: D) -> None:
        self._store, self._path, self._domain = store, path, domain

    def __iter__(self) -> NoReturn:
        raise ModelError(self.no_loop)

    def __len__(self) -> NoReturn:
        raise ModelError(self.no_length)

    def __bool__(self) -> NoReturn:
        raise ModelError(self.no_truth)

    def __eq__(self, other: object) -> NoReturn:
        raise ModelError(self.no_equality)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_"):
                raise AttributeError(name)
            has = [item for item in dir(type(self)) if not item.startswith(("_", "no_"))]
            raise UnknownName(f"{self.no_other} has no {name!r}; it has {', '.join(has) or 'its elements alone'}")

        def __getitem__(self, index: object) -> NoReturn:
            raise ModelError(self.no_index)

        def __delitem__(self, index: object) -> NoReturn:
            raise ModelError(f"nothing can be deleted from {self.no_other}; assign what it is to hold")

    __hash__ = None  # type: ignore[assignment]
