"""Java of the tests' own, compiled at test time against a release's unmodified jars."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

from acked.cluster.nodes.jvm import broker_java
from acked.cluster.releases.jars import Jars, fetch_jars, release_jars
from acked.cluster.releases.release import Artifact, release
from tests.places import DATA

SOURCES = DATA / "java" / "found"
ASM = Artifact("org.ow2.asm", "asm-tree", "9.7.1")


def compiled(class_path: str, sources: Iterable[Path], folder: Path) -> None:
    subprocess.run(["javac", "-cp", class_path, "-d", folder, *sources], check=True)


def kafka(version: str) -> Jars:
    return release_jars(release(version))


def client_jars(version: str) -> Jars:
    client = Artifact("org.apache.kafka", "kafka-clients", version)
    return fetch_jars(f"kafka-clients-{version}", (client,), "the client", None)


def ran(class_path: Iterable[Path | str], main: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [broker_java(), "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(map(str, class_path)), main, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def mended(rule: str, jars: Jars, work: Path) -> Path:
    """A folder with the release's own class, of which one rule is changed as `Mend.java` says, and nothing else."""
    asm = fetch_jars("asm-9.7.1", (ASM,), "ASM", None)
    tool, folder = work / "tool", work / "mended" / rule
    tool.mkdir(exist_ok=True)
    compiled(asm.class_path, [SOURCES / "Mend.java"], tool)
    done = ran((tool, asm.class_path, jars.class_path), "Mend", rule, folder)
    assert done.returncode == 0, done.stderr
    return folder


def mended_home(rule: str, version: str, work: Path) -> Path:
    """An unpacked release whose class path begins with the class that `Mend.java` changed, and which is the release else."""
    jars = kafka(version)
    return home_with((mended(rule, jars, work),), jars, work / "home")


def home_with(classes: Iterable[Path], jars: Jars, home: Path) -> Path:
    """An unpacked release whose class path begins with the classes of some folders, and which has these jars else."""
    libs = home / "libs"
    libs.mkdir(parents=True)
    for path in jars.paths:
        (libs / path.name).symlink_to(path)
    with zipfile.ZipFile(libs / "0-first.jar", "w") as jar:
        for folder in classes:
            for path in folder.rglob("*.class"):
                jar.write(path, path.relative_to(folder))
    return home
