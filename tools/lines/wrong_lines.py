"""Writes docs/wrong_lines.csv: of recorded lines that are damaged in every way, which `acked kafka validate` finds.

    python tools/lines/wrong_lines.py            # a line of each kind of each node of three runs, a minute
    python tools/lines/wrong_lines.py --most 9   # so many lines of each kind

Each line that is read is left out, doubled, changes places with the next one of its thread, or says another number, one
more or one less, or another set, with one broker more or less. The file is then read and validated as any other. A row has
what a line tells, what was done, how often, and how often the run was not explained, refused as a file, or valid all the
same.

What is not counted: damages after which the lines tell the same events of each node, and those of lines that may as well not
be there, or be there twice (docs/validate.md): a fetch that brings no news; a session that ends or begins, of which the
change of the ISR tells; a truncation, of which the line of the log that is cut tells; and that a fetcher is removed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.errors import AckedError  # noqa: E402
from acked.cluster.lines.envelopes import HEAD  # noqa: E402
from acked.cluster.lines.recording import Recording  # noqa: E402
from acked.cluster.lines.wordings import WORDINGS, Kind, Wording  # noqa: E402
from acked.cluster.observation.lanes import Slack  # noqa: E402
from acked.cluster.observation.subject import Subject  # noqa: E402
from acked.cluster.observation.validation import validate  # noqa: E402

LINES = ROOT / "tests" / "data" / "lines"
TABLE = ROOT / "docs" / "wrong_lines.csv"
RUNS = ("k39-s1", "k4-s1", "k4-s3")
"""Two releases; the last has a leader that is killed, an election, a truncation, and a larger ISR."""
TOPIC, PARTITION = "t", 0
SLACK = Slack(nodes=100)
"""A rejection is told after so many tries, and after ten times as many the second time: these runs are short."""
TIME = len("2026-11-22 11:45:44.591")
FOUND, REFUSED, VALID, SAME = "not explained", "refused", "valid", "same"


@dataclass(frozen=True)
class Read:
    """A line that is read: which node's, at which place, what it tells, and where its values stand."""

    node: str
    at: int
    kind: Kind
    thread: str
    values: tuple[tuple[str, int, int], ...]
    news: bool
    """Of a fetch that a leader notes: whether the follower has come further."""


@dataclass(frozen=True)
class Damage:
    """Another file of a node, and what was done to which line."""

    read: Read
    done: str
    lines: tuple[str, ...]


def reads(node: str, lines: list[str]) -> Iterator[Read]:
    """The lines of a node that wordings read as telling something."""
    patterns: list[tuple[Wording, re.Pattern[str]]] = [(one, one.pattern(TOPIC, PARTITION)) for one in WORDINGS]
    noted: dict[str, str | None] = {}
    for at, line in enumerate(lines):
        head = HEAD.match(line)
        if head is None or f"{TOPIC}-{PARTITION}" not in line:
            continue
        begin = head.start(6) + (head[6].find("] ") + 2 if head[6].startswith("[") else 0)
        for wording, pattern in patterns:
            found = pattern.match(line[begin:].rstrip("\n")) if head[5] in wording.loggers else None
            if found is not None:
                named = [name for name, value in found.groupdict().items() if value]
                spans = tuple((name, begin + found.start(name), begin + found.end(name)) for name in named)
                offsets = {name: line[start:end] for name, start, end in spans} if wording.kind is Kind.RECORDED else {}
                news = noted.get(offsets.get("follower", "")) != offsets.get("offset")
                noted[offsets.get("follower", "")] = offsets.get("offset")
                yield Read(node, at, wording.kind, head[4], spans, news)
                break


def damages(read: Read, lines: list[str], of_thread: dict[str, list[int]], free: set[int]) -> Iterator[Damage]:
    """Everything that is done to a line; `free` are those that may stand elsewhere."""
    at, line = read.at, lines[read.at]
    yield Damage(read, "left out", (*lines[:at], *lines[at + 1 :]))
    yield Damage(read, "doubled", (*lines[: at + 1], line, *lines[at + 1 :]))
    following = [other for other in of_thread[read.thread] if other > at and other not in free][:1]
    for other in following:
        swapped = list(lines)
        swapped[at], swapped[other] = line[:TIME] + lines[other][TIME:], lines[other][:TIME] + line[TIME:]
        yield Damage(read, "swapped", tuple(swapped))
    for name, begin, end in read.values:
        for value in others(line[begin:end]):
            yield Damage(read, name, (*lines[:at], f"{line[:begin]}{value}{line[end:]}", *lines[at + 1 :]))


