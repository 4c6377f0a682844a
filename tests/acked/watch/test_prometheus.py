"""Prometheus itself reads the metrics, the rules and what the page says of its configuration, and its alerts fire.

It needs `prometheus` and `promtool` (Debian: apt-get install prometheus), so it is asked for by its mark alone.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml

from acked.cli import main
from acked.cluster.nodes.addresses import free_ports
from acked.cluster.waiting import wait_for
from acked.watch.clusters import Watch
from acked.watch.metrics import Metrics
from tests.acked.watch.clusters import GONE, ODD, live, scripted, unreadable
from tests.acked.watch.test_watch import expressions
from tests.acked.watch.test_watch_command import serving
from tests.places import CHECKOUT

RULES = CHECKOUT / "acked" / "watch" / "alerts.yml"


def tool(name: str) -> str:
    """The path of a program of Prometheus."""
    found = shutil.which(name)
    assert found is not None, f"there is no {name}; install Prometheus (Debian: apt-get install prometheus)"
    return found


def ask(*words: object, given: str | None = None) -> str:
    line = [tool("promtool"), *map(str, words)]
    done = subprocess.run(line, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def watch(here: None) -> Watch:
    """One cluster with two brokers down, one that says too little, and one that is gone."""
    watch = Watch([scripted(live(("orders", ODD), down=(2, 3)), name=ODD), scripted(unreadable(live()), name="old"),
                   scripted(GONE, name="gone")], 30.0, print)  # fmt: skip
    watch.once()
    return watch


@pytest.mark.real
@pytest.mark.slow
def test_the_metrics_are_as_prometheus_wants_them(watch: Watch) -> None:
    assert ask("check", "metrics", given=Metrics(watch.seen).text) == ""


@pytest.mark.real
def test_every_expression_of_rules_and_dashboard_is_understood(tmp_path: Path) -> None:
    assert "SUCCESS: 8 rules found" in ask("check", "rules", RULES)
    named = [one.replace("$cluster", ".*") for one in expressions()]
    rules = [{"record": f"x:{at}", "expr": expression} for at, expression in enumerate(named)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "x", "rules": rules}]}))
    assert f"SUCCESS: {len(rules)} rules found" in ask("check", "rules", tmp_path / "rules.yml")


def series(name: str, values: str, **labels: str) -> dict[str, str]:
    told = ",".join(f'{label}="{value}"' for label, value in {"cluster": "prod", **labels}.items())
    return {"series": f"{name}{{{told}}}", "values": values}


ALERTS = {
    "KafkaOneFailureFromLoss": [series("acked_partitions_losing_after_failure", "0 0 3x60", topic="orders", cause="state")],
    "KafkaWritesRefused": [series("acked_partitions_refusing_writes", "0 0 3x60", topic="orders", cause="settings")],
    "KafkaMayNotStopAnotherBroker": [
        series("acked_partitions_refusing_writes_after_stop", "0x60", topic="orders", cause="state"),
        series("acked_partitions_losing_after_stop", "0 0 3x60", topic="orders", cause="state"),
    ],
    "KafkaRequirementNotKept": [series("acked_audit_verdict", "0 1 2x60")],
    "KafkaDurabilityUndecided": [series("acked_partitions_undecided", "0 0 3x60", topic="orders")],
    "KafkaControllersWithoutSpare": [series("acked_controllers_to_spare", "1 1 0x60")],
    "KafkaNotReadByAcked": [series("acked_up", "1 1 0x60")],
    "KafkaAnswersOld": [series("acked_read_timestamp_seconds", "0x60", answer="roll")],
}
WELL = [
    series("acked_partitions_losing_after_failure", "0x60", topic="orders", cause="state"),
    series("acked_partitions_losing_after_failure", "3x60", topic="single", cause="settings"),
    series("acked_partitions_losing_after_stop", "3x60", topic="single", cause="settings"),
    series("acked_partitions_refusing_writes", "0x60", topic="orders", cause="state"),
    series("acked_partitions_refusing_writes_after_stop", "0x60", topic="orders", cause="state"),
    series("acked_partitions_undecided", "0x60", topic="orders"),
    series("acked_audit_verdict", "0x60"),
    series("acked_controllers_to_spare", "1x60"),
    series("acked_up", "1x60"),
    series("acked_read_timestamp_seconds", "0+60x60", answer="roll"),
]


def fired(tmp_path: Path, given: list[dict[str, str]], alert: str, minute: int) -> bool:
    """Whether an alert fires at a minute."""
    known = {"rule_files": [str(RULES)], "evaluation_interval": "1m"}
    wanted = {"alertname": alert, "eval_time": f"{minute}m", "exp_alerts": []}
    test = {**known, "tests": [{"interval": "1m", "input_series": given, "alert_rule_test": [wanted]}]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test))
    done = subprocess.run([tool("promtool"), "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert ("FAILED" in done.stdout + done.stderr) == bool(done.returncode)
    return done.returncode != 0


@pytest.mark.real
@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_fires_for_what_it_is_about_and_not_while_all_is_well(alert: str, tmp_path: Path) -> None:
    assert {rule["alert"] for rule in yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]} == {*ALERTS}
    assert fired(tmp_path, ALERTS[alert], alert, 50)
    assert not fired(tmp_path, ALERTS[alert], alert, 1)
    assert not fired(tmp_path, WELL, alert, 50)


@contextmanager
def prometheus(config: Path, folder: Path) -> Iterator[str]:
    """The address of one that runs with this configuration."""
    [port] = free_ports(1)
    line = [tool("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder}",
            f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def query(address: str, expression: str) -> list[dict[str, Any]]:
    try:
        with urlopen(f"{address}/api/v1/query?query={quote(expression)}", timeout=10) as answer:
            return list(json.load(answer)["data"]["result"])
    except OSError:
        return []


@pytest.mark.real
@pytest.mark.slow
def test_prometheus_scrapes_by_the_configuration_of_the_page_and_its_alerts_are_pending(watch: Watch, tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(scrape_configs:.*?)```", (CHECKOUT / "docs" / "watch.md").read_text("utf-8"), re.DOTALL)
    assert main(["watch", "--files", str(tmp_path / "monitoring")]) == 0
    config = tmp_path / "prometheus.yml"
    with serving(watch) as server:
        times = "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        config.write_text(times + text.replace("127.0.0.1:9857", f"127.0.0.1:{server.server_port}"))
        ask("check", "config", config)
        with prometheus(config, tmp_path / "data") as address:
            wait_for(lambda: len(query(address, "ALERTS")) >= 6, "that alerts are pending", 120)
            time.sleep(2)
            assert [one["value"][1] for one in query(address, 'up{job="acked"}')] == ["1"]
            [one] = query(address, "acked_partitions{topic!='orders'}")
            assert (one["metric"]["topic"], one["metric"]["cluster"]) == (ODD, ODD)
            found = {(one["metric"]["alertname"], one["metric"]["cluster"]) for one in query(address, "ALERTS")}
    assert found == {
        ("KafkaOneFailureFromLoss", ODD), ("KafkaWritesRefused", ODD), ("KafkaMayNotStopAnotherBroker", ODD),
        ("KafkaControllersWithoutSpare", ODD), ("KafkaDurabilityUndecided", "old"), ("KafkaNotReadByAcked", "gone"),
    }  # fmt: skip
