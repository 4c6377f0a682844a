"""Nodes without Java: addresses, configuration, formatting, and a cluster whose java is a script."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import javaproperties
import pytest

from acked.base.cache import SealedStore
from acked.base.errors import SystemFailure
from acked.base.files import listing
from acked.cluster.nodes.addresses import CLIENT, CONTROLLER, ZOOKEEPER, free_ports, open_network
from acked.cluster.nodes.archive import add_archive, archive_path, keep
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.formatting import CLUSTER_ID, format_arguments, format_directories, meta_of
from acked.cluster.nodes.jvm import Exited, Jvm, Program, why_it_ended
from acked.cluster.nodes.plan import ClusterPlan
from acked.cluster.nodes.settings import log_configuration, log_option, server_settings, write_properties
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.proxies.frame import Frame, Link, Phase
from acked.cluster.proxies.network import Network
from acked.cluster.releases.jars import Jars
from acked.cluster.releases.release import LogBinding, Mode, release
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import write_request, write_response
from tests.places import CHECKOUT

NO_JARS = Jars("none", ())


def script(folder: Path, text: str) -> Path:
    path = folder / "java"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# -- addresses and settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_every_pair_of_nodes_has_a_proxy_of_its_own(mode: Mode) -> None:
    addresses, network = open_network(mode, (0, 1, 2))
    with network:
        links = addresses.links()
        pairs = {(link.source, link.target) for link in links}
        assert len(pairs) == len(links) == len({link.listen for link in links})
        assert {(source, target) for source in (0, 1, 2, CONTROLLER) for target in (0, 1, 2, CONTROLLER)} <= pairs
        assert ((0, ZOOKEEPER) in pairs) == (mode is Mode.ZOOKEEPER)
        assert (CLIENT, 2) in pairs
        real = [*addresses.internal.values(), *addresses.client.values(), addresses.zookeeper]
        assert len(set(real)) == len(real)
        hosts = dict(reversed(line.split()) for line in addresses.hosts(1).splitlines())
        assert hosts["node2"] == addresses.proxy(1, 2) == f"127.{addresses.octet}.2.3"
        assert hosts["localhost"] == "127.0.0.1"


def test_two_clusters_do_not_share_addresses() -> None:
    first, one = open_network(Mode.KRAFT, (0,))
    second, other = open_network(Mode.KRAFT, (0,))
    with one, other:
        assert {link.listen for link in first.links()}.isdisjoint(link.listen for link in second.links())


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(30))) == 30


@pytest.mark.parametrize("mode", Mode)
def test_what_is_configured_is_what_java_reads_and_own_settings_take_precedence(mode: Mode, tmp_path: Path) -> None:
    addresses, network = open_network(mode, (0, 1))
    network.close()
    own = {"min.insync.replicas": "2", "odd": " a:b\\ü"}
    settings = server_settings(addresses, 1, tmp_path / "data", own)
    write_properties(tmp_path / "p", settings)
    with open(tmp_path / "p", encoding="ascii") as file:
        assert javaproperties.load(file) == settings
    assert settings["min.insync.replicas"] == "2"
    assert f"INTERNAL://node1:{addresses.port}" in settings["advertised.listeners"]
    assert ("node.id" in settings) == (mode is Mode.KRAFT)
    assert ("zookeeper.connect" in settings) == (mode is Mode.ZOOKEEPER)
    controller = server_settings(addresses, CONTROLLER, tmp_path / "data", {})
    assert ("advertised.listeners" in controller) == (mode is Mode.ZOOKEEPER)


def test_logs_are_configured_for_both_bindings() -> None:
    one, two = (log_configuration(binding, Path("/x/log")) for binding in LogBinding)
    assert javaproperties.loads(one)["log4j.appender.F.file"] == "/x/log"
    assert 'fileName="/x/log"' in two
    assert log_option(LogBinding.LOG4J_1, Path("/x/f")) == "-Dlog4j.configuration=file:/x/f"
    assert log_option(LogBinding.LOG4J_2, Path("/x/f")) == "-Dlog4j2.configurationFile=/x/f"


# -- formatting -----------------------------------------------------------------------------------------------------------

META = "version=1\ncluster.id=abc\nnode.id=9\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\n"


def test_every_node_has_an_id_and_a_directory_id_of_its_own() -> None:
    first, second = (dict(line.split("=") for line in meta_of(META, node).splitlines()) for node in (1, 2))
    assert (first["node.id"], second["node.id"], first["cluster.id"]) == ("1", "2", "abc")
    assert len({first["directory.id"], second["directory.id"], "A" * 22}) == 3
    assert len(first["directory.id"]) == 22
    assert "directory.id" not in meta_of("node.id=9\n", 1)


def test_directories_are_formatted_once_by_kafkas_own_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    java = script(
        tmp_path, f'echo "$@" >> {work}/asked; printf "{META}" > data/meta.properties; echo b > data/bootstrap.checkpoint'
    )
    tool = Program(java, NO_JARS, "tool", format_arguments(work / "p", {"x": 1}))
    for turn in ("first", "second"):
        data, other = work / "data", tmp_path / f"{turn}-1"
        data.mkdir()
        other.mkdir()
        format_directories(tool, ("4.1.0", "x=1"), data, {1: other}, work)
        assert (data / "bootstrap.checkpoint").read_text() == "b\n"
        assert "node.id=1" in (other / "meta.properties").read_text()
        data.rename(work / turn)
    [asked] = (work / "asked").read_text().splitlines()
    assert asked.endswith(f"tool format -t {CLUSTER_ID} -c {work}/p --feature x=1")


def test_formatted_directories_that_were_changed_in_the_cache_are_formatted_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    into = f"{tmp_path}/data"
    java = script(tmp_path, f'printf "{META}" > {into}/meta.properties; echo b > {into}/bootstrap.checkpoint')
    tool = Program(java, NO_JARS, "tool", ())
    for _ in range(3):
        data = tmp_path / "data"
        data.mkdir()
        format_directories(tool, ("4.1.0",), data, {}, tmp_path)
        assert (data / "bootstrap.checkpoint").read_text() == "b\n"
        assert not (data / "more").exists()
        shutil.rmtree(data)
        [kept] = [path for path in (tmp_path / "cache" / "kafka" / "formatted").iterdir() if path.is_dir()]
        (kept / "bootstrap.checkpoint").write_text("another level of features\n")
        (kept / "more").write_text("x")


def test_a_format_tool_that_fails_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    tool = Program(script(tmp_path, "echo 'Unsupported feature x' >&2; exit 3"), NO_JARS, "tool", ())
    with pytest.raises(SystemFailure, match="Kafka's format tool failed with code 3: “Unsupported feature x”"):
        format_directories(tool, ("v",), tmp_path / "data", {}, tmp_path)


# -- processes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("[error] java.net.BindException: Address already in use", "a port that it needs is in use (“"),
        ("ERROR Exiting: java.io.IOException: No space left on device", "the disk is full (“ERROR Exiting"),
        ("Error: Could not find or load main class kafka.Kafka", "“Error: Could not find or load main class kafka.Kafka”"),
        ("FATAL Exiting because truncation is not allowed\n\tat y", "“FATAL Exiting because truncation is not allowed”"),
        ("", "“it said nothing”"),
    ],
)  # fmt: skip
def test_the_cause_of_an_end_is_the_nodes_own_word(line: str, cause: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"INFO all is well\n{line}\n" if line else "")
    assert why_it_ended(tmp_path).startswith(cause)


def test_a_node_that_could_not_write_its_last_words_ended_because_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text("INFO still catching up\n")
    assert why_it_ended(tmp_path) == "“INFO still catching up”"
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=4096))
    assert why_it_ended(tmp_path).startswith("the disk is full, and it could not write down why it ended")


def test_a_node_is_killed_shut_down_and_checked(tmp_path: Path) -> None:
    watchdog = Watchdog(None)
    polite = script(tmp_path, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    jvm = Jvm("broker 0", Program(polite, NO_JARS, "main", ()), tmp_path, watchdog)
    wait_for(lambda: (tmp_path / "out").read_text() == "ready\n", "its output", 5)
    jvm.check()
    jvm.shut_down()
    assert not jvm.is_running
    with pytest.raises(Exited, match="broker 0 exited with code 0: “ready”"):
        jvm.check()
    deaf = script(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    stubborn = Jvm("broker 1", Program(deaf, NO_JARS, "", ()), tmp_path, watchdog)
    wait_for(lambda: (tmp_path / "out").read_text() == "ready\n" * 2, "its output", 5)
    with pytest.raises(SystemFailure, match=r"broker 1 did not shut down within 0\.2 seconds and was killed"):
        stubborn.shut_down(0.2)
    assert not is_alive(stubborn.pid)
    watchdog.stop()


@pytest.mark.parametrize(
    ("says", "is_of_machine"), [("No space left on device", True), ("Exiting because truncation is not allowed", False)]
)
def test_an_end_for_want_of_what_the_machine_lacks_is_told_from_others(
    says: str, is_of_machine: bool, tmp_path: Path
) -> None:
    watchdog = Watchdog(None)
    jvm = Jvm("broker 0", Program(script(tmp_path, f"echo 'FATAL {says}'; exit 1"), NO_JARS, "main", ()), tmp_path, watchdog)
    wait_for(lambda: not jvm.is_running, "its end", 5)
    with pytest.raises(Exited) as ended:
        jvm.check()
    assert ended.value.is_of_machine == is_of_machine
    watchdog.stop()


def test_a_cluster_whose_files_cannot_be_written_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("acked.cluster.nodes.node.log_configuration", full)
    with pytest.raises(SystemFailure, match=r"the cluster's files cannot be written in .*: No space left on device"):
        Cluster(plan(tmp_path, Mode.ZOOKEEPER, "1.1.1"))
    assert list(temporary.iterdir()) == []


def test_a_java_that_cannot_be_started_is_one_sentence(tmp_path: Path) -> None:
    watchdog = Watchdog(None)
    with pytest.raises(SystemFailure, match=r"cannot start broker 0 with .*nowhere: No such file"):
        Jvm("broker 0", Program(tmp_path / "nowhere", NO_JARS, "", ()), tmp_path, watchdog)
    watchdog.stop()


DRIVER = """\
import os, sys, subprocess, time
from pathlib import Path
from acked.cluster.nodes.watchdog import Watchdog
from acked.cluster.proxies.frame import Link
from acked.cluster.proxies.network import Network
folder = Path(sys.argv[1])
dog = Watchdog(folder)
child = subprocess.Popen(["sleep", "60"])
dog.watch(child)
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_nodes_and_folder_do_not_outlive_a_driver_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT / ".import")}
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder)], stdout=subprocess.PIPE, env=environment, text=True
    ) as driver:
        assert driver.stdout is not None
        child = int(driver.stdout.readline())
        assert is_alive(child)
        time.sleep(0.2)
        driver.kill()
    wait_for(lambda: not is_alive(child) and not folder.exists(), "the end of the child", 10)


