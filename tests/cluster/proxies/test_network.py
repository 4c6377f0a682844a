"""Proxies and gates between a client and a broker that is none."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from acked.cluster.proxies.frame import Frame, Link, LinkKind, Phase, close_session, notifies, writes
from acked.cluster.proxies.network import Network
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import BrokerGone, Client, Dialect
from acked.cluster.wire.codec import add_length, request_head, write_response
from tests.cluster.fakes import FakeBroker, fake_broker

NEW = Dialect((2, 0))
SOURCE, TARGET = 1, 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def metadata(payload: bytes) -> bytes:
    head = request_head(payload)
    return write_response(head.api, head.version, head.correlation, {"brokers": [], "controller_id": 3, "topics": []})


@dataclass
class Pair:
    network: Network
    broker: FakeBroker
    link: Link

    def client(self, timeout: float = 5.0) -> Client:
        return Client(self.link.listen, NEW, timeout)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with fake_broker(metadata) as broker, Network() as network:
        link = Link(SOURCE, TARGET, ("127.0.0.1", free_port()), broker.address)
        network.listen(link)
        yield Pair(network, broker, link)


def ask_in_background(client: Client) -> tuple[threading.Thread, list[object]]:
    got: list[object] = []

    def go() -> None:
        try:
            got.append(client.metadata().controller)
        except BrokerGone as error:
            got.append(error)

    thread = threading.Thread(target=go)
    thread.start()
    return thread, got


def test_without_gates_frames_go_through_and_are_seen(pair: Pair) -> None:
    seen: list[Frame] = []
    pair.network.observers.append(seen.append)
    with pair.client() as ask:
        assert ask.metadata().controller == 3
        assert ask.metadata().controller == 3
    assert [(frame.api, frame.phase) for frame in seen] == [
        (Api.METADATA, Phase.REQUEST), (Api.METADATA, Phase.RESPONSE),
    ] * 2  # fmt: skip
    assert str(seen[0]) == "1 to 0: Metadata v1 request"


def test_a_held_request_does_not_arrive_before_it_is_let_go(pair: Pair) -> None:
    gate = pair.network.hold(SOURCE, TARGET, Api.METADATA)
    with pair.client() as ask:
        thread, got = ask_in_background(ask)
        assert gate.wait(5).source == SOURCE
        assert pair.broker.asked == []
        gate.let()
        thread.join(5)
    assert got == [3]
    assert len(pair.broker.asked) == 1


def test_a_held_response_was_asked_for_and_arrives_when_it_is_let_go(pair: Pair) -> None:
    gate = pair.network.hold(api=(Api.METADATA, Api.FETCH), phase=Phase.RESPONSE)
    with pair.client() as ask:
        thread, got = ask_in_background(ask)
        gate.wait(5)
        assert len(pair.broker.asked) == 1
        assert got == []
        gate.let()
        thread.join(5)
    assert got == [3]


def test_a_dropped_response_leaves_the_connection_and_a_closed_one_breaks_it(pair: Pair) -> None:
    gate = pair.network.hold(phase=Phase.RESPONSE)
    with pair.client(timeout=0.3) as ask:
        thread, got = ask_in_background(ask)
        gate.drop()
        thread.join(5)
        assert "timed out" in str(got[0])
    with pair.client() as ask:
        thread, got = ask_in_background(ask)
        gate.close()
        thread.join(5)
        assert "does not answer" in str(got[0])


def test_what_a_gate_does_not_match_goes_through(pair: Pair) -> None:
    gates = [
        pair.network.hold(source=TARGET),
        pair.network.hold(target=SOURCE),
        pair.network.hold(api=Api.FETCH),
        pair.network.hold(predicate=lambda frame: frame.correlation > 1),
    ]
    with pair.client() as ask:
        assert ask.metadata().controller == 3
        thread, got = ask_in_background(ask)
        assert gates[-1].wait(5).correlation == 2
        for gate in gates:
            gate.lift()
        thread.join(5)
        assert got == [3]
        assert ask.metadata().controller == 3
    assert pair.network.gates == ()


def test_frames_behind_a_held_one_keep_their_order(pair: Pair) -> None:
    gate = pair.network.hold(predicate=lambda frame: frame.correlation == 1)
    with pair.client() as ask:
        for _ in range(3):
            ask.send(Api.METADATA, {"topics": None})
        gate.wait(5)
        assert pair.broker.asked == []
        gate.let()
        wait_for(lambda: len(pair.broker.asked) == 3, "three requests", 5)
    assert [request_head(payload).correlation for payload in pair.broker.asked] == [1, 2, 3]


def test_a_held_frame_goes_with_its_connection(pair: Pair) -> None:
    gate = pair.network.hold()
    ask = pair.client()
    ask.send(Api.METADATA, {"topics": None})
    frame = gate.wait(5)
    ask.close()
    wait_for(lambda: not gate.held, "that nothing is held", 5)
    with pytest.raises(NotSeen, match="its connection has gone"):
        gate.let(frame)
    with pytest.raises(NotSeen, match=r"no any request from any to any was seen within 0\.1 seconds"):
        gate.wait(0.1)


def test_a_reset_breaks_the_connections_of_a_node(pair: Pair) -> None:
    with pair.client() as ask:
        assert ask.metadata().controller == 3
        pair.network.reset(source=TARGET)
        assert ask.metadata().controller == 3
        pair.network.reset(source=SOURCE)
        with pytest.raises(BrokerGone):
            ask.metadata()


def test_a_client_of_a_node_that_does_not_run_is_turned_away() -> None:
    with Network() as network:
        link = Link(SOURCE, TARGET, ("127.0.0.1", free_port()), ("127.0.0.1", free_port()))
        network.listen(link)
        with Client(link.listen, NEW, 5) as ask, pytest.raises(BrokerGone):
            ask.metadata()


def test_after_the_end_nobody_listens(pair: Pair) -> None:
    pair.network.close()
    with pytest.raises(BrokerGone):
        pair.client()
    pair.network.close()


def test_the_session_of_a_dead_node_lives_until_it_is_ended() -> None:
    """A ZooKeeper that is none: it keeps what it receives, and closes when a session is closed."""
    received: list[bytes] = []
    with fake_broker(lambda payload: received.append(payload)) as server, Network() as network:  # type: ignore[func-returns-value]
        link = Link(SOURCE, 8, ("127.0.0.1", free_port()), server.address, LinkKind.ZOOKEEPER)
        network.listen(link)
        seen: list[Frame] = []
        network.observers.append(seen.append)
        with socket.create_connection(link.listen) as session:
            session.sendall(add_length(b"greeting") + add_length(b"\0\0\0\1\0\0\0\4path"))
            wait_for(lambda: len(received) == 2, "two frames", 5)
        assert [frame.api for frame in seen] == [None, 4]
        time.sleep(0.1)
        assert len(received) == 2
        ender = threading.Thread(target=network.end_sessions, args=(SOURCE,))
        ender.start()
        wait_for(lambda: len(received) == 3, "the end of the session", 5)
        assert add_length(received[2]) == close_session()
        server.connections[0].shutdown(socket.SHUT_RDWR)
        ender.join(5)
        assert not ender.is_alive()


def test_a_gate_answers_in_the_targets_name(pair: Pair) -> None:
    gate = pair.network.hold(SOURCE, TARGET, Api.METADATA)
    with pair.client() as client:
        thread, got = ask_in_background(client)
        held = gate.wait(5.0)
        answer = write_response(
            Api.METADATA, held.version, held.correlation, {"brokers": [], "controller_id": 8, "topics": []}
        )
        gate.answer(answer[4:], held)
        thread.join(5.0)
        assert got == [8]
        assert pair.broker.asked == []
        gate.lift()
        assert client.metadata().controller == 3


OF_ZOOKEEPER = Link(1, 8, ("127.0.0.1", 1), ("127.0.0.1", 2), LinkKind.ZOOKEEPER)


def asked(api: int, path: str, data: bytes = b"") -> Frame:
    """A request to ZooKeeper about one node, as its protocol writes it."""
    payload = struct.pack(">iii", 7, api, len(path)) + path.encode() + data
    return Frame(OF_ZOOKEEPER, 1, Phase.REQUEST, api, 0, 7, payload)


def test_what_creates_or_changes_a_node_of_zookeeper_is_told_from_what_reads_it_and_from_other_nodes() -> None:
    create, get, set_data, multi = 1, 4, 5, 14
    assert writes(asked(create, "/controller"), "/controller")
    assert writes(asked(set_data, "/controller_epoch"), "/controller_epoch")
    assert not writes(asked(set_data, "/controller_epoch"), "/controller")
    assert not writes(asked(get, "/controller"), "/controller")
    names = [struct.pack(">i", len(name)) + name for name in (b"/controller", b"/controller_epoch")]
    checked = Frame(OF_ZOOKEEPER, 1, Phase.REQUEST, multi, 0, 7, struct.pack(">ii", 7, multi) + bytes(9).join(names))
    assert writes(checked, "/controller")
    assert writes(checked, "/controller_epoch")
    of_kafka = Frame(Link(1, 0, ("127.0.0.1", 1), ("127.0.0.1", 2)), 1, Phase.REQUEST, 1, 0, 7, checked.payload)
    assert not writes(of_kafka, "/controller")


def test_a_watch_that_fires_is_told_from_an_answer() -> None:
    def told(number: int) -> Frame:
        payload = struct.pack(">iqiiii", number, -1, 0, 2, 3, 11) + b"/controller"
        return Frame(OF_ZOOKEEPER, 1, Phase.RESPONSE, None, 0, 0, payload)

    assert notifies(told(-1), "/controller")
    assert not notifies(told(7), "/controller")
    assert not notifies(told(-1), "/brokers/ids")
