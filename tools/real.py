"""Plays counterexamples on real brokers and writes docs/real.md: what they did, with dates, releases, runs and seconds.

    python tools/real.py [--runs 3] [--controls 1] [--only SPEC ...] [--kafka RELEASE] [--missing]
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
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.errors import ConfigurationError  # noqa: E402
from acked.base.files import write_text  # noqa: E402
from acked.base.release import LATEST  # noqa: E402
from acked.base.release import release as number_of  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.cluster.commands.playable import On, playable_of, playable_run  # noqa: E402
from acked.cluster.playing.playable import NOT_PLAYED, TIMED  # noqa: E402
from acked.cluster.playing.reproduce import Brokers, Changed, prepare, reproduce_each  # noqa: E402
from acked.cluster.releases.release import Mode, release, releases  # noqa: E402
from acked.cluster.reports.reproductions.release_table import Deed, read_release, release_table, summary_of  # noqa: E402
from acked.cluster.reports.reproductions.verdict import Control, Verdict, control_of, verdict_of  # noqa: E402
from acked.cluster.reports.reproductions.words import MODES  # noqa: E402
from acked.cluster.transacting import play  # noqa: E402
from acked.cluster.transacting.script import NOT_PLAYED as NOT_TRANSACTED  # noqa: E402
from acked.cluster.transacting.script import is_of_transactions  # noqa: E402
from acked.model.language.words import says_list  # noqa: E402
from acked.model.partition.rules.settings import RULES  # noqa: E402
from acked.model.partition.rules.versions import VERSIONS, planes_of, profile  # noqa: E402
from acked.model.transactions.protocol import transactions  # noqa: E402
from acked.reports.escaping import md_text  # noqa: E402
from acked.reports.pages.spec_pages import OnBrokers  # noqa: E402
from acked.reports.table import Column, ColumnKind, numbers, table, table_markdown  # noqa: E402
from tools.real_stories import NINE, OTHERS  # noqa: E402

RELEASES, STORIES = ROOT / "docs" / "real_releases", ROOT / "docs" / "real_stories.json"
ON_BROKERS = ROOT / "specs" / "on_brokers.json"
CASES, MEASURED, PAGE = (ROOT / "docs" / name for name in ("real_brokers.toml", "real_measured.json", "real.md"))
WALKS = ROOT / "docs" / "real_random.json"
OPEN = "it can be played, and was not yet"
_STANDSTILL = "that nothing leads back is a promise about all that may follow, and brokers show one run"
_NOT_FOUND = "the model has no counterexample of it"
_NEVER_RELEASED = "its rule was never released"
Case = dict[str, Any]


def cases() -> list[Case]:
    """What is played, in the file's order."""
    found: list[Case] = [*_written()["case"], *_written()["transactions"]]
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


def prepared(case: Case) -> tuple[Any, Any]:
    """The run of a case, and its control: of replication or of transactions, which are played by drivers of their own."""
    brokers = Brokers(case["kafka"], Mode(case["control_plane"]) if "control_plane" in case else None)
    changed, timed = case.get("constants", {}), case.get("timed", False)
    found, _ = playable_run(case["spec"], changed, On(brokers.version, brokers.mode, timed), True, case.get("rules"))
    if is_of_transactions(found.question):
        transacted = play.prepare(found.question, found.run, brokers.version, brokers.chosen_mode)
        return transacted, transacted.control(case["control"]) if "control" in case else None
    first = prepare(found.question, found.run, brokers)
    if "control" not in case:
        return first, None
    name, is_setting, value = case["control"].partition("=")
    return first, first.control(Changed(setting=(name, value)) if is_setting else Changed(version=case["control"]))


@dataclass
class Measured:
    """A case, how often it and its control are to be played, and how they were."""

    case: Case
    first: Any
    control: Any
    runs: int
    controls: int
    firsts: list[Any] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)

    def plays(self) -> list[tuple[Any, list[Any]]]:
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
            "reason": next((reason_of(one) for one in self.others), ""),
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
    transacted = [each for each in plays if isinstance(each[1], play.Prepared)]
    replicated = [each for each in plays if not isinstance(each[1], play.Prepared)]
    replicated.sort(key=lambda each: _brokers_of(each[1]), reverse=True)
    seen = chain(reproduce_each(each[1] for each in replicated), (play.reproduce(each[1]) for each in transacted))
    for (one, _, kept), found in zip((*replicated, *transacted), seen, strict=True):
        kept.append(found)
        said = verdict_of(one.first.question.properties[0].name, found.played).value
        which = f"control, {said}" if kept is one.others else said
        parted = found.played.parted
        how = which if parted is None else f"{which} at step {parted.index}: {found.played.reason}"
        print(f"{key_of(one.case)}, up {found.start_seconds:.1f} s, played {found.played.seconds:.1f} s, {how}", flush=True)
        if one.is_whole():
            yield one


