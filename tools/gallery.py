"""Writes docs/gallery.md, docs/claims.md and docs/quorums.md from their specs, when one of them changes.

    python tools/gallery.py

Only specs that are violated are searched, for their runs; the numbers of the others are those that their files pin, which the
tests compare with the search.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds, default_workers  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.reports.pages.quorums import quorums_markdown  # noqa: E402
from acked.reports.pages.spec_pages import AnsweredSpec, NotReproduced, claims_markdown, gallery_markdown  # noqa: E402
from acked.reports.runs.view import steps_of  # noqa: E402
from tools.real import on_brokers  # noqa: E402


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
    question = spec.question()
    result = search(question, Bounds(default_workers()))
    if not result.violations:
        raise SystemExit(f"{spec.path}: {result.verdict.value}, expected violated; run tools/pin_specs.py")
    steps = steps_of(question, result.violations[0].run)[1:]
    return AnsweredSpec(spec, settings_of(spec), tuple(step.sentence for step in steps))


def answers(folder: str) -> Iterator[AnsweredSpec]:
    """Every spec of a folder of `specs/`, in order of name."""
    return (told(load_spec(path)) for path in specs_under(ROOT / "specs" / folder))


def standstills() -> Iterator[AnsweredSpec]:
    """The specs of `specs/recoverable` that are about a known bug."""
    specs = map(load_spec, specs_under(ROOT / "specs" / "recoverable"))
    return (told(spec) for spec in specs if spec.gallery is not None)


def untold() -> list[NotReproduced]:
    """The rows that have no spec."""
    listed = tomllib.loads((ROOT / "docs" / "open_rows.toml").read_text("utf-8"))
    return [NotReproduced(**row) for row in listed.get("row", [])]


def pages_of_bugs() -> dict[str, str]:
    """The gallery as it should be, by its name in `docs/`."""
    return {"gallery.md": _text(gallery_markdown(answers("gallery"), standstills(), untold(), on_brokers()))}


def pages_of_claims() -> dict[str, str]:
    """What the pages of the claims should be, by their names in `docs/`."""
    claims = list(answers("claims"))
    return {"claims.md": _text(claims_markdown(claims)), "quorums.md": _text(quorums_markdown(claims))}


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for page, text in {**pages_of_bugs(), **pages_of_claims()}.items():
        write_text(ROOT / "docs" / page, text, "page")
