"""Writes docs/kafka_mutants.json: which faulty brokers are convicted by their lines, which by their disks, which by neither.

    python tests/mutants/kafka_mutants.py              every mutant of mutants.toml that has no row yet
    … --only hw_one_ahead --seed 2                     these, anew
    … --neither --minutes 2                            those that nothing has convicted, anew
    … --again DIR                                      what --keep DIR left, judged anew
    … --kafka 4.4.0 --only hw_one_ahead                another release

Each is a release with one place of one class changed (Maven, a JDK and the release's jars are needed), on all nodes. It is
exercised as `acked kafka exercise` does, and so is the release as it is: the control, which nothing may convict. Its lines
are held against the model; its disks, by themselves, against one another, each against its own leader-epoch-checkpoint, and
against what was acknowledged. A row is written as soon as it is known; `--keep DIR` leaves logs and data directories.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.errors import AckedError, SystemFailure  # noqa: E402
from acked.cluster.exercising.course import Kind  # noqa: E402
from acked.cluster.exercising.exercise import DATA, REPLICAS, TOPIC, Exercise, acknowledged_file, exercise  # noqa: E402
from acked.cluster.observation.validation import Held, Verdict  # noqa: E402
from acked.cluster.observe.acknowledgements import look_for, read_acknowledged  # noqa: E402
from acked.cluster.observe.directories import compare, controller_decisions, find_directories, folders_of, headers  # noqa: E402
from acked.cluster.releases.release import release  # noqa: E402
from acked.cluster.validating.judge import Asked, judge  # noqa: E402
from acked.reports.table import numbers, table, table_markdown  # noqa: E402
from tests.found.playing.java import home_with, kafka  # noqa: E402
from tests.mutants.mutants import counts, mutant_home, mutants, mutate  # noqa: E402

FILE = ROOT / "docs" / "kafka_mutants.json"
CONTROL, DISTURBED = "control", "disturbed.json"
UNCONVICTED = ("neither", "no difference", "not reached", "refused")
FAULTS = tuple(kind for kind in Kind if kind is not Kind.LOSE_CACHE)
"""Those that a cluster must survive."""


def held_on_disk(broker: int, folder: Path) -> Held:
    """What a replica's batches say that it holds; nobody knows its high watermark."""
    end, epochs = 0, list[tuple[int, int]]()
    for header in headers(folder):
        if not epochs or epochs[-1][0] != header.epoch:
            epochs.append((header.epoch, header.first))
        end = header.last + 1
    return Held(broker, end, 0, tuple(epochs))


def wrong_on_disks(logs: Path, is_whole: bool) -> list[str]:
    """What disks alone say against a cluster.

    One that is not whole may have records that nobody was acknowledged: its replicas are compared as far as all of them go,
    and what was acknowledged is looked for where the controller's last ISR says.
    """
    directories = find_directories([logs / DATA])
    folders = {broker: path for broker, path in folders_of(directories, TOPIC, 0).items() if broker in REPLICAS}
    held = [held_on_disk(broker, folder) for broker, folder in sorted(folders.items())]
    ends = [one.end for one in held]
    in_sync = set(REPLICAS)
    if not is_whole:
        changes = [event["isr"] for event in controller_decisions(directories, TOPIC, 0) if event.get("isr")]
        in_sync = set(changes[-1]) if changes else set()
    differences = compare(folders, held, (max if is_whole else min)(ends, default=0)).differences
    missing = look_for(read_acknowledged(logs / acknowledged_file(0)), held, frozenset(in_sync), folders).missing
    return [re.sub(r" in /\S+", "", text) for text in (*differences, *missing)]


def sentence(verdict: Verdict) -> str:
    """Why lines are not a behaviour that keeps its promises; empty if they are."""
    if verdict.stuck is not None:
        event, reasons = verdict.stuck.open[0]
        return f"{event}: {reasons[0] if reasons else 'leads nowhere'}"
    return "" if verdict.broken is None else f"{verdict.broken.promise}: {verdict.broken.meaning}"


def what_lines_say(logs: Path, version: str) -> dict[str, Any]:
    """The verdict on the lines, and its first sentence; without the metadata log where that is refused beside them."""
    refused = ""
    for data in ((logs / DATA,), ()):
        try:
            verdict = judge(Asked((str(logs),), TOPIC, 0, version, {}, data)).verdict
        except AckedError as error:
            refused = refused or str(error).replace(f"{logs}/", "")
            continue
        word = "not explained" if verdict.stuck else "promise broken" if verdict.broken else "valid"
        return {"lines": word, "events": verdict.explained, "sentence": sentence(verdict)}
    return {"lines": "refused", "events": 0, "sentence": refused}


def convicted(row: dict[str, Any]) -> str:
    """By what a mutant is convicted; lines that are refused, since one is not known, convict nobody."""
    if not row["differed"] and row["mutant"] != CONTROL:
        return "no difference" if row["reached"] else "not reached"
    by_lines, by_disks = row["lines"] in ("not explained", "promise broken"), bool(row["disks"])
    if by_lines or by_disks:
        return "both" if by_lines and by_disks else "lines" if by_lines else "disks"
    return "refused" if row["lines"] == "refused" else "neither"


