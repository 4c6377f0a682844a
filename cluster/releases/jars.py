"""A release's jars on this machine: fetched by Maven into the cache, or those of an unpacked release.

A folder of the cache appears whole or not at all. Its manifest has the SHA-256 of every jar and of the pom that they are of,
and is sealed with the user's key: what somebody else put there, with whatever manifest, is never run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from acked.base.cache import NotOurs, SealedStore, cache_folder, why_no_cache
from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import listing
from acked.base.frozen import frozen
from acked.cluster.releases.release import ZOOKEEPER, ZOOKEEPER_ARTIFACTS, Artifact, Release, release

MANIFEST, _POM_FILE = "jars.sealed", "pom.xml"
Progress = Callable[[str], None]
"""Told each line of progress; what is shown of it is the caller's business."""

_POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>acked</groupId><artifactId>jars</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>
{dependencies}
</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>{0.group}</groupId><artifactId>{0.name}</artifactId><version>{0.version}</version></dependency>"
)
_TIME_LIMIT = 1800


@frozen
class Jars:
    """Jars in the order of a class path. The order is part of what a class archive was made for."""

    name: str
    paths: tuple[Path, ...]

    @property
    def class_path(self) -> str:
        """As Java's option wants it."""
        return os.pathsep.join(str(path) for path in self.paths)

    @property
    def digest(self) -> str:
        """Names this class path: other jars, or the same elsewhere, have another."""
        sizes = [f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in self.paths]
        return hashlib.sha256("\n".join(sizes).encode()).hexdigest()[:16]


def release_jars(chosen: Release, home: Path | None = None, progress: Progress | None = None) -> Jars:
    """A release's jars: those of `home`, an unpacked release, or those of the cache, fetched if they are missing."""
    if home is not None:
        return home_jars(chosen, home, progress)
    return fetch_jars(f"kafka-{chosen.version}", chosen.artifacts, f"Kafka {chosen.version}", progress, chosen.fixes)


def zookeeper_jars(progress: Progress | None = None) -> Jars:
    """The ZooKeeper server's jars."""
    return fetch_jars(f"zookeeper-{ZOOKEEPER.version}", ZOOKEEPER_ARTIFACTS, f"ZooKeeper {ZOOKEEPER.version}", progress)


def home_jars(chosen: Release, home: Path, progress: Progress | None = None) -> Jars:
    """The jars of an unpacked release, after the fixes that it needs; `ConfigurationError` if it is another release."""
    found = home_release(home)
    if found.number != chosen.number:
        raise ConfigurationError(f"{home} has Kafka {found.version}, not {chosen.version}; name the folder of that release")
    fixes: tuple[Path, ...] = ()
    if chosen.fixes:
        what = f"what Kafka {chosen.version} needs on this Java"
        fixes = fetch_jars(f"fixes-{chosen.version}", chosen.fixes, what, progress).paths
    # Nodes start in folders of their own, so the class path has to name the jars from the root.
    libs = (home / "libs").resolve()
    return Jars(f"kafka-{chosen.version}", (*fixes, *sorted(libs.glob("*.jar"))))


def home_release(home: Path) -> Release:
    """Which release is unpacked in a folder; `ConfigurationError` if there is none."""
    names = [path.name for path in (home / "libs").glob("kafka_*.jar")]
    matches = [match for name in names if (match := re.fullmatch(r"kafka_(\d+\.\d+)-(\d+(?:\.\d+)+)\.jar", name))]
    if len(matches) != 1:
        raise ConfigurationError(
            f"{home} is not an unpacked Kafka release: {home / 'libs'} has no kafka_….jar; name its folder"
        )
    return release(matches[0][2])


def fetch_jars(
    name: str, artifacts: Iterable[Artifact], what: str, progress: Progress | None, first: tuple[Artifact, ...] = ()
) -> Jars:
    """The jars of some artifacts and of all that they need, from the cache or by Maven; `first` lead the class path."""
    place = jar_folder(name)
    pom = _POM.format(dependencies="\n".join(_DEPENDENCY.format(one) for one in artifacts))
    if not _is_of(place, pom, what):
        _fetch(place, pom, what, progress or (lambda line: None))
    _verify(place, what)
    leading = [f"{one.name}-{one.version}.jar" for one in first]
    return Jars(name, tuple(sorted(place.glob("*.jar"), key=lambda path: (path.name not in leading, path.name))))


