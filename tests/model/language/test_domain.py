"""Layout and encoding: every state fits its words, and every encoding can be read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acked.model.catalogue import FAMILY as PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.state import Array, Between, Log, Optional, SetOf, Struct, field
from acked.model.language.storage.layout import MAX_WORDS, WORD_BITS, Schema
from acked.model.language.values import Bool, Id, Int

size = Constant("size", 1, 70, "how many ids there are")


class Node(Id, size=size):
    """A sort of ids whose number a constant gives."""


class Number(Int, lo=2, hi=size + 3):
    """A unit that does not begin at 0."""


class Pair(Struct):
    """A composite inside a composite."""

    left = field(Number)
    right = field(Optional(Number))


# -- random layouts ------------------------------------------------------------------------------------------------------

_RANGES = st.tuples(st.integers(-(2**40), 2**40), st.sampled_from([1, 2, 3, 200, 2**20, 2**33 + 1, 2**61]))
_LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([Bool, Node, Number, Optional(Node), Optional(Number), SetOf(Node), Pair]),
    _RANGES.map(lambda drawn: Between(Number, drawn[0], drawn[0] + drawn[1] - 1)),
)
_FIELDS = st.one_of(
    _LEAVES,
    _LEAVES.map(lambda element: Array(Node, element)),
    st.integers(1, 3).map(lambda slots: Log(Pair, Number, slots)),
)


def made(fields: list[Any]) -> type[Struct]:
    """A state with these fields."""
    return type("State", (Struct,), {f"f{i}": field(item) for i, item in enumerate(fields)})


def fits(layout: tuple[type[Struct], int]) -> bool:
    """Whether a state has no more words than are supported, which six fields of large numbers may exceed."""
    try:
        Schema(layout[0], {"size": layout[1]})
    except ModelError as error:
        if "words of 64 bits" in str(error):
            return False
        raise
    return True


LAYOUTS = st.tuples(st.lists(_FIELDS, min_size=1, max_size=6).map(made), st.integers(1, 4)).filter(fits)


def random_codes(data: st.DataObject, schema: Schema) -> list[int]:
    """Codes of a state that has a plain value: slots past the end of a log hold 0."""
    codes = [data.draw(st.integers(0, leaf.cardinality - 1)) for leaf in schema.leaves]
    end = {leaf.path[:-1]: code for leaf, code in zip(schema.leaves, codes, strict=True) if leaf.path[-1] == "end"}
    for index, leaf in enumerate(schema.leaves):
        for at, part in enumerate(leaf.path):
            if part == "records" and int(leaf.path[at + 1]) >= end[leaf.path[:at]]:
                codes[index] = 0
    return codes


@pytest.mark.slow
@settings(max_examples=150)
@given(LAYOUTS, st.data())
def test_random_states_survive_packing_and_decoding(layout: tuple[type[Struct], int], data: st.DataObject) -> None:
    schema = Schema(layout[0], {"size": layout[1]})
    codes = random_codes(data, schema)
    words = schema.pack(codes)
    assert schema.unpack(words) == codes
    plain = json.loads(json.dumps(schema.decode(codes)))
    assert schema.encode(plain) == codes


@pytest.mark.slow
@settings(max_examples=150)
@given(LAYOUTS)
def test_leaves_neither_overlap_nor_straddle_a_word(layout: tuple[type[Struct], int]) -> None:
    schema = Schema(layout[0], {"size": layout[1]})
    taken = [0] * schema.words
    for leaf in schema.leaves:
        assert (1 << leaf.bits) >= leaf.cardinality > (1 << leaf.bits) // 2
        assert leaf.shift + leaf.bits <= WORD_BITS
        mask = ((1 << leaf.bits) - 1) << leaf.shift
        assert taken[leaf.word] & mask == 0
        taken[leaf.word] |= mask
    assert all(0 <= word < 1 << WORD_BITS for word in schema.pack([leaf.cardinality - 1 for leaf in schema.leaves]))


@pytest.mark.sampled(5)
@pytest.mark.slow
@pytest.mark.parametrize("numbers", [(2, 2, 2, 1), (3, 2, 2, 2), (5, 4, 4, 4)], ids=str)
@pytest.mark.parametrize("name", PROTOCOLS)
@settings(max_examples=20)
@given(data=st.data())
def test_random_states_of_every_protocol_survive(name: str, numbers: tuple[int, ...], data: st.DataObject) -> None:
    protocol = PROTOCOLS[name]
    constants = dict(zip((item.name for item in protocol.constants), numbers, strict=True))
    schema = Schema(protocol.state, protocol.bind(constants))
    codes = random_codes(data, schema)
    assert schema.unpack(schema.pack(codes)) == codes
    assert schema.encode(json.loads(json.dumps(schema.decode(codes)))) == codes


# -- what is refused -----------------------------------------------------------------------------------------------------


class Whole(Struct):
    """A state with a field of every kind."""

    number = field(Number)
    node = field(Node)
    leader = field(Optional(Node))
    members = field(SetOf(Node))
    flag = field(Bool)
    pairs = field(Array(Node, Pair))
    log = field(Log(Pair, Number, 2))


GOOD: dict[str, Any] = {
    "number": 2,
    "node": 1,
    "leader": None,
    "members": [0, 1],
    "flag": True,
    "pairs": [{"left": 2, "right": None}, {"left": 5, "right": 3}],
    "log": {"end": 1, "records": [{"left": 4, "right": None}]},
}


def test_a_plain_state_is_encoded_field_by_field() -> None:
    schema = Schema(Whole, {"size": 2})
    assert schema.decode(schema.encode(GOOD)) == GOOD


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("number", 1, "number"),
        ("number", 6, "number"),
        ("number", True, "number"),
        ("number", "2", "number"),
        ("node", 2, "node"),
        ("node", None, "node"),
        ("leader", -1, "leader"),
        ("members", [1, 0], "members"),
        ("members", [0, 0], "members"),
        ("members", [2], "members"),
        ("members", 3, "members"),
        ("flag", 1, "flag"),
        ("pairs", [], "pairs"),
        ("pairs", [{"left": 2, "right": None}, {"left": 2, "right": 9}], "pairs[1].right"),
        ("pairs", [{"left": 2, "right": None}, {"left": 2}], "pairs[1]"),
        ("log", {"end": 3, "records": []}, "log.end"),
        ("log", {"end": 2, "records": [{"left": 4, "right": None}]}, "log"),
        ("log", {"end": 1, "records": [{"left": 1, "right": None}]}, "log.records[0].left"),
        ("log", [], "log"),
    ],
)
def test_a_value_outside_the_domain_is_refused_by_the_fields_name(key: str, value: object, named: str) -> None:
    with pytest.raises(ModelError) as caught:
        Schema(Whole, {"size": 2}).encode(GOOD | {key: value})
    assert str(caught.value).startswith(named)


@pytest.mark.parametrize("state", [{}, GOOD | {"more": 1}, {k: v for k, v in GOOD.items() if k != "log"}, None])
def test_a_state_with_other_fields_is_refused(state: object) -> None:
    with pytest.raises(ModelError, match="must have exactly the fields number, node"):
        Schema(Whole, {"size": 2}).encode(state)


def test_a_field_of_one_value_takes_no_bits() -> None:
    schema = Schema(made([Between(Number, 7, 7), Bool]), {})
    assert [leaf.bits for leaf in schema.leaves] == [0, 1]
    assert schema.decode([0, 1]) == {"f0": 7, "f1": True}


def test_a_field_that_does_not_fit_one_word_is_refused_by_name() -> None:
    with pytest.raises(ModelError, match=r"field f0 needs 70 bits and a field has at most 62; choose smaller constants"):
        Schema(made([SetOf(Node)]), {"size": 70})


def test_too_many_words_are_refused() -> None:
    with pytest.raises(ModelError, match=f"{MAX_WORDS + 1} words of 64 bits and {MAX_WORDS} are supported; choose smaller"):
        Schema(made([Between(Number, 0, 2**61)] * (MAX_WORDS + 1)), {})


def test_a_state_without_fields_is_refused() -> None:
    with pytest.raises(ModelError, match="has no fields"):
        Schema(made([]), {})


def test_small_leaves_fill_holes_that_wide_ones_leave() -> None:
    wide = Between(Number, 0, 2**39)
    schema = Schema(made([wide, wide, Bool, Number]), {"size": 2})
    assert [leaf.word for leaf in schema.leaves] == [0, 1, 0, 0]


def test_unused_constants_of_a_protocol_do_not_reach_the_layout() -> None:
    protocol = Protocol("p", Whole, title="", source="", constants=(size,), initial=lambda s: None)
    assert protocol.instantiate({"size": 2}).schema.words == 1