def disturb(name: str, asked: Exercise, logs: Path) -> dict[str, Any]:
    """An exercise of a mutant, or of the control: how often the place was reached, and why the cluster did not come back.

    It stays as `DISTURBED` in the folder of the logs, so that these can be judged anew.
    """
    assert asked.home is not None
    failed = ""
    try:
        for _ in exercise(asked, logs, lambda line: print(f"  {line}", file=sys.stderr, flush=True)):
            pass
    except SystemFailure as error:
        failed = str(error).partition("; what there is up to then")[0]
    counted = counts(asked.home)
    disturbed = {
        "kafka": asked.version, "mutant": name, "seed": asked.seed, "minutes": asked.minutes,
        "min_isr": asked.min_insync_replicas, "reached": counted.reached, "differed": counted.differed,
        "acknowledged": len(list(read_acknowledged(logs / acknowledged_file(0)))), "failed": failed,
    }  # fmt: skip
    (logs / DISTURBED).write_text(json.dumps(disturbed), "utf-8")
    return disturbed


def judged(breaks: str, disturbed: dict[str, Any], logs: Path) -> dict[str, Any]:
    """The row of an exercise: what lines and disks say of it."""
    row = {**disturbed, "breaks": breaks, **what_lines_say(logs, disturbed["kafka"])}
    row["disks"] = wrong_on_disks(logs, not row["failed"])
    return {**row, "convicted": convicted(row)}


def rows() -> dict[tuple[str, str], dict[str, Any]]:
    """Those that are known, by release and mutant."""
    known = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else []
    return {(row["kafka"], row["mutant"]): row for row in known}


def write(order: list[str], known: dict[tuple[str, str], dict[str, Any]]) -> None:
    """The rows by release, in the order of the mutants."""
    keys = sorted(known, key=lambda key: (release(key[0]).number, order.index(key[1])))
    lines = ",\n".join(f" {json.dumps(known[key], ensure_ascii=False)}" for key in keys)
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")


def in_words(counted: Counter[str]) -> str:
    """How many are convicted by what, as the page says it."""
    by_lines, by_disks = counted["lines"] + counted["both"], counted["disks"] + counted["both"]
    return (
        f"{sum(counted.values())} mutants: validation of the lines convicts {by_lines}, the disks {by_disks}"
        f" ({counted['both']} both), neither {counted['neither']}; of {counted['refused']} the lines are refused"
    )


def part() -> Iterator[str]:
    """The table of the mutants."""
    found, known = mutants()[1], rows()
    columns = ("release", "a mutant in which", numbers("reached"), numbers("differed"), "convicted by", "how, or why not")
    shown = []
    for (version, name), row in known.items():
        unseen = found[name].unseen if name in found else "the release as it is"
        how = "; ".join(filter(None, (row["sentence"], *row["disks"]))) or unseen or "Kafka would have done the same here"
        shown.append((version, row["breaks"], f"{row['reached']:,}", f"{row['differed']:,}", row["convicted"], how))
    yield from table_markdown(table(columns, shown))


def wanted(options: argparse.Namespace, order: list[str]) -> Iterator[str]:
    """Which are run now."""
    known, version = rows(), options.kafka
    for name in order:
        if options.only:
            is_wanted = name in options.only
        elif options.neither:
            is_wanted = known.get((version, name), {}).get("convicted") in UNCONVICTED and name != CONTROL
        else:
            is_wanted = (version, name) not in known
        if is_wanted:
            yield name


def main() -> int:
    """Runs what is wanted, one after the other."""
    version, found = mutants()
    order = [CONTROL, *found]
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--only", nargs="+", choices=order, metavar="MUTANT", help="these, whatever is known of them")
    options.add_argument("--neither", action="store_true", help="those that nothing has convicted")
    options.add_argument("--minutes", type=float, default=0.7, help="how long each is disturbed")
    options.add_argument("--seed", type=int, default=334, help="334 brings much in forty seconds")
    options.add_argument("--rate", type=float, default=60.0)
    options.add_argument("--again", type=Path, metavar="DIR", help="judge anew what --keep DIR has left, without brokers")
    options.add_argument("--keep", type=Path, metavar="DIR", help="where logs and data directories go, by the mutant's name")
    options.add_argument("--kafka", default=version, help="another release, whose classes have these places, too")
    asked = options.parse_args()
    version = asked.kafka
    def breaks(name: str) -> str:
        return "nothing" if name == CONTROL else found[name].breaks

    def put(one: dict[str, Any]) -> None:
        print(json.dumps(one, ensure_ascii=False), flush=True)
        write(order, {**rows(), (one["kafka"], one["mutant"]): one})

    if asked.again:
        for file in sorted(asked.again.glob(f"*/{DISTURBED}")):
            kept = json.loads(file.read_text("utf-8"))
            put(judged(breaks(kept["mutant"]), kept, file.parent))
        return 0
    names = list(wanted(asked, order))
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        jars = kafka(version)
        mutate([found[name] for name in names if name in found], jars, work)
        # No class archive is made: what its cluster counts would count, and it is of no use later.
        os.environ["ACKED_CACHE_DIR"] = f"{os.devnull}/none"
        for number, name in enumerate(names, 1):
            print(f"{number} of {len(names)}: {name}", file=sys.stderr, flush=True)
            is_control = name == CONTROL
            home = home_with((), jars, work / "homes" / name) if is_control else mutant_home(name, jars, work)
            logs = (asked.keep or work / "logs") / name
            shutil.rmtree(logs, ignore_errors=True)
            logs.mkdir(parents=True)
            min_isr = 2 if is_control else found[name].min_isr
            one = Exercise(version, asked.minutes, asked.seed, FAULTS, asked.rate, min_isr, home)
            disturbed = disturb(name, one, logs)
            put(judged(breaks(name), disturbed, logs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
