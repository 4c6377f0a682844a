"""Plays counterexamples on real brokers and writes docs/real.md: what they did, with dates, releases, runs and seconds.

    python tools/real.py [--runs N] [--only SPEC] [--kafka RELEASE]
    python tools/real.py --page

What is played stands in docs/real_brokers.toml, what was measured in docs/real_measured.json; `--page` writes the page alone.
Needs Java, and Maven until the releases are in the cache.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.asking.playable import playable_run  # noqa: E402
from acked.checker.errors import ConfigurationError  # noqa: E402
from acked.checker.files import write_text  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.cluster.playing.playable import NOT_PLAYED, TIMED  # noqa: E402
from acked.cluster.playing.reproduce import Brokers, Changed, Prepared, Reproduction, prepare, reproduce  # noqa: E402
from acked.cluster.releases.release import Mode  # noqa: E402
from acked.model.partition.protocol import partition  # noqa: E402
from acked.model.partition.versions import LATEST, planes_of  # noqa: E402
from acked.reports.reproductions.words import MODES  # noqa: E402

CASES, MEASURED, PAGE = (ROOT / "docs" / name for name in ("real_brokers.toml", "real_measured.json", "real.md"))
WALKS = ROOT / "docs" / "real_random.json"
_OPEN = "it can be played, and was not yet"
_UNDRIVEN = "the driver has no steps for transactions yet"
Case = dict[str, Any]


def cases() -> list[Case]:
    """What is played, in the file's order."""
    found: list[Case] = _written()["case"]
    return found


def _written() -> dict[str, Any]:
    return tomllib.loads(CASES.read_text("utf-8"))


def key_of(case: Case) -> str:
    """Names a case in what was measured."""
    return f"{case['spec']} on {case['kafka']}"


def prepared(case: Case) -> tuple[Prepared, Prepared | None]:
    """The run of a case, and its control."""
    brokers = Brokers(case["kafka"], Mode(case["control_plane"]) if "control_plane" in case else None)
    changed, timed = case.get("constants", {}), case.get("timed", False)
    found, _ = playable_run(case["spec"], changed, brokers.chosen_mode, True, brokers.version, timed)
    first = prepare(found.question, found.run, brokers)
    if "control" not in case:
        return first, None
    name, is_setting, value = case["control"].partition("=")
    return first, first.control(Changed(setting=(name, value)) if is_setting else Changed(version=case["control"]))


def measure(case: Case, runs: int) -> dict[str, Any]:
    """Plays a case and its control so many times."""
    first, control = prepared(case)
    print(f"{key_of(case)}: {len(first.script.steps)} steps", flush=True)
    firsts = [reproduce(first) for _ in range(runs)]
    controls = [reproduce(control) for _ in range(runs)] if control is not None else []
    return {
        "date": datetime.date.today().isoformat(),
        "mode": firsts[0].mode.value,
        "steps": len(first.script.steps),
        "runs": runs,
        "reproduced": sum(one.played.parted is None for one in firsts),
        "parted": sorted({one.played.parted.index for one in firsts if one.played.parted is not None}),
        "kept": sum(keeps(one, first.question.properties[0].name) for one in controls),
        "parts": sorted({one.played.parted.index for one in controls if one.played.parted is not None}),
        "reason": next((one.played.reason for one in controls), ""),
        "up": round(statistics.median(one.start_seconds for one in firsts), 1),
        "seconds": round(statistics.median(one.played.seconds for one in firsts), 1),
        "rules": [rule.constant for rule in first.others],
    }


def keeps(control: Reproduction, promise: str) -> bool:
    """Whether a control went another way and kept the promise."""
    return control.played.parted is not None and not control.played.breaks(promise)


def page(measured: dict[str, Any]) -> str:
    """docs/real.md."""
    lines = [INTRODUCTION]
    lines += [
        "| spec | row | steps | brokers | reproduced | control | kept | it goes another way at | up | played | date |",
        "|---|---|--:|---|---|---|---|---|--:|--:|---|",
    ]
    for case in cases():
        found = measured.get(key_of(case))
        if found is None:
            continue
        kept = f"{found['kept']} of {found['runs']}" if "control" in case else ""
        where = f"step {', '.join(map(str, found['parts']))}: {found['reason']}" if found["parts"] else ""
        brokers = f"{case['kafka']}, {MODES[Mode(found['mode'])]}"
        lines.append(
            f"| `{case['spec']}` | {case.get('row', '')} | {found['steps']} | {brokers} | {found['reproduced']} of "
            f"{found['runs']} | {case.get('control', '')} | {kept} | {where} | {found['up']} s | {found['seconds']} s | "
            f"{found['date']} |"
        )
    lines += ["", _written()["findings"], RANDOM, *_random(), "", NOT_THERE, *_refused(measured), "", *_never()]
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
# What real brokers did

