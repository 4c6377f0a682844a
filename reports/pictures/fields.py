"""The picture of any state, for protocols that have none of their own: what its fields say, and of whom.

A card for each id, with what arrays hold of it; where that is a log or a queue, its records are cells. Then a card for each
other field. What is drawn is found out once, as plain data, so that pages draw it by the same functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, TypeGuard

from acked.base.frozen import frozen
from acked.model.language.context import resolve
from acked.model.language.domain import BoolDomain, Domain, IdDomain, LeafDomain, Range, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.telling import sort_of
from acked.model.language.values import Id, Int
from acked.reports.pictures.picture import (
    Badge,
    Box,
    Cell,
    Fact,
    Look,
    Marker,
    MarkerKind,
    Moment,
    Picture,
    Pictures,
    Row,
    State,
    Tone,
)

FLAG, VALUE, SET, STRUCT, LOG, MESSAGES = "flag", "value", "set", "struct", "log", "messages"
FLAGS = "flags"
"""An array of truth values: those of which it is so are named, as the members of a set are."""
NOTHING = (FLAG, SET, MESSAGES)
"""Of these kinds there is a value that says that nothing is there."""

Place = tuple[str | int, ...]


@frozen
class Shape:
    """How a value is written: its kind, what one of its sort is called (empty of plain numbers and names), and its parts.

    Parts are the fields of a struct, the elements of an array, or what a record of a log or a member of a set is. `room` is
    how many records a log has room for.
    """

    kind: str
    sort: str = ""
    parts: tuple[Part, ...] = ()
    room: int = 0


@frozen
class Part:
    """Something that is written beside its name: where it is in the state, or in what it is a part of, and its shape."""

    name: str
    place: Place
    shape: Shape


@frozen
class Card:
    """What is shown of one id, or of a field that is nobody's: its log, if it has one, and its parts."""

    name: str
    parts: tuple[Part, ...]
    log: Part | None


# -- what there is to draw: from the declarations of a state ---------------------------------------------------------


def held_sorts(instance: Instance) -> frozenset[type[Id]]:
    """Ids that fields hold and that no array of the state is indexed by: values, which take no steps."""
    acting = {sort_of(array.index) for array in _arrays(instance).values()}
    held = {sort for leaf in instance.schema.leaves if (sort := sort_of(leaf.domain)) is not None}
    return frozenset(held - acting) if any(acting) else frozenset()


def ordered_sorts(instance: Instance) -> frozenset[type[Int]]:
    """Numbers that arrays of the state are indexed by and that actions are given: processes that have an order."""
    indices = [array.index for array in _arrays(instance).values()]
    given = [domain for action in instance.action_rules for domain in action.parameters().values()]
    of_both = {domain.item for domain in indices if type(domain) is Range}
    return frozenset(of_both.intersection(domain.item for domain in given if type(domain) is Range))


def _arrays(instance: Instance) -> dict[str, ArrayDomain]:
    """The arrays of the state, by the names of their fields."""
    return {name: domain for name, domain in instance.protocol.state.domains().items() if _is_array(domain)}


def _inner(array: ArrayDomain) -> list[str]:
    """The names of the fields of an array's structs; none of other elements."""
    return [*array.element.struct.domains()] if isinstance(array.element, StructDomain) else []


def _counted(instance: Instance) -> Counter[tuple[object, str]]:
    """How often something of an id has a name, its own or that of a field of its structs."""
    arrays = _arrays(instance).items()
    return Counter((getattr(array.index, "item", None), part) for name, array in arrays for part in _inner(array) or [name])


