"""Tasks in a grid: everything arrives after at most two hops, and nobody meets many."""

from __future__ import annotations

import pytest

from acked.checker.spark.grid import GRID_FROM, Place, columns_for, square


@pytest.mark.parametrize("tasks", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 30, 31, 97])
def test_what_is_sent_arrives_after_two_hops_and_is_expected_where_it_comes(tasks: int) -> None:
    for columns in {1, 2, square(tasks), tasks} & {*range(1, tasks + 1)}:
        places = [Place(task, tasks, columns) for task in range(tasks)]
        for place in places:
            for owner in range(tasks):
                first = place.next_to(owner)
                assert first == place.task or first in (*place.helpers, *place.mates)
                assert places[first].next_to(owner) in (owner, *([] if first == place.task else [first]))
                assert first == owner or first in place.helpers, "only a helper hands on"
                assert first not in place.helpers or owner in (first, *places[first].mates)
            assert {other.task for other in places if place.task in other.helpers} == {*place.helped}
            assert {other.task for other in places if place.task in other.mates} == {*place.mates}
            assert place.task not in (*place.helpers, *place.helped, *place.mates)
            assert not {*place.mates} & {*place.helpers, *place.helped}, "one kind of message between two tasks"


@pytest.mark.slow
def test_a_task_meets_no_more_others_than_the_documentation_says() -> None:
    for tasks in (*range(2, 150), 240, 241, 256, 257, 8704):
        for task in range(tasks) if tasks < 300 else (0, 93, 4000, 8610, 8648, 8703):
            place = Place(task, tasks, square(tasks))
            met = {*place.helpers, *place.helped, *place.mates}
            assert 0 < len(met) <= max(2 * square(tasks) - 2, 1)
            assert (square(tasks) - 1) ** 2 < tasks <= square(tasks) ** 2


def test_few_tasks_send_to_each_other_directly() -> None:
    assert columns_for(GRID_FROM - 1) == 1
    assert columns_for(GRID_FROM) == 16
    place = Place(2, 5, columns_for(5))
    assert (place.helpers, place.helped, place.mates) == ((), (), (3, 4, 0, 1))
    assert [place.next_to(owner) for owner in range(5)] == [0, 1, 2, 3, 4]
