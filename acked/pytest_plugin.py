"""A pytest plugin: each spec is a test item, with the counterexample as its failure text.

Collecting the files that the ini option `acked_specs` names, and reading what `acked gate` answers. This module is imported
into a user's pytest process, where `model` may be a folder of their own project; so it imports none of ours, and runs the
gate in a process of its own, started with -P.

Floor 11.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

_ANSWERS = pytest.StashKey[dict[str, dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the ini options."""
    parser.addini("acked_specs", "patterns of spec files for acked, relative to the root, such as specs/*.toml", type="args")
    parser.addini("acked_arguments", "further arguments of `acked gate`, such as --no-cache", type="args")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SpecFile | None:
    """A file that a pattern of `acked_specs` names."""
    config = parent.config
    try:
        name = file_path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return None
    if any(fnmatch(name, pattern) for pattern in config.getini("acked_specs")):
        collected: SpecFile = SpecFile.from_parent(parent, path=file_path)
        return collected
    return None


class SpecFile(pytest.File):
    """A spec file, which has one item, or one for each of its variants."""

    def collect(self) -> Iterator[pytest.Item]:
        """The specs, each with its path as `acked gate` takes it."""
        try:
            variants = tomllib.loads(self.path.read_text("utf-8")).get("variants")
        except (OSError, ValueError, RecursionError):
            variants = None
        if variants and isinstance(variants, list) and all(str(name).isidentifier() for name in variants):
            for name in dict.fromkeys(variants):
                yield SpecItem.from_parent(self, name=f"{self.path.stem}-{name}", spec=f"{self.path}#{name}")
        else:  # What is wrong with it the gate says.
            yield SpecItem.from_parent(self, name=self.path.stem, spec=str(self.path))


class SpecItem(pytest.Item):
    """A spec: it passes if the gate is green for it."""

    def __init__(self, *, spec: str, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.spec = spec

    def runtest(self) -> None:
        """Looks up the gate's answer, or asks for it."""
        answer = _answer(self)
        if not answer["green"]:
            raise SpecNotMet(answer)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The departures and the counterexample, without a Python traceback."""
        if isinstance(excinfo.value, SpecNotMet):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the item is, for reports."""
        return self.path, 0, f"acked: {self.name}"


class SpecNotMet(Exception):
    """The gate is red for a spec."""

    def __init__(self, answer: dict[str, Any]) -> None:
        lines = [f"{item['reason']}: {item['sentence']}" for item in answer["departures"]]
        for story in answer["stories"]:
            lines += ["", *story["story"]]
        super().__init__("\n".join(lines))


def _answer(item: SpecItem) -> dict[str, Any]:
    """The gate's answer for a spec; all specs of the session are run at once, those of an xdist worker one by one."""
    stash = item.session.stash
    answers = stash.setdefault(_ANSWERS, {})
    if item.spec not in answers:
        together = not hasattr(item.config, "workerinput")
        wanted = [other.spec for other in item.session.items if isinstance(other, SpecItem)] if together else [item.spec]
        answers.update(_gate(wanted, item.config))
    return answers[item.spec]


def _gate(specs: Iterable[str], config: pytest.Config) -> dict[str, dict[str, Any]]:
    """Runs the gate; an answer by the path of its spec."""
    asked = sorted(set(specs))
    command = [sys.executable, "-P", "-m", "acked", "gate", "--format", "json", *config.getini("acked_arguments"), *asked]
    done = subprocess.run(command, cwd=config.rootpath, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"acked gate ended with code {done.returncode}: {done.stderr.strip()}") from None
    found = {str(config.rootpath / entry["path"]): entry for entry in document["specs"]}
    if missing := [path for path in asked if path not in found]:
        raise RuntimeError(f"acked gate has no answer for {', '.join(missing)}: {document['refusal'] or done.stderr.strip()}")
    return found