def _brokers_of(play: Any) -> tuple[Any, ...]:
    """What brings runs on the same brokers together."""
    chosen, setting = release(play.brokers.version), play.setting
    features, brokers = sorted(setting.features(chosen).items()), sorted(setting.brokers.items())
    return chosen.number, play.brokers.chosen_mode.value, setting.replicas, features, brokers


def reason_of(control: Any) -> str:
    """Why a control went another way, and of transactions also what was refused later."""
    reason: str = getattr(control.played, "refusals", control.played.reason)
    return reason


def verdict_in_words(found: dict[str, Any]) -> str:
    """`reproduced, 3 of 3`; where brokers do not show the promise, `as the model says, 3 of 3`."""
    word, times = outcome_of(found)
    return f"{word.value}, {times} of {found['runs']}"


def outcome_of(found: dict[str, Any]) -> tuple[Verdict, int]:
    """What was measured most that brokers did as the model says, and how often."""
    if found.get("as_modelled", 0) > found["reproduced"]:
        return Verdict.AS_MODELLED, found["as_modelled"]
    return Verdict.REPRODUCED, found["reproduced"]


def page(measured: dict[str, Any]) -> str:
    """docs/real.md."""
    lines = [INTRODUCTION]
    lines += [
        "| spec | row | steps | brokers | what they did | control | kept | it goes another way at | up | played | date |",
        "|---|---|--:|---|---|---|---|---|--:|--:|---|",
    ]
    for case in cases():
        found = measured.get(key_of(case))
        if found is None:
            continue
        kept = f"{found['kept']} of {found['controls']}" if "control" in case and found["reproduced"] else ""
        where = f"step {', '.join(map(str, found['parts']))}: {found['reason']}" if found["parts"] else ""
        brokers = f"{case['kafka']}, {MODES[Mode(found['mode'])]}"
        lines.append(
            f"| `{case['spec']}{changes_of(case)}`{rules_of(case)} | {case.get('row', '')} | {found['steps']} | {brokers} | "
            f"{verdict_in_words(found)} | {case.get('control', '')} | {kept} | "
            f"{where} | {found['up']} s | {found['seconds']} s | {found['date']} |"
        )
    lines += ["", *whole_releases(), *again(), _written()["findings"], RANDOM, *_random(), "", NOT_THERE]
    lines += [*_refused(measured), "", *_never()]
    return "\n".join(lines) + "\n"


def whole_releases() -> list[str]:
    """What `acked reproduce --all` found, release by release."""
    found = [read_release(json.loads(path.read_text("utf-8"))) for path in sorted(RELEASES.glob("*.json"))]
    lines = ["## Whole releases", "", *WHOLE.splitlines(), ""]
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
    if not counted:
        return []
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
    return ["## Again and again", "", *AGAIN.splitlines(), "", *table_markdown(table(columns, rows)), ""]


AGAIN = """\
The stories of `cluster/stories`, played on one cluster each, again and again, on two cores that did nothing else (a load
below 5) or much other work (“load” is the machine's, “burners” are processes that were started beside them and only use a
processor; “processor” is what a broker had used of one when the cluster was up, with its class archive). Made by
`python tools/real_stories.py --runs 10`, and with `--burners 2`; those that are not of the prototype by `--others`. In the
`library` stories the producer is librdkafka: it sends again and has several requests in flight by itself, with idempotence
and without."""

WHOLE = """\
All claims under the rules of a release, and its own bugs of the gallery: what the model says that is violated, and what the
brokers did. Made by `acked reproduce --all --kafka RELEASE -o docs/real_releases/RELEASE.json`; what cannot be played has its
reason there. The words are those of the table above."""