class _Reading:
    """The cards of an instance, those of ids first; without those of fields that are left out."""

    def __init__(self, instance: Instance, without: Collection[str]) -> None:
        self._constants, self.ordered = instance.constants, ordered_sorts(instance)
        of_ids: dict[object, dict[str, list[Part]]] = {}
        names = _counted(instance)
        alone: list[Card] = []
        for name, domain in StructDomain(instance.protocol.state).fields_shown(self._constants):
            if name in without:
                continue
            owner = getattr(domain.index, "item", None) if _is_array(domain) else None
            if owner is None or not (issubclass(owner, Id) or owner in self.ordered):
                alone.append(_card(name, self._whole(name, domain)))
                continue
            assert isinstance(domain, ArrayDomain)
            inner = _inner(domain)
            is_clear = inner and all(names[owner, key] == 1 for key in inner)
            for at, element in enumerate(self._names(domain.index)):
                parts = self._flat("" if is_clear else name, (name, at), domain.element)
                of_ids.setdefault(owner, {}).setdefault(element, []).extend(parts)
        self.cards = (*(_card(name, parts) for mine in of_ids.values() for name, parts in mine.items()), *alone)

    def _names(self, index: LeafDomain) -> list[str]:
        """What the elements of an array are called."""
        values = [index.to_plain(code, self._constants) for code in range(index.cardinality(self._constants))]
        sort = f"{index.bare.item.type_name} " if isinstance(index.bare, _COUNTED) else ""
        return [f"{sort}{value}" for value in values]

    def _whole(self, name: str, domain: Domain) -> list[Part]:
        """What there is of a field that is nobody's: the elements of an array, or the fields of a struct."""
        if not _is_array(domain):
            return self._flat("", (name,), domain)
        names = enumerate(self._names(domain.index))
        return [part for at, element in names for part in self._flat(element, (name, at), domain.element)]

    def _flat(self, name: str, place: Place, domain: Domain) -> list[Part]:
        """A part for each field of a struct, and of those in it; of anything else one."""
        if not isinstance(domain, StructDomain):
            return [Part(name, place, self._shape(domain))]
        inner = domain.fields_shown(self._constants)
        prefix = f"{name}." if name else ""
        return [part for key, one in inner for part in self._flat(f"{prefix}{key}", (*place, key), one)]

    def _shape(self, domain: Domain) -> Shape:
        if isinstance(domain, MessagesDomain):
            return Shape(MESSAGES, parts=(Part("", (), self._shape(StructDomain(domain.struct))),))
        if isinstance(domain, LogDomain):
            return Shape(LOG, parts=(self._record(domain),), room=resolve(domain.size, self._constants))
        if isinstance(domain, StructDomain):
            inner = domain.fields_shown(self._constants)
            return Shape(STRUCT, parts=tuple(Part(name, (name,), self._shape(one)) for name, one in inner))
        if isinstance(domain, ArrayDomain):
            element, names = self._shape(domain.element), enumerate(self._names(domain.index))
            if element.kind == FLAG:
                return Shape(FLAGS, parts=tuple(Part(name, (at,), element) for at, name in names))
            return Shape(STRUCT, parts=tuple(Part(f"{name}:", (at,), element) for at, name in names))
        assert isinstance(domain, LeafDomain)
        return self._leaf(domain.bare)

    def _record(self, domain: LogDomain) -> Part:
        """A record of a log."""
        return Part("", (), self._shape(domain.content))

    def _leaf(self, domain: LeafDomain) -> Shape:
        if isinstance(domain, BoolDomain):
            return Shape(FLAG)
        item: Any = getattr(domain, "item", None)
        is_named = issubclass(item, Id) or item in self.ordered
        return Shape(SET if isinstance(domain, SetDomain) else VALUE, item.type_name if is_named else "")


_COUNTED = (IdDomain, Range)


def _is_array(domain: Domain) -> TypeGuard[ArrayDomain]:
    return isinstance(domain, ArrayDomain) and not isinstance(domain, MessagesDomain)


def _card(name: str, parts: list[Part]) -> Card:
    """The card of these parts; the first log among them has cells."""
    log = next((part for part in parts if part.shape.kind == LOG), None)
    return Card(name, tuple(part for part in parts if part is not log), log)


# -- what is drawn: from a state; pages have these functions, too ----------------------------------------------------


def _at(state: Any, place: Place) -> Any:
    for key in place:
        state = state[key]
    return state


