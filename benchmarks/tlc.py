"""Lets TLC check what `acked export --to tla` writes, compares its answers with ours, and keeps them in `docs/tlc.csv`.

    python benchmarks/tlc.py --jar tla2tools.jar [--keep] [SPEC …]
    python benchmarks/tlc.py --jar tla2tools.jar --random N

Without SPEC: those of `ASKED`; with `--random` so many random protocols, of which nothing is kept. `tla2tools.jar` is TLC's,
of https://github.com/tlaplus/tlaplus, and needs Java 11. Verdict, what is violated, and levels must be equal, and where
everything was visited the distinct and the generated states, too; else it says where they are not and exits with 1. A row has
a digest of the module that TLC read, so that a test sees without TLC whether that is the one still written.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds  # noqa: E402
from acked.base.errors import AckedError  # noqa: E402
from acked.checker.question.question import Question  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spec.spec import Spec  # noqa: E402
from acked.reports.exports.tla_module import Module, module_of  # noqa: E402
from acked.reports.shell.specs import change_spec, find_spec  # noqa: E402
from tests import random_protocols  # noqa: E402
from tests.random_protocols import Plan  # noqa: E402
from tools.parts.spec_pages import markdown_table  # noqa: E402

DATA = ROOT / "docs" / "tlc.csv"
LEAST_STATES, MOST_STATES = 8, 3_000
"""Of a random protocol that TLC is asked about."""

EXAMPLES = ("two_phase_commit", "paxos", "raft", "chain_replication", "lease", "bounded_queue")
ASKED = (
    *(f"specs/examples/{name}.toml#{variant}" for name in EXAMPLES for variant in ("holds", "bug")),
    *("delivery", "kip320 replicas=2", "kip320-first-try replicas=2", "kip279 replicas=2", "kip101 replicas=2"),
    *("truncate-to-hw replicas=2", "majority log_size=1 records=1 max_term=2", "liveness/kip320-led-again"),
    *("partition replicas=2 log_size=1 records=1 max_leader_epoch=2", "tests/reports/exports/kinds.toml"),
)
"""What is asked by default: a spec, and the constants that are changed in it."""


@dataclass(frozen=True)
class Row:
    """What TLC said of a module."""

    spec: str
    module: str
    verdict: str
    violates: str
    distinct: int
    generated: int
    levels: int


def asked(text: str) -> Spec:
    """A spec with the constants that are changed in it, all states counted."""
    name, *constants = text.split()
    spec = find_spec(str(ROOT / name) if ".toml" in name else name, bool(constants))
    values = dict(part.split("=") for part in constants)
    return change_spec(spec, {key: int(value) for key, value in values.items()}, False) if values else spec


def plain(spec: Spec) -> Question:
    """Its question without symmetry, which the module does not have."""
    return replace(spec.question(), is_symmetric=False)


def module(spec: Spec) -> Module:
    """Its module."""
    return module_of(plain(spec), spec.title, spec.reach)


def digest(made: Module) -> str:
    """What a module and its configuration say, in short, whatever its comments are."""
    said = re.sub(r" *\\\*.*", "", made.text)
    return hashlib.sha256(f"{said}\0{made.configuration}".encode()).hexdigest()[:16]


def expected(text: str) -> Row:
    """Our own answer."""
    spec = asked(text)
    return answered(text, plain(spec), module(spec))


def answered(text: str, question: Question, made: Module) -> Row:
    """Our own answer to a question, under a name."""
    result = search(question)
    violated = result.violations[0].property.name if result.violations else ""
    levels = result.violations[0].trace_length if result.violations else result.depth
    counts = (result.distinct_states, result.generated_states, levels)
    # A vacuous promise, or none, is no difference to TLC.
    return Row(text, digest(made), "violated" if violated else "holds", violated, *counts)


def told(text: str, made: Module, jar: Path) -> Row:
    """What TLC says of a module, under a name."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"{made.name}.tla").write_text(made.text)
        (Path(folder) / f"{made.name}.cfg").write_text(made.configuration)
        command = ["java", "-XX:+UseParallelGC", "-cp", str(jar.resolve()), "tlc2.TLC", "-noGenerateSpecTE", made.name]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    counts = re.search(r"^(\d+) states generated, (\d+) distinct states found", said, re.MULTILINE)
    if at_once := re.search(r"Invariant (\w+) is violated by the initial state", said):
        return Row(text, digest(made), "violated", at_once[1], 1, 1, 1)
    if counts is None:
        raise SystemExit(f"{text}: TLC did not check the module:\n{said}")
    levels = re.search(r"depth of the complete state graph search is (\d+)", said)
    named = re.search(r"Error: (?:Invariant (\w+) is|Action property (\w+) is|(Deadlock) reached)", said)
    verdict = "holds" if "No error has been found" in said else "violated"
    violated = next((name for name in named.groups() if name), "") if named else ""
    return Row(text, digest(made), verdict, violated, int(counts[2]), int(counts[1]), int(levels[1]) if levels else 0)


