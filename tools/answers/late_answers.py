"""Asks every spec of `partition` whether its answer is the same where responses are late and fetchers go on for a while.

    python tools/answers/late_answers.py [--seconds N] [--again] [SPEC …]

Each spec that does not set `late_answers` is checked with `-c late_answers=true`, in its own sizes, and compared with what it
expects; a process that takes longer than `--seconds` is ended and asked again by a later run with more of them. Liveness is
another question there: the fairness that a spec assumes is of the actions that it names, and a late response is none of them.
docs/late_answers.json has the answers. The script fails if an answer is another one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.invariants.property import Kind  # noqa: E402
from tools.shared.asking import REFUSED, TIME_OUT, ask  # noqa: E402

ANSWERS = ROOT / "docs" / "late_answers.json"
SECONDS = 120.0


def specs() -> dict[str, Spec]:
    """By its name with its folder, what `partition` specs expect that ask neither liveness nor late responses."""
    loaded = [load_spec(path) for path in specs_under(ROOT / "specs")]
    asked = [spec for spec in loaded if spec.protocol.name == "partition" and not spec.switches["late_answers"]]
    safe = [spec for spec in asked if all(item.kind is not Kind.LIVENESS for item in spec.properties)]
    return {f"{spec.path.parent.name}/{spec.name}": spec for spec in safe if spec.path and spec.expect}


def answer(spec: Spec, seconds: float) -> dict[str, Any]:
    """The verdict and what is violated, as far as it was found, beside what is expected."""
    assert spec.expect is not None
    told = ask(["check", str(spec.path), "-c", "late_answers=true", "--memory", "16GB"], seconds)
    if told["verdict"] in (REFUSED, TIME_OUT):
        return {key: told[key] for key in ("verdict", "why") if key in told}
    reached = {name: item is not None for name, item in told["reach"].items()}
    return {
        "verdict": told["verdict"],
        "violates": sorted(item["property"] for item in told["violations"]),
        "expected": {"verdict": spec.expect.verdict.value, "violates": sorted(spec.expect.violates)},
        "states": told["distinct_states"],
        **({"unreachable": sorted(name for name, is_reached in reached.items() if not is_reached)} if reached else {}),
    }


def is_another(told: dict[str, Any]) -> bool:
    """Whether an answer differs from the expected one."""
    return "expected" in told and {key: told[key] for key in ("verdict", "violates")} != told["expected"]


def main() -> None:
    """Asks what is not known yet, and says what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="*", help="ask these alone, e.g. claims/one-leader")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"after which a process is ended ({SECONDS:g})")
    parser.add_argument("--again", action="store_true", help="ask again what was answered")
    given = parser.parse_args()
    answers: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    asked = specs()
    for name, spec in asked.items():
        is_known = answers.get(name, {}).get("verdict", TIME_OUT) != TIME_OUT
        if (given.spec and name not in given.spec) or (is_known and not given.again):
            continue
        answers[name] = answer(spec, given.seconds)
        print(f"{name}: {answers[name]}", file=sys.stderr, flush=True)
        ordered = {each: answers[each] for each in asked if each in answers}
        write_text(ANSWERS, json.dumps(ordered, indent=1) + "\n", "answers")
    print(Counter("another" if is_another(told) else told["verdict"] for told in answers.values()))
    if others := [name for name, told in answers.items() if is_another(told)]:
        raise SystemExit(f"another answer with late responses: {', '.join(others)}")


if __name__ == "__main__":
    main()
