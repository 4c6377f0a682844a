"""Whom a task sends to and hears from.

With few tasks every one sends to every other. With many they stand in a grid of rows and columns, and what belongs to a
task in another column goes first to the member of the own row there, which hands it on: a task meets 2 √n others of n.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import isqrt

from acked.base.frozen import frozen

GRID_FROM = 256
"""From so many tasks on they stand in a grid. A task has a box of about two megabytes for every other that it sends to, and
two connections for every one that it meets: with 256 tasks, half of the memory that a core has beside its states (1 of 4 GB),
and half of the 1,024 files that a process often may have open. Below that nothing is gained by sending candidates twice."""


def columns_for(tasks: int) -> int:
    """How many columns a grid of so many tasks has; 1, so that all are in one, if they send to each other directly."""
    return 1 if tasks < GRID_FROM else square(tasks)


def square(tasks: int) -> int:
    """The columns of a grid that is as square as it can be: no task meets more than twice as many others, less 2."""
    return 1 + isqrt(tasks - 1)


@frozen
class Place:
    """One of so many tasks, which stand in the order of their numbers in rows of so many columns; the last may be short."""

    task: int
    tasks: int
    columns: int

    @property
    def row(self) -> int:
        """Its row, from 0 on."""
        return self.task // self.columns

    @property
    def column(self) -> int:
        """Its column, from 0 on."""
        return self.task % self.columns

    @property
    def _last_row(self) -> int:
        return (self.tasks - 1) // self.columns

    def next_to(self, owner: int) -> int:
        """The task that gets from this one what belongs to an owner: itself, if that is in the own column.

        Who has nobody in that column, in a short last row, sends to one of the rows above, which share that.
        """
        column = owner % self.columns
        if column == self.column:
            return owner
        there = self.row * self.columns + column
        return there if there < self.tasks else self.column % self._last_row * self.columns + column

    @cached_property
    def helpers(self) -> tuple[int, ...]:
        """The tasks that hand on what this one sends them, a task for each other column."""
        return self._rotate(self.next_to(column) for column in range(self.columns) if column != self.column)

    @cached_property
    def helped(self) -> tuple[int, ...]:
        """The tasks for which this one hands on."""
        begin, last = self.row * self.columns, self._last_row
        found = [*range(begin, min(begin + self.columns, self.tasks))]
        short = range(last * self.columns, self.tasks)
        if self.row < last and self.column >= len(short):
            found += [task for task in short if task % self.columns % last == self.row]
        return self._rotate(found)

    @cached_property
    def mates(self) -> tuple[int, ...]:
        """The other tasks in its column, which it sends to and hears from without help."""
        return self._rotate(range(self.column, self.tasks, self.columns))

    def _rotate(self, tasks: Iterable[int]) -> tuple[int, ...]:
        """In the order of their numbers from this task's on, so that not all begin with the same."""
        return tuple(sorted({*tasks} - {self.task}, key=lambda other: (other - self.task) % self.tasks))
