"""What pages of the site need to visit the states of specs in the reader's browser: the folder `check/` beside the pages.

Of every spec a script with what is asked, what acked answered, and in which settings others differ that were built, too; a
script for each WebAssembly module, which specs with equal kernels share; and the search itself. They are scripts, because a
page that was opened from a folder may load nothing else. What was made is kept in acked's cache; the rest is made by as many
processes as there are processors.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from acked.base.bounds import Bounds, default_workers
from acked.base.cache import cache_folder
from acked.base.version import __version__
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.outcome import Task
from acked.checker.question.question import GRAPH_KINDS
from acked.checker.question.result import Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec
from acked.checker.wasm.module import WIDTHS, compile_module
from acked.checker.wasm.script import assembled, described, packed
from acked.model.formulas.errors import DomainOverflow
from acked.model.language.tracings import Tracings
from acked.reports.pages.checking import bytes_needed, run_data
from acked.reports.pages.page import script_text

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "tools" / "web"
FOLDER = "check"
"""Of the built site."""

_SPLIT = "@spec@"
_KINDS = ("variant", "without", "rules of")
"""Choices that come before constants."""
_FIXED = ("file", "asks", "family", "toy")
"""What one spec has and another has not is no choice; nor is a protocol whose properties bear other names."""

_log = logging.getLogger("mkdocs.acked")


@dataclass(frozen=True)
class Built:
    """A spec that the site can check. Two whose values differ in one, in any of the `views`, are a choice of each other."""

    spec: Spec
    views: tuple[Mapping[str, str], ...]

    @classmethod
    def of(cls, spec: Spec) -> Built:
        """A spec of a file: by its constants, by its release, and by the variant of its file."""
        shown = {item.name: _text(item.show(spec.constants[item.name])) for item in spec.protocol.constants}
        asked = {"protocol": spec.asked.protocol, "asks": str(replace(spec.asked, constants=(), drop=()))}
        dropped = {"without": _clauses(spec)}
        given = {name: _text(value) for name, value in spec.given.items()}
        views = [{**asked, **dropped, **shown}, {**asked, **dropped, **given, "rules of": spec.version or "its own"}]
        file, _, variant = str(spec.path).partition("#")
        return cls(spec, (*views, {"file": file, "variant": variant}) if variant else tuple(views))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clauses(spec: Spec) -> str:
    return "; ".join(f"{action}: {label}" for action, label in sorted(spec.drop)) or "nothing"


# -- what is made of one spec ----------------------------------------------------------------------------------------------


def is_possible(spec: Spec) -> bool:
    """Whether a search decides it: not what only the graph of all states does."""
    return not any(item.kind in GRAPH_KINDS for item in spec.properties)


@cache
def _tracings() -> Tracings:
    """What this process has traced: most specs are of one protocol."""
    return Tracings()


def _made(name: str, task: Task, pinned: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The description of a question, its module and what acked answered; None where a step leaves a field's domain."""
    question = task.question(_tracings())
    native, run = dict(pinned or {}), None
    if native.get("verdict") != Verdict.HOLDS.value:
        try:
            result = search(question, Bounds(1), task.policy)
        except DomainOverflow:
            return None
        if result.violations:
            run = run_data(result, result.violations[0])
        found = {"verdict": result.verdict.value, "states": result.distinct_states, "generated": result.generated_states}
        _refuse_other(name, native, found)
        native = {**found, "levels": list(result.level_sizes)}
    native["bytes"] = bytes_needed(native["states"], question)
    spec = described(question, task.policy)
    return {"spec": spec, "module": packed(compile_module(question.plan, WIDTHS[0])), "native": native, "run": run}


