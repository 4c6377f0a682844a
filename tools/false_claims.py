"""Asks `acked prove` what is known to be false, in each of its ways; writes the table of docs/proofs.md.

    python tools/false_claims.py [--only SPEC …] [--again | --page]

The claims are specs of `specs/gallery` (a bug, or what is violated still) and of `specs/claims` that expect a violation of
what one trace violates: of each folder the 20 with the shortest counterexamples. Each is asked by bounded model checking up
to the length of that, by induction, and for all constants; a process that takes longer than `--seconds` is ended and counted
as a time-out.
docs/false_claims.json has the answers, with the seconds of one run; a run asks what is not answered there, `--again` all, and
`--page` nothing. The script fails if anything false is said to hold.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.errors import ExitCode  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.invariants.property import ONE_TRACE  # noqa: E402

ANSWERS = ROOT / "docs" / "false_claims.json"
PAGE = ROOT / "docs" / "proofs.md"
BEGIN, END = "<!-- begin: tools/false_claims.py -->", "<!-- end: tools/false_claims.py -->"

NUMBER = 20
"""How many of each folder are asked."""

SECONDS = 300.0
REFUSED, TIME_OUT = "refused", "time-out"

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
        depth = ["--depth", str(self.steps)] if way == "bmc" else []
        limits = ["--jobs", "1", "--timeout", f"{SECONDS:g}"]
        return ["prove", way.replace(" ", "-"), self.name, "--quiet", "--format", "json", *limits, *depth]


@cache
def claims() -> tuple[FalseClaim, ...]:
    """The false claims that are asked: bugs, then what is said, those with the shortest counterexamples first."""
    return tuple(item for folder in ("gallery", "claims") for item in _shortest(folder))


def _shortest(folder: str) -> list[FalseClaim]:
    found = []
    for path in (ROOT / "specs" / folder).glob("*.toml"):
        spec = load_spec(path)
        if spec.gallery is not None and spec.gallery.role not in ("bug", "open"):
            continue
        if spec.expect is None or spec.expect.verdict is not Verdict.VIOLATED or spec.expect.trace_length is None:
            continue
        if spec.properties and all(item.kind in ONE_TRACE for item in spec.properties):
            found.append(FalseClaim(spec, spec.expect.trace_length - 1))
    return sorted(found, key=lambda item: (item.steps, item.name))[:NUMBER]


def ask(claim: FalseClaim, way: str, seconds: float = SECONDS) -> dict[str, Any]:
    """What a process of its own answers: the verdict, or that it refused or was ended, and its seconds."""
    command = [sys.executable, "-m", "acked", *claim.command(way)]
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"verdict": TIME_OUT, "seconds": round(seconds, 1)}
    took = round(time.perf_counter() - started, 1)
    if process.returncode == ExitCode.CONFIGURATION:
        return {"verdict": REFUSED, "seconds": took}
    try:
        return {"verdict": str(json.loads(out)["verdict"]), "seconds": took}
    except ValueError:
        raise SystemExit(f"{' '.join(command[2:])} ended with {process.returncode} and no answer: {err}") from None


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


def table(asked: Sequence[FalseClaim], answers: Mapping[str, Any]) -> Iterator[str]:
    """What stands between the markers of the page, line by line."""
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


def written(page: str, lines: Sequence[str]) -> str:
    """The page with these lines between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])


def main() -> None:
    """Asks what is not known yet, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="SPEC", help="ask this claim alone, e.g. claims/one-leader")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"after which a process is ended ({SECONDS:g})")
    parser.add_argument("--again", action="store_true", help="ask again what was answered")
    parser.add_argument("--page", action="store_true", help="write the table from the answers, and ask nothing")
    given = parser.parse_args()
    asked = claims()
    answers: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    chosen = [item for item in asked if given.only is None or item.name in given.only]
    for claim in [] if given.page else chosen:
        if given.again or claim.name not in answers:
            answers[claim.name] = {way: ask(claim, way, given.seconds) for way in WAYS}
            print(f"{claim.name}: {answers[claim.name]}", file=sys.stderr, flush=True)
            keep(answers)
    keep(answers)
    answers = json.loads(ANSWERS.read_text("utf-8"))
    write_text(PAGE, written(PAGE.read_text("utf-8"), [*table(asked, answers)]), "page")
    if found := wrong(answers):
        raise SystemExit(f"false, and said to hold: {', '.join(found)}; this is a defect of acked")


if __name__ == "__main__":
    main()
