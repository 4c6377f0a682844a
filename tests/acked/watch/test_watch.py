"""What `acked watch` knows of clusters that come, change, hang and go, as metrics and as a page."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as older_families

from acked.audit.clusters.live import LiveCluster
from acked.audit.clusters.policy import Cluster
from acked.audit.decision.questions import AuditVerdict
from acked.base.errors import SystemFailure
from acked.cli import main
from acked.cluster.nodes.addresses import free_ports
from acked.roll.decision.judge import Verdict
from acked.watch import clusters
from acked.watch.answers import Cause, Risk, SettingsAnswer, StateAnswer, TopicState, Watched, ask_apart, unknown_state
from acked.watch.clusters import Watch, Watcher, without_secrets
from acked.watch.metrics import FAMILIES, Metrics
from acked.watch.page import watch_page
from acked.watch.server import WatchServer
from tests.acked.watch.clusters import live, scripted, unreadable
from tests.places import CHECKOUT

GONE = SystemFailure("the cluster at kafka:9092 does not answer: refused; look at --bootstrap-server")
OTHERS = "prod: settings: orders: judged by the other brokers' settings: the settings of broker"
ODD = 'the "first"\\\none'


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are asked in this process."""
    monkeypatch.setattr(clusters, "ask_apart", lambda ask, memory: ask())


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, here: None) -> list[str]:
    """Questions get an answer that needs no search, and which were asked."""
    asked: list[str] = []

    def state(watched: object, found: object) -> StateAnswer:
        asked.append("state")
        return unknown_state(found, "not asked")  # type: ignore[arg-type]

    def settings(watched: object, found: object, today: object) -> SettingsAnswer:
        asked.append("settings")
        return SettingsAnswer(AuditVerdict.NO, (), {})

    monkeypatch.setattr(clusters, "ask_state", state)
    monkeypatch.setattr(clusters, "ask_settings", settings)
    return asked


