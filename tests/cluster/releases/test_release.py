"""The table of releases, the Java that runs them, and their jars."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acked.base.cache import SealedStore
from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import listing
from acked.cluster.nodes.jvm import broker_java
from acked.cluster.nodes.plan import make_plan
from acked.cluster.releases.jars import MANIFEST, home_jars, home_release, is_fetched, release_jars, zookeeper_jars
from acked.cluster.releases.release import (
    JAXB,
    OLDER_ZOOKEEPER_CLIENT,
    LogBinding,
    Mode,
    mode_of,
    release,
    releases,
)

MAVEN = """\
#!/bin/sh
# A Maven that is none: it copies a jar for every dependency of the pom, or fails as it is told.
for argument do case "$argument" in -DoutputDirectory=*) out="${argument#-DoutputDirectory=}";; esac; done
echo "[INFO] Downloaded from somewhere: there/of/a-1.jar (3 kB)"
test -z "$FAILS" || { echo "[ERROR] $FAILS"; exit 1; }
sed -n 's|.*<artifactId>\\(.*\\)</artifactId><version>\\(.*\\)</version></dependency>.*|\\1-\\2.jar|p' "$out/pom.xml" |
  while read name; do echo "$name" > "$out/$name"; done
"""


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "mvn").write_text(MAVEN)
    (folder / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_every_release_has_a_number_of_its_own_in_order() -> None:
    known = [one.number for one in releases()]
    assert known == sorted(set(known))
    assert release("4.1.0").server.name == "kafka_2.13"


def test_old_releases_have_what_a_current_java_lacks() -> None:
    assert release("0.10.2.2").fixes == release("0.11.0.3").fixes == (JAXB,)
    assert release("2.0.1").fixes == release("2.1.1").fixes == (OLDER_ZOOKEEPER_CLIENT,)
    assert release("1.1.1").fixes == release("2.8.2").fixes == ()
    assert [release(version).log_binding for version in ("2.8.2", "3.9.1", "4.0.0")] == [
        LogBinding.LOG4J_1, LogBinding.LOG4J_1, LogBinding.LOG4J_2,
    ]  # fmt: skip


def test_releases_have_the_modes_that_they_were_declared_ready_for() -> None:
    assert mode_of(release("3.9.1"), None) is Mode.ZOOKEEPER
    assert mode_of(release("3.9.1"), Mode.KRAFT) is Mode.KRAFT
    assert mode_of(release("4.0.0"), None) is Mode.KRAFT
    with pytest.raises(ConfigurationError, match=r"Kafka 4\.0\.0 cannot be started with zookeeper; it has kraft"):
        mode_of(release("4.0.0"), Mode.ZOOKEEPER)


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("4.1.9", r"Kafka 4\.1\.9 is not a release that acked can start; known of that line: 4\.1\.0, 4\.1\.1"),
        ("9.9", r"Kafka 9\.9 is not a release that acked can start; known are 0\.10\.2\.0 to "),
        ("trunk", "“trunk” is not a Kafka release; write one such as 4.1.0"),
    ],
)
def test_an_unknown_release_is_one_sentence(version: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        release(version)


def test_jars_are_fetched_once_and_lead_with_what_the_release_needs(maven: Path) -> None:
    lines: list[str] = []
    jars = release_jars(release("2.0.1"), progress=lines.append)
    assert jars.paths[0].name == "zookeeper-3.4.10.jar"
    assert [path.name for path in jars.paths[1:]] == ["kafka_2.12-2.0.1.jar", "log4j-1.2.17.jar", "slf4j-log4j12-1.7.25.jar"]
    assert lines == ["fetching Kafka 2.0.1 with Maven", "a-1.jar"]
    (maven / "mvn").unlink()
    assert release_jars(release("2.0.1")) == jars
    assert {path.name for path in jars.paths[0].parent.iterdir()} == {path.name for path in jars.paths} | {
        MANIFEST,
        "pom.xml",
    }


def test_a_changed_added_or_missing_jar_is_not_used(maven: Path) -> None:
    jars = zookeeper_jars()
    folder = jars.paths[0].parent
    jars.paths[0].write_text("other")
    sentence = rf"are not those that were fetched \({jars.paths[0].name}\), so they are not run; remove that folder, and they"
    with pytest.raises(SystemFailure, match=sentence):
        zookeeper_jars()
    jars.paths[0].unlink()
    (folder / "more.jar").write_text("x")
    with pytest.raises(SystemFailure, match=f"{jars.paths[0].name}, more.jar"):
        zookeeper_jars()


def forge(folder: Path, key: bytes) -> None:
    """What somebody who can write to the cache does who has not its key: a jar of theirs, and all sums made to match."""
    (folder / "evil.jar").write_text("runs")
    SealedStore(folder, key).write(MANIFEST, listing(folder, [folder / "pom.xml", *folder.glob("*.jar")]))


def test_a_jar_put_into_the_cache_with_a_manifest_to_match_is_not_run(maven: Path) -> None:
    folder = release_jars(release("4.1.0")).paths[0].parent
    before = (folder / MANIFEST).read_bytes()
    forge(folder, b"not the user's key")
    mine, theirs = before.split(b" "), (folder / MANIFEST).read_bytes().split(b" ")
    for forged in (
        b" ".join([mine[0], mine[1], *theirs[2:]]),  # as if it were of this user's key
        before,
        before.partition(b"\n")[0] + b"\n" + theirs[-1],
        listing(folder, folder.glob("*")),  # no seal at all
    ):
        (folder / MANIFEST).write_bytes(forged)
        with pytest.raises(SystemFailure, match=r"Kafka 4\.1\.0 in .* are not those .* not run; remove that folder"):
            release_jars(release("4.1.0"))
    assert (folder / "evil.jar").is_file()


def test_jars_from_a_cache_of_another_key_are_fetched_anew(maven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = release_jars(release("4.1.0"))
    forge(jars.paths[0].parent, b"another's key")
    assert not is_fetched(release("4.1.0"))
    lines: list[str] = []
    assert release_jars(release("4.1.0"), progress=lines.append) == jars
    assert lines[0] == "fetching Kafka 4.1.0 with Maven"
    assert not (jars.paths[0].parent / "evil.jar").exists()
    monkeypatch.setenv("ACKED_CACHE_KEY", "a key that two machines share")
    assert not is_fetched(release("4.1.0"))
    assert release_jars(release("4.1.0")) == jars
    (maven / "mvn").unlink()
    assert release_jars(release("4.1.0")) == jars


def test_jars_without_a_sealed_manifest_are_fetched_anew(maven: Path) -> None:
    jars = release_jars(release("4.1.0"))
    folder = jars.paths[0].parent
    (folder / MANIFEST).unlink()
    (folder / "evil.jar").write_text("runs")
    (folder / "jars.sha256").write_bytes(listing(folder, folder.glob("*.jar")))  # as an earlier acked believed it
    assert release_jars(release("4.1.0")) == jars
    assert not (folder / "evil.jar").exists()


def test_a_failed_fetch_says_why_and_leaves_nothing(maven: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAILS", "Could not transfer artifact: unknown host")
    with pytest.raises(
        SystemFailure, match=r"Maven could not fetch Kafka 4\.1\.0: Could not transfer artifact: unknown host; see"
    ):
        release_jars(release("4.1.0"))
    assert list((tmp_path / "cache" / "kafka").iterdir()) == []


def test_without_maven_the_sentence_names_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(SystemFailure, match="there is no mvn on PATH; install it, or give --kafka-home"):
        release_jars(release("4.1.0"))


def unpacked(folder: Path, name: str) -> Path:
    (folder / "libs").mkdir(parents=True)
    (folder / "libs" / name).write_text("x")
    (folder / "libs" / "another.jar").write_text("x")
    return folder


def test_the_jars_of_an_unpacked_release_are_used_as_they_are(tmp_path: Path) -> None:
    home = unpacked(tmp_path / "home", "kafka_2.13-4.1.0.jar")
    assert home_release(home).version == "4.1.0"
    assert [path.name for path in home_jars(release("4.1.0"), home).paths] == ["another.jar", "kafka_2.13-4.1.0.jar"]
    with pytest.raises(ConfigurationError, match=r"has Kafka 4\.1\.0, not 4\.0\.0"):
        home_jars(release("4.0.0"), home)
    with pytest.raises(ConfigurationError, match="is not an unpacked Kafka release"):
        home_release(tmp_path)


def test_an_unpacked_release_may_be_named_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = unpacked(tmp_path / "home", "kafka_2.13-4.1.0.jar")
    monkeypatch.chdir(tmp_path)
    assert home_jars(release("4.1.0"), Path("home")).class_path == home_jars(release("4.1.0"), home).class_path


def test_an_unpacked_old_release_gets_its_fixes_first(tmp_path: Path, maven: Path) -> None:
    home = unpacked(tmp_path / "home", "kafka_2.11-0.10.2.2.jar")
    assert home_jars(release("0.10.2.2"), home).paths[0].name == "jaxb-api-2.3.1.jar"


def java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    (folder / "bin" / "java").chmod(0o755)
    return folder


def test_java_is_the_one_of_java_home_then_that_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, other = java(tmp_path / "chosen", "21.0.1"), java(tmp_path / "other", "17.0.2")
    monkeypatch.setenv("PATH", f"{other / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("JAVA_HOME", str(chosen))
    assert broker_java() == chosen / "bin" / "java"
    monkeypatch.delenv("JAVA_HOME")
    assert broker_java() == other / "bin" / "java"


def test_a_java_that_does_not_do_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", "11.0.3")))
    with pytest.raises(ConfigurationError, match=r"brokers need Java 17 or later, and JAVA_HOME is .*old, Java 11;"):
        broker_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(ConfigurationError, match="where no Java runs"):
        broker_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemFailure, match="there is no java on PATH; install one"):
        broker_java()


@pytest.mark.parametrize("brokers", [(), (0, 0), (8,), tuple(range(8))])
def test_brokers_that_cannot_be_started_are_refused(brokers: tuple[int, ...]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be started; name 1 to 7 of 0 to 6"):
        make_plan("4.1.0", brokers=brokers)