INTRODUCTION = """\
# What real brokers did

Counterexamples of the model, played on unmodified releases of Kafka on loopback: every step by itself, and after each step
logs, leader epochs, high watermarks, ISR and leader of the brokers compared with the state of the model. *Reproduced* means
that they never differed, and that the promise was then seen broken on the brokers (exit code 12). *As the model says* are
runs in which they never differed either, about a promise that is not decided from what is seen of brokers (14). The *control*
takes the same steps on a release that is fixed, or with a safer setting; it has to go another way, and to keep the promise.
Of a control the set of eligible leaders is not compared: it differs before the run has come to what is mended, and where it
matters another leader is elected.

Made by `python tools/real.py`; one of them again: `acked reproduce kafka7415-bug --kafka 2.0.0 --control 2.0.1`. A lost page
cache is a log that was cut while its broker was down. “Up” is what the cluster took to start, “played” what the steps took
(medians, in seconds, on two cores that did other work too; for `kafka15665-bug` they were busy with it). The rules of a
trace are those of its spec; where they are not those of the release, the command says so.

With `--html FILE` the command writes a page to step through, with the states of model, brokers and control side by side, and
what the brokers said in their own logs. `--format json` keeps all of it: `acked view` makes the page again, and `acked show`
shows it in the terminal, without brokers. Here KAFKA-7415 at the step at which 2.0.1 goes another way:

![Step 10: Kafka 2.0.0 truncates to offset 0 as the model says, and Kafka 2.0.1 keeps the record](reproduction.png)
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
    for version, seeds in json.loads(WALKS.read_text("utf-8")).items():
        outcomes = [one["outcome"] for one in seeds.values()]
        counts = " | ".join(str(outcomes.count(name)) for name in ("played", "parted", "not playable"))
        lines.append(f"| {version} | {len(seeds)} | {sum(one['steps'] for one in seeds.values())} | {counts} |")
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
        if spec.protocol is transactions:
            found[spec.name] = refusal_of_transactions(spec)
            continue
        if not was_released(spec):
            found[spec.name] = _NEVER_RELEASED
            continue
        brokers = brokers_of(spec)
        try:
            run, _ = playable_of(spec, On(releases()[-1].version, brokers.chosen_mode), quiet=True)
            prepare(run.question, run.run, brokers)
            found[spec.name] = ""
        except ConfigurationError as error:
            found[spec.name] = str(error).partition(": ")[2] or str(error)
    return found


def refusal_of_transactions(spec: Spec) -> str:
    """Why a spec is not played, of `transactions`."""
    if spec.version is not None and not number_of(spec.version).since("3.0"):
        return "releases before 3.0 do not describe their transactions (KIP-664)"
    try:
        playable_of(spec, On(releases()[-1].version), quiet=True)
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
    fix = load_spec(ROOT / "specs" / "gallery" / f"{spec.name.removesuffix('-bug')}-fix.toml")
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
    measured = json.loads(MEASURED.read_text("utf-8"))
    found: dict[int, OnBrokers] = {}
    for row in sorted({case["row"] for case in cases() if "row" in case}):
        done = [(case, measured[key_of(case)]) for case in cases() if case.get("row") == row and key_of(case) in measured]
        if any(outcome_of(one)[1] for _, one in done):
            found[row] = _played(done)
    for row, _, _spec, reason in not_played(measured):
        found.setdefault(row, OnBrokers("not played", f"Not played: {reason}."))
    for path in sorted((ROOT / "specs" / "recoverable").glob("*.toml")):
        entry = load_spec(path).gallery
        if entry is not None:
            found.setdefault(entry.row, OnBrokers("not played", f"Not played: {_STANDSTILL}."))
    for path in sorted((ROOT / "specs" / "gallery").glob("*.toml")):
        entry = load_spec(path).gallery
        if entry is not None:
            found.setdefault(entry.row, OnBrokers("not played", f"Not played: {_NOT_FOUND}."))
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


def _refused(measured: dict[str, Any]) -> list[str]:
    return [f"- Row {row}, {name}: {reason}." for row, name, _, reason in not_played(measured)]


def _never() -> list[str]:
    reasons: dict[str, list[str]] = {}
    for action, reason in {**NOT_PLAYED, **TIMED, **NOT_TRANSACTED}.items():
        reasons.setdefault(reason, []).append(f"`{action}`")
    lines = ["## Actions that are not played, or only where nothing else breaks the promise", ""]
    return lines + [f"- {', '.join(actions)}: {reason}" for reason, actions in reasons.items()]


def main() -> None:
    """Measures, and writes both files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--controls", type=int, default=1, help="how often controls are played")
    parser.add_argument("--only", nargs="+", metavar="SPEC", help="these specs")
    parser.add_argument("--missing", action="store_true", help="those that were not yet played so often")
    parser.add_argument("--kafka", help="a release")
    parser.add_argument("--refused", action="store_true", help="say anew why the other rows are not played, without brokers")
    parser.add_argument("--page", action="store_true", help="write the page from what was measured")
    given = parser.parse_args()
    measured: dict[str, Any] = json.loads(MEASURED.read_text("utf-8")) if MEASURED.is_file() else {}
    if given.refused:
        measured["refused"] = refusals()
        write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    wanted = [
        case
        for case in ([] if given.page or given.refused else cases())
        if (not given.only or case["spec"] in given.only) and given.kafka in (None, case["kafka"])
        and not (given.missing and is_measured(case, measured.get(key_of(case)), given.runs))
    ]  # fmt: skip
    for one in measure(wanted, given.runs, given.controls):
        measured[key_of(one.case)] = one.told()
        write_text(MEASURED, json.dumps(measured, indent=1, sort_keys=True) + "\n", "measurements")
    write_text(PAGE, page(measured), "page")
    write_text(ON_BROKERS, json.dumps(in_lists(measured), indent=1) + "\n", "what brokers did")


if __name__ == "__main__":
    main()
