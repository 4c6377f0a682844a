"""Many questions at once as Spark tasks, each with the local search inside, in a process of its own.

`SparkBatch`, on which `batch.answer_all` can run, and what happens on an executor.

A search runs in a process below the task's, because one that is killed, e.g. for its memory, would otherwise take the Spark
worker and, after a few attempts, all other questions with it: here it costs its own answer, which says how the process ended.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager

from acked.base.bounds import default_memory
from acked.base.frozen import frozen
from acked.base.processes import Done, Lost, Note, Reply
from acked.checker.batch.local import BatchLimits
from acked.checker.batch.outcome import Task
from acked.checker.spark.jobs import reason_of
from acked.checker.spark.session import SparkDriver
from acked.checker.spark.shipping import remote


@frozen
class SparkBatch:
    """Answers tasks on Spark's executors, as many at a time as there are slots.

    `memory` bounds the states of each search in bytes; None for a fair part of what its machine has. A driver is asked for
    only when there is something to search.
    """

    drivers: Callable[[], AbstractContextManager[SparkDriver]]
    memory: int | None = None

    def run(self, tasks: Sequence[Task]) -> Iterator[Reply]:
        """A `Done` or a `Lost` for every task, as they are finished; begun in the order given."""
        with self.drivers() as driver:
            slots = min(driver.slots(), len(tasks))
            payload = pickle.dumps((self.memory, slots), pickle.HIGHEST_PROTOCOL)
            pool = ThreadPoolExecutor(slots)
            try:
                jobs = {pool.submit(_ask, driver, payload, task): number for number, task in enumerate(tasks)}
                for job in as_completed(jobs):
                    reply = job.result()
                    yield Lost(jobs[job], reply.reason) if isinstance(reply, Lost) else Done(jobs[job], reply.value)
            except BaseException:  # Ctrl-C, or the caller wants no more answers
                pool.shutdown(wait=False, cancel_futures=True)
                driver.cancel()
                raise
            finally:
                pool.shutdown()


def _ask(driver: SparkDriver, payload: bytes, task: Task) -> Done | Lost:
    """In a thread of the driver: has one task answered by a job of its own, so that Spark repeats it alone."""
    try:
        [answer] = driver.collect([pickle.dumps(task)], 1, remote("acked.checker.batch.spark:answer", payload))
    except Exception as error:  # whatever Spark says, it is this task's answer
        driver.note_failure(str(error))
        return Lost(0, f"{reason_of(str(error))}; what Spark said is in {driver.log}")
    reply: Done | Lost = pickle.loads(answer)
    return reply


def answer(payload: bytes, partition: Iterator[bytes]) -> Iterator[bytes]:
    """On an executor: the replies to the tasks of a partition. All of it is bytes, because our modules come in only here."""
    memory, neighbours = pickle.loads(payload)
    limits = BatchLimits(1, memory or default_memory() // neighbours)
    for item in partition:
        for reply in limits.run([pickle.loads(item)]):
            if not isinstance(reply, Note):
                yield pickle.dumps(reply)