def _refuse_other(name: str, pinned: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for key, value in pinned.items():
        if value is not None and key in found and found[key] != value:
            raise SystemExit(f"{name}: {key} is {found[key]}, and the spec pins {value}; run tools/pin_specs.py")


def _pinned(spec: Spec) -> dict[str, Any] | None:
    """What the spec says of its answer, which CI holds it to."""
    expect = spec.expect
    if expect is None or expect.distinct_states is None:
        return None
    known = {"verdict": expect.verdict.value, "states": expect.distinct_states, "depth": expect.depth}
    return {**known, "generated": expect.generated_states}


def _all_made(specs: Sequence[Spec]) -> Iterator[dict[str, Any] | None]:
    """What is made of each, in order, from the cache if it is there."""
    folder = cache_folder("results")
    cache = None if folder is None else ResultCache(folder, __version__)
    asked = [(spec.name, Task.of(spec), _pinned(spec)) for spec in specs]
    keys = [json.dumps([task.document(), pinned], sort_keys=True) for _, task, pinned in asked]
    made = [cache and cache.recall("module", key) for key in keys]
    missing = [number for number, item in enumerate(made) if item is None]
    if missing:
        _log.info("compiling %d WebAssembly modules of %d …", len(missing), len(made))
        with ProcessPoolExecutor(default_workers()) as pool:
            for done, item in enumerate(pool.map(_made, *zip(*(asked[number] for number in missing), strict=True)), 1):
                number = missing[done - 1]
                made[number] = [item]
                if cache is not None:
                    cache.keep("module", made[number], keys[number])
                if done % 25 == 0:
                    _log.info("%d of %d modules", done, len(missing))
    return (item[0] for item in made)


# -- the choices ------------------------------------------------------------------------------------------------------------


def choices(built: Sequence[Built]) -> dict[str, list[dict[str, Any]]]:
    """By spec: the settings in which others differ from it alone, with its value and theirs."""
    by_rest: dict[Any, set[tuple[str, str]]] = defaultdict(set)
    for item in built:
        for name, rest, value in _seen(item):
            by_rest[name, rest].add((value, item.spec.name))
    found = {}
    for item in built:
        others: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
        for name, rest, value in _seen(item):
            others[name, value] |= {(theirs, spec) for theirs, spec in by_rest[name, rest] if theirs != value}
        ordered = sorted(others, key=lambda choice: choice[0] not in _KINDS)
        found[item.spec.name] = [
            {"name": name, "value": value, "others": sorted(others[name, value])}
            for name, value in ordered
            if others[name, value] and name not in _FIXED
        ]
    return found


def _seen(item: Built) -> Iterator[tuple[str, Any, str]]:
    """Every value of a spec with all that must be equal if only this is another one."""
    for view in item.views:
        for name, value in view.items():
            yield name, frozenset((key, other) for key, other in view.items() if key != name), value


# -- the folder -------------------------------------------------------------------------------------------------------------


def write(built: Sequence[Built], site: Path) -> list[str]:
    """Writes the folder; the names of the specs that can be checked."""
    place = site / FOLDER
    for folder in ("specs", "modules"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    answered = {
        item.spec.name: (item, made)
        for item, made in zip(built, _all_made([item.spec for item in built]), strict=True)
        if made is not None
    }
    offered = choices([item for item, _ in answered.values()])
    layout: dict[str, Any] = {}
    for name, (item, made) in answered.items():
        layout = made["spec"].pop("layout")
        module = hashlib.sha256(made["module"].encode()).hexdigest()[:16]
        give(place, f"modules/{module}", made["module"])
        give(place, f"specs/{name}", {**_words(item.spec), **made, "module": module, "choices": offered[name]})
    parts = assembled({_SPLIT: 0}).split(json.dumps({_SPLIT: 0}, separators=(",", ":")))
    give(place, "search", packed(json.dumps({"parts": parts, "layout": layout}).encode()))
    return list(answered)


def _words(spec: Spec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "by": "acked" if spec.expect is None else "CI",
        "promises": [[asked.name, asked.promise] for asked in spec.properties],
    }


def give(place: Path, name: str, content: object) -> None:
    """Writes a script of the folder, which hands its content to the page."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    (place / f"{name}.js").write_text(f"ackedTake({json.dumps(name)},{text});\n", encoding="utf-8")


def script() -> str:
    """The script of the pages: what `acked view` has for it, and what the site adds, in a scope of their own."""
    own = "\n".join(path.read_text("utf-8") for path in sorted(WEB.glob("*.js")))
    return f"(() => {{\n{script_text(('dom', 'check', 'filter'))}\n{own}}})();\n"


def loaded_bytes(site: Path, name: str) -> int:
    """What a page loads to check a spec: the search, the question and its module."""
    spec = site / FOLDER / "specs" / f"{name}.js"
    content = json.loads(spec.read_text("utf-8").partition(",")[2].rstrip().removesuffix(");"))
    parts = [spec, site / FOLDER / "search.js", site / FOLDER / "modules" / f"{content['module']}.js"]
    return sum(path.stat().st_size for path in parts)
