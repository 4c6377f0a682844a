"""The archives of this checkout, which a session builds once, and clean environments."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.places import CHECKOUT
from tests.sharing import made_once


class Archives(NamedTuple):
    """What a build leaves."""

    wheel: Path
    sdist: Path

    @classmethod
    def of(cls, folder: Path) -> Archives:
        """Those in a folder."""
        [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
        return cls(wheel, sdist)


def outside(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in `cwd` without any PYTHON… variable but those given."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


def build(source: Path, target: Path) -> Archives:
    """Builds wheel and sdist of `source` into `target` with the build backend of this environment."""
    done = outside(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    return Archives.of(target)


def archives_of_the_checkout(factory: pytest.TempPathFactory) -> Archives:
    """Its wheel and sdist."""
    return Archives.of(made_once(factory, "dist", lambda folder: build(CHECKOUT, folder)))


def environment_with(target: Path, *install: str | Path) -> Path:
    """The Python of a clean environment below `target` with acked put into it.

    The dependencies are those of the test environment, appended as a plain folder: its `.pth` files, and so its editable
    installation of this checkout, do not take effect.
    """
    home = target / "environment"
    made = outside(sys.executable, "-m", "venv", "--without-pip", home, cwd=target)
    assert made.returncode == 0, made.stderr
    python = home / "bin" / "python"
    [packages] = home.glob("lib/python*/site-packages")
    dependencies = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (packages / "zz_dependencies.pth").write_text("\n".join(dependencies) + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet")
    # What is imported is compiled then, which is not all.
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed", "--no-compile")
    put = outside(*pip, *options, *install, cwd=target)
    assert put.returncode == 0, put.stderr
    return python


def environment_with_the_wheel(factory: pytest.TempPathFactory) -> Path:
    """The Python of a clean environment that holds the wheel, for whatever leaves it as it is."""
    return shared_environment_with(factory, "clean", archives_of_the_checkout(factory).wheel)


def shared_environment_with(factory: pytest.TempPathFactory, name: str, *install: str | Path) -> Path:
    """As `environment_with`, once for all processes of the session."""

    def make(folder: Path) -> None:
        home = folder.with_name(name)  # Its scripts name their place, so it is made where it stays.
        home.mkdir()
        environment_with(home, *install)

    return made_once(factory, f"environment-{name}", make).with_name(name) / "environment" / "bin" / "python"


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


def environment_of(target: Path, names: set[str]) -> Path:
    """The Python of a clean environment below `target` with links to these distributions of the test environment."""
    home = target / "environment"
    made = outside(sys.executable, "-m", "venv", "--without-pip", home, cwd=target)
    assert made.returncode == 0, made.stderr
    [packages] = home.glob("lib/python*/site-packages")
    for place in (place for name in names for place in files_of(name)):
        for base in map(Path, sys.path):
            if base.name == "site-packages" and place.is_relative_to(base):
                link = packages / place.relative_to(base).parts[0]
                if not link.exists():
                    link.symlink_to(base / link.name)
    return home / "bin" / "python"
