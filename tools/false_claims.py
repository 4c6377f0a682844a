"""Asks `acked prove` what is known to be false, in each of its ways; `tools/made.py` has the table of docs/proofs.md from it.

    python tools/false_claims.py [--only SPEC …] [--again]

The claims are specs of `specs/gallery` (a bug, or what is violated still) and of `specs/claims` that expect a violation of
what one trace violates: of each folder the 20 with the shortest counterexamples. Each is asked by bounded model checking up
to the length of that, by induction, and for all constants; a process that takes longer than `--seconds` is ended and counted
as a time-out.
docs/false_claims.json has the answers, with the seconds of one run; a run asks what is not answered there, `--again` all. The
script fails if anything false is said to hold.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.invariants.property import ONE_TRACE  # noqa: E402
from tools.shared.asking import REFUSED, TIME_OUT, ask  # noqa: E402

ANSWERS = ROOT / "docs" / "false_claims.json"

NUMBER = 20
"""How many of each folder are asked."""

SECONDS = 300.0

WAYS: Mapping[str, str] = {
    "bmc": "bounded model checking",
    "induction": "induction",
    "all constants": "for all constants",
}
"""The ways, as the file of answers and as the page calls them."""


@dataclass(frozen=True)
class FalseClaim:
    """A spec that expects a violation, and the steps of its shortest counterexample."""

    spec: Spec
    steps: int

    @property
    def name(self) -> str:
        """The spec's name with its folder."""
        assert self.spec.path is not None
        return f"{self.spec.path.parent.name}/{self.spec.name}"

    def command(self, way: str) -> list[str]:
        """The command line that asks it."""
        asked = [self.name, "--jobs", "1", "--timeout", f"{SECONDS:g}"]
        if way == "bmc":
            asked += ["--depth", str(self.steps)]
        return ["prove", way.replace(" ", "-"), *asked]


@cache
def claims() -> tuple[FalseClaim, ...]:
    """The false claims that are asked: bugs, then what is said, those with the shortest counterexamples first."""
    return tuple(item for folder in ("gallery", "claims") for item in _shortest(folder))


def _shortest(folder: str) -> list[FalseClaim]:
    found = []
    for spec in map(load_spec, specs_under(ROOT / "specs" / folder)):
        if spec.gallery is not None and spec.gallery.role not in ("bug", "open"):
            continue
        if spec.expect is None or spec.expect.verdict is not Verdict.VIOLATED or spec.expect.trace_length is None:
            continue
        if spec.properties and all(item.kind in ONE_TRACE for item in spec.properties):
            found.append(FalseClaim(spec, spec.expect.trace_length - 1))
    return sorted(found, key=lambda item: (item.steps, item.name))[:NUMBER]


def answer(claim: FalseClaim, way: str, seconds: float = SECONDS) -> dict[str, Any]:
    """The verdict, or that it was refused or its process ended, and the seconds that it took."""
    told = ask(claim.command(way), seconds)
    return {"verdict": str(told["verdict"]), "seconds": told["took"]}


def keep(answers: Mapping[str, Any]) -> None:
    """Writes the file of answers, in the order in which claims are asked."""
    ordered = {claim.name: answers[claim.name] for claim in claims() if claim.name in answers}
    write_text(ANSWERS, json.dumps(ordered, indent=1) + "\n", "answers")


def is_decided(answer: Mapping[str, Any]) -> bool:
    """Whether bounded model checking or induction finds the violation."""
    return Verdict.VIOLATED.value in (answer["bmc"]["verdict"], answer["induction"]["verdict"])


def wrong(answers: Mapping[str, Any]) -> list[str]:
    """What is said to hold and does not."""
    return [f"{name} ({way})" for name, told in answers.items() for way in told if told[way]["verdict"] == "holds"]


def part() -> Iterator[str]:
    """What the page has, line by line, from the file of answers."""
    return table(claims(), json.loads(ANSWERS.read_text("utf-8")))


def table(asked: Sequence[FalseClaim], answers: Mapping[str, Any]) -> Iterator[str]:
    """The claims with the answers, and a line that counts them."""
    known = [item for item in asked if item.name in answers]
    decided = sum(is_decided(answers[item.name]) for item in known)
    holding = len(wrong(answers)) or "none"
    yield f"{len(known)} false claims, each asked in three ways: {decided} are decided *violated* by bounded model"
    yield f"checking or induction, and {holding} *holds* in any. A process was ended after {SECONDS:g} seconds."
    yield ""
    yield f"| false claim | property | steps | {' | '.join(WAYS.values())} |"
    yield "|---|---|--:|---|---|---|"
    for item in known:
        cells = [_cell(answers[item.name][way]) for way in WAYS]
        broken = ", ".join(sorted(item.spec.expect.violates)) if item.spec.expect is not None else ""
        yield f"| `{item.name}` | {broken} | {item.steps} | {' | '.join(cells)} |"
    counts = {way: Counter(answers[item.name][way]["verdict"] for item in known) for way in WAYS}
    every = [*dict.fromkeys(verdict for way in WAYS for verdict in sorted(counts[way]))]
    sums = ["; ".join(f"{counts[way][verdict]} {verdict}" for verdict in every if counts[way][verdict]) for way in WAYS]
    yield f"| **in all** | | | {' | '.join(sums)} |"


def _cell(answer: Mapping[str, Any]) -> str:
    return (
        str(answer["verdict"])
        if answer["verdict"] in (REFUSED, TIME_OUT)
        else f"{answer['verdict']}, {answer['seconds']:g} s"
    )


def main() -> None:
    """Asks what is not known yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="SPEC", help="ask this claim alone, e.g. claims/one-leader")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"after which a process is ended ({SECONDS:g})")
    parser.add_argument("--again", action="store_true", help="ask again what was answered")
    given = parser.parse_args()
    asked = claims()
    answers: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    chosen = [item for item in asked if given.only is None or item.name in given.only]
    for claim in chosen:
        if given.again or claim.name not in answers:
            answers[claim.name] = {way: answer(claim, way, given.seconds) for way in WAYS}
            print(f"{claim.name}: {answers[claim.name]}", file=sys.stderr, flush=True)
            keep(answers)
    keep(answers)
    answers = json.loads(ANSWERS.read_text("utf-8"))
    if found := wrong(answers):
        raise SystemExit(f"false, and said to hold: {', '.join(found)}; this is a defect of acked")


if __name__ == "__main__":
    main()