# -- a cluster ------------------------------------------------------------------------------------------------------------


def plan(java: Path, mode: Mode, version: str, keep: bool = False) -> ClusterPlan:
    return ClusterPlan(release(version), mode, NO_JARS, NO_JARS, java, (0, 1), keep=keep)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where clusters are, so that what is left of them is seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize(
    ("mode", "version", "sentence"),
    [
        (
            Mode.ZOOKEEPER,
            "1.1.1",
            "ZooKeeper exited with code 1: a port that it needs is in use (“java.net.BindException: Address",
        ),
        (
            Mode.KRAFT,
            "4.1.0",
            "Kafka's format tool failed with code 1: a port that it needs is in use (“java.net.BindException",
        ),
    ],
)
def test_a_node_that_exits_ends_the_cluster_and_leaves_nothing(
    mode: Mode, version: str, sentence: str, tmp_path: Path, temporary: Path
) -> None:
    java = script(tmp_path, "echo 'java.net.BindException: Address already in use' >&2; exit 1")
    cluster = Cluster(plan(java, mode, version))
    with pytest.raises(SystemFailure) as caught, cluster:
        pass
    assert str(caught.value).startswith(sentence)
    assert list(temporary.iterdir()) == []
    with pytest.raises(SystemFailure, match="the proxies have stopped"):
        cluster.network.reset()


