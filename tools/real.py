"""Plays counterexamples on real brokers, and writes down what they did, with dates, releases, runs and seconds.

    python tools/real.py [--runs 3] [--controls 1] [--only SPEC ...] [--kafka RELEASE] [--missing]

What is played stands in docs/real_brokers.toml, what was measured in docs/real_measured.json, from which `tools/made.py` has
the tables of docs/real.md. Needs Java, and Maven until the releases are in the cache.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.errors import ConfigurationError  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.base.release import LATEST  # noqa: E402
from acked.base.release import release as number_of  # noqa: E402
from acked.checker.spec.remarks import GalleryEntry  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402
from acked.cluster.commands.playable import playable_of, playable_run  # noqa: E402
from acked.cluster.coordinating.protocol import COORDINATORS  # noqa: E402
from acked.cluster.playing.protocol import PreparedRun  # noqa: E402
from acked.cluster.playing.setting import Brokers, Changed  # noqa: E402
from acked.cluster.releases.release import Mode, release, releases  # noqa: E402
from acked.cluster.replicating.protocol import REPLICATION  # noqa: E402
from acked.cluster.reports.reproductions.release_table import Deed, read_release, release_table, summary_of  # noqa: E402
from acked.cluster.reports.reproductions.verdict import Control, Verdict, control_of, verdict_of  # noqa: E402
from acked.cluster.reports.reproductions.words import MODES, AnyReproduction, presentation_of  # noqa: E402
from acked.cluster.transacting.protocol import TRANSACTIONS  # noqa: E402
from acked.model.language.telling import says_list  # noqa: E402
from acked.model.partition.rules.settings import RULES  # noqa: E402
from acked.model.partition.rules.versions import VERSIONS, planes_of, profile  # noqa: E402
from acked.model.transactions.protocol import transactions  # noqa: E402
from acked.reports.escaping import md_text  # noqa: E402
from acked.reports.table import Column, ColumnKind, numbers, table, table_markdown  # noqa: E402
from tools.parts.spec_pages import OnBrokers  # noqa: E402
from tools.real_stories import NINE, OTHERS  # noqa: E402
from tools.shared.plays import reproduce_each  # noqa: E402

RELEASES, STORIES = ROOT / "docs" / "real_releases", ROOT / "docs" / "real_stories.json"
ON_BROKERS = ROOT / "specs" / "on_brokers.json"
CASES, MEASURED = (ROOT / "docs" / name for name in ("real_brokers.toml", "real_measured.json"))
WALKS = ROOT / "docs" / "real_random.json"
OPEN = "it can be played, and was not yet"
_STANDSTILL = "that nothing leads back is a promise about all that may follow, and brokers show one run"
_NOT_FOUND = "the model has no counterexample of it"
_NEVER_RELEASED = "its rule was never released"
Case = dict[str, Any]


def cases() -> list[Case]:
    """What is played, in the file's order."""
    found: list[Case] = [*_written()["case"], *_written()["transactions"], *_written()["coordinator"]]
    return found


def _written() -> dict[str, Any]:
    return tomllib.loads(CASES.read_text("utf-8"))


def key_of(case: Case) -> str:
    """Names a case in what was measured."""
    return f"{case['spec']}{changes_of(case)} on {case['kafka']}"


def changes_of(case: Case) -> str:
    """The constants of a case that are not those of its spec, as the command line takes them."""
    return "".join(f" -c {name}={str(value).lower()}" for name, value in case.get("constants", {}).items())


def rules_of(case: Case) -> str:
    """Whose rules a claim is asked under, if not those of its file."""
    return f" under the rules of {case['rules']}" if "rules" in case else ""


def is_measured(case: Case, found: dict[str, Any] | None, runs: int) -> bool:
    """Whether a case was played so often, and its control too."""
    return found is not None and found["runs"] >= runs and ("control" not in case or found["controls"] > 0)


def prepared(case: Case) -> tuple[PreparedRun, PreparedRun | None]:
    """The run of a case, and its control."""
    brokers = Brokers(case["kafka"], Mode(case["control_plane"]) if "control_plane" in case else None)
    changed, timed = case.get("constants", {}), case.get("timed", False)
    found, _ = playable_run(case["spec"], changed, brokers, True, case.get("rules"), timed)
    first = presentation_of(found.question).played.prepare(found.question, found.run, brokers)
    return first, first.control(Changed.parse(case["control"])) if "control" in case else None


