"""What Spark's own pages, and its event log, show of a search: a group of jobs, whose descriptions tell level by level."""

from __future__ import annotations

import secrets
import time

from acked.base.observer import Progress
from acked.checker.question.question import Question
from acked.checker.spark.session import SparkDriver

SHOW_SECONDS = 1.0
"""How often a level is shown, at most: Spark's pages keep a thousand jobs."""


class Pages:
    """The jobs of one search."""

    def __init__(self, driver: SparkDriver, question: Question) -> None:
        self._driver = driver
        self._name = question.instance.protocol.name
        self._group = f"acked {self._name} {secrets.token_hex(4)}"
        self._shown = 0.0

    def describe(self, text: str) -> None:
        """Says what the jobs are for that this thread begins from now on."""
        self._driver.describe(self._group, f"{self._name}: {text}")

    def show_level(self, states: int, now: Progress, is_last: bool) -> None:
        """Shows that a level of so many states is done; not every one of those that take no time."""
        if is_last or time.monotonic() - self._shown > SHOW_SECONDS:
            self._shown = time.monotonic()
            self.describe(f"level {now.depth}, {states:,} states; {now.distinct_states:,} distinct states so far")
            self._driver.run_nothing()
