"""Brokers that answer what is not Kafka's protocol: the asking ends with one sentence, in time, and the command goes on."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from acked.audit.clusters.live import Quorum
from acked.audit.commands import live, requests
from acked.audit.commands.connection import DESCRIBE_QUORUM, LIST_REASSIGNMENTS
from acked.audit.commands.live import ask_apart
from acked.base import processes
from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.processes import Service
from acked.cli import main
from acked.cluster.wire.codec import request_head, write_response

API_VERSIONS, METADATA = 18, 3
SECONDS = 1.5
SECONDS_OF_ALL = live.SECONDS

Answers = Callable[[bytes], bytes]


@contextmanager
def broker(answers: Answers) -> Iterator[str]:
    """The address of something that listens, and answers each request so."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_serve, args=(server, answers), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def _serve(server: socket.socket, answers: Answers) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        threading.Thread(target=_speak, args=(connection, answers), daemon=True).start()


def _speak(connection: socket.socket, answers: Answers) -> None:
    with connection:
        try:
            while head := connection.recv(4, socket.MSG_WAITALL):
                connection.sendall(answers(connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)))
        except OSError:
            pass


def framed(request: bytes, body: bytes) -> bytes:
    correlation = request[4:8]
    return struct.pack(">i", len(body) + 4) + correlation + body


def first_then(metadata: Answers) -> Answers:
    """ApiVersions as a broker answers it, and Metadata in another way."""

    def answer(request: bytes) -> bytes:
        head = request_head(request)
        if head.api != API_VERSIONS:
            return metadata(request)
        keys = [{"api_key": key, "min_version": 0, "max_version": 4 if key == METADATA else 3} for key in range(36)]
        return write_response(
            API_VERSIONS, head.version, head.correlation, {"error_code": 0, "throttle_time": 0, "api_keys": keys}
        )

    return answer