def is_silent(read: Read, done: str) -> bool:
    """Whether a line may as well not be there, or be there twice, or stand elsewhere in its thread."""
    if read.kind is Kind.RECORDED:
        return done == "doubled" or not read.news
    if read.kind in (Kind.REMOVED, Kind.TRUNCATING) and done in ("left out", "swapped"):
        return True
    return read.kind in (Kind.FENCED, Kind.UNFENCED)


def others(value: str) -> Iterator[str]:
    """A number one more and one less, or a set with broker 1 in or out."""
    if re.fullmatch(r"-?\d+", value):
        yield str(int(value) + 1)
        if int(value) > 0:
            yield str(int(value) - 1)
    else:
        brokers = re.findall(r"\d+", value)
        changed = [one for one in brokers if one != "1"] if "1" in brokers else [*brokers, "1"]
        yield ", ".join(changed)


Told = tuple[tuple[int, str, str], ...]
"""What events say, in their order: by whom, what, with which values."""


def verdict(folder: Path, original: Told = ()) -> tuple[str, Told]:
    """What becomes of a run, and what its events say; SAME where that is what the original's say."""
    try:
        recording = Recording([str(folder)], TOPIC, PARTITION)
        begun = recording.begin()
        subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
        events = list(recording.events())
        told = tuple((event.by, event.says.value, str(event)) for event in sorted(events, key=lambda event: event.by))
        if told == original:
            return SAME, told
        return VALID if validate(subject, begun.created, iter(events), slack=SLACK).is_valid else FOUND, told
    except AckedError:
        return REFUSED, ()


def main() -> None:
    """Damages line after line, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1, help="lines of each kind of each node of a run")
    parser.add_argument("--run", choices=RUNS, action="append", help="only these runs; the table is not written")
    parser.add_argument("--show", action="store_true", help="name what is valid all the same")
    asked = parser.parse_args()
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for run in asked.run or RUNS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            texts = {}
            for file in sorted((LINES / run).glob("*.gz")):
                texts[file.stem.split(".")[0]] = gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)
            for node, lines in texts.items():
                (folder / f"{node}.log").write_text("".join(lines), "utf-8")
            answer, told = verdict(folder)
            assert answer == VALID, run
            for node, lines in texts.items():
                taken: Counter[Kind] = Counter()
                every = list(reads(node, lines))
                of_thread: dict[str, list[int]] = defaultdict(list)
                for read in every:
                    of_thread[read.thread].append(read.at)
                free = {read.at for read in every if is_silent(read, "swapped")}
                for read in every:
                    taken[read.kind] += 1
                    if taken[read.kind] > asked.most:
                        continue
                    for damage in damages(read, lines, of_thread, free):
                        if is_silent(read, damage.done):
                            continue
                        (folder / f"{node}.log").write_text("".join(damage.lines), "utf-8")
                        answer, _ = verdict(folder, told)
                        if answer == SAME:
                            continue
                        counts[read.kind.name.lower(), damage.done][answer] += 1
                        if asked.show and answer != FOUND:
                            print(answer, run, f"{node}.log:{read.at + 1}", read.kind.name, damage.done, lines[read.at][:220])
                (folder / f"{node}.log").write_text("".join(lines), "utf-8")
        print(run, sum(sum(one.values()) for one in counts.values()), file=sys.stderr, flush=True)
    total = sum((Counter(one) for one in counts.values()), Counter[str]())
    tried = sum(total.values())
    share = 100 * total[FOUND] / tried
    print(f"{total[FOUND]} of {tried} found, {share:.1f} %; {total[REFUSED]} refused, {total[VALID]} valid")
    if not asked.run:
        with TABLE.open("w", encoding="utf-8", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(("line", "damage", "tried", FOUND, REFUSED, VALID))
            for (kind, done), became in sorted(counts.items()):
                rows.writerow((kind, done, sum(became.values()), became[FOUND], became[REFUSED], became[VALID]))


if __name__ == "__main__":
    main()
