"""What a protocol's twin in plain Python is asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from acked.model.language.context import Constant


def assert_is_asked(
    constants: Iterable[Constant], cases: Iterable[Mapping[str, object]], alike: Set[str] = frozenset()
) -> None:
    """Some case has another value of each constant than the others, except for those that are `alike` in all."""
    asked = list(cases)
    never_other = {item.name for item in constants if len({has.get(item.name) for has in asked}) == 1}
    assert never_other == alike, "the twin's Rules need each of these, and one of its cases another value of it"