def test_nodes_that_run_are_killed_with_the_cluster_and_kept_logs_stay(tmp_path: Path, temporary: Path) -> None:
    java = script(tmp_path, "echo started; exec sleep 60")
    cluster = Cluster(plan(java, Mode.ZOOKEEPER, "1.1.1", keep=True))
    cluster.nodes[0].start()
    cluster.nodes[CONTROLLER].start()
    pids = [node.jvm.pid for node in cluster.nodes.values() if node.jvm is not None]
    wait_for(lambda: all((cluster.nodes[node].folder / "out").read_text() for node in (0, CONTROLLER)), "their output", 5)
    cluster.close()
    assert [pid for pid in pids if is_alive(pid)] == []
    assert (cluster.folder / "node0" / "out").read_text() == "started\n"


def test_an_empty_disk_keeps_what_kraft_starts_with(tmp_path: Path, temporary: Path) -> None:
    cluster = Cluster(plan(tmp_path, Mode.KRAFT, "4.1.0"))
    node = cluster.nodes[1]
    (node.data / "meta.properties").write_text("x")
    (node.data / "t-0").mkdir()
    node.empty_disk()
    assert [path.name for path in node.data.iterdir()] == ["meta.properties"]
    cluster.close()
    assert list(temporary.iterdir()) == []


