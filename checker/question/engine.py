"""The interface of engines: what answers a question by itself, and what it supports.

A new engine is a module with a class like `acked.checker.search.local.LocalEngine` and an entry in `ENGINES` of
`acked.reports.shell.engines`; everything else asks its `Capabilities`. Engines share the meaning of a level (`Ledger`) and
report to an `Observer`, so that their answers differ in nothing but time and memory.

A proof searches no states and has no levels, so it has capabilities but no `search`. What answers many questions at once
(`Runner` in `acked.checker.batch`) is another idea: it is given questions as data, which travel to processes or Spark tasks,
yields answers in the order in which they come, and each of its processes has the local engine search.
"""

from __future__ import annotations

from enum import Enum, unique
from typing import Protocol, TypeVar

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import Result


@unique
class Storage(Enum):
    """What an engine does with a run directory; one that stores can continue what any other has stored."""

    NONE = "does not know of it"
    OPTIONAL = "resumes the search that is stored there, and stores every level that it completes"
    REQUIRED = "cannot search without one"


@frozen
class Unsupported:
    """Where something cannot be decided, and what to do instead: both end a sentence."""

    where: str
    instead: str


@frozen
class Capabilities:
    """What an engine supports.

    Attributes:
        name: What `--engine` and `Result.engine` call it.
        storage: What it does with a run directory.
        no_graph_properties: Why it cannot decide what only the graph of all states decides; None if it can.
        no_stored_graph_properties: The same in a run that is stored.
        is_distributed: Whether it runs on a cluster, which `--master` and `--conf` describe, instead of in threads of this
            process, which `--workers` counts.
    """

    name: str
    storage: Storage = Storage.NONE
    no_graph_properties: Unsupported | None = None
    no_stored_graph_properties: Unsupported | None = None
    is_distributed: bool = False

    def check(self, question: Question, is_stored: bool = False) -> None:
        """`ConfigurationError` if the question asks what the engine does not support."""
        unsupported = self.no_graph_properties or (self.no_stored_graph_properties if is_stored else None)
        if unsupported is not None and question.graph_properties:
            names = ", ".join(question.properties[at].name for at in question.graph_properties)
            raise ConfigurationError(
                f"{names} is decided where all states are in one memory, not {unsupported.where}; {unsupported.instead}"
            )


Stored = TypeVar("Stored", contravariant=True)


class Engine(Protocol[Stored]):
    """Answers a question by searching all reachable states; `Stored` is the type of the run directories it knows."""

    @property
    def capabilities(self) -> Capabilities:
        """What it supports."""

    def search(
        self, question: Question, bounds: Bounds, policy: StopPolicy, observer: Observer, stored: Stored | None
    ) -> Result:
        """Searches until the space, a bound, a violation or Ctrl-C ends it.

        Goes on after the levels that `stored` has, and stores those that it completes. Raises `ConfigurationError` for a
        question that it does not support (`Capabilities.check`), `SystemFailure` if the machine does not give what it takes.
        """