Counterexamples of the model, played on unmodified releases of Kafka on loopback: every step by itself, and after each step
logs, leader epochs, high watermarks, ISR and leader of the brokers compared with the state of the model. *Reproduced* means
that they never differed, so the promise is broken on real brokers as it is in the model. The *control* takes the same
steps on a release that is fixed, or with a safer setting; it has to go another way, and to keep the promise.

Made by `python tools/real.py`; one of them again: `acked reproduce kafka7415-bug --kafka 2.0.0 --control 2.0.1`. A lost page
cache is a log that was cut while its broker was down. “Up” is what the cluster took to start, “played” what the steps took
(medians, in seconds, on two cores that did other work too). The rules of a trace are those of its spec; where they are not
those of the release, the command says so.
"""

RANDOM = """\
## Random traces

Traces of the default question (`specs/partition.toml`, rules of the release), up to 18 random steps that can be played,
compared with the model after each: `python tools/real_random.py`; seeds and outcomes are in `docs/real_random.json`.

| release | traces | steps | played without parting | parted | not playable |
|---|--:|--:|--:|--:|--:|"""

NOT_THERE = """\
## Rows of the gallery that were not played

"""


def _random() -> list[str]:
    lines = []
    for release, seeds in json.loads(WALKS.read_text("utf-8")).items():
        outcomes = [one["outcome"] for one in seeds.values()]
        counts = " | ".join(str(outcomes.count(name)) for name in ("played", "parted", "not playable"))
        lines.append(f"| {release} | {len(seeds)} | {sum(one['steps'] for one in seeds.values())} | {counts} |")
    return lines


def others() -> list[Spec]:
    """The bugs of the gallery that are not played."""
    played = {case.get("row") for case in cases()}
    specs = [load_spec(path) for path in sorted((ROOT / "specs" / "gallery").glob("*-bug.toml"))]
    return [spec for spec in specs if spec.gallery is not None and spec.gallery.row not in played]


def refusals() -> dict[str, str]:
    """Why they are not, as far as the search says it."""
    found = {}
    for spec in others():
        if spec.protocol is not partition:
            continue
        try:
            playable_run(spec.name, {}, Mode(planes_of(rules_of(spec))[0]), quiet=True)
            found[spec.name] = ""
        except ConfigurationError as error:
            found[spec.name] = str(error).partition(": ")[2] or str(error)
    return found


def rules_of(spec: Spec) -> str:
    """The release whose rules a spec has."""
    return spec.version or LATEST


def _refused(measured: dict[str, Any]) -> list[str]:
    reasons = {**measured.get("refused", {}), **_written()["not_played"]}
    left = others()
    rows = sorted((spec.gallery.row, spec.gallery.id, spec.name) for spec in left if spec.gallery is not None)
    undriven = {spec.name: _UNDRIVEN for spec in left if spec.protocol is not partition}
    return [f"- Row {row}, {name}: {reasons.get(spec) or undriven.get(spec) or _OPEN}." for row, name, spec in rows]


def _never() -> list[str]:
    reasons: dict[str, list[str]] = {}
    for action, reason in {**NOT_PLAYED, **TIMED}.items():
        reasons.setdefault(reason, []).append(f"`{action}`")
    lines = ["## Actions that are not played, or only where nothing else breaks the promise", ""]
    return lines + [f"- {', '.join(actions)}: {reason}" for reason, actions in reasons.items()]


def main() -> None:
    """Measures, and writes both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", help="a spec")
    parser.add_argument("--kafka", help="a release")
    parser.add_argument("--refused", action="store_true", help="say anew why the other rows are not played, without brokers")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured")
    given = parser.parse_args()
    measured: dict[str, Any] = json.loads(MEASURED.read_text("utf-8")) if MEASURED.is_file() else {}
    if given.refused:
        measured["refused"] = refusals()
        write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    for case in [] if given.page or given.refused else cases():
        if given.only in (None, case["spec"]) and given.kafka in (None, case["kafka"]):
            measured[key_of(case)] = measure(case, given.runs)
            write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    write_text(PAGE, page(measured), "page")


if __name__ == "__main__":
    main()
