"""What one task sends arrives at the other, whole, once and in order, through files and through sockets; at nobody else."""

from __future__ import annotations

import errno
import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acked.base.errors import SystemFailure
from acked.base.sockets import read_exactly
from acked.checker.spark import transfer
from acked.checker.spark.transfer import NONCE_BYTES, Abandoned, FileTransfer, Inbox, SocketTransfer, Transfer

LOOPBACK = "127.0.0.1"
SECRET = b"known to the tasks of one attempt"
TASKS = 3


def wait_for(path: Path) -> None:
    until = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not appear"
        time.sleep(0.001)


def goes_on() -> None:
    """The search goes on."""


def through_files(meeting: Path, worker: int) -> Transfer:
    return FileTransfer(meeting, worker, TASKS, wait_for)


def through_sockets(meeting: Path, worker: int, secret: bytes = SECRET) -> SocketTransfer:
    return SocketTransfer(meeting, worker, range(TASKS), LOOPBACK, secret, wait_for, goes_on)


WAYS = [through_files, through_sockets]


@contextmanager
def all_tasks(way: Callable[[Path, int], Transfer], meeting: Path) -> Iterator[list[Transfer]]:
    with ExitStack() as stack:
        tasks = [way(meeting, worker) for worker in range(TASKS)]
        for task in tasks:
            stack.callback(task.close)
        yield tasks


def pieces(level: int, source: int, target: int) -> list[bytes]:
    """What one task has for another on a level: sometimes nothing, sometimes more than is held in memory."""
    chance = random.Random(f"{level} {source} {target}")
    return [chance.randbytes(chance.choice([1, 100, 70_000])) for _ in range(chance.choice([0, 1, 9]))]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("held", [0, 100_000, 1 << 30])
def test_what_is_sent_arrives_whole_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Callable[[Path, int], Transfer], held: int
) -> None:
    """Every task sends all of a level before it receives anything."""
    monkeypatch.setattr(transfer, "HELD_BYTES", held)
    with all_tasks(way, tmp_path) as tasks:
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
                            assert list(tasks[me].receive(level, source)) == pieces(level, source, me)
                    meeting.wait(20)
                    tasks[me].forget(level)
            except BaseException as error:  # told in the thread of the test
                failures.append(error)
                meeting.abort()

        threads = [threading.Thread(target=work, args=(me,)) for me in range(TASKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []


def address_of(meeting: Path, worker: int) -> tuple[str, int]:
    where = json.loads((meeting / f"address-{worker}").read_text())
    return where["host"], where["port"]


@pytest.mark.timeout(30)
def test_who_does_not_know_the_secret_is_refused_on_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.1)
    with all_tasks(through_sockets, tmp_path) as tasks:
        with socket.create_connection(address_of(tmp_path, 0)) as connection:
            read_exactly(connection, NONCE_BYTES)
            connection.sendall(bytes(transfer.GREETING.size + 32))
            assert connection.recv(1) == b"", "nothing is said to a stranger"
        other = tmp_path / "other"
        other.mkdir()
        (other / "address-0").write_text((tmp_path / "address-0").read_text())
        outsider = through_sockets(other, 1, b"another secret")
        with pytest.raises(SystemFailure, match=r"the connection to task 0 is lost: .*check the network"):
            outsider.send(1, 0, memoryview(b"forged"))
        outsider.close()
        tasks[1].send(1, 0, memoryview(b"true"))
        tasks[1].end(1, [0, 2])
        assert list(tasks[0].receive(1, 1)) == [b"true"]


@pytest.mark.timeout(30)
def test_a_listener_that_does_not_know_the_secret_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.1)
    seen: list[bytes] = []
    with socket.create_server((LOOPBACK, 0)) as listener:
        (tmp_path / "address-1").write_text(json.dumps({"host": LOOPBACK, "port": listener.getsockname()[1]}))

        def pretend() -> None:
            connection, _ = listener.accept()
            connection.sendall(bytes(NONCE_BYTES))
            seen.append(read_exactly(connection, transfer.GREETING.size + 32))
            connection.sendall(bytes(32))
            seen.append(connection.recv(1))

        thread = threading.Thread(target=pretend)
        thread.start()
        task = through_sockets(tmp_path, 0)
        with pytest.raises(SystemFailure, match="another program answers there"):
            task.send(1, 1, memoryview(b"states"))
        task.close()
        thread.join()
    assert seen[1] == b""
    assert b"states" not in seen[0]


@pytest.mark.timeout(30)
def test_a_lost_connection_is_one_sentence_unless_the_search_is_over_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "LOST_SECONDS", 0.2)
    with all_tasks(through_sockets, tmp_path) as tasks:
        tasks[1].send(1, 0, memoryview(b"first"))
        arriving = tasks[0].receive(1, 1)
        assert next(arriving) == b"first"
        tasks[1].close()
        with pytest.raises(SystemFailure, match=r"the connection to task 1 is lost: it closed the connection"):
            next(arriving)

    def is_over() -> None:
        raise Abandoned

    over = SocketTransfer(tmp_path, 0, range(TASKS), LOOPBACK, SECRET, wait_for, is_over)
    with pytest.raises(Abandoned):
        next(over.receive(1, 1))
    over.close()


def test_what_has_no_room_in_memory_is_in_a_file_whose_room_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "HELD_BYTES", 10)
    inbox = Inbox()
    for piece in (b"a" * 10, b"b" * 20, b"c" * 30, None):
        inbox.put(7, piece)
    inbox.shrink()
    assert [inbox.take()[1] for _ in range(2)] == [b"a" * 10, b"b" * 20]
    inbox.put(8, b"d" * 40)
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
    inbox.put(7, b"a" * 20)
    monkeypatch.setattr(transfer, "write_all", full)
    with pytest.raises(SystemFailure, match=r"cannot write .*: No space left on device; make room"):
        inbox.put(7, b"b" * 20)
    assert inbox.take() == (7, b"a" * 20)
    assert not inbox.wait(0)
    monkeypatch.undo()
    monkeypatch.setattr(transfer, "HELD_BYTES", 0)
    inbox.put(7, b"c" * 20)
    assert inbox._file is not None
    inbox._file.truncate(inbox._end - 1)
    with pytest.raises(SystemFailure, match="shorter than was written"):
        inbox.take()
    inbox.close()


def test_an_address_that_is_not_ours_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemFailure, match=r"a task cannot listen at 192\.0\.2\.1: "):
        SocketTransfer(tmp_path, 0, range(TASKS), "192.0.2.1", SECRET, wait_for, goes_on)


@pytest.mark.timeout(30)
def test_no_thread_waits_in_a_socket_that_is_closed(tmp_path: Path) -> None:
    """The number of a closed socket is the next one's, of which such a thread would take what comes."""
    before = set(threading.enumerate())
    with all_tasks(through_sockets, tmp_path) as tasks:
        for task in tasks:
            task.send(1, 0, memoryview(b"x"))
            assert next(iter(tasks[0].receive(1, tasks.index(task)))) == b"x"
        waiting = set(threading.enumerate()) - before
        assert len(waiting) == TASKS + TASKS, "one a listener, one a connection"
    until = time.monotonic() + 10
    while waiting & set(threading.enumerate()):
        assert time.monotonic() < until, "threads go on"
        time.sleep(0.01)