def differences(ours: Row, theirs: Row) -> list[str]:
    """Where two answers are not equal that must be: of a violation the states are not counted to the end of a level."""
    names = [item.name for item in fields(Row)]
    if theirs.verdict == "violated":
        names = [name for name in names if name not in ("distinct", "generated")]
    if theirs.verdict == "violated" and not theirs.violates:
        # TLC neither names a property of liveness nor has a shortest trace of it.
        names = [name for name in names if name not in ("violates", "levels")]
    mine, other = asdict(ours), asdict(theirs)
    return [f"{name}: acked {mine[name]}, TLC {other[name]}" for name in names if mine[name] != other[name]]


def drawn(count: int) -> Iterator[tuple[Question, Module]]:
    """Random protocols that fit TLC's numbers, each with its module, the most intricate ones first; always the same."""
    plans: list[Plan] = []

    @seed(count)
    @settings(
        max_examples=8 * count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(random_protocols.plans())
    def draw(plan: Plan) -> None:
        plans.append(plan)

    draw()
    known: set[str] = set()
    for plan in reversed(plans):
        try:
            question = random_protocols.question_of(plan)
            made = module_of(question, "a random protocol")
        except AckedError:
            continue
        if digest(made) in known:
            continue
        known.add(digest(made))
        bounds = Bounds(max_states=MOST_STATES)
        if LEAST_STATES <= search(question, bounds).distinct_states < MOST_STATES:
            yield question, made


def kept() -> list[Row]:
    """What TLC said when it was asked last."""
    with DATA.open(newline="") as file:
        return [Row(*row[:4], *map(int, row[4:])) for row in list(csv.reader(file))[1:]]


def part() -> Iterator[str]:
    """The table of the page: what TLC visits until it meets a violation is its own affair."""
    heads = ("question", "TLC", "states", "generated", "levels")
    yield from markdown_table(heads, map(_shown, kept()))


def _shown(row: Row) -> tuple[str, ...]:
    name = f"`{row.spec.removeprefix('specs/')}`"
    if row.verdict == "holds":
        return (name, "✓", f"{row.distinct:,}", f"{row.generated:,}", str(row.levels))
    return (name, f"✗ {row.violates}".strip(), "", "", str(row.levels) if row.violates else "")


Compared = tuple[str, Module, Callable[[], Row]]
"""What is asked by its name, its module, and what acked answers."""


def _random(count: int) -> Iterator[Compared]:
    for number, (question, made) in enumerate(islice(drawn(count), count)):
        name = f"random {number}"
        yield name, made, partial(answered, name, question, made)


def _named(texts: Iterable[str]) -> Iterator[Compared]:
    for text in texts:
        yield text, module(asked(text)), partial(expected, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("specs", nargs="*", default=ASKED)
    options = parser.parse_args()
    rows, wrong = [row for row in kept() if row.spec not in options.specs] if options.keep and DATA.exists() else [], 0
    for name, made, answer in _random(options.random) if options.random else _named(options.specs):
        theirs = told(name, made, options.jar)
        found = differences(answer(), theirs)
        rows.append(theirs)
        wrong += bool(found)
        print(theirs.spec, theirs.verdict, theirs.violates, theirs.distinct, theirs.generated, theirs.levels, *found)
    if options.keep and not options.random and not wrong:
        with DATA.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            rows.sort(key=lambda row: (*ASKED, row.spec).index(row.spec))
            writer.writerows([[item.name for item in fields(Row)], *map(astuple, rows)])
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