@dataclass
class Measured:
    """A case, how often it and its control are to be played, and how they were."""

    case: Case
    first: PreparedRun
    control: PreparedRun | None
    runs: int
    controls: int
    firsts: list[AnyReproduction] = field(default_factory=list)
    others: list[AnyReproduction] = field(default_factory=list)

    def plays(self) -> list[tuple[PreparedRun, list[AnyReproduction]]]:
        """What is played, each with where it is kept."""
        again = [] if self.control is None else [(self.control, self.others)] * self.controls
        return [(self.first, self.firsts)] * self.runs + again

    def is_whole(self) -> bool:
        """Whether all has been played."""
        return len(self.firsts) + len(self.others) == len(self.plays())

    def told(self) -> dict[str, Any]:
        """What is written down."""
        promise = self.first.question.properties[0].name
        verdicts = [verdict_of(promise, one.played) for one in self.firsts]
        return {
            "date": datetime.date.today().isoformat(),
            "mode": self.firsts[0].mode.value,
            "steps": len(self.first.script.steps),
            "runs": self.runs,
            "reproduced": verdicts.count(Verdict.REPRODUCED),
            "as_modelled": verdicts.count(Verdict.AS_MODELLED),
            "parted": sorted({one.played.parted.index for one in self.firsts if one.played.parted is not None}),
            "controls": len(self.others),
            "kept": [control_of(promise, one.played) for one in self.others].count(Control.KEEPS),
            "parts": sorted({one.played.parted.index for one in self.others if one.played.parted is not None}),
            "reason": next((one.played.refusals for one in self.others), ""),
            "up": round(statistics.median(one.start_seconds for one in self.firsts), 1),
            "seconds": round(statistics.median(one.played.seconds for one in self.firsts), 1),
            "rules": [rule.constant for rule in self.first.others],
        }


def measure(wanted: list[Case], runs: int, controls: int) -> Iterator[Measured]:
    """Plays cases and their controls so often, on one cluster if they need the same brokers; each as soon as it is done."""
    all_of_them = []
    for case in wanted:
        first, control = prepared(case)
        print(f"{key_of(case)}: {len(first.script.steps)} steps", flush=True)
        all_of_them.append(Measured(case, first, control, runs, controls))
    plays = [(one, *each) for one in all_of_them for each in one.plays()]
    plays.sort(key=lambda each: _brokers_of(each[1]), reverse=True)
    for (one, _, kept), found in zip(plays, reproduce_each(each[1] for each in plays), strict=True):
        kept.append(found)
        said = verdict_of(one.first.question.properties[0].name, found.played).value
        which = f"control, {said}" if kept is one.others else said
        parted = found.played.parted
        how = which if parted is None else f"{which} at step {parted.index}: {found.played.reason}"
        print(f"{key_of(one.case)}, up {found.start_seconds:.1f} s, played {found.played.seconds:.1f} s, {how}", flush=True)
        if one.is_whole():
            yield one


def _brokers_of(play: PreparedRun) -> tuple[Any, ...]:
    """What brings runs on the same brokers together."""
    chosen, setting = release(play.brokers.version), play.setting
    features, brokers = sorted(setting.features(chosen).items()), sorted(setting.brokers.items())
    return chosen.number, play.brokers.chosen_mode.value, setting.replicas, features, brokers


def verdict_in_words(found: dict[str, Any]) -> str:
    """`reproduced, 3 of 3`; where brokers do not show the promise, `as the model says, 3 of 3`."""
    word, times = outcome_of(found)
    return f"{word.value}, {times} of {found['runs']}"


def outcome_of(found: dict[str, Any]) -> tuple[Verdict, int]:
    """What was measured most that brokers did as the model says, and how often."""
    if found.get("as_modelled", 0) > found["reproduced"]:
        return Verdict.AS_MODELLED, found["as_modelled"]
    return Verdict.REPRODUCED, found["reproduced"]