def samples(text: str) -> dict[tuple[str, ...], float]:
    """By the metric's name and the values of its labels besides the cluster, in the order of their names."""
    return {
        (sample.name, *(value for label, value in sorted(sample.labels.items()) if label != "cluster")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def known(watcher: Watcher) -> dict[tuple[str, ...], float]:
    return samples(Metrics(lambda: [watcher.seen]).text)


# -- what is asked, and when -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_one_down_partitions_are_a_stop_from_refusing_and_with_two_down_a_failure_from_loss(here: None) -> None:
    """RF 3 and min.insync.replicas 2: with one in sync writes are refused, and its disk is the last that has everything."""
    told: list[str] = []
    watcher = Watcher(scripted(live(), live(down=(3,)), live(down=(2, 3)), live()), told.append)
    found = []
    for _ in range(4):
        watcher.look()
        watcher.audit()
        found.append(known(watcher))
    risks = [[one["acked_partitions_" + risk.value, "state", "orders"] for risk in Risk] for one in found]
    assert risks == [[0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    assert [one["acked_roll_verdict", "1"] for one in found] == [0, 2, 2, 0]
    assert [one["acked_broker_up", "3"] for one in found] == [1, 0, 0, 1]
    assert ("acked_roll_verdict", "3") not in found[1], "it cannot be stopped"
    assert [one["acked_controllers_to_spare",] for one in found] == [1, 0, -1, 1]
    assert {one["acked_answer", fault, "loss", "orders"] for one in found for fault in ("clean", "one-machine")} == {0}
    assert {one["acked_audit_verdict",] for one in found} == {0}, "that brokers are down is no change of settings"
    assert told == [
        "prod: it is read", "prod: Go down now? may: 1, 2, 3.", "prod: settings: what is required is kept",
        "prod: Go down now? may not: 1, 2.",
        f"{OTHERS} 3 are not known: it does not run",
        "prod: Go down now? may not: 1.",
        f"{OTHERS} 2 are not known: it does not run and 1 more",
        "prod: Go down now? may: 1, 2, 3.", "prod: settings: what is required is kept",
    ]  # fmt: skip


@pytest.mark.slow
def test_what_settings_bring_at_the_best_of_times_is_told_apart_from_what_is_down(here: None) -> None:
    watcher = Watcher(scripted(live(replicas=(1,))), print)
    watcher.look()
    watcher.audit()
    found = known(watcher)
    assert found["acked_partitions_losing_after_failure", "settings", "orders"] == 1
    assert found["acked_partitions_losing_after_failure", "state", "orders"] == 0
    assert found["acked_answer", "one-machine", "loss", "orders"] == 2
    assert found["acked_audit_verdict",] == 2


def test_a_cluster_that_stays_as_it_is_is_not_asked_again_and_its_answers_stay_young(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(scripted(live(), live(), live(down=(3,)), live(("orders", "more"))), print)
    ages = []
    for now in (1000.0, 1030.0, 1060.0, 1090.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        watcher.look()
        watcher.audit()
        assert watcher.seen.state is not None
        assert watcher.seen.settings is not None
        ages.append((watcher.seen.state.read_at, watcher.seen.settings.read_at))
        answers.append("|")
    assert ages == [(1000, 1000), (1030, 1030), (1060, 1060), (1090, 1090)]
    assert "".join(one[:2] for one in answers) == "stse||stse|stse|"


def test_who_leads_and_is_in_sync_is_no_change_of_settings(answers: list[str]) -> None:
    first = live()
    [topic] = first.topics
    shrunk = replace(topic, partitions=(replace(topic.partitions[0], isr=(2, 3), leader=2),))
    watcher = Watcher(scripted(first, replace(first, topics=(shrunk,))), print)
    for _ in range(2):
        watcher.look()
        watcher.audit()
    assert answers == ["state", "settings", "state"]


def test_on_another_day_the_policy_is_asked_again(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Tomorrow(clusters.date):
        @classmethod
        def today(cls) -> clusters.date:
            return clusters.date(2199, 1, 1)

    watcher = Watcher(scripted(live(), live()), print)
    watcher.look()
    watcher.audit()
    monkeypatch.setattr(clusters, "date", Tomorrow)
    watcher.look()
    watcher.audit()
    assert answers == ["state", "settings", "settings"]


def test_a_cluster_that_goes_away_keeps_its_answers_which_grow_old_until_it_is_back(answers: list[str]) -> None:
    told: list[str] = []
    watcher = Watcher(scripted(live(), GONE, GONE, ValueError("odd"), live()), told.append)
    found = []
    for _ in range(5):
        watcher.look()
        watcher.audit()
        found.append(known(watcher))
    assert [one["acked_up",] for one in found] == [1, 0, 0, 0, 1]
    read = [one["acked_read_timestamp_seconds", "roll"] for one in found]
    assert read[0] == read[1] == read[3] < read[4]
    assert found[3]["acked_partitions", "orders"] == 1
    assert told[-3:] == [f"prod: {GONE}", "prod: internal error (ValueError: odd)", "prod: it is read"]
    assert answers == ["state", "settings"]


@pytest.mark.slow
def test_what_cannot_be_asked_is_undecided_and_never_no(here: None) -> None:
    watcher = Watcher(scripted(unreadable(live())), print)
    watcher.look()
    watcher.audit()
    found = known(watcher)
    assert {found["acked_roll_verdict", broker] for broker in "123"} == {1}
    assert found["acked_partitions_undecided", "orders"] == found["acked_partitions", "orders"] == 1
    assert not [key for key in found if "refusing" in key[0] or "losing" in key[0]], "nothing is known of it"
    replies = [value for key, value in found.items() if key[0] == "acked_answer"]
    assert len(replies) == 6
    assert {*replies, found["acked_audit_verdict",]} == {1}


def test_a_question_without_an_answer_is_undecided_and_asked_again_after_a_while(
    answers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(ask: object, memory: int) -> object:
        answers.append("lost")
        raise SystemFailure("there is no answer: the question ran out of the memory that it was given; see --memory")

    monkeypatch.setattr(clusters, "ask_apart", lose)
    watcher = Watcher(scripted(*[live()] * 3), print)
    for now in (1000.0, 1030.0, 1000 + clusters._AGAIN + 1):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        watcher.look()
        watcher.audit()
        assert known(watcher)["acked_audit_verdict",] == 1
        assert known(watcher)["acked_roll_verdict", "1"] == 1
    assert answers == ["lost"] * 4


def boom() -> None:
    raise ValueError("a defect")


def test_a_question_that_ends_by_a_defect_ends_alone() -> None:
    with pytest.raises(SystemFailure, match=r"there is no answer: ValueError: a defect; see --memory"):
        ask_apart(boom, 64 << 20)


def test_a_cluster_without_topics_has_nothing_to_lose(here: None) -> None:
    watcher = Watcher(scripted(replace(live(), topics=())), print)
    watcher.look()
    watcher.audit()
    assert known(watcher)["acked_audit_verdict",] == 0
    assert not [key for key in known(watcher) if key[0] == "acked_answer"]


@pytest.mark.slow
def test_hundreds_of_readings_leave_nothing_behind(answers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"topic-{at}" for at in range(200)]
    states = [live(names), live(names, down=(3,))]

    def state(watched: object, found: LiveCluster) -> StateAnswer:
        risks = dict.fromkeys(product(Risk, Cause), 1)
        return StateAnswer((), tuple(TopicState(one.name, 1, 0, risks) for one in found.topics), Verdict.MAY, "text")

    monkeypatch.setattr(clusters, "ask_state", state)
    watcher = Watcher(scripted(*states * 200), lambda line: None)
    sizes = []
    tracemalloc.start()
    try:
        for at in range(300):
            watcher.look()
            watcher.audit()
            if at % 30 == 0:
                known(watcher)
                watch_page([watcher.seen], 30, time.time())
            if at in (60, 299):
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 200_000
    assert answers.count("settings") == 300


# -- metrics, rules, dashboard ---------------------------------------------------------------------------------------------


def test_names_with_quotes_and_newlines_come_out_of_the_metrics_as_they_are(answers: list[str]) -> None:
    watcher = Watcher(scripted(live((ODD, "orders")), name=ODD), print)
    watcher.look()
    text = Metrics(lambda: [watcher.seen]).text
    for read in (text_string_to_metric_families, older_families):
        labels = [sample.labels for family in read(text) for sample in family.samples if sample.name == "acked_partitions"]
        assert [one["topic"] for one in labels] == [ODD, "orders"]
        assert {one["cluster"] for one in labels} == {ODD}


def test_the_page_of_the_documentation_has_every_metric_with_its_labels() -> None:
    rows = re.findall(r"^\| `(acked_\w+)` \| ([^|]*) \|", (CHECKOUT / "docs" / "watch.md").read_text("utf-8"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == {
        name: ("cluster", *labels) for name, (labels, _) in FAMILIES.items()
    }


def expressions() -> list[str]:
    rules = yaml.safe_load((CHECKOUT / "acked" / "watch" / "alerts.yml").read_text("utf-8"))
    board = json.loads((CHECKOUT / "acked" / "watch" / "dashboard.json").read_text("utf-8"))
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return found + [target["expr"] for panel in board["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", expressions())
def test_rules_and_dashboard_ask_for_metrics_and_labels_that_there_are(expression: str) -> None:
    named = re.findall(r"\b(acked_[a-z_]+)\b(?!_\()(?:\{([^}]*)\})?", expression)
    named = [(name, labels) for name, labels in named if not name.endswith("_")]
    assert named or "__name__" in expression
    for name, labels in named:
        assert {*re.findall(r"(\w+)=", labels)} <= {"cluster", *FAMILIES[name][0]}


def test_alerts_and_dashboard_are_written_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "monitoring"
    assert main(["watch", "--files", str(place)]) == 0
    rules = yaml.safe_load((place / "acked-alerts.yml").read_text("utf-8"))["groups"][0]["rules"]
    assert all(rule["labels"]["severity"] and rule["annotations"]["summary"] for rule in rules)
    board = json.loads((place / "acked-dashboard.json").read_text("utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len({*ids}) == len(ids) >= 8
    (tmp_path / "file").write_text("")
    assert main(["watch", "--files", str(tmp_path / "file" / "below")]) == 153
    assert capsys.readouterr().err.count("cannot make the folder") == 1


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
    process = subprocess.Popen([sys.executable, "-m", "acked", "watch", *words], stderr=subprocess.PIPE, text=True)
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
        for _ in range(200):
            seen = {one.name: one for one in watch.seen()}
            if seen["fast"].settings is not None:
                break
            time.sleep(0.05)
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
