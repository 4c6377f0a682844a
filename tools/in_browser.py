"""Answers specs in a browser and natively, compares the two, prints a table and keeps it in `docs/in_browser.csv`.

    python tools/in_browser.py [--browser chromium|firefox] [--bits 32|64] [--states N] [--keep] [SPEC …]

Without SPEC: all of `specs/gallery` and `specs/claims`, among which the found losses are. Verdict, states, states generated,
levels and every violation, step by step, must be equal; else it says where they are not and exits with 1. What the native
search does not answer within N states (2,000,000) is left out. `--keep` writes the data file, in which rows of other specs
stay if some are named.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import Bounds, default_workers  # noqa: E402
from acked.base.errors import ConfigurationError  # noqa: E402
from acked.checker.question.result import Result, StopReason  # noqa: E402
from acked.checker.search.local import search  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.checker.wasm.module import WIDTHS  # noqa: E402
from acked.checker.wasm.script import script_of  # noqa: E402
from acked.model.formulas.errors import DomainOverflow  # noqa: E402
from acked.reports.shell.specs import find_spec  # noqa: E402
from tools.parts.firefox import Firefox  # noqa: E402

FOLDERS = ("specs/gallery", "specs/claims")
DATA = ROOT / "docs" / "in_browser.csv"
MOST_STATES = 2_000_000

ANSWER = """async ([script, options]) => {
  const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const told = await new Promise((done) => {
    let progress = 0;
    worker.onerror = (event) => done({ refusal: `the worker failed: ${event.message}` });
    worker.onmessage = ({ data }) => (data.progress ? progress++ : done({ ...data, progress }));
    worker.postMessage(options);
  });
  worker.terminate();
  return told;
}"""
"""Runs a script in a worker: `answer` or `refusal`, and how often progress was told."""


class Tab(Protocol):
    """A page of a browser that runs scripts in a worker."""

    def __call__(self, script: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The `answer` of a script, or its `refusal`."""


@contextmanager
def chromium() -> Iterator[Tab]:
    """The Chromium that is installed, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=[] if os.geteuid() else ["--no-sandbox"])
        page = browser.new_page()
        yield lambda script, options: dict(page.evaluate(ANSWER, [script, dict(options)]))
        browser.close()


@contextmanager
def firefox() -> Iterator[Tab]:
    """The Firefox that is installed, without a window."""
    with Firefox.started() as driver:
        yield lambda script, options: dict(driver.evaluate(ANSWER, [script, dict(options)]))


BROWSERS = {"chromium": chromium, "firefox": firefox}


def differences(result: Result, answer: Mapping[str, Any]) -> list[str]:
    """Where what a browser answered is not what the native search did."""
    actions = {id(step): number for number, step in enumerate(result.question.instance.actions)}
    native = {
        "verdict": result.verdict.value,
        "stopped": result.stopped.name.lower(),
        "states": result.distinct_states,
        "generated": result.generated_states,
        "levels": list(result.level_sizes),
        "met": [list(item) for item in result.probes.items()],
        "violations": [
            [
                item.property.name,
                [[hex(word) for word in state] for state in item.run.states],
                [actions[id(step)] for step in item.run.actions],
            ]
            for item in result.violations
        ],
    }
    seen = dict(answer, violations=[[item["property"], item["states"], item["actions"]] for item in answer["violations"]])
    return [f"{key} is {seen[key]}, natively {value}" for key, value in native.items() if seen[key] != value]


@dataclass(frozen=True)
class Row:
    """A spec that was answered twice; `wrong` says where the answers differ, `seconds` are those of the search alone."""

    spec: str
    verdict: str
    states: int
    levels: int
    seconds: float
    native_seconds: float
    bits: int
    module_bytes: int
    memory_bytes: int
    wrong: str = ""


class LeftOut(Exception):
    """Why a spec is not compared."""


def compared(spec: Spec, tab: Tab, bits: int, most_states: int = MOST_STATES) -> Row:
    """The spec answered natively and in a browser; `LeftOut` if it is too large, or asks what only acked decides."""
    question, policy = spec.question(), spec.policy
    try:
        script = script_of(question, policy, (bits,))
        result = search(question, Bounds(default_workers(), max_states=most_states), policy)
    except (ConfigurationError, DomainOverflow) as error:
        raise LeftOut(str(error)) from None
    if result.stopped is StopReason.MAX_STATES:
        raise LeftOut(f"it has more than {most_states:,} states")
    said = tab(script, {"bits": bits})
    if "refusal" in said:
        sentence = said["refusal"]
        return Row(spec.name, "refused", result.distinct_states, result.depth, 0, result.seconds, bits, 0, 0, sentence)
    answer = said["answer"]
    return Row(
        spec.name,
        answer["verdict"],
        answer["states"],
        len(answer["levels"]),
        round(answer["seconds"], 3),
        round(result.seconds, 3),
        answer["bits"],
        answer["module"],
        answer["bytes"],
        "; ".join(differences(result, answer)),
    )


def all_specs() -> list[Path]:
    """All that are compared."""
    return [path for folder in FOLDERS for path in specs_under(ROOT / folder)]


def _keep(rows: list[Row], are_some: bool) -> None:
    heading = [item.name for item in fields(Row)][:-1]
    told = {row.spec: [*map(str, astuple(row)[:-1])] for row in rows}
    if are_some:
        with DATA.open(newline="", encoding="utf-8") as file:
            told = {row[0]: row for row in [*csv.reader(file)][1:]} | told
    order = [name for path in all_specs() if (name := load_spec(path).name) in told]
    with DATA.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([heading, *(told[name] for name in order)])


def main() -> int:
    """The table, and whether all is equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*", metavar="SPEC")
    parser.add_argument("--browser", choices=tuple(BROWSERS), default="chromium")
    parser.add_argument("--bits", type=int, choices=WIDTHS, default=WIDTHS[0])
    parser.add_argument("--states", type=int, default=MOST_STATES, metavar="N")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    rows: list[Row] = []
    with BROWSERS[options.browser]() as tab:
        for spec in map(find_spec, options.specs) if options.specs else map(load_spec, all_specs()):
            try:
                rows.append(compared(spec, tab, options.bits, options.states))
                print(*astuple(rows[-1]), sep="\t", flush=True)
            except LeftOut as why:
                print(f"{spec.name}: left out, because {why}", flush=True)
    if options.keep:
        _keep(rows, bool(options.specs))
    wrong = sum(bool(row.wrong) for row in rows)
    print(f"{len(rows) - wrong} of {len(rows)} are equal in {options.browser}, {options.bits}-bit addresses")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