def measured_so_far() -> dict[str, Any]:
    """By `key_of` what was measured, and why the rest is not played."""
    found: dict[str, Any] = json.loads(MEASURED.read_text("utf-8")) if MEASURED.is_file() else {}
    return found


def played() -> Iterator[str]:
    """The table of what was played, case by case."""
    measured = measured_so_far()
    yield "| spec | row | steps | brokers | what they did | control | kept | it goes another way at | up | played | date |"
    yield "|---|---|--:|---|---|---|---|---|--:|--:|---|"
    for case in cases():
        found = measured.get(key_of(case))
        if found is None:
            continue
        kept = f"{found['kept']} of {found['controls']}" if "control" in case and found["reproduced"] else ""
        where = f"step {', '.join(map(str, found['parts']))}: {found['reason']}" if found["parts"] else ""
        brokers = f"{case['kafka']}, {MODES[Mode(found['mode'])]}"
        yield (
            f"| `{case['spec']}{changes_of(case)}`{rules_of(case)} | {case.get('row', '')} | {found['steps']} | {brokers} | "
            f"{verdict_in_words(found)} | {case.get('control', '')} | {kept} | "
            f"{where} | {found['up']} s | {found['seconds']} s | {found['date']} |"
        )


def lost_by_kills() -> list[str]:
    """The table of docs/kills.md: how often kills with a lost page cache, or with a replaced disk, lost the record."""
    shown = {"replication-instead-of-flush-and-kills-4-1": "a lost page cache", "empty-disk-and-kills-4-4": "a replaced disk"}
    measured = measured_so_far()
    rows = [
        (
            case["kafka"], shown[case["spec"]], f"{one['reproduced']} of {one['runs']}", case["control"],
            f"{one['kept']} of {one['controls']}", one["date"],
        )
        for case in cases() if case["spec"] in shown and (one := measured.get(key_of(case)))
    ]  # fmt: skip
    return table_markdown(table(("release", "kills and", "lost", "control", "kept", "date"), rows))


def whole_releases() -> list[str]:
    """What `acked reproduce --all` found, release by release."""
    found = [read_release(json.loads(path.read_text("utf-8"))) for path in sorted(RELEASES.glob("*.json"))]
    lines: list[str] = []
    for whole in sorted(found, key=lambda one: release(one.version).number):
        dates = sorted({row.date for row in whole.rows})
        lines += [f"### {whole}", "", f"{summary_of(whole)} ({' to '.join(dict.fromkeys((dates[0], dates[-1])))})", ""]
        lines += table_markdown(release_table(whole))
        parted = [row for row in whole.rows if row.deed is Deed.PARTED]
        lines += [f"\n`{row.spec}` parts at step {row.parted}: {row.reason}." for row in parted]
        lines.append("")
    return lines


def again() -> list[str]:
    """How often the stories ended as they are told."""
    counted = json.loads(STORIES.read_text("utf-8")) if STORIES.is_file() else {}
    told = {(one.story, one.kafka): one.in_words() for one in (*NINE, *OTHERS)}
    rows = [
        (
            one["story"], one["kafka"], told[one["story"], one["kafka"]], f"{one['as_told']} of {one['runs']}",
            str(one["burners"]), f"{one['load'][0]:g} to {one['load'][1]:g}", f"{one['up']} s",
            f"{one['processor']} s" if "processor" in one else "", f"{one['seconds']} s", one["date"],
        )
        for _, one in sorted(counted.items(), key=lambda item: (item[1]["burners"], item[1]["story"]))
    ]  # fmt: skip
    columns = (Column("story", ColumnKind.CODE), "release", "how it ends", "as told", numbers("burners"), "load",
               numbers("up"), numbers("processor"), numbers("played"), "date")  # fmt: skip
    return table_markdown(table(columns, rows))


def random_traces() -> Iterator[str]:
    """How random traces went, release by release."""
    yield "| release | traces | steps | played without parting | parted | not playable |"
    yield "|---|--:|--:|--:|--:|--:|"
    for version, seeds in json.loads(WALKS.read_text("utf-8")).items():
        outcomes = [one["outcome"] for one in seeds.values()]
        counts = " | ".join(str(outcomes.count(name)) for name in ("played", "parted", "not playable"))
        yield f"| {version} | {len(seeds)} | {sum(one['steps'] for one in seeds.values())} | {counts} |"


