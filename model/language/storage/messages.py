"""Where messages are on their way: queues, and sets and bags of structs.

A queue is a log whose oldest record can be taken. A set or a bag of structs is an array by each of the struct's fields in
turn that says how often there is such a struct: equal contents are one state, in whatever order they came to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError
from acked.model.formulas.expr import Expr
from acked.model.language.context import current, literal
from acked.model.language.domain import BoolDomain, Constants, Domain, IdDomain, LeafDomain, Path, Range, Reader, path_name
from acked.model.language.storage.composites import ArrayDomain, Declaration, LogDomain, StructDomain
from acked.model.language.storage.store import LiteralStore, SymbolicPath
from acked.model.language.storage.struct_view import StructView
from acked.model.language.storage.views import LogView, View, codes_of, view_of
from acked.model.language.values import Bool, Count, Int, IntLike, Value, mismatch

S = TypeVar("S", bound=StructView)

_PLACE = "a set of structs: it"


class Place(Int, hi=64, name="place"):
    """A place in a queue, from its head on."""


class QueueView(LogView[S, Place]):
    """A queue: what was sent first is received first. It is a log, too: `at(0)` is its head, `end` its length."""

    __slots__ = ()
    no_loop = "a queue cannot be looped over; quantify over its places, or look at its first"
    no_length = "a queue has no len(…); use its `.end`"
    no_truth = "a queue has no truth value; use `.is_empty`"
    no_equality = "queues have no ==; compare their ends, and what is at(…) each place"
    no_other = "a queue"
    no_index = "a queue has no […]; write .at(place) or .first, and .has(place) for whether there is one"

    @property
    def first(self) -> Any:
        """What is received next; meaningful only if the queue is not empty."""
        return self.at(Place(literal(0)))

    def send(self, item: Any) -> None:
        """Puts something at the end; a full queue makes the end leave its domain, which is an error of the protocol."""
        self.append(item)

    def receive(self) -> Any:
        """Takes the first out; of an empty queue the end leaves its domain, which is an error of the protocol."""
        pool, store, domain = current().pool, self._store, self._domain
        slots, end = (*self._path, LogDomain.RECORDS), self.end
        fields = [path for path, _ in domain.record_leaves()]
        taken = LiteralStore({path: store.read((*slots, 0, *path)) for path in fields})
        store.begin(None, True)
        # Past the end all is blank, and blank when it has moved up; but that no id is where there is none is no value.
        ids = {path for path, leaf in domain.record_leaves() if isinstance(leaf.bare, IdDomain)}
        for k in range(1, self._slots()):
            for path in fields:
                is_there = pool.lt(literal(k), end.expr) if path in ids else None
                store.write((*slots, k - 1, *path), store.read((*slots, k, *path)), is_there)
        store.blank_from(slots, domain, pool.sub(end.expr, literal(1)) if ids else literal(self._slots() - 1))
        self._set_end(end - 1)
        return view_of(domain.content, taken, ())


@frozen
class QueueDomain(LogDomain):
    """A log whose oldest record can be taken."""

    view = QueueView


class MessagesView(View["MessagesDomain"], Generic[S]):
    """A set or a bag of structs: messages on their way, whose order nobody knows."""

    __slots__ = ()
    no_loop = "a set of structs cannot be looped over; write every(s.sent, lambda m: …), some(…) or count(…)"
    no_length = "a set of structs has no len(…); use its `.size`"
    no_truth = "a set of structs has no truth value; use `.is_empty`"
    no_equality = "sets of structs have no ==; compare what they contain"
    no_other = "a set of structs"
    no_index = no_membership = "a set of structs has neither […] nor `in`; write .contains(…)"

    if not TYPE_CHECKING:

        def __or__(self, other: object) -> NoReturn:
            raise ModelError("a set of structs has no |, & or -; write s.sent.add(m) or s.sent.remove(m), a line each")

        __ror__ = __ior__ = __and__ = __rand__ = __iand__ = __sub__ = __rsub__ = __isub__ = __or__

    @property
    def item(self) -> type[S]:
        """The struct that its members are."""
        return cast(type[S], self._domain.struct)

    @property
    def is_empty(self) -> Bool:
        """Whether there is none."""
        return self.size == 0

    @property
    def size(self) -> Count:
        """How many there are."""
        pool = current().pool
        total = literal(0)
        for codes in self._domain.combinations(current().constants):
            total = pool.add(total, self._number((*self._path, *codes)))
        return Count(total)

    def contains(self, item: S) -> Bool:
        """Whether there is such a struct."""
        if isinstance(leaf := self._domain.leaf, BoolDomain):
            return cast(Bool, leaf.wrap(self._number(self._place(item))))
        return self.count(item) > 0

    def count(self, item: S) -> Count:
        """How often there is such a struct; in a set at most once."""
        return Count(self._number(self._place(item)))

    def add(self, item: S) -> None:
        """Puts one in; what a set has already changes nothing, and more than a bag holds is an error of the protocol."""
        self._change(item, 1)

    def remove(self, item: S) -> None:
        """Takes one out; what a set does not have changes nothing, and of a bag it is an error of the protocol."""
        self._change(item, -1)

    def _change(self, item: S, by: int) -> None:
        place, leaf = self._place(item), self._domain.leaf
        new: Value = Bool(current().pool.bool(by > 0))
        if not isinstance(leaf, BoolDomain):
            new = Count(self._number(place)) + by
        self._store.begin(None, True)
        # What a set cannot have is not in it, and taking it out changes nothing; else a place beyond the last is an error.
        when = self._is_value(place) if by < 0 and isinstance(leaf, BoolDomain) else None
        self._store.write(place, leaf.code_of(new), when)

    def _number(self, place: SymbolicPath) -> Expr:
        """How often, of a set 0 or 1; what is no value of the struct is in no set."""
        is_value, number = self._is_value(place), self._store.read(place)
        return number if is_value is None else current().pool.ite(is_value, number, literal(0))

    def _is_value(self, place: SymbolicPath) -> Expr | None:
        """Whether all fields are within their ranges; None if they cannot be anywhere else."""
        pool, within = current().pool, []
        for code, (_, domain) in zip(place[len(self._path) :], self._domain.fields(), strict=True):
            if isinstance(code, Expr) and self._may_be_beyond(code, domain):
                count = literal(domain.cardinality(current().constants))
                within.append(pool.and_(pool.le(literal(0), code), pool.lt(code, count)))
        return reduce(pool.and_, within) if within else None

    def _may_be_beyond(self, code: Expr, domain: LeafDomain) -> bool:
        """Whether a code may be none of its domain; where sizes are open, none is."""
        if self._store.is_of_functions:
            return False
        return code.lo < 0 or code.hi >= domain.cardinality(current().constants)

    def _place(self, item: S) -> SymbolicPath:
        if not isinstance(item, self._domain.struct):
            raise mismatch(self._domain.struct.type_name, item)
        codes = codes_of(StructDomain(self._domain.struct), item).values()
        places = [*self._path]
        for code, (_, domain) in zip(codes, self._domain.fields(), strict=True):
            is_known = code.is_const and code.value >= 0 and not self._may_be_beyond(code, domain)
            places.append(code.value if is_known else code)
        return tuple(places)


@frozen
class MessagesDomain(ArrayDomain):
    """How often there is each value of a struct: an array by its first field, of arrays by its second, and so on."""

    struct: type[Declaration]
    leaf: LeafDomain

    no_assignment = "a set of structs is changed where it is, s.sent.add(m) or s.sent.remove(m), and not assigned"
    view = MessagesView

    def fields(self) -> list[tuple[Path, LeafDomain]]:
        """The single fields of the struct, in the order of the arrays."""
        return StructDomain(self.struct).single_fields(_PLACE)

    def combinations(self, constants: Constants) -> Iterator[tuple[int, ...]]:
        """The codes of the fields, for every value of the struct."""
        return product(*(range(domain.cardinality(constants)) for _, domain in self.fields()))

    def plain(self, constants: Constants) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Every value of the struct: the codes of its fields, and what it is, ready for JSON."""
        read = StructDomain(self.struct).reader((), {path: at for at, (path, _) in enumerate(self.fields())}, constants)
        return ((codes, read(codes)) for codes in self.combinations(constants))

    def reader(self, path: Path, places: Mapping[Path, int], constants: Constants) -> Reader:
        known = [(places[(*path, *codes)], value) for codes, value in self.plain(constants)]
        return lambda codes: [value for at, value in known for _ in range(codes[at])]

    def encode(self, value: object, path: Path, constants: Constants, codes: dict[Path, int]) -> None:
        if not isinstance(value, list):
            raise ModelError(f"{path_name(path)} must be a list of {self.struct.type_name}s")
        left = [*value]
        for place, one in self.plain(constants):
            there = left.count(one)
            left = [other for other in left if other != one]
            if there >= self.leaf.cardinality(constants):
                raise ModelError(f"{path_name(path)} has {one!r} {there} times")
            codes[(*path, *place)] = there
        if left:
            raise ModelError(f"{path_name(path)} has {left[0]!r}, which is no {self.struct.type_name}")


def messages_domain(struct: type[Declaration], most: IntLike | None) -> MessagesDomain:
    """A set of structs, or a bag that holds each of them at most so often."""
    leaf = BoolDomain() if most is None else Range(Count, 0, most)
    element: Domain = leaf
    (_, index), *others = StructDomain(struct).single_fields(_PLACE)
    for _, domain in reversed(others):
        element = ArrayDomain(domain, element)
    return MessagesDomain(index, element, struct, leaf)