def is_fetched(chosen: Release) -> bool:
    """Whether a release's jars are in the cache already, by whoever has the key; they are compared when they are used."""
    try:
        return _manifest(jar_folder(f"kafka-{chosen.version}")) is not None
    except (NotOurs, OSError):
        return False


def jar_folder(name: str) -> Path:
    """Where jars of this name are kept; `ConfigurationError` where nothing can be."""
    folder = cache_folder("kafka")
    if folder is None:
        raise ConfigurationError(
            why_no_cache() or "there is no folder to keep jars in; name one of your own in ACKED_CACHE_DIR"
        )
    return folder / name


def _fetch(place: Path, pom: str, what: str, progress: Progress) -> None:
    """Asks Maven, and puts the whole folder in its place at once."""
    maven = shutil.which("mvn")
    if maven is None:
        raise SystemFailure(f"Maven is needed to fetch {what}, and there is no mvn on PATH; install it, or give --kafka-home")
    try:
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=place.parent) as temporary:
            folder = Path(temporary, "jars")
            folder.mkdir()
            (folder / _POM_FILE).write_text(pom, encoding="utf-8")
            _run_maven([maven, "-B", "-C", "-f", str(folder / _POM_FILE)], folder, what, progress)
            SealedStore.of(place.parent).beside(folder).write(MANIFEST, _listing(folder))
            if place.is_dir():  # Of another acked, which wanted other jars; or another process was faster.
                os.replace(place, Path(temporary, "before"))
            os.replace(folder, place)
    except OSError as error:
        raise SystemFailure(f"cannot keep the jars of {what} in {place.parent}: {error.strerror}") from None


def _run_maven(command: list[str], folder: Path, what: str, progress: Progress) -> None:
    """Copies the class path of the folder's pom into it; `SystemFailure` with Maven's own first error."""
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    progress(f"fetching {what} with Maven")
    errors: list[str] = []
    with subprocess.Popen([*command, *goal], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:  # fmt: skip
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.startswith("[ERROR]"):
                    errors.append(line.removeprefix("[ERROR]").strip())
                elif (match := re.search(r"(?:Downloaded .*/|Copying )(\S+\.jar)\b", line)) is not None:
                    progress(match[1])
            code = process.wait(_TIME_LIMIT)
        except BaseException:
            process.kill()
            raise
    if code != 0 or not any(folder.glob("*.jar")):
        reason = next((line for line in errors if line), f"it ended with exit code {code}")
        raise SystemFailure(
            f"Maven could not fetch {what}: {reason[:300]}; see to its network or mirror, or give --kafka-home"
        )


def _is_of(place: Path, pom: str, what: str) -> bool:
    """Whether there are jars that were fetched for this pom with this user's key; without it they count as missing."""
    try:
        return _manifest(place) is not None and (place / _POM_FILE).read_text(encoding="utf-8") == pom
    except (NotOurs, OSError, ValueError):
        raise _not_ours(what, place, MANIFEST) from None


def _verify(place: Path, what: str) -> None:
    """Compares every jar with the manifest; `SystemFailure` if one was changed, is missing, or came from elsewhere."""
    try:
        listed, found = _digests(_manifest(place) or b""), _digests(_listing(place))
    except (NotOurs, ValueError):
        raise _not_ours(what, place, MANIFEST) from None
    except OSError as error:
        raise SystemFailure(f"cannot read the jars of {what} in {place}: {error.strerror}; remove that folder") from None
    if wrong := sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name)):
        raise _not_ours(what, place, ", ".join(wrong))


def _not_ours(what: str, place: Path, names: str) -> SystemFailure:
    return SystemFailure(
        f"the jars of {what} in {place} are not those that were fetched ({names}), so they are not run; remove that folder, "
        "and they are fetched again"
    )


def _manifest(place: Path) -> bytes | None:
    """The listing that was sealed when the jars were fetched; None if there is none under this user's key, or `NotOurs`."""
    return SealedStore.of(place.parent).beside(place).read(MANIFEST)


def _digests(text: bytes) -> dict[str, str]:
    lines = (line.partition("  ") for line in text.decode().splitlines())
    return {name: digest for digest, _, name in lines}


def _listing(place: Path) -> bytes:
    return listing(place, [place / _POM_FILE, *place.glob("*.jar")])