def others() -> list[Spec]:
    """The bugs of the gallery that are not played."""
    played = {case.get("row") for case in cases()}
    return [spec for spec, entry in entries("gallery") if entry.role == "bug" and entry.row not in played]


def entries(folder: str) -> list[tuple[Spec, GalleryEntry]]:
    """The specs of a folder that are about a known bug, and what they say of it."""
    specs = [load_spec(path) for path in specs_under(ROOT / "specs" / folder)]
    return [(spec, spec.gallery) for spec in specs if spec.gallery is not None]


def refusals() -> dict[str, str]:
    """Why they are not, as far as the search says it."""
    found = {}
    for spec in others():
        if spec.protocol is transactions:
            found[spec.name] = refusal_of_transactions(spec)
            continue
        if not was_released(spec):
            found[spec.name] = _NEVER_RELEASED
            continue
        brokers = brokers_of(spec)
        try:
            run, _ = playable_of(spec, Brokers(releases()[-1].version, brokers.chosen_mode), quiet=True)
            REPLICATION.prepare(run.question, run.run, brokers)
            found[spec.name] = ""
        except ConfigurationError as error:
            found[spec.name] = str(error).partition(": ")[2] or str(error)
    return found


def refusal_of_transactions(spec: Spec) -> str:
    """Why a spec is not played, of `transactions`."""
    if spec.version is not None and not number_of(spec.version).since("3.0"):
        return "releases before 3.0 do not describe their transactions (KIP-664)"
    try:
        playable_of(spec, Brokers(releases()[-1].version), quiet=True)
    except ConfigurationError as error:
        return str(error).partition(": ")[2] or str(error)
    return ""


def brokers_of(spec: Spec) -> Brokers:
    """The oldest release with the rules of a spec."""
    rules = spec.version or LATEST
    fitting = [one for one in releases() if number_of(one.version).newest_of(VERSIONS) == rules] or [releases()[-1]]
    planes = [Mode(plane) for plane in planes_of(rules)]
    return Brokers(fitting[0].version, next((mode for mode in planes if mode in fitting[0].modes), None))


def was_released(spec: Spec) -> bool:
    """Whether any release has had what its fix changes."""
    assert spec.path is not None
    fix = load_spec(spec.path.with_name(spec.path.name.replace("#bug", "#fix")))
    rules = {rule.name for rule in RULES}
    mended = [name for name, value in spec.constants.items() if fix.constants.get(name) != value and name in rules]
    had: dict[str, set[int]] = {}
    for version in VERSIONS:
        for plane in planes_of(version) if version != LATEST else ():
            for name, setting in profile(version, plane).items():
                had.setdefault(name, set()).add(setting.value)
    return all(spec.constants[name] in had.get(name, {spec.constants[name]}) for name in mended)


def on_brokers() -> dict[int, OnBrokers]:
    """By row of the gallery what real brokers did, or why they were not asked."""
    measured = measured_so_far()
    found: dict[int, OnBrokers] = {}
    for row in sorted({case["row"] for case in cases() if "row" in case}):
        done = [(case, measured[key_of(case)]) for case in cases() if case.get("row") == row and key_of(case) in measured]
        if any(outcome_of(one)[1] for _, one in done):
            found[row] = _played(done)
    for row, _, _spec, reason in not_played(measured):
        found.setdefault(row, OnBrokers("not played", f"Not played: {reason}."))
    for folder, reason in (("recoverable", _STANDSTILL), ("gallery", _NOT_FOUND)):
        for _, entry in entries(folder):
            found.setdefault(entry.row, OnBrokers("not played", f"Not played: {reason}."))
    return found


def in_lists(measured: dict[str, Any]) -> dict[str, str]:
    """By spec what `acked list` and `acked gallery` say of real brokers."""
    found: dict[str, str] = {}
    for name in sorted({case["spec"] for case in cases()}):
        done = [(case, measured[key_of(case)]) for case in cases() if case["spec"] == name and key_of(case) in measured]
        played = [(case, one) for case, one in done if outcome_of(one)[1] == one["runs"]]
        if played:
            on = says_list(sorted({case["kafka"] for case, _ in played}, key=lambda version: release(version).number))
            kept = dict.fromkeys(case["control"] for case, one in played if "control" in case and one["kept"])
            nots = [f"with {control}" if "=" in control else f"on {control}" for control in kept]
            word = outcome_of(played[0][1])[0].value
            found[name] = f"{word} on {on}{rules_of(played[0][0])}" + (f", not {says_list(nots)}" if nots else "")
    return found