def _text(shape: Shape, value: Any) -> str:
    """A value in words."""
    if value is None:
        return "none"
    if shape.kind == FLAG:
        return "yes" if value else "no"
    if shape.kind == STRUCT:
        return ", ".join([_named(part.name, part.shape, _at(value, part.place)) for part in shape.parts])
    if shape.kind == SET:
        return f"{{{', '.join([f'{shape.sort} {member}' for member in value])}}}"
    if shape.kind == FLAGS:
        return f"{{{', '.join(_flagged(shape, value))}}}"
    if shape.kind == LOG:
        return f"[{'; '.join(_records(shape, value))}]"
    if shape.kind == MESSAGES:
        return f"{{{'; '.join(_members(shape, value))}}}"
    return f"{shape.sort} {value}" if shape.sort else str(value)


def _flagged(shape: Shape, value: Any) -> list[str]:
    return [part.name for part in shape.parts if _at(value, part.place)]


def _named(name: str, shape: Shape, value: Any) -> str:
    """A value beside its name: `held 2`; of a truth value the name alone, or that it is not so."""
    if not name or (value is not None and shape.kind == VALUE and shape.sort == name):
        return _text(shape, value)
    if shape.kind == FLAG:
        return name if value else f"not {name}"
    return f"{name} {_text(shape, value)}"


def _there(shape: Shape, value: Any) -> str:
    """A record or a message in words, without the fields that it has not."""
    if value is None or shape.kind != STRUCT:
        return _text(shape, value)
    parts = [part for part in shape.parts if _at(value, part.place) is not None]
    return ", ".join([_named(part.name, part.shape, _at(value, part.place)) for part in parts]) if parts else "none"


def _records(shape: Shape, log: Any) -> list[str]:
    return [_there(shape.parts[0].shape, _at(record, shape.parts[0].place)) for record in log["records"]]


def _members(shape: Shape, messages: Any) -> list[str]:
    """Every message once; of a bag with how often it is there."""
    found: list[str] = []
    for message in messages:
        number = messages.count(message)
        text = _there(shape.parts[0].shape, message)
        told = f"{text} ×{number}" if number > 1 else text
        if told not in found:
            found.append(told)
    return found


def _facts(card: Card, state: State) -> list[Fact]:
    found: list[Fact] = []
    for part in card.parts:
        value = _at(state, part.place)
        members = _members(part.shape, value) if part.shape.kind == MESSAGES else []
        if members:
            names = [f"{part.name} {text}" if part.name else text for text in members]
            found += [Fact(name, name, Tone.PENDING) for name in names]
        else:
            is_empty = part.shape.kind == FLAGS and not _flagged(part.shape, value)
            is_nothing = value is None or is_empty or (part.shape.kind in NOTHING and not value)
            found.append(Fact(part.name, _named(part.name, part.shape, value), Tone.ABSENT if is_nothing else Tone.PLAIN))
    return found


def _row(card: Card, state: State) -> Row:
    assert card.log is not None
    log, shape = _at(state, card.log.place), card.log.shape
    texts = _records(shape, log)
    cells = [Cell(at, texts[at] if at < len(texts) else None, None) for at in range(shape.room)]
    badges = [Badge(fact.key, fact.text, fact.tone) for fact in _facts(card, state)]
    return Row(card.name, card.name, None, tuple(cells), (Marker(MarkerKind.LOG_END, "end", log["end"]),), tuple(badges))


class FieldPictures(Pictures):
    """The provider of an instance whose protocol has no other: it shows every field, and tells nothing of its own.

    Beside another provider it shows the fields that this one does not know, `without` the others.
    """

    def __init__(self, instance: Instance, without: Collection[str] = ()) -> None:
        reading = _Reading(instance, without)
        self.ordered, self.held = reading.ordered, held_sorts(instance)
        self._rows = [card for card in reading.cards if card.log is not None]
        self._boxes = [card for card in reading.cards if card.log is None]
        sorts = {card.name.rpartition(" ")[0] for card in self._rows}
        self.look = Look(sorts.pop() if len(sorts) == 1 else "")

    def tells(self, field: str) -> bool:
        """The picture shows every field."""
        return True

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, None]:
        """The picture of a moment; nothing has to be remembered."""
        state = moment.after
        rows = [_row(card, state) for card in self._rows]
        boxes = [Box(card.name, card.name, None, tuple(_facts(card, state))) for card in self._boxes]
        return Picture(tuple(rows), tuple(boxes), ()), None