HOSTILE: dict[str, Answers] = {
    "garbage": lambda request: b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10,
    "a huge frame": lambda request: b"\x7f\xff\xff\xff" + request[4:8] + b"x" * 1_000,
    "a negative frame": lambda request: b"\xff\xff\xff\xff" + b"x" * 100,
    "an empty frame": lambda request: b"\0\0\0\0" * 100,
    "zeros": lambda request: framed(request, b"\0" * 200),
    "ones": lambda request: framed(request, b"\xff" * 200),
    "many versions": lambda request: framed(request, b"\0\0" + b"\x7f\xff\xff\xff" + b"\0" * 100),
    "many brokers": first_then(lambda request: framed(request, b"\0\0\0\0" + b"\x7f\xff\xff\xff" + b"\0" * 200)),
    "nobody": first_then(lambda request: framed(request, b"\0" * 40)),
    "many topics": first_then(lambda request: framed(request, b"\0" * 8 + b"\xff\xff\0\0\0\1\x7f\xff\xff\xff")),
    "ones as metadata": first_then(lambda request: framed(request, b"\xff" * 300)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_broker_that_does_not_speak_kafkas_protocol_is_one_sentence(name: str) -> None:
    with broker(HOSTILE[name]) as address, pytest.raises(SystemFailure, match="look at --bootstrap-server") as refused:
        ask_apart(address, {}, SECONDS)
    assert str(refused.value).startswith(f"the cluster at {address} ")
    assert "\n" not in str(refused.value)


def test_an_answer_at_which_the_client_library_ends_its_process_ends_the_asking_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with broker(HOSTILE["zeros"]) as address:
        assert main(["audit", "--bootstrap-server", address, "--timeout", "5"]) == 153
    said = capsys.readouterr().err
    assert said.startswith(f"acked: the cluster at {address} cannot be read: the client library process was killed by SIG")
    assert said.count("\n") == 1


def test_a_cluster_that_is_refused_apart_is_refused_as_here() -> None:
    with pytest.raises(ConfigurationError, match=r"--bootstrap-server kafka\.example is not HOST:PORT"):
        ask_apart("kafka.example", {})


@pytest.mark.slow
def test_a_cluster_that_says_nothing_is_told_of_soon_and_given_up_early() -> None:
    told: list[str] = []
    with broker(lambda request: b"") as address:
        began = time.monotonic()
        with pytest.raises(SystemFailure, match=r"does not answer: .*; look at .*, or wait longer with --timeout"):
            ask_apart(address, {}, on_silence=told.append)
    assert time.monotonic() - began < SECONDS_OF_ALL / 2
    (text,) = told
    assert text.startswith(f"the cluster at {address} does not answer yet: it says nothing; it is asked for ")


def test_brokers_are_asked_for_their_features_together() -> None:
    together = threading.Barrier(3)

    def answer(request: bytes) -> bytes:
        together.wait(SECONDS)
        head = request_head(request)
        level = [{"name": "metadata.version", "min_version": 1, "max_version": 27}]
        body = {"error_code": 0, "throttle_time": 0, "api_keys": [], "supported_features": level}
        return write_response(API_VERSIONS, head.version, head.correlation, body)

    with broker(answer) as address:
        host, _, port = address.partition(":")
        addresses = dict.fromkeys((1, 2, 3), (host, int(port)))
        found = requests.features_of_all(addresses, {}, requests.Clock(time.monotonic() + SECONDS))
    assert found == dict.fromkeys((1, 2, 3), ({}, 27))


MOVE = {"partition_index": 4, "replicas": [1, 2, 3], "adding_replicas": [3], "removing_replicas": [1]}
VOTER = {"replica_id": 1, "log_end_offset": 9, "last_fetch_timestamp": -1, "last_caught_up_timestamp": -1}
QUORUM = {"partition_index": 0, "error_code": 0, "leader_id": 1, "leader_epoch": 1, "high_watermark": 9,
          "current_voters": [VOTER], "observers": []}  # fmt: skip
OF_THE_CONTROLLER = {
    API_VERSIONS: {"error_code": 0, "throttle_time": 0, "api_keys": [], "supported_features": []},
    LIST_REASSIGNMENTS: {"throttle_time": 0, "error_code": 0, "error_message": None,
                         "topics": [{"name": "orders", "partitions": [MOVE]}]},
    DESCRIBE_QUORUM: {"error_code": 0, "topics": [{"topic_name": "__cluster_metadata", "partitions": [QUORUM]}]},
}  # fmt: skip


def test_a_controller_is_asked_for_moves_and_its_quorum_while_brokers_tell_of_their_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that hangs costs its time once: all three are answered when all three have been asked."""
    together = threading.Barrier(3)

    def answer(request: bytes) -> bytes:
        together.wait(SECONDS)
        head = request_head(request)
        return write_response(head.api, head.version, head.correlation, OF_THE_CONTROLLER[head.api])

    replicas = SimpleNamespace(id=4, replicas=[1, 2, 3], isrs=[1, 2, 3], leader=1)
    topics = {"orders": SimpleNamespace(error=None, partitions={4: replicas})}
    racks = Future[object]()
    racks.set_result(SimpleNamespace(nodes=[]))
    admin = SimpleNamespace(describe_cluster=lambda **_: racks, describe_configs=lambda *_, **__: {})
    with broker(answer) as address:
        host, _, port = address.partition(":")
        brokers = {1: SimpleNamespace(host=host, port=int(port))}
        listed = SimpleNamespace(brokers=brokers, topics=topics, controller_id=1)
        monkeypatch.setattr(live, "_connect", lambda *_: (admin, listed))
        found = live.ask_cluster(address, {}, 2 * SECONDS, with_moves=True)
    ((orders,),) = [topic.partitions for topic in found.topics]
    assert (found.are_moves_known, orders.adding, orders.removing) == (True, (3,), (1,))
    assert found.quorum == Quorum(1, (1,), (1,))


def test_no_broker_is_asked_for_its_features_once_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "features_of", lambda address, *_: ({"a": 1}, 2))
    addresses = {1: ("one", 1), 2: ("two", 2)}
    assert requests.features_of_all(addresses, {}, requests.Clock(time.monotonic() - 1)) == dict.fromkeys((1, 2), (None, None))


@pytest.mark.parametrize(
    ("told", "first"),
    [
        ({1: (None, None), 2: ({}, 20), 3: ({"a": 1}, 27)}, (3, {"a": 1})),
        ({1: ({}, None), 2: (None, None)}, (1, {})),
        ({1: (None, None)}, (None, None)),
        ({}, (None, None)),
    ],
    ids=("some levels", "none, as with ZooKeeper", "not known", "nobody runs"),
)
def test_levels_are_those_of_a_broker_that_has_some_and_none_are_other_than_unknown(
    told: dict[int, requests.Features], first: tuple[int | None, dict[str, int] | None]
) -> None:
    assert requests.levels_of(told) == first


@pytest.mark.slow
def test_a_cluster_is_asked_while_something_else_is_done() -> None:
    asked, seen = threading.Event(), []

    def answer(request: bytes) -> bytes:
        asked.set()
        return HOSTILE["garbage"](request)

    with broker(answer) as address, pytest.raises(SystemFailure):
        ask_apart(address, {}, SECONDS, meanwhile=lambda: seen.append(asked.wait(30)))
    assert seen == [True]


@pytest.mark.slow
def test_what_answers_is_imported_while_a_cluster_is_asked() -> None:
    program = """if True:
        import sys
        from acked.audit.commands import options
        from acked.base.errors import SystemFailure
        from acked.cli import main

        def ask(*_, meanwhile, **__):
            for _ in range(2):
                print(*sorted(sys.modules))
                meanwhile()
            raise SystemFailure("enough")

        options.ask_apart = lambda *given: ask(meanwhile=given[-1])
        sys.exit(main(["audit", "--bootstrap-server", "kafka:9092"]))
    """
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (153, "acked: enough\n")
    before, later = (line.split() for line in done.stdout.splitlines())
    answers = ("acked.audit.clusters.several", "acked.checker.batch.cache", "acked.model.partition.protocol")
    assert [name in before for name in answers] == [False] * 3
    assert [name in later for name in answers] == [True] * 3


@pytest.mark.slow
def test_a_process_that_finds_no_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_MORE", -1.0)
    monkeypatch.setattr(processes, "GRACE", 0.5)
    monkeypatch.setattr(live, "_SERVICE", Service("tests.audit.commands.test_hostile_broker:Sleeper", "client library"))
    began = time.monotonic()
    with pytest.raises(SystemFailure, match="the client library did not stop within"):
        ask_apart("127.0.0.1:1", {}, 1.5)
    assert time.monotonic() - began < 10


class Sleeper:
    """Answers nothing."""

    def __init__(self, problem: None, timeout: float) -> None:
        pass

    def answer(self, asked: object, note: object) -> None:
        time.sleep(60)
