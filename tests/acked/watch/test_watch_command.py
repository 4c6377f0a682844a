"""`acked watch` as it is started, and its server: what is refused, what is shown, how it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

import pytest

from acked.audit.clusters.live import LiveCluster
from acked.audit.clusters.policy import Cluster
from acked.cli import main
from acked.cluster.nodes.addresses import free_ports
from acked.cluster.waiting import wait_for
from acked.watch.answers import Watched
from acked.watch.clusters import Watch, without_secrets
from acked.watch.server import WatchServer
from tests.acked.watch.clusters import GONE, live, samples, scripted, unreadable
from tests.e2e.driver import heed_interrupts

# -- the server ------------------------------------------------------------------------------------------------------------


@contextmanager
def serving(watch: Watch, place: str = "127.0.0.1:0") -> Iterator[WatchServer]:
    with WatchServer(place, watch, 30.0) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def get(server: WatchServer, path: str, method: str = "GET", **headers: str) -> tuple[int, Mapping[str, str], str]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(method, path, headers=headers)
    with connection.getresponse() as answer:
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_the_server_has_a_page_and_metrics_and_nothing_else(answers: list[str]) -> None:
    watch = Watch([scripted(live(("<b>orders</b>",)), name="<i>&")], 30.0, print)
    watch.once()
    with serving(watch) as server:
        status, headers, page = get(server, "/")
        assert (status, headers["X-Frame-Options"], headers["Cache-Control"]) == (200, "DENY", "no-store")
        assert headers["Refresh"] == "30"
        assert "Refresh" not in get(server, "/?still")[1]
        assert "&lt;b&gt;orders" in page
        assert "<b>" not in page
        assert "<i>" not in page
        status, headers, text = get(server, "/metrics", Accept="application/openmetrics-text;version=1.0.0")
        assert headers["Content-Type"].startswith("application/openmetrics-text")
        assert samples(text)["acked_up",] == 1
        assert get(server, "/metrics")[1]["Content-Type"].startswith("text/plain")
        assert [get(server, path)[0] for path in ("/etc/passwd", "/../alerts.yml", "/metrics/x")] == [404, 404, 404]
        assert [get(server, "/", method)[0] for method in ("POST", "PUT", "DELETE", "OPTIONS")] == [405] * 4


@pytest.mark.parametrize(("host", "status"), [
    ("127.0.0.1:1", 200), ("localhost", 200), ("[::1]:80", 200), ("evil.example", 421), ("127.0.0.1.evil.example:9857", 421),
    ("10.0.0.1:9857", 421), ("", 421),
])  # fmt: skip
def test_on_loopback_a_foreign_name_is_refused(answers: list[str], host: str, status: int) -> None:
    with serving(Watch([scripted()], 30.0, print)) as server:
        assert get(server, "/", Host=host)[0] == status


def test_elsewhere_any_name_is_answered(answers: list[str]) -> None:
    with serving(Watch([scripted()], 30.0, print), "0.0.0.0:0") as server:
        assert get(server, "/", Host="kafka-watch.example")[0] == 200


def test_a_connection_that_says_nothing_holds_up_nobody(answers: list[str]) -> None:
    watch = Watch([scripted()], 30.0, print)
    with serving(watch) as server, socket.create_connection(("127.0.0.1", server.server_port)) as silent:
        silent.sendall(b"GET /metr")
        assert get(server, "/metrics")[0] == 200


# -- the command -----------------------------------------------------------------------------------------------------------


@contextmanager
def hung() -> Iterator[str]:
    """The address of something that accepts, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def start(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "acked", "watch", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("watching ")
    return process


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code", "said"), [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "\nacked: interrupted\n")])
def test_it_ends_at_once_while_a_broker_hangs_and_answers_until_then(sent: signal.Signals, code: int, said: str) -> None:
    [port] = free_ports(1)
    with hung() as address:
        process = start(f"--bootstrap-server={address}", "--every=1", "--timeout=60", f"--listen=127.0.0.1:{port}")
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
                assert samples(answer.read().decode() + "# EOF\n")["acked_up",] == 0
            with urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
                assert "it was not read yet" in answer.read().decode()
            began = time.monotonic()
            process.send_signal(sent)
            _, errors = process.communicate(timeout=30)
            assert time.monotonic() - began < 15
        finally:
            process.kill()
    assert (process.returncode, errors) == (code, said)


@pytest.mark.slow
def test_that_nobody_reads_its_messages_ends_nothing() -> None:
    [port] = free_ports(1)
    process = start("--bootstrap-server=127.0.0.1:1", "--every=1", "--timeout=1", f"--listen=127.0.0.1:{port}")
    try:
        assert process.stderr is not None
        process.stderr.close()

        def reason() -> str:
            with urlopen(f"http://127.0.0.1:{port}/", timeout=20) as answer:
                return str(answer.read().decode())

        wait_for(lambda: "Connection refused" in reason(), "the reason", 60)
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()


@pytest.mark.slow
def test_a_cluster_that_hangs_holds_up_no_other(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    slow = scripted(name="slow")
    over = threading.Event()

    def read(one: Watched) -> LiveCluster:
        if one.name == "slow":
            over.wait(60)
            raise GONE
        return live()

    monkeypatch.setattr(type(slow), "read", read)
    watch = Watch([slow, scripted(name="fast")], 1.0, print)
    with watch:
        wait_for(lambda: watch.seen()[1].settings, "the answer of the cluster that does not hang", 10)
        seen = {one.name: one for one in watch.seen()}
        over.set()
    assert seen["fast"].is_up
    assert seen["fast"].settings is not None
    assert not seen["slow"].is_up


@pytest.mark.slow
def test_nothing_that_is_written_has_the_password(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(
        'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.'
        'PlainLoginModule required username="audit" password="hunter-22";\n'
    )
    with hung() as address:
        named = f'[clusters.prod]\nbootstrap = "{address}"\ncommand-config = "client.properties"\n'
        (tmp_path / "acked.toml").write_text(named)
        line = [sys.executable, "-m", "acked", "watch", "--policy", tmp_path / "acked.toml", "--once", "--timeout=2"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 153
    assert 'acked_up{cluster="prod"} 0.0' in done.stdout
    assert f"prod: the cluster at {address} does not answer" in done.stderr
    assert "hunter" not in done.stdout + done.stderr


def test_a_password_that_a_broker_sends_back_is_not_repeated(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SASL_SSL\nsasl.password=hunter22\nsasl.username=audit\nssl.key.password=other\n")
    cluster = Cluster("prod", "kafka:9092", config)
    assert without_secrets("login failed: audit/hunter22, key other", cluster) == "login failed: audit/…, key …"
    config.unlink()
    assert without_secrets("cannot read it", cluster) == "cannot read it"


ONCE = {
    "all is kept": ([live()], 0),
    "one down": ([live(down=(3,))], 12),
    "settings": ([live(replicas=(1,))], 12),
    "undecided": ([unreadable(live())], 152),
    "gone": ([GONE], 153),
    "gone and well": ([GONE, live()], 153),
    "gone and bad": ([GONE, live(down=(3,))], 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ONCE)
def test_asked_once_the_exit_code_is_that_of_the_worst_answer(
    here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    says, code = ONCE[name]
    names = [f"c{at}" for at in range(len(says))]
    (tmp_path / "acked.toml").write_text("".join(f'[clusters.{one}]\nbootstrap = "kafka:9092"\n' for one in names))
    by_name = dict(zip(names, says, strict=True))

    def read(watched: object) -> object:
        found = by_name[watched.name]  # type: ignore[attr-defined]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("acked.watch.answers.Watched.read", read)
    out = tmp_path / "acked.prom"
    assert main(["watch", "--policy", str(tmp_path / "acked.toml"), "--once", "--out", str(out)]) == code
    assert capsys.readouterr().out == ""
    assert samples(out.read_text("utf-8"))["acked_up",] == (0 if says[-1] is GONE else 1)


@pytest.mark.parametrize(("words", "code", "said"), [
    ([], 151, "nothing to watch: name a cluster with --bootstrap-server, or several in --policy"),
    (["--bootstrap-server", "kafka"], 151, "--bootstrap-server kafka is not HOST:PORT; write e.g. localhost:9092"),
    (["--bootstrap-server", "kafka:9092", "--command-config", "no.properties"], 150, "cannot read the client properties"),
    (["--command-config", "no.properties"], 151, "--command-config is about the cluster of --bootstrap-server"),
    (["--policy", "no.toml"], 150, "cannot read the policy no.toml"),
    (["--bootstrap-server", "kafka:9092", "--listen", "9857"], 151, "--listen 9857 is not ADDRESS:PORT"),
    (["--bootstrap-server", "kafka:9092", "--listen", "kafka.example:9857"], 151, "is not ADDRESS:PORT"),
    (["--bootstrap-server", "kafka:9092", "--listen", "127.0.0.1:99999"], 151, "is not ADDRESS:PORT"),
    (["--bootstrap-server", "kafka:9092", "--listen", "203.0.113.7:9857"], 153, "cannot listen on 203.0.113.7:9857"),
    (["--bootstrap-server", "kafka:9092", "--set", "aks=1"], 151, "--set: aks is not a setting that the audit uses"),
    (["--bootstrap-server", "kafka:9092", "--producer", "acks=5"], 151, "acks"),
    (["--bootstrap-server", "kafka:9092", "--kafka-version", "9.9"], 151, "9.9"),
    (["--bootstrap-server", "kafka:9092", "--out", "x"], 151, "--out is for --once"),
    (["--bootstrap-server", "kafka:9092", "--once", "--out", "no/x"], 153, "the folder no does not exist"),
    (["--bootstrap-server", "kafka:9092", "--every", "0"], 151, "0.0 is not in the range"),
])  # fmt: skip
def test_a_wrong_command_line_ends_before_anything_is_asked(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", *words]) == code
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with hung() as address:
        assert main(["watch", "--bootstrap-server", "kafka:9092", "--listen", address]) == 153
    said = capsys.readouterr().err
    assert said.startswith(f"acked: cannot listen on {address}: ")
    assert said.endswith("choose another place with --listen\n")
    assert said.count("\n") == 1
