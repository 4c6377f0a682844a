"""One spec explored by the local engine and by Spark, side by side, equal line by line: the end of `make check`.

Two runs of the command and their comparison; the exit code is 1 if a line differs.

    python benchmarks/side_by_side.py [SPEC]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def answer(spec: str, engine: str) -> dict[str, Any]:
    """What the command answers."""
    beside = Path(sys.executable).with_name("acked")
    command = [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "acked"]
    options = ["check", spec, "--engine", engine, "--format", "json", "--quiet"]
    done = subprocess.run([*command, *options], stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        raise SystemExit(done.returncode)  # What is wrong stands on stderr.
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def lines(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Everything in an answer that no engine may change, as (what, value)."""
    yield "verdict", document["verdict"]
    for name in ("distinct_states", "generated_states", "depth"):
        yield name.replace("_", " "), f"{document[name]:,}"
    for level, states in enumerate(document["levels"], start=1):
        yield f"level {level}", f"{states:,}"
    for name, counts in document["actions"].items():
        yield name, f"{counts['enabled']:,} enabled, {counts['new']:,} new"
    for violation in document["violations"]:
        yield f"violated: {violation['property']}", f"{violation['trace_length']} states"
        for step in violation["trace"]["steps"]:
            yield f"step {step['index']}", " ".join([str(step["action"]), *map(str, step["params"].values())])


def main() -> int:
    """Runs both engines and prints their answers in two columns."""
    spec = sys.argv[1] if len(sys.argv) > 1 else "kip320"
    local, spark = answer(spec, "local"), answer(spec, "spark")
    left, right = list(lines(local)), list(lines(spark))
    room = max(len(what) for what, _ in left + right)
    wide = max(len(value) for _, value in left + right)
    print(f"{'':<{room}}  {'local':<{wide}}  spark")
    differing = 0
    for at in range(max(len(left), len(right))):
        what, value = left[at] if at < len(left) else (right[at][0], "")
        other_what, other = right[at] if at < len(right) else (what, "")
        is_same = (what, value) == (other_what, other)
        differing += not is_same
        print(f"{what:<{room}}  {value:<{wide}}  {other}{'' if is_same else '   ← differs'}")
    if local["violations"] != spark["violations"]:
        differing += 1
        print("the traces differ")
    print(f"{'the engines disagree' if differing else 'equal, line by line'}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
