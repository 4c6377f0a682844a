"""What all tests share.

Compiled kernels, answers and the cache's key go to folders of the tests, not to the user's, and kernels alone stay for later
runs of them (`kept.py`); no example of Hypothesis's is too slow, because other work may run on the machine; and at the end it
is told what random protocols met.
"""

from __future__ import annotations

import atexit
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache as once
from functools import lru_cache
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from acked.base import processes
from acked.checker.native import compile
from acked.checker.spark.session import SparkDriver
from acked.model.language.tracings import Tracings
from tests.forked import forking, forks_workers, seconds_of_forked
from tests.kept import KEYS, lend, take_back
from tests.sharing import lasting_spark, made_once, read_once, traced_once

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema reads a grammar with it for seconds when imported.

gc.set_threshold(50_000, 10, 10)  # Most of what is imported, collected and traced stays: looking through it takes long.
atexit.register(gc.disable)  # Hypothesis is called at each collection, also once Python has taken its module apart.

hypothesis.settings.register_profile("without deadlines", deadline=None)
hypothesis.settings.load_profile("without deadlines")


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of compiled kernels and answers, shared by the processes of one session."""
    place = made_once(tmp_path_factory, "cache", lend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ACKED_CACHE_DIR", str(place))
        patch.setenv("XDG_STATE_HOME", str(KEYS))
        patch.delenv("ACKED_CACHE_KEY", raising=False)
        patch.delenv("PYTEST_ADDOPTS", raising=False)  # It is for these tests, not for those that they start.
        yield place
    take_back(place)


@pytest.fixture(autouse=True, scope="session")
def compiled_once() -> Iterator[None]:
    """What all questions share is compiled for the first test of a process that has a cache of its own, and for no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compile, "_emit_loops", once(compile._emit_loops))
        patch.setattr(compile, "emit", lru_cache(64)(compile.emit))
        yield


@pytest.fixture(scope="session")
def lent_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Path]]:
    """See `commands`."""
    with ExitStack() as stack:
        yield once(lambda: stack.enter_context(forking(tmp_path_factory.mktemp("forked"))))


@pytest.fixture(scope="session")
def commands(lent_commands: Callable[[], Path]) -> Path:
    """A folder with the command `acked`, which is forked instead of started."""
    return lent_commands()


@pytest.fixture(autouse=True, scope="session")
def forked_workers(lent_commands: Callable[[], Path]) -> Iterator[None]:
    """Processes that are dealt tasks are forked, from the first on that a test asks for; see `started_workers`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "subprocess", forks_workers(lent_commands))
        yield


@pytest.fixture
def started_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are dealt tasks are started, as they are for users."""
    monkeypatch.setattr(processes, "subprocess", subprocess)


@pytest.fixture(scope="session")
def lent_driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], SparkDriver]]:
    """See `driver`."""
    with lasting_spark(tmp_path_factory.mktemp("spark") / "spark.log") as lend:
        yield lend


@pytest.fixture
def driver(lent_driver: Callable[[], SparkDriver]) -> SparkDriver:
    """Spark on two threads of this process, one for all tests that need no other."""
    return lent_driver()


def fixtures_of(item: pytest.Item) -> Sequence[str]:
    """The names of all fixtures that a test needs."""
    return getattr(item, "fixturenames", ())


MARKED = ("slow", "long", "landing", "real", "spark", "browser")
"""Marks of tests that may take longer."""

LONGEST = 1.0
"""Processor seconds that no test without such a mark may take. What takes a fifth of one is marked, but machines differ."""

TOOK_LONG = pytest.StashKey[bool]()

ALONE = pytest.StashKey[list[str]]()
"""What is left to CI and has no quicker sibling among what was collected."""

TRACED = pytest.StashKey[Tracings]()
"""What this process has traced of shipped protocols."""


