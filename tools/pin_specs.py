"""Measures specs again and writes the numbers into their [expect]: trace length, states, actions that never fired.

    python tools/pin_specs.py specs/claims specs/gallery

Run it when a rule of a protocol has changed on purpose. What a spec says about the verdict and the violated property it never
changes: where these are not met it says so, leaves the file as it is and exits with 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds, default_workers  # noqa: E402
from acked.base.errors import AckedError  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.checker.batch.outcome import Outcome  # noqa: E402
from acked.checker.gate.update import updated_text  # noqa: E402
from acked.checker.question.result import Result  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import file_and_variant, specs_in, specs_under  # noqa: E402

PINS = ("trace_length", "distinct_states")
"""What is written where it is missing."""


def disagreement(spec: Spec, result: Result) -> str:
    """Where the result is not what the spec says, in words; nothing if it is."""
    if spec.expect is None:
        return "says nothing about the verdict"
    found = tuple(item.property.name for item in result.violations)
    if (result.verdict, set(found)) == (spec.expect.verdict, set(spec.expect.violates)):
        return ""
    return f"{result.verdict.value} {' '.join(found)}, expected {spec.expect.verdict.value} {' '.join(spec.expect.violates)}"


def pin(path: Path) -> bool:
    """Whether the spec's verdict is met; its numbers are then as measured."""
    spec = load_spec(path)
    policy = spec.policy
    result = search(spec.question(), Bounds(default_workers()), policy)
    if wrong := disagreement(spec, result):
        print(f"{path}: {wrong}", flush=True)
        return False
    file, _ = file_and_variant(path)
    before = file.read_text("utf-8")
    after = updated_text(before, spec, Outcome.of(result), accept_violations=False, adds=PINS)
    if after != before:
        write_text(file, after, "spec file")
    print(f"{path}: {result.verdict.value}, {result.distinct_states:,} states, {result.seconds:.2f} s", flush=True)
    return True


if __name__ == "__main__":
    places = [Path(name) for name in sys.argv[1:]]
    try:
        paths = [path for place in places for path in (specs_under(place) if place.is_dir() else specs_in(place))]
        met = [pin(path) for path in paths]
    except AckedError as error:
        sys.exit(str(error))
    sys.exit(0 if all(met) else 1)
