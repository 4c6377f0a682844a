"""What the gallery, the claims and the table of quorums are made of: specs, with the runs of those that are violated.

Only specs that are violated are searched, for their runs, which are kept in the cache of answers; the numbers of the others
are those that their files pin, which the tests compare with the search. docs/runs.json has a digest of the sentences of every
run, so that a run that is told otherwise than before is noticed. `python tools/made.py` writes it, and the short tables.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds, default_workers  # noqa: E402
from acked.base.cache import cache_folder  # noqa: E402
from acked.base.version import __version__  # noqa: E402
from acked.checker.batch.cache import ResultCache  # noqa: E402
from acked.checker.batch.outcome import Task  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.reports.runs.view import steps_of  # noqa: E402
from tools.parts.quorums import quorums_markdown  # noqa: E402
from tools.parts.spec_pages import (  # noqa: E402
    AnsweredSpec,
    NotReproduced,
    claims_markdown,
    gallery_markdown,
)
from tools.real import on_brokers  # noqa: E402

RUNS = ROOT / "docs" / "runs.json"
"""By spec a digest of what its run is told as."""


def settings_of(spec: Spec) -> str:
    """What the spec's file says of version and constants, as it writes them."""
    constants = [f"`{name} = {_value(value)}`" for name, value in spec.given.items()]
    release = f"`{spec.protocol.name}`" if spec.version is None else f"version {spec.version}"
    return ", ".join([release, *constants])


def _value(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def told(spec: Spec) -> AnsweredSpec:
    """The spec with its shortest violating run in sentences."""
    if spec.expect is not None and spec.expect.verdict is Verdict.HOLDS:
        return AnsweredSpec(spec, settings_of(spec))
    folder = cache_folder("results")
    cache = None if folder is None else ResultCache(folder, __version__)
    asked = json.dumps(Task.of(spec).document(), sort_keys=True)
    steps = cache.recall("sentences", asked) if cache is not None else None
    if steps is None:
        steps = sentences(spec)
        if cache is not None:
            cache.keep("sentences", steps, asked)
    return AnsweredSpec(spec, settings_of(spec), tuple(steps))


def sentences(spec: Spec) -> list[str]:
    """The steps of the shortest violating run, found by a search."""
    question = spec.question()
    result = search(question, Bounds(default_workers()))
    if not result.violations:
        raise SystemExit(f"{spec.path}: {result.verdict.value}, expected violated; run tools/pin_specs.py")
    return [step.sentence for step in steps_of(question, result.violations[0].run)[1:]]


def answers(folder: str) -> Iterator[AnsweredSpec]:
    """Every spec of a folder of `specs/` with its run."""
    return map(told, specs(folder))


def specs(folder: str) -> list[Spec]:
    """Every spec of a folder of `specs/`, in order of name."""
    return [load_spec(path) for path in specs_under(ROOT / "specs" / folder)]


def standstills() -> Iterator[AnsweredSpec]:
    """The specs of `specs/recoverable` that are about a known bug."""
    return (told(spec) for spec in specs("recoverable") if spec.gallery is not None)


def untold() -> list[NotReproduced]:
    """The rows that have no spec."""
    listed = tomllib.loads((ROOT / "docs" / "open_rows.toml").read_text("utf-8"))
    return [NotReproduced(**row) for row in listed.get("row", [])]


def part_of_bugs() -> list[str]:
    """The gallery, as the site shows it."""
    return gallery_markdown(answers("gallery"), standstills(), untold(), on_brokers())


def part_of_claims() -> list[str]:
    """The claims, as the site shows them."""
    return claims_markdown(answers("claims"))


def part_of_quorums() -> list[str]:
    """What docs/quorums.md says of some of the claims."""
    return quorums_markdown(map(unsearched, specs("claims")))


def unsearched(spec: Spec) -> AnsweredSpec:
    """The spec with what its file says alone."""
    return AnsweredSpec(spec, settings_of(spec))


def with_runs() -> list[Spec]:
    """The specs whose shortest violating runs the pages tell."""
    asked = [*specs("gallery"), *(spec for spec in specs("recoverable") if spec.gallery is not None), *specs("claims")]
    return [spec for spec in asked if spec.expect is None or spec.expect.verdict is not Verdict.HOLDS]


def runs(asked: Iterable[Spec]) -> dict[str, str]:
    """By spec a digest of what its shortest run is told as."""
    return {spec.name: hashlib.sha256("\n".join(told(spec).steps).encode()).hexdigest()[:12] for spec in asked}
