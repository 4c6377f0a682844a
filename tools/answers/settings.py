"""Searches which settings prevent a finding of docs/found: every setting of the audit alone, and every two of them.

    python tools/answers/settings.py [--max-states N] [SPEC …]

Of `partition` these are what `acked audit` reads (`keys.KEYS`) and delivery.timeout.ms; of `transactions` the feature, the
verification of partitions and transaction.timeout.ms, if it is longer than anything lasts. enable.idempotence comes with
retries, without which Kafka refuses it. What Kafka refuses is counted, and a search that passes `--max-states` is undecided.
docs/found/settings.json has the answers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked import AckedError, Bounds, check  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.reports.shell.specs import find_spec, under_release  # noqa: E402

ANSWERS = ROOT / "docs" / "found" / "settings.json"
REFUSED = "refused"
Values = Mapping[str, int | str]

FINDINGS: Mapping[str, str] = {
    "gallery/stale-ends-bug": "4.4",
    "claims/empty-disk-and-kills-4-4": "4.4",
    "claims/replication-instead-of-flush-and-kills-4-1": "4.4",
    "recoverable/eligible-leader-removed": "4.4",
    "claims/move-and-back-keeps-acked": "4.4",
    "gallery/elr-directories-bug": "4.2",
    "claims/empty-disk-eligible-leaders-4-1": "4.1",
    "gallery/kafka19446-bug": "4.1",
    "gallery/kip890-late-produce-bug": "3.9",
}
"""The spec of each finding, and the release whose rules are asked."""

OF_PROTOCOL: Mapping[str, Sequence[Values]] = {
    "partition": (
        *({"acks": mode} for mode in ("0", "1", "all")),
        *({"retries": 1, "idempotence": value} for value in (0, 1)),
        {"delivery_timeout": 1},
        {"in_flight": 1},
        *({"min_insync_replicas": number} for number in (1, 2, 3)),
        *({"replicas": number} for number in (2, 3, 4)),
        {"unclean_election": 1},
        {"eligible_leader_replicas": 0},
    ),
    "transactions": ({"transaction_version": 1}, {"transaction_version": 2}, {"verification": 0}, {"timeouts": 0}),
}
"""By protocol the values of settings; those that a spec has already are not asked again."""


def choices(name: str) -> Iterator[Values]:
    """What is asked of a finding: its own settings, one other, and two others."""
    spec = find_spec(name)
    own = under_release(spec, FINDINGS[name], None)
    reads = own.protocol.bind
    others = [
        values for values in OF_PROTOCOL[spec.protocol.name] if reads({**own.constants, **values}) != reads(own.constants)
    ]
    yield {}
    yield from others
    for one, other in combinations(others, 2):
        if not set(one) & set(other):
            yield {**one, **other}


def answer(name: str, values: Values, max_states: int) -> tuple[str, int]:
    """The verdict, and the steps of a shortest counterexample or 0."""
    try:
        spec = under_release(find_spec(name, True), FINDINGS[name], None, values)
        result = check(spec, bounds=Bounds(max_states=max_states))
    except AckedError:
        return REFUSED, 0
    return result.verdict.value, min((found.trace_length - 1 for found in result.violations), default=0)


def preventing(rows: Sequence[tuple[Values, str, int]]) -> list[Values]:
    """The settings under which the promise holds, without those of which a part does already."""
    held = [values for values, verdict, _ in rows if verdict == "holds"]
    return [values for values in held if not any(other.items() < values.items() for other in held)]


def main() -> None:
    """Asks, and says of each finding what prevents it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="*", metavar="SPEC", help="ask these alone, e.g. gallery/kip890-late-produce-bug")
    parser.add_argument("--max-states", type=int, default=2_000_000, help="of a search (2,000,000)")
    given = parser.parse_args()
    answers: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    for name in given.spec or FINDINGS:
        rows = [(values, *answer(name, values, given.max_states)) for values in choices(name)]
        answers[name] = {"version": FINDINGS[name], "max_states": given.max_states, "answers": rows}
        lines = (
            f' "{known}": {{"version": "{found["version"]}", "max_states": {found["max_states"]}, "answers": [\n  '
            + ",\n  ".join(map(json.dumps, found["answers"]))
            + "]}"
            for known, found in sorted(answers.items())
        )
        write_text(ANSWERS, "{\n" + ",\n".join(lines) + "\n}\n", "answers")
        print(name, dict(Counter(verdict for _, verdict, _ in rows)), "prevented by", preventing(rows), flush=True)


if __name__ == "__main__":
    main()
