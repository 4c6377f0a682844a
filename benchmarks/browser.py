"""Measures the search as WebAssembly beside the native one: `python benchmarks/browser.py [SPEC …]`.

Of every spec, in pairs one after the other: states generated a second in a worker of a page, with 32-bit and with 64-bit
addresses, and natively with one worker, each the search alone; the medians and, pair by pair, the ratio with its range. The
first run in a browser is left out, because its engine compiles the module a second time while it runs. The counts must be
equal.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.wasm.module import WIDTHS  # noqa: E402
from acked.checker.wasm.script import script_of  # noqa: E402
from acked.reports.shell.specs import find_spec  # noqa: E402
from tools.in_browser import BROWSERS, differences  # noqa: E402

SPECS = ("kip320", "kip320-large", "stale-ends-fix")


def main() -> None:
    """Prints a line for every spec and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", default=SPECS, metavar="SPEC")
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--browser", choices=tuple(BROWSERS), default="chromium")
    options = parser.parse_args()
    with BROWSERS[options.browser]() as tab:
        for name in options.specs:
            spec = find_spec(name)
            question = spec.question()
            for bits in WIDTHS:
                script = script_of(question, spec.policy, (bits,))
                here, native, memory = [], [], 0
                for run in range(options.runs + 1):
                    answer = tab(script, {})["answer"]
                    result = search(question, Bounds(1), spec.policy)
                    if wrong := differences(result, answer):
                        raise SystemExit(f"{name}: {'; '.join(wrong)}")
                    if run:
                        here.append(answer["generated"] / answer["seconds"] / 1e6)
                        native.append(result.generated_states / result.seconds / 1e6)
                        memory = answer["bytes"]
                ratios = [mine / theirs for mine, theirs in zip(here, native, strict=True)]
                print(
                    f"{name}, {result.distinct_states:,} states, {options.browser}, {bits}-bit addresses: "
                    f"{statistics.median(here):.1f} million generated states a second, natively "
                    f"{statistics.median(native):.1f}; {statistics.median(ratios):.2f} of it "
                    f"({min(ratios):.2f} to {max(ratios):.2f}), {memory / 1e6:.0f} MB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
