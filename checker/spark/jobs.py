"""The jobs of a search: what Spark's own pages, and its event log, show of them, and why one of them is over.

`Pages`, a group of jobs, whose descriptions tell level by level; `Job`, a barrier job whose tasks are at a meeting.
"""

from __future__ import annotations

import pickle
import re
import secrets
import sys
import threading
import time
from collections.abc import Callable

from acked.base.errors import SystemFailure
from acked.checker.question.observer import Progress
from acked.checker.question.question import Question
from acked.checker.spark.meeting import TaskLost
from acked.checker.spark.seat import Alone, Orphaned
from acked.checker.spark.session import SparkDriver
from acked.checker.spark.shipping import remote

SHOW_SECONDS = 1.0
"""How often a level is shown, at most: Spark's pages keep a thousand jobs."""
REASON_SECONDS = 2.0
"""How long Spark may take to say why a task is gone whose connection has closed."""


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


class Job:
    """A barrier job of so many tasks, in a thread of its own; `entry` is what they call, see `remote`."""

    def __init__(self, driver: SparkDriver, tasks: int, entry: str, plan: object, describe: Callable[[], None]) -> None:
        self._driver, self._describe = driver, describe
        self._tasks = tasks
        self._function = remote(entry, pickle.dumps(plan, pickle.HIGHEST_PROTOCOL))
        self._error: Exception | None = None
        self._has_slots, self._is_over = True, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._describe()
            self._driver.collect(range(self._tasks), self._tasks, self._function, is_barrier=True)
        except Exception as error:  # whatever Spark or a task raises; see `reason`
            self._error = error

    def look(self) -> None:
        """Raises if the job had ended already at the last look, so that what its tasks said has been heard."""
        if self._is_over:
            self._refuse_end()
        self._is_over = not self._thread.is_alive()

    def look_for_slots(self) -> None:
        """Also raises if Spark has fewer slots than the job has tasks, which have not all begun.

        A slot may be gone that was counted when the job began, for which a barrier stage waits for ever, silently.
        """
        self.look()
        if self._driver.slots_now() < self._tasks:
            self._has_slots = False
            raise TaskLost("an executor was lost")

    def _refuse_end(self) -> None:
        """Says why a job is over whose tasks have said nothing."""
        if self._error is None:
            raise TaskLost("the tasks ended before the search did")
        text = str(self._error)
        self._driver.note_failure(text)
        if any(sign in text for sign in _CANNOT):
            raise SystemFailure(reason_of(text) + self._place(text))
        raise TaskLost(reason_of(text))

    def _place(self, text: str) -> str:
        """On which executor no task could begin to say where it is: Spark's log alone knows."""
        is_unknown = any(sign in text for sign in _NOT_BEGUN)
        hosts = _PLACE.findall(self._driver.log.read_text(encoding="utf-8", errors="replace")) if is_unknown else []
        return f" (on the executor {hosts[-1]})" if hosts else ""

    def explain(self, lost: TaskLost) -> str:
        """What Spark says, if it says it soon, of a task that is gone without a word."""
        self.end(REASON_SECONDS)
        if lost.task is None or self._error is None or "cancelled" in str(self._error):
            return str(lost)
        self._driver.note_failure(str(self._error))
        return f"{reason_of(str(self._error))}: {lost.task}"

    def end(self, patience: float = 5.0) -> None:
        """Waits for the tasks, which were asked to stop, and cancels them if they do not.

        A stage that has never begun is not waited for: should Spark begin it later, its tasks find nobody at the meeting.
        """
        self._thread.join(patience if self._has_slots else 0.0)
        if self._thread.is_alive():
            self._driver.cancel()
            self._thread.join(20.0 if self._has_slots else 1.0)


_ANOTHER_PYTHON = (
    f"an executor's Python is of another minor version than the driver's {sys.version_info[0]}.{sys.version_info[1]}; set "
    "PYSPARK_PYTHON, or --conf spark.pyspark.python=…, to one that all have"
)
_NO_ROOM = "No space left on device"
_NOT_BEGUN = ("PYTHON_VERSION_MISMATCH", "Cannot run program", _NO_ROOM)
"""Why a task never gets as far as acked."""
_PLACE = re.compile(r"\(TID \d+\) \((\S+) executor (?!driver)\S+\): (?!TaskKilled)")
"""Of Spark's log: where a task was lost, but for those that were ended because another one was."""
_CANNOT = ("RuntimeError: ", "ModuleNotFoundError: ", "ImportError: ", *_NOT_BEGUN)
"""What a task raises that cannot go on, and would not the next time."""
_RAISED = (*_CANNOT, f"{Alone.__module__}.{Alone.__qualname__}: ", f"{Orphaned.__module__}.{Orphaned.__qualname__}: ")


def reason_of(text: str) -> str:
    """Why a job failed, in a few words."""
    known = (
        ("PYTHON_VERSION_MISMATCH", _ANOTHER_PYTHON),
        ("Cannot run program", "an executor has no Python there; name one with --conf spark.pyspark.python=…"),
        (_NO_ROOM, "an executor has no room on its disk for what is brought along; make some, or use --no-ship"),
        ("ExecutorLostFailure", "an executor was lost"),
        ("Python worker exited unexpectedly", "a Python worker died"),
        ("EOFException", "a Python worker died"),
        ("Connection reset", "a Python worker died"),
        ("Could not recover from a failed barrier", "a task of the barrier stage failed"),
        ("cancelled", "the job was cancelled"),
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if line.startswith(_RAISED)]
    if raised:
        return raised[-1].partition(": ")[2]
    return next((words for sign, words in known if sign in text), lines[0][:200] if lines else "no reason given")
