"""What one task sends arrives at the other, whole, once and in order; at nobody else."""

from __future__ import annotations

import errno
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from acked.base.errors import SystemFailure
from acked.base.sockets import GREETING, LOST_MILLISECONDS, NONCE_BYTES, answer, call, read_exactly
from acked.checker.spark import transfer
from acked.checker.spark.seat import Abandoned, Alone
from acked.checker.spark.transfer import Inbox, Transfer

LOOPBACK = "127.0.0.1"
SECRET = b"known to the tasks of one attempt"
TASKS = 3


def goes_on() -> None:
    """The search goes on."""


def transfer_of(worker: int, secret: bytes = SECRET, look_up: Callable[[], None] = goes_on) -> Transfer:
    return Transfer(worker, range(TASKS), LOOPBACK, 0, secret, look_up)


@contextmanager
def all_tasks() -> Iterator[list[Transfer]]:
    with ExitStack() as stack:
        tasks = [stack.enter_context(closing(transfer_of(worker))) for worker in range(TASKS)]
        for task in tasks:
            task.meet([other.address for other in tasks])
        yield tasks


def pieces(level: int, source: int, target: int) -> list[bytes]:
    """What one task has for another on a level: sometimes nothing, sometimes more than is held in memory."""
    chance = random.Random(f"{level} {source} {target}")
    return [chance.randbytes(chance.choice([1, 100, 70_000])) for _ in range(chance.choice([0, 1, 9]))]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("held", [0, 100_000, 1 << 30])
def test_what_is_sent_arrives_whole_once_and_in_order(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    """Every task sends all of a level before it receives anything."""
    monkeypatch.setattr(transfer, "HELD_BYTES", held)
    with all_tasks() as tasks:
        meeting = threading.Barrier(TASKS)
        failures: list[BaseException] = []

        def work(me: int) -> None:
            try:
                for level in range(1, 6):
                    for target in range(TASKS):
                        if target != me:
                            for piece in pieces(level, me, target):
                                buffer = bytearray(piece)
                                tasks[me].send(level, target, memoryview(buffer))
                                buffer[:] = bytes(len(buffer))  # It may be overwritten now.
                    tasks[me].end(level, [other for other in range(TASKS) if other != me])
                    for source in range(TASKS):
                        if source != me:
                            assert [bytes(piece) for piece in tasks[me].receive(level, source)] == pieces(level, source, me)
                    meeting.wait(20)
                    tasks[me].forget()
            except BaseException as error:  # told in the thread of the test
                failures.append(error)
                meeting.abort()

        threads = [threading.Thread(target=work, args=(me,)) for me in range(TASKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


@pytest.mark.timeout(30)
def test_who_does_not_know_the_secret_is_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.1)
    with all_tasks() as tasks:
        with socket.create_connection(tasks[0].address) as connection:
            read_exactly(connection, NONCE_BYTES)
            connection.sendall(bytes(GREETING.size + 32))
            assert connection.recv(1) == b"", "nothing is said to a stranger"
        outsider = transfer_of(1, b"another secret")
        outsider.meet([tasks[0].address])
        with pytest.raises(Alone, match=r"the connection from .* to task 0 at .* is lost: .*check the network"):
            outsider.send(1, 0, memoryview(b"forged"))
        outsider.close()
        tasks[1].send(1, 0, memoryview(b"true"))
        tasks[1].end(1, [0, 2])
        assert list(tasks[0].receive(1, 1)) == [b"true"]


@pytest.mark.timeout(30)
def test_a_listener_that_does_not_know_the_secret_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.1)
    seen: list[bytes] = []
    with socket.create_server((LOOPBACK, 0)) as listener:

        def pretend() -> None:
            connection, _ = listener.accept()
            connection.sendall(bytes(NONCE_BYTES))
            seen.append(read_exactly(connection, GREETING.size + 32))
            connection.sendall(bytes(32))
            seen.append(connection.recv(1))

        thread = threading.Thread(target=pretend)
        thread.start()
        task = transfer_of(0)
        task.meet([task.address, listener.getsockname()])
        with pytest.raises(Alone, match="another program answers there"):
            task.send(1, 1, memoryview(b"states"))
        task.close()
        thread.join()
    assert seen[1] == b""
    assert b"states" not in seen[0]


@pytest.mark.timeout(30)
def test_a_lost_connection_is_one_sentence_unless_the_search_is_over_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.2)
    with all_tasks() as tasks:
        tasks[1].send(1, 0, memoryview(b"first"))
        arriving = tasks[0].receive(1, 1)
        assert next(arriving) == b"first"
        tasks[1].close()
        with pytest.raises(Alone, match=r"the connection from .* to task 1 at .* is lost: it closed the connection"):
            next(arriving)

    def is_over() -> None:
        raise Abandoned

    over = transfer_of(0, look_up=is_over)
    with pytest.raises(Abandoned):
        next(over.receive(1, 1))
    over.close()


