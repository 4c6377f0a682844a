"""The playground of the site: the families of docs/playground.toml, every spec of them and in what it can be changed."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from acked.checker.question.coverage import clauses_of
from acked.checker.spec.spec import Spec, parse_spec
from acked.model.language.context import Switch
from acked.model.partition.rules.settings import RULES
from acked.reports.shell.specs import find_spec
from tools.parts.modules import Built

FAMILIES = Path(__file__).resolve().parents[2] / "docs" / "playground.toml"

_WITHOUT, _NOTHING = "without", "nothing"


def families() -> list[tuple[dict[str, Any], list[Built]]]:
    """Every family as the page tells it, with its specs; the first of them is shown first."""
    listed = tomllib.loads(FAMILIES.read_text("utf-8"))["family"]
    return [_family(number, family) for number, family in enumerate(listed, 1)]


def _family(number: int, family: Mapping[str, Any]) -> tuple[dict[str, Any], list[Built]]:
    members = _without_clauses(family["clauses_of"]) if "clauses_of" in family else _combined(family)
    built = [
        Built(replace(spec, name=f"playground-{number}-{at}", expect=None), ({**values, "family": str(number)},))
        for at, (values, spec) in enumerate(members)
    ]
    return {"title": family["title"], "about": family["about"], "first": built[0].spec.name}, built


def _without_clauses(name: str) -> Iterator[tuple[dict[str, str], Spec]]:
    spec = find_spec(name)
    yield {_WITHOUT: _NOTHING}, spec
    for clause in clauses_of(spec.question().instance):
        yield {_WITHOUT: ": ".join(clause)}, replace(spec, asked=spec.asked.without(clause))


def _combined(family: Mapping[str, Any]) -> Iterator[tuple[dict[str, str], Spec]]:
    constants = family.get("constants", {})
    lists = [family["protocol"], family.get("versions", [None]), family["sizes"], *constants.values()]
    for protocol, version, sizes, *values in product(*lists):
        named = dict(zip(constants, values, strict=True))
        shown = {"sizes": ", ".join(f"{name} {value}" for name, value in sizes.items())}
        shown |= {name: str(value).lower() for name, value in named.items()}
        shown |= {"protocol": protocol} | ({} if version is None else {"rules of": version})
        spec = _spec(family, protocol, version, {**sizes, **named})
        if not family.get("rules"):
            yield shown, spec
            continue
        yield {**shown, "changed rule": "none"}, spec
        for rule in RULES:
            value = spec.constants[rule.name]
            for other in range(rule.lo, rule.hi + 1):
                if other != value:
                    given = {**sizes, **named, rule.name: bool(other) if isinstance(rule, Switch) else rule.show(other)}
                    told = f"{rule.name} = {str(given[rule.name]).lower()}"
                    yield {**shown, "changed rule": told}, _spec(family, protocol, version, given)


def _spec(family: Mapping[str, Any], protocol: str, version: str | None, constants: Mapping[str, Any]) -> Spec:
    """The spec, as a file would have it."""
    lines = [f"title = {_toml(family['title'])}", f"protocol = {_toml(protocol)}"]
    lines += [] if version is None else [f"version = {_toml(version)}"]
    lines += ["[constants]", *(f"{name} = {_toml(value)}" for name, value in constants.items())]
    lines += ["[check]", f"invariants = {_toml(family['invariants'])}"]
    return parse_spec("\n".join(lines), Path("playground.toml"))


def _toml(value: object) -> str:
    """Texts, numbers, booleans and lists of them are written as in JSON."""
    return json.dumps(value)
