"""What the pages about proofs are made of: answers of `acked prove` in docs/, and what each lemma's own text says.

    python tools/proofs.py                                  writes docs/promises.json: every variant against every promise
    acked prove releases --format json --jobs 1 --timeout 120 > docs/releases.json
    python tools/proofs.py --proved                         writes what audits take of that, audit/decision/proved.json

The first two take a while: run them when a protocol, a lemma or a promise changes. `tools/made.py` makes the pages.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.audit.releases.report import releases_markdown, verdicts_table  # noqa: E402
from acked.audit.releases.table import FaultClass, Kept, Refutation, ReleaseCell, ReleaseVerdict  # noqa: E402
from acked.base.bounds import default_workers  # noqa: E402
from acked.base.processes import Limits  # noqa: E402
from acked.base.release import LATEST  # noqa: E402
from acked.checker.proof.variants import Breach, How, Matrix, VariantAnswer, prove_matrix  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.invariants.property import Property  # noqa: E402
from acked.reports.proofs import variants  # noqa: E402
from acked.reports.table import Table, numbers, table, table_markdown  # noqa: E402
from acked.reports.units import duration  # noqa: E402

RELEASES, PROMISES = ROOT / "docs" / "releases.json", ROOT / "docs" / "promises.json"
PROVED = ROOT / "audit" / "decision" / "proved.json"
OF_AUDITS: dict[FaultClass, str] = {
    FaultClass.CLEAN: "clean", FaultClass.OUTSIDE: "outside-isr", FaultClass.SESSIONS: "clean,zombies",
    FaultClass.MOVES: "clean,moves", FaultClass.MACHINE: "one-machine",
}  # fmt: skip
ASKED: dict[Kept, tuple[str, ...]] = {
    Kept.ACKED: ("loss", "vanishing"), Kept.ONCE: ("duplicates",), Kept.ORDER: ("reordering",),
}  # fmt: skip
"""What audits call faults and promises."""
NEED = re.compile(r"Without it (\w+) breaks ([\w, ]+) \((\d), (\d), (\d)(?:, Kafka ([\d.]+)( with zombies)?)?\)")
"""What the text of a lemma says of its absence: which step breaks what, with how many brokers, offsets and records."""


def cells() -> list[ReleaseCell]:
    """Every answer of the file."""
    return [_cell(told) for told in json.loads(RELEASES.read_text("utf-8"))["cells"]]


def _cell(told: dict[str, Any]) -> ReleaseCell:
    release, refuted = (told["version"], told["control_plane"]), told.get("refutation")
    refutation = None
    if refuted is not None:
        options = shlex.split(refuted["command"])
        changes = dict(options[at + 1].split("=") for at, word in enumerate(options) if word == "-c")
        refutation = Refutation(refuted["spec"], release, changes, refuted["property"], refuted["steps"])
    asked = release, FaultClass(told["faults"]), Kept(told["promise"])
    missing, broken = (tuple(told.get(key, ())) for key in ("missing", "broken"))
    return ReleaseCell(*asked, ReleaseVerdict(told["verdict"]), told.get("obligations", 0), missing, broken, refutation)


def releases() -> Iterator[str]:
    """The tables of all promises, with what refutes them and what is missing."""
    lines = list(releases_markdown(cells(), ""))
    yield from lines[next(at for at, line in enumerate(lines) if line.startswith("## ")) :]


def kept_of_releases() -> list[str]:
    """The table of the first promise, as git keeps it."""
    return table_markdown(verdicts_table(cells(), Kept.ACKED))


def matrix() -> Matrix:
    """The answers of the file."""
    told = json.loads(PROMISES.read_text("utf-8"))
    broken = (Breach(one["protocol"], one["action"], tuple(one["lemmas"]), tuple(one["asks"])) for one in told["breaks"])
    return Matrix(told["constants"], tuple(map(_answer, told["matrix"])), tuple(broken), told["seconds"])


def _answer(told: dict[str, Any]) -> VariantAnswer:
    verdict, how, states = Verdict(told["verdict"]), How(told["method"]), told["trace_length"]
    actions = None if states is None else states - 1
    return VariantAnswer(told["protocol"], told["promise"], told["property"], verdict, how, told["seconds"], actions)


def promises_table(answers: Matrix) -> Table:
    """Every variant with every named promise: the property that states it, the answer, and how it is known."""
    rows = []
    for item in answers.entries:
        answer = (variants.verdict_in_words(item), variants.HOW[item.how.value], duration(item.seconds))
        rows.append((item.protocol, item.promise, item.property, *answer))
    return table(("variant", "promise", "property", "verdict", "method", numbers("time")), rows)


def breaches_table(answers: Matrix) -> Table:
    """Which action of which variant breaks which lemmas, and what the rule of kip320 demands besides."""
    rows = [(item.protocol, item.action, ", ".join(item.lemmas), "; ".join(item.asks)) for item in answers.breaches]
    return table(("variant", "action", "does not preserve", "kip320 asks in addition"), rows)


def verdicts() -> Iterator[str]:
    """The table of variants and promises."""
    yield from table_markdown(promises_table(matrix()))


def breaches() -> Iterator[str]:
    """Which action of an older variant breaks which lemma."""
    yield from table_markdown(breaches_table(matrix()))


def lemmas(listed: Sequence[Property]) -> Iterator[str]:
    """Each lemma with what it says, what a step breaks where it is left out, and in how small an instance."""
    yield from table_markdown(table(("lemma", "what it says", "left out, a step breaks", "at"), map(_row, listed)))


def _row(lemma: Property) -> tuple[str, ...]:
    text = " ".join(str(lemma.predicate.__doc__).split())
    found = NEED.search(text)
    assert found is not None, lemma.name
    action, claims, *size, version, zombies = found.groups()
    release = f", Kafka {version}{zombies or ''}" if version else ""
    broken = f"{action}: {', '.join(sorted(claims.split(', ')))}"
    return lemma.name, text[: found.start()].strip(), broken, ", ".join(size) + release


def proved() -> str:
    """What audits take of the table: by promise and faults the releases in which it is proved."""
    found: dict[str, dict[str, list[str]]] = {}
    for cell in cells():
        if cell.verdict is ReleaseVerdict.PROVED and cell.release[0] != LATEST:
            for question in ASKED[cell.promise]:
                by_faults = found.setdefault(question, {})
                by_faults.setdefault(OF_AUDITS[cell.faults], []).append(" ".join(cell.release))
    rows = (f' "{promise}": {{\n  ' + ",\n  ".join(f'"{name}": {json.dumps(of)}' for name, of in by_faults.items()) + "}"
            for promise, by_faults in found.items())  # fmt: skip
    return "{\n" + ",\n".join(rows) + "\n}\n"


if __name__ == "__main__":
    if "--proved" in sys.argv:
        PROVED.write_text(proved(), "utf-8")
        sys.exit()
    begun = time.perf_counter()
    found = prove_matrix(Limits(default_workers(), 600.0))
    document = variants.matrix_document(found, time.perf_counter() - begun)
    PROMISES.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