def test_what_has_no_room_in_memory_is_in_a_file_whose_room_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "HELD_BYTES", 10)
    inbox = Inbox()
    for piece in (b"a" * 10, b"b" * 20, b"c" * 30):
        inbox.put(7, memoryview(piece))
    inbox.put(7, None)
    inbox.shrink()
    assert [inbox.take()[1] for _ in range(2)] == [b"a" * 10, b"b" * 20]
    inbox.put(8, memoryview(b"d" * 40))
    assert [inbox.take() for _ in range(3)] == [(7, b"c" * 30), (7, None), (8, b"d" * 40)]
    assert inbox._file is not None
    assert inbox._end == 90
    inbox.shrink()
    assert inbox._end == 0
    assert not inbox.wait(0)
    inbox.close()


def test_what_does_not_fit_on_the_disk_is_never_taken_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(transfer, "HELD_BYTES", 0)
    inbox = Inbox()
    inbox.put(7, memoryview(b"a" * 20))
    monkeypatch.setattr(transfer, "write_all", full)
    with pytest.raises(SystemFailure, match=r"cannot write .*: No space left on device; make room"):
        inbox.put(7, memoryview(b"b" * 20))
    assert inbox.take() == (7, b"a" * 20)
    assert not inbox.wait(0)
    monkeypatch.undo()
    monkeypatch.setattr(transfer, "HELD_BYTES", 0)
    inbox.put(7, memoryview(b"c" * 20))
    assert inbox._file is not None
    inbox._file.truncate(inbox._end - 1)
    with pytest.raises(SystemFailure, match="shorter than was written"):
        inbox.take()
    inbox.close()


def test_an_address_that_is_not_ours_is_one_sentence() -> None:
    with pytest.raises(SystemFailure, match=r"a task cannot listen at 192\.0\.2\.1: "):
        Transfer(0, range(TASKS), "192.0.2.1", 0, SECRET, goes_on)


@pytest.mark.timeout(30)
def test_no_thread_waits_in_a_socket_that_is_closed() -> None:
    """The number of a closed socket is the next one's, of which such a thread would take what comes."""
    before = set(threading.enumerate())
    with all_tasks() as tasks:
        for task in tasks:
            task.send(1, 0, memoryview(b"x"))
            assert next(iter(tasks[0].receive(1, tasks.index(task)))) == b"x"
        waiting = set(threading.enumerate()) - before
        assert len(waiting) == TASKS + TASKS, "one a listener, one a connection"
    until = time.monotonic() + 10
    while waiting & set(threading.enumerate()):
        assert time.monotonic() < until, "threads go on"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_task_that_reads_late_has_not_lost_its_connection() -> None:
    """A connection whose other end is there and takes nothing was ended after eight seconds."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        accepted: list[socket.socket] = []

        def accept() -> None:
            connection, _ = listener.accept()
            answer(connection, SECRET, 1, range(TASKS))
            accepted.append(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        connection = call(listener.getsockname(), SECRET, 0, 1)
        thread.join()
        data = bytes(64 << 20)
        sending = threading.Thread(target=connection.sendall, args=(data,))
        sending.start()
        time.sleep(LOST_MILLISECONDS / 1000 + 2)
        assert read_exactly(accepted[0], len(data)) == data
        sending.join()
        connection.close()
        accepted[0].close()
