"""Dataclasses as plain data, and what is refused on the way back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from acked.base.plain import from_plain, to_plain


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    name: str
    pair: tuple[int, bool]


@dataclass(frozen=True)
class Outer:
    colour: Colour
    ratio: float
    inner: tuple[Inner, ...]
    by_name: Mapping[str, int | None]
    at: int | None = None
    free: Mapping[str, int | bool | list[int] | None] = field(default_factory=dict)


OUTER = Outer(Colour.BLUE, 2.0, (Inner("a", (1, True)), Inner("b", (0, False))), {"x": 1, "y": None}, 3, {"z": [1, 2]})


def test_what_was_made_plain_comes_back_whole_through_json() -> None:
    assert from_plain(Outer, json.loads(json.dumps(to_plain(OUTER)))) == OUTER
    assert to_plain(OUTER)["inner"][1] == {"name": "b", "pair": [0, False]}


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "green"}, {"colour": None}, {"ratio": "2"}, {"ratio": True}, {"inner": None}, {"inner": {}},
        {"ratio": 10**400},
        {"inner": [{"name": "a"}]}, {"inner": [{"name": 1, "pair": [1, True]}]}, {"inner": [{"name": "a", "pair": [1]}]},
        {"inner": [{"name": "a", "pair": [1, 1]}]}, {"by_name": [1]}, {"by_name": {"x": "1"}}, {"at": 1.5}, {"at": True},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_of_another_type_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        from_plain(Outer, {**to_plain(OUTER), **change})


@pytest.mark.parametrize("missing", ["colour", "ratio", "inner", "by_name", "at", "free"])
def test_a_field_that_is_missing_is_refused(missing: str) -> None:
    plain = to_plain(OUTER)
    del plain[missing]
    with pytest.raises(KeyError, match=missing):
        from_plain(Outer, plain)
