"""Results and consoles that the tests of the reports share."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.checker.search.local import Bounds, search
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.reports.console import open_console

NAMES = ("replicas", "log_size", "max_records", "max_leader_epoch")

Search = Callable[..., Result]


class Screen(io.TextIOWrapper):
    """A stream in memory with an encoding of its own, that may claim to be a terminal."""

    def __init__(self, encoding: str = "utf-8", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined]

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text)


@pytest.fixture
def screen() -> type[Screen]:
    return Screen


@pytest.fixture
def drawn() -> Callable[..., Screen]:
    """Calls a printing function with a console on a fresh screen."""

    def draw(print_it: Callable[..., None], *args: object, width: int = 100, **how: object) -> Screen:
        target = Screen(**how)  # type: ignore[arg-type]
        print_it(open_console(target, width), *args)
        return target

    return draw


@pytest.fixture(scope="session")
def searched() -> Search:
    """Searches a shipped protocol once per session for every question asked of it."""
    known: dict[object, Result] = {}

    def run(protocol: str, constants: tuple[int, ...], *properties: str, max_depth: int | None = None) -> Result:
        key = (protocol, constants, properties, max_depth)
        if key not in known:
            chosen = PROTOCOLS[protocol]
            instance = chosen.instantiate(dict(zip(NAMES, constants, strict=True)))
            question = Question(instance, tuple(properties_of(chosen)[name] for name in properties))
            known[key] = search(question, Bounds(workers=1, max_depth=max_depth))
        return known[key]

    return run


@pytest.fixture(scope="session")
def violated(searched: Search) -> Result:
    """truncate-to-hw breaks WeakIsr in a run of nine states; CommittedRecordsStay is asked, too."""
    return searched("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", "CommittedRecordsStay")