def tracing(item: pytest.Item) -> AbstractContextManager[None]:
    """What a test traces others need not trace again, unless it changes something, or is about tracing."""
    if "monkeypatch" in fixtures_of(item) or "language" in item.path.parts:
        return nullcontext()
    return traced_once(item.config.stash.setdefault(TRACED, Tracings()))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is read to deal out tests is there for them."""
    with read_once():
        return (yield)


EVERY_CASE, LEFT_OUT = "--every-case", "cases left out"
NOT_DRAWN = pytest.StashKey[dict[str, int]]()
"""By test how many of its cases this run leaves out."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What asks, of slow cases that are alike, all of them."""
    parser.addoption(EVERY_CASE, action="store_true", help="ask all slow cases that are alike, not a few of them (sampled)")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """What takes minutes by itself may take half an hour where the machine is busy; anything else hangs before that.

    What asks the one Spark comes first, and so in one of the processes, which starts it alone; then whoever starts another.
    """
    left = [] if config.getoption(EVERY_CASE) else leave_some_to_others(items)
    config.stash[ALONE] = without_siblings(items)
    items.sort(key=lambda item: ("lent_driver" not in fixtures_of(item), not item.get_closest_marker("spark")))
    for item in items:
        if any(item.get_closest_marker(mark) for mark in ("long", "real")) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(1800))
    yield
    asked = {*items}  # What the marks that are asked for have left of them.
    config.stash[NOT_DRAWN] = dict(Counter(without_case(item.nodeid) for item in left if item not in asked))
    for first in items[:1]:  # One process runs it, and its report comes to the one that writes the summary.
        first.user_properties.append((LEFT_OUT, config.stash[NOT_DRAWN]))


def without_case(nodeid: str) -> str:
    """The test whose case this is."""
    return nodeid.partition("[")[0]


def leave_some_to_others(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Of slow cases that are alike `make test` asks as many as the mark `sampled` says, evenly drawn.

    The others, which are returned, are long, or have the mark that is named.
    """
    alike: dict[tuple[str, int, str], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark and item.get_closest_marker("slow") and not any(map(item.get_closest_marker, ("long", "landing"))):
            wanted, others = (*mark.args, "long")[:2]
            alike.setdefault((without_case(item.nodeid), wanted, others), []).append(item)
    left = []
    for (_, wanted, others), cases in alike.items():
        drawn = {at * len(cases) // wanted for at in range(wanted)}
        for at, item in enumerate(cases):
            if at not in drawn:
                item.add_marker(getattr(pytest.mark, others))
                left.append(item)
    return left


def without_siblings(items: Iterable[pytest.Item]) -> list[str]:
    """What is left to CI though `make test` asks neither the test that its mark names nor another case of its own."""
    asked, left = set[str](), list[tuple[str, str]]()
    for item in items:
        function = without_case(item.nodeid)
        if mark := item.get_closest_marker("landing"):
            file, named = item.nodeid.partition("::")[0], mark.args[0] if mark.args else function
            left.append((item.nodeid, named if "::" in named else f"{file}::{named}"))
        elif not any(map(item.get_closest_marker, ("long", "real", "browser"))):
            asked |= {item.nodeid, function}
    return [name for name, sibling in left if sibling not in asked]


def pytest_collection_finish() -> None:
    """Nobody looks for garbage again among what was collected."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """A test that takes longer than it says is tried once more: what it imports and compiles is there then."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if item.stash.get(TOOK_LONG, False):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """What fixtures trace, tests need not trace again, and the other way round."""
    with tracing(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A test that takes longer than it says fails, so that those of an edit-and-run cycle stay quick."""
    begun = processor_seconds()
    with tracing(item):
        yield
    taken = processor_seconds() - begun
    if taken > LONGEST and not any(item.get_closest_marker(mark) for mark in MARKED):
        item.stash[TOOK_LONG] = True
        pytest.fail(f"it took {taken:.1f} s of processor time: mark it slow", pytrace=False)


def processor_seconds() -> float:
    """What this process and those that it has waited for have taken of the processor, in seconds."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return seconds_of_forked() + sum(one.ru_utime + one.ru_stime for one in used)


def is_of_a_place(config: pytest.Config) -> bool:
    """Whether somebody named tests, rather than asked for all."""
    return config.args != config.getini("testpaths")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a run of one place left out, and how often each trap of the language was drawn, by whichever process."""
    protocols, drawn = 0, Counter[str]()
    left = terminalreporter.config.stash.get(NOT_DRAWN, {})
    for report in (item for found in terminalreporter.stats.values() for item in found):
        told = dict(getattr(report, "user_properties", ()))
        left = told.get(LEFT_OUT, left)
        if getattr(report, "when", "") == "call" and "traps" in told:
            protocols += told["protocols"]
            drawn.update(told["traps"])
    for name, count in left.items() if is_of_a_place(terminalreporter.config) else ():
        terminalreporter.write_line(f"{name}: {count} cases are left out; {EVERY_CASE} asks them, too")
    if protocols:
        terminalreporter.section("traps of the language")
        terminalreporter.write_line(f"{protocols:,} random protocols and their plain twins; so many met")
        for trap, count in drawn.items():
            terminalreporter.write_line(f"{count:7,}  {trap}")