def _played(done: list[tuple[Case, dict[str, Any]]]) -> OnBrokers:
    """What cases of one row have in common is said once."""
    played = [(case, one) for case, one in done if outcome_of(one)[1]]
    releases_played = list(dict.fromkeys(case["kafka"] for case, _ in played))
    kept = {case["control"]: one for case, one in played if "control" in case and one["kept"] == one["controls"] > 0}
    word = outcome_of(played[0][1])[0].value
    times = [(case["kafka"], one["steps"], outcome_of(one)[1], one["runs"]) for case, one in played]
    yes = says_list([f"{kafka} ({steps} steps, {count} of {runs})" for kafka, steps, count, runs in times])
    sentences = [f"{word.capitalize()} on {yes}"]
    for control, one in kept.items():
        where = f"on {control}" if "=" not in control else f"with `{control}`"
        step = ", ".join(map(str, one["parts"]))
        sentences.append(f"not {where}, where the same steps go another way at step {step}: {md_text(one['reason'])}")
    nots = [control if "=" not in control else f"with {control}" for control in kept]
    words = ", ".join([*releases_played, *(f"not {name}" for name in nots)])
    return OnBrokers(words, f"{'; '.join(sentences)}. To see it: `{_command(played[0][0])}`.")


def _command(case: Case) -> str:
    rules = f" --kafka-version {case['rules']}" if "rules" in case else ""
    return f"acked reproduce {case['spec']}{changes_of(case)} --kafka {case['kafka']}{rules}"


def not_played(measured: dict[str, Any]) -> list[tuple[int, str, str, str]]:
    """The rows that were not: the number, what the bug is called, the spec, and why."""
    reasons = {**measured.get("refused", {}), **_written()["not_played"]}
    left = others()
    rows = sorted((spec.gallery.row, spec.gallery.id, spec.name) for spec in left if spec.gallery is not None)
    return [(row, name, spec, reasons.get(spec) or OPEN) for row, name, spec in rows]


def left_out() -> Iterator[str]:
    """Rows of the gallery and actions that are not played, with the reasons."""
    yield from (f"- Row {row}, {name}: {reason}." for row, name, _, reason in not_played(measured_so_far()))
    reasons: dict[str, list[str]] = {}
    others = {**TRANSACTIONS.not_played, **COORDINATORS.not_played}
    for action, reason in {**REPLICATION.not_played, **REPLICATION.timed, **others}.items():
        reasons.setdefault(reason, []).append(f"`{action}`")
    yield from ("", "## Actions that are not played, or only where nothing else breaks the promise", "")
    yield from (f"- {', '.join(actions)}: {reason}" for reason, actions in reasons.items())


def main() -> None:
    """Measures, and writes what was measured and what lists say of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--controls", type=int, default=1, help="how often controls are played")
    parser.add_argument("--only", nargs="+", metavar="SPEC", help="these specs")
    parser.add_argument("--missing", action="store_true", help="those that were not yet played so often")
    parser.add_argument("--kafka", help="a release")
    parser.add_argument("--refused", action="store_true", help="say anew why the other rows are not played, without brokers")
    given = parser.parse_args()
    measured = measured_so_far()
    if given.refused:
        measured["refused"] = refusals()
        write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    wanted = [
        case
        for case in ([] if given.refused else cases())
        if (not given.only or case["spec"] in given.only) and given.kafka in (None, case["kafka"])
        and not (given.missing and is_measured(case, measured.get(key_of(case)), given.runs))
    ]  # fmt: skip
    for one in measure(wanted, given.runs, given.controls):
        measured[key_of(one.case)] = one.told()
        write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    write_text(ON_BROKERS, json.dumps(in_lists(measured), indent=1) + "\n", "what brokers did")


if __name__ == "__main__":
    main()
