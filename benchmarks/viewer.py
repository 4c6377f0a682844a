"""Measures the viewer in the Chromium that is installed: `python benchmarks/viewer.py [PAGE]`.

How long a step takes on a page of a 700-step run of kip320 with three brokers, from the key to a page that is laid out; and
how large the page is.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from acked.checker.question.result import Words
    from acked.model.language.protocol import Instance
    from acked.model.language.tracings import ActionInstance

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

STEPS = 700
CONSTANTS = {"replicas": 3, "log_size": 12, "max_records": 16, "max_leader_epoch": 14}

MEASURE = """async (count) => {
  const times = [];
  for (let at = 0; at < count; at += 1) {
    const key = at % 2 ? 'k' : 'j';
    const begin = performance.now();
    document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    document.body.getBoundingClientRect();
    void document.querySelector('.steps').scrollTop;
    times.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return times;
}"""


def main() -> None:
    """Prints the medians; a page that an earlier run kept may be named, because making it takes longer than measuring."""
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if kept is not None and kept.is_file():
        page_text, build = kept.read_text("utf-8"), 0.0
    else:
        page_text, build = _page()
    if kept is not None and not kept.is_file():
        kept.write_text(page_text, encoding="utf-8")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=[] if os.geteuid() else ["--no-sandbox"])
        target = Path(folder) / "long.html"
        target.write_text(page_text, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(target.as_uri())
        page.wait_for_selector("main")
        made = f", made in {build:.1f} s" if build else ""
        print(f"page of {STEPS} steps: {len(page_text) / 1e6:.2f} MB{made}")
        for start in (0, STEPS // 2, STEPS - 3):
            page.evaluate(f"location.hash = '#step={start}'")
            page.wait_for_timeout(300)
            times = sorted(page.evaluate(MEASURE, 60))
            print(
                f"a step near step {start}: median {statistics.median(times):.1f} ms, "
                f"slowest of 60 {times[-1]:.1f} ms (key to layout)"
            )
        browser.close()


def _page() -> tuple[str, float]:
    """The page of a random run that is long because the controller seldom acts, and the seconds it took."""
    import time

    from acked.checker.question.question import Question
    from acked.checker.question.result import Counterexample, Run
    from acked.invariants.catalogue import properties_of
    from acked.model.catalogue import PROTOCOLS
    from acked.reports.pages.page import render, trace_data

    protocol = PROTOCOLS["kip320"]
    question = Question(protocol.instantiate(CONSTANTS), tuple(properties_of(protocol).values()))
    instance = question.instance
    for seed in range(1000):
        states, actions = _random_run(instance, random.Random(seed))
        if len(actions) == STEPS:
            break
    begin = time.perf_counter()
    text = render(trace_data(Counterexample("long", question, Run(tuple(states), tuple(actions)))))
    return text, time.perf_counter() - begin


def _random_run(instance: Instance, rng: random.Random) -> tuple[list[Words], list[ActionInstance]]:
    """At most STEPS steps. Changes of the ISR cost nothing, so a run with many of them can be as long as one likes."""
    states, actions = [instance.initial[0]], []
    while len(actions) < STEPS:
        codes = instance.schema.unpack(states[-1])
        enabled = instance.enabled_actions(codes)
        free = [step for step in enabled if step.action.name in ("FencedLeaderShrinkIsr", "FencedLeaderExpandIsr")]
        calm = [step for step in enabled if not step.action.name.startswith("Controller")]
        chosen = free if free and rng.random() < 0.9 else calm if calm and rng.random() < 0.98 else enabled
        if not chosen:
            break
        actions.append(rng.choice(chosen))
        states.append(instance.schema.pack(instance.fire(actions[-1], codes)))
    return states, actions


if __name__ == "__main__":
    main()
