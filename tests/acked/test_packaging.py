"""What is built is what works: the wheel in a clean environment outside the checkout, and what the archives contain."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import acked
from acked.base.files import ROOMS
from acked.reports.shell.bundled import bundled_specs
from tests.building import (
    Archives,
    archives_of_the_checkout,
    build,
    environment_of,
    environment_with_the_wheel,
    outside,
    reachable,
)
from tests.places import CHECKOUT
from tools.site import FENCE, OUTSIDE


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    return archives_of_the_checkout(tmp_path_factory)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of scripts of a clean environment that holds the wheel."""
    return environment_with_the_wheel(tmp_path_factory).parent


def wheel_names(archives: Archives) -> set[str]:
    with zipfile.ZipFile(archives.wheel) as archive:
        return set(archive.namelist())


def sdist_names(archives: Archives) -> set[str]:
    with tarfile.open(archives.sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def specs() -> set[str]:
    return {path.relative_to(CHECKOUT / "specs").as_posix() for path in (CHECKOUT / "specs").rglob("*.toml")}


def metadata(archives: Archives) -> Message:
    """What the wheel says of itself."""
    with zipfile.ZipFile(archives.wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


@pytest.mark.slow
def test_the_wheel_holds_our_packages_and_the_specs_and_nothing_else(archives: Archives) -> None:
    names = wheel_names(archives)
    assert {name.partition("/")[0] for name in names} == {"acked", f"acked-{acked.__version__}.dist-info"}
    assert {name.removeprefix("acked/specs/") for name in names if name.startswith("acked/specs/")} >= specs()
    assert not [name for name in names if "test" in Path(name).name.lower().split("_") or "__pycache__" in name]


@pytest.mark.slow
def test_the_wheel_holds_every_module_of_the_checkout(archives: Archives) -> None:
    ours = [path for part in ROOMS for path in (CHECKOUT / part).rglob("*.py")]
    modules = {f"acked/{path.relative_to(CHECKOUT).as_posix()}" for path in ours}
    modules |= {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "acked").rglob("*.py")} | {"acked/py.typed"}
    pages = {f"acked/{path.relative_to(CHECKOUT).as_posix()}" for path in (CHECKOUT / "reports" / "web").iterdir()}
    assert len(pages) > 10
    assert modules | pages <= wheel_names(archives)


@pytest.mark.slow
def test_the_sdist_holds_specs_licence_and_documentation_and_no_tests(archives: Archives) -> None:
    names = sdist_names(archives)
    assert {f"acked/specs/{name}" for name in specs()} | {"LICENSE", "README.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.split("/")[0] in {"tests", ".ci"}]
    pages = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "docs").rglob("*") if path.is_file()}
    tools = {f"tools/{path.name}" for path in (CHECKOUT / "tools").glob("*.py")}
    assert pages | tools | set(OUTSIDE) | {"mkdocs.yml"} <= names, "what the site is built from"


@pytest.mark.slow
def test_the_sdist_builds_the_same_wheel_as_the_checkout(archives: Archives, tmp_path: Path) -> None:
    with tarfile.open(archives.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    again = build(tmp_path / f"acked-{acked.__version__}", tmp_path / "dist")
    assert digest(again.wheel) == digest(archives.wheel)


@pytest.mark.slow
def test_what_is_built_twice_has_the_same_bytes(archives: Archives, tmp_path: Path) -> None:
    again = build(CHECKOUT, tmp_path)
    assert digest(again.wheel) == digest(archives.wheel)
    assert digest(again.sdist) == digest(archives.sdist)


@pytest.mark.slow
def test_the_bill_of_materials_names_what_acked_needs_with_versions_and_licences(tmp_path: Path) -> None:
    declared = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
    dependencies = [Requirement(line) for line in declared]
    clean = environment_of(tmp_path, reachable(dependencies))
    [block] = re.findall(r"^ *(cyclonedx-py .*)$", (CHECKOUT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    command = block.replace("clean/bin/python", str(clean)).replace("dist/", f"{tmp_path}/")
    script = str(Path(sysconfig.get_path("scripts")) / "cyclonedx-py")
    # It validates what it writes, but whether addresses are ones takes nine tenths of its time; see conftest.py.
    program = (
        "import runpy, sys; sys.modules['rfc3987_syntax'] = None; sys.argv[:] = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    done = outside(sys.executable, "-c", program, script, *command.split()[1:], cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "acked.cdx.json").read_text("utf-8"))
    root = document["metadata"]["component"]
    assert (document["bomFormat"], root["name"], root["licenses"][0]["license"]["id"]) == ("CycloneDX", "acked", "Apache-2.0")
    parts = {canonicalize_name(part["name"]): part for part in document["components"]}
    for name in (canonicalize_name(one.name) for one in dependencies):
        assert (parts[name]["version"], parts[name]["purl"]) == (version(name), f"pkg:pypi/{name}@{version(name)}")


@pytest.mark.slow
def test_the_wheel_declares_what_pyproject_declares(archives: Archives) -> None:
    declared = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["dependencies"]
    said = metadata(archives)
    required = [str(line) for line in said.get_all("Requires-Dist", []) if "extra ==" not in str(line)]
    assert (said["Version"], said["Author"]) == (acked.__version__, "The acked developers")
    assert sorted(required) == sorted(declared)


@pytest.mark.slow
def test_the_wheel_says_where_the_documentation_is_and_has_no_link_into_the_repository(archives: Archives) -> None:
    said = metadata(archives)
    text = str(said.get_payload())
    assert said["Description-Content-Type"] == "text/markdown"
    assert "source archive" in text
    assert re.findall(r"\]\((?![a-z]+:|#)[^)]*\)", FENCE.sub("", text)) == []


@pytest.mark.slow
def test_the_installed_script_works(installed: Path, tmp_path: Path) -> None:
    done = outside(installed / "acked", "check", "kip320", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kip320" in done.stdout or "KIP-320" in done.stdout


@pytest.mark.slow
def test_the_installed_packages_are_those_of_the_clean_environment(installed: Path, tmp_path: Path) -> None:
    program = (
        f"import acked, {', '.join(f'acked.{room}' for room in ROOMS)}, acked.reports.shell.bundled\n"
        f"rooms = acked, {', '.join(f'acked.{room}' for room in ROOMS)}\n"
        "print(*(m.__file__ for m in rooms), sep='\\n')\n"
        "print(acked.reports.shell.bundled.bundled_specs())"
    )
    done = outside(installed / "python", "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    places = [Path(line).resolve() for line in done.stdout.splitlines()]
    assert len(places) == len(ROOMS) + 2
    assert all(place.is_relative_to(installed.parent.resolve()) for place in places), done.stdout
    assert places[-1].parts[-2:] == ("acked", "specs")


def test_in_a_checkout_the_bundled_specs_are_those_of_the_checkout() -> None:
    assert bundled_specs().resolve() == CHECKOUT / "specs"
    assert (bundled_specs() / "kip320.toml").is_file()
    assert (bundled_specs() / "truncate-to-hw.toml").is_file()