class Knows:
    """A client of a broker that counts on broker 0."""

    def __enter__(self) -> Knows:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def metadata(self, topics: list[str]) -> SimpleNamespace:
        return SimpleNamespace(brokers=(0,))


def test_a_broker_that_missed_two_restarts_of_another_has_not_heard_that_it_is_back(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts on the registration before, and asks for nobody in the ISR whose fetches name another one."""
    cluster = Cluster(plan(tmp_path, Mode.KRAFT, "4.1.0"))
    monkeypatch.setattr(cluster, "client", lambda broker, timeout: Knows())

    def passes(source: int, phase: Phase, api: Api, payload: bytes) -> None:
        link = Link(source, CONTROLLER, ("127.0.0.1", 1), ("127.0.0.1", 2))
        for observer in cluster.network.observers:
            observer(Frame(link, 1, phase, api, 1, 1, payload[4:]))

    def registers(epoch: int) -> None:
        values = {"throttle_time": 0, "error_code": 0, "broker_epoch": epoch}
        passes(0, Phase.RESPONSE, Api.BROKER_REGISTRATION, write_response(Api.BROKER_REGISTRATION, 1, 1, values))

    def reports(applied: int) -> None:
        values = {"broker_id": 1, "broker_epoch": 9, "current_metadata_offset": applied, "want_fence": False,
                  "want_shut_down": False}  # fmt: skip
        passes(1, Phase.REQUEST, Api.BROKER_HEARTBEAT, write_request(Api.BROKER_HEARTBEAT, 1, 1, values))

    registers(15)
    assert not cluster.has_heard_of(1, 0), "nobody knows how far it is"
    reports(17)
    assert cluster.has_heard_of(1, 0)
    registers(41)
    assert not cluster.has_heard_of(1, 0)
    assert cluster.has_heard_of(1, 0, is_silent=True)
    reports(40)
    assert not cluster.has_heard_of(1, 0)
    reports(41)
    assert cluster.has_heard_of(1, 0)
    cluster.kill(1)
    assert not cluster.has_heard_of(1, 0), "a process that starts again begins anew"
    cluster.close()


def test_what_is_not_seen_is_named_with_the_last_reason() -> None:
    def fails() -> bool:
        raise SystemFailure("nobody answers")

    looks: list[Callable[[], bool]] = [lambda: False, fails]
    with pytest.raises(NotSeen, match=r"^a leader was not seen within 0\.05 seconds$"):
        wait_for(looks[0], "a leader", 0.05)
    with pytest.raises(NotSeen, match=r"\(last: nobody answers\)$"):
        wait_for(looks[1], "a leader", 0.05)


def refuses(number: int) -> Callable[[Network, Link], None]:
    def listen(network: Network, link: Link) -> None:
        raise OSError(number, os.strerror(number))

    return listen


def test_addresses_that_are_taken_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    first, one = open_network(Mode.KRAFT, (0,))
    # The address after those that are taken is drawn: a fixed one may be somebody's.
    others = [octet for octet in random.sample(range(16, 255), 40) if octet != first.octet]
    octets = iter([first.octet, first.octet, *others])
    monkeypatch.setattr("acked.cluster.nodes.addresses.random.randrange", lambda low, high: next(octets))
    draw, wanted = random.sample, [first.port, first.client_port]
    monkeypatch.setattr(
        "acked.cluster.nodes.addresses.random.sample", lambda among, count: wanted if count == 2 else draw(among, count)
    )
    second, other = open_network(Mode.KRAFT, (0,))
    with one, other:
        assert second.octet != first.octet
        assert second.port == first.port


def test_a_loopback_without_addresses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Network, "listen", refuses(errno.EADDRNOTAVAIL))
    with pytest.raises(
        SystemFailure, match=r"cannot listen on 127\.\d+\.x\.y: .*; proxies need all of 127\.0\.0\.0/8, as on Linux"
    ):
        open_network(Mode.KRAFT, (0,))
    monkeypatch.setattr(Network, "listen", refuses(errno.EADDRINUSE))
    with pytest.raises(SystemFailure, match="no free addresses were found on loopback in 40 tries"):
        open_network(Mode.KRAFT, (0,))


def test_without_a_class_archive_starts_take_longer_and_nothing_else(tmp_path: Path, temporary: Path) -> None:
    lines: list[str] = []
    asked = plan(script(tmp_path, "echo 'Error: no such option' >&2; exit 1"), Mode.ZOOKEEPER, "1.1.1")
    assert add_archive(asked, lines.append) == asked
    assert lines[0] == "making a class archive for Kafka 1.1.1, once"
    assert lines[-1].startswith(
        "no class archive could be made, so starts take longer: ZooKeeper exited with code 1: “Error: no such"
    )
    place = archive_path(asked)
    assert place is not None
    assert list(place.parent.iterdir()) == list(temporary.iterdir()) == []
    place.write_bytes(b"classes")
    keep(place)
    assert add_archive(asked, lines.append).archive == place


def test_a_class_archive_that_was_put_into_the_cache_is_not_given_to_java(tmp_path: Path, temporary: Path) -> None:
    asked = plan(script(tmp_path, "exit 1"), Mode.ZOOKEEPER, "1.1.1")
    place = archive_path(asked)
    assert place is not None
    place.write_bytes(b"classes")
    keep(place)
    place.write_bytes(b"others")
    assert add_archive(asked).archive is None
    place.with_name(f"{place.name}.sealed").unlink()
    assert add_archive(asked).archive is None
    SealedStore(place.parent, b"another's key").write(f"{place.name}.sealed", listing(place.parent, [place]))
    assert add_archive(asked).archive is None


def test_a_class_archive_belongs_to_one_java_one_class_path_and_one_mode(tmp_path: Path, temporary: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_text("x")
    java = script(tmp_path, "")
    plans = [plan(java, mode, "3.9.1") for mode in Mode]
    plans.append(replace(plans[0], jars=Jars("some", (jar,))))
    before = {archive_path(one) for one in plans}
    jar.write_text("changed")
    java.write_text("#!/bin/sh\nanother\n")
    assert len(before | {archive_path(one) for one in plans}) == 6
