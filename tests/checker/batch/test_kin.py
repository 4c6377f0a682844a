"""A process is rather given a task that has much in common with its last one, and what takes long still comes early."""

from __future__ import annotations

from acked.base.processes import MOST_PREFERRED, _Waiting


def dealt(tasks: str, own: str | None, others: str) -> str:
    number, task, kin, _ = _Waiting.of(tasks, str.lower).take(own, set(others))
    assert tasks[number] == task
    assert kin == str(task).lower()
    return str(task)


def test_a_process_stays_with_its_kin_and_else_begins_what_nobody_is_at() -> None:
    assert dealt("aaBb", "b", "a") == "B"
    assert dealt("aaBb", None, "a") == "B"
    assert dealt("aabb", "c", "ab") == "a"
    assert dealt("aabb", None, "") == "a"


def test_only_the_first_that_wait_are_looked_at() -> None:
    assert dealt("a" * (MOST_PREFERRED - 1) + "b", "b", "a") == "b"
    assert dealt("a" * MOST_PREFERRED + "b", "b", "a") == "a"


def test_without_kin_the_order_is_kept() -> None:
    assert _Waiting.of("ab").take(None, ()) == (0, "a", None, None)


def test_a_twin_of_the_last_comes_first_wherever_it_is() -> None:
    tasks = "a" * MOST_PREFERRED + "cB"
    waiting = _Waiting.of(tasks, str.lower, str.upper)
    assert waiting.take("a", (), "B") == (len(tasks) - 1, "B", "b", "B")
    assert waiting.take("a", (), "B") == (0, "a", "a", "A")
