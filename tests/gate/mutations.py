"""Faults that the gate must find, each for a reason that is named: the list, and how one is tried.

Faults in the text of a copied checkout, in specs, in expectations, in the cache and in the engine, with the reason for which
the gate must be red.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from acked.base.files import ROOMS
from tests.e2e.driver import acked
from tests.places import CHECKOUT

COPIED = (*ROOMS, "acked")

HOLDS, PROMISES, LOSES, CONTROL = "counts.toml", "promises.toml", "loses.toml", "control.toml"
"""The specs that the gate runs: one that pins counts, one that asks every promise, one with a run, one that is weakened."""

_PROMISES = """\
# Every promise of the family, each pinned.
title = "every promise at two brokers"
protocol = "kip320"
[constants]
replicas = 2
log_size = 2
max_records = 2
max_leader_epoch = 2
[check]
invariants = [
  "WeakIsr", "StrongIsr", "LeaderInIsr", "HwWithinLog", "HwWithinOwnIsr", "HwWithinQuorumIsr",
  "OneLeaderPerEpoch", "LogEpochsAscend", "KnownEpochs", "LeaderEpochsOnlyGrow", "CommittedRecordsStay",
]
[expect]
verdict = "holds"
holds = ["WeakIsr", "StrongIsr", "CommittedRecordsStay"]
at_least_distinct_states = 5900
"""


@dataclass(frozen=True)
class Mutation:
    """A text that is replaced, exactly once, in a file of the copy; the gate is then red for `spec`, for `reason`.

    Files without a folder are specs. `also` may do more to the copy, given the folder of the cache.
    """

    what: str
    file: str
    old: str
    new: str
    spec: str
    reason: str
    arguments: tuple[str, ...] = ()
    also: Callable[[Path, Path], None] | None = None


@dataclass(frozen=True)
class Seen:
    """What the gate said of a mutated copy."""

    code: int
    document: dict[str, Any]

    def departures(self, spec: str) -> dict[str, str]:
        """By reason: the sentence, of a spec; of the gate itself if the spec is not named."""
        if not spec:
            return {"no-spec": self.document["refusal"]} if self.document["refusal"] else {}
        entry = next(item for item in self.document["specs"] if item["path"].endswith(spec))
        return {item["reason"]: item["sentence"] for item in entry["departures"]}

    def row(self, number: int, mutation: Mutation) -> list[str]:
        """A row of the table."""
        sentence = self.departures(mutation.spec)[mutation.reason]
        short = re.sub(r"\S*/(?=\w+\.toml)", "", sentence)
        short = short if len(short) <= 150 else short[:149] + "…"
        where = mutation.file if "/" in mutation.file else f"the spec {mutation.file}"
        return [str(number), mutation.what, where, mutation.reason, short]


def emptied(function: str, spec: str, reason: str) -> Mutation:
    """The property's body is replaced by what always holds."""
    return Mutation(
        f"{function} is emptied",
        "invariants/replication/properties.py",
        rf"(def {function}\(.*?\) -> Bool:\n    \"\"\".*?\"\"\"\n)",
        r"\1    return every(Replica, lambda r: r == r)\n",
        spec,
        reason,
    )


def negated(function: str, spec: str) -> Mutation:
    """The property's body is negated."""
    return Mutation(
        f"{function} is negated",
        "invariants/replication/properties.py",
        rf"(def {function}\(.*?\) -> Bool:\n    \"\"\".*?\"\"\"\n    return )(.*?)\n\n\n",
        r"\1~(\2)\n\n\n",
        spec,
        "verdict",
    )


def _poisoned(change: Callable[[dict[str, Any]], None], with_checksum: bool = False) -> Callable[[Path, Path], None]:
    """Edits every answer in the cache; `with_checksum` writes a checksum that fits."""

    def poison(copy: Path, cache: Path) -> None:
        for path in (cache / "results" / "answers").iterdir():
            checksum, _, body = path.read_text("utf-8").partition("\n")
            entry = json.loads(body)
            change(entry)
            body = json.dumps(entry)
            path.write_text(f"{hashlib.sha256(body.encode()).hexdigest() if with_checksum else checksum}\n{body}", "utf-8")

    return poison


def _claims_956(entry: dict[str, Any]) -> None:
    entry["content"]["distinct_states"] = 956


def _swapped(copy: Path, cache: Path) -> None:
    """Every answer is put where another one belongs."""
    paths = sorted((cache / "results" / "answers").iterdir())
    texts = [path.read_bytes() for path in paths]
    for path, text in zip(paths, [*texts[1:], texts[0]], strict=True):
        path.write_bytes(text)


def _garbage(copy: Path, cache: Path) -> None:
    for path in (cache / "results" / "answers").iterdir():
        path.write_bytes(b"\x00\xff not an answer")


def _without_specs(copy: Path, cache: Path) -> None:
    for path in (copy / "specs").iterdir():
        path.unlink()


def _slow(copy: Path, cache: Path) -> None:
    for path in (copy / "specs").iterdir():
        path.write_text("slow = true\n" + path.read_text("utf-8"), "utf-8")


_KIP320, _COMMON, _WRONG = "model/replication/kip320.py", "model/replication/common.py", r"(distinct_states = 95)7"

MUTATIONS: tuple[Mutation, ...] = (
    # -- the protocol
    Mutation("an action is deleted", _KIP320, r"@kip320\.action\(says=says_expand[^\n]*\n", "", HOLDS, "count"),
    Mutation(
        "a shared action is deleted", _COMMON, r"(CONTROL_AND_WRITE = \(.*?), leader_write\)", r"\1)", HOLDS, "never-fired"
    ),
    Mutation(
        "nothing is ever written, so a promise says nothing",
        _COMMON,
        r"(CONTROL_AND_WRITE = \(.*?), leader_write\)",
        r"\1)",
        PROMISES,
        "vacuous",
    ),
    Mutation(
        "an action can never fire",
        _KIP320,
        r'(    require\("in the ISR", )',
        r'    require("never", False)\n\1',
        PROMISES,
        "never-fired",
    ),
    Mutation(
        "a guard is dropped: the next offset",
        _COMMON,
        r'    require\("leader holds the next offset".*?\n',
        "",
        PROMISES,
        "verdict",
    ),
    Mutation("a guard is dropped: caught up to HW", _KIP320, r'    require\("caught up to HW".*?\n', "", PROMISES, "verdict"),
    Mutation(
        "a guard is dropped: every ISR member holds the offset",
        _KIP320,
        r'    require\(\n        "every ISR member.*?\n    \)\n',
        "",
        PROMISES,
        "property",
    ),
    Mutation(
        "a guard is dropped that no promise needs",
        _KIP320,
        r'    require\("HW in this epoch".*?\n',
        "",
        HOLDS,
        "count",
    ),
    Mutation("an update is deleted", _COMMON, r"    s\.replica\[replica\]\.isr = .*?\n", "", HOLDS, "count"),
    Mutation("< becomes <=", _COMMON, r"(leader_epoch) < (epoch\n)", r"\1 <= \2", PROMISES, "verdict"),
    Mutation("a bound is one too large", _COMMON, r"(next_record_id) < (max_records)", r"\1 <= \2", HOLDS, "no-answer"),
    Mutation("the high watermark jumps by two", _KIP320, r"\.hw = hw \+ 1", ".hw = hw + 2", HOLDS, "verdict"),
    # -- the promises
    emptied("weak_isr", PROMISES, "vacuous"),
    emptied("strong_isr", PROMISES, "vacuous"),
    emptied("leader_in_isr", HOLDS, "vacuous"),
    emptied("leader_epochs_only_grow", PROMISES, "vacuous"),
    emptied("committed_records_stay", PROMISES, "vacuous"),
    Mutation(
        "weak_isr is emptied, and was to be violated",
        "invariants/replication/properties.py",
        r"(def weak_isr\(.*?\) -> Bool:\n    \"\"\".*?\"\"\"\n)",
        r"\1    return every(Replica, lambda r: r == r)\n",
        LOSES,
        "verdict",
    ),
    negated("leader_in_isr", HOLDS),
    negated("hw_within_log", HOLDS),
    Mutation(
        "an antecedent becomes impossible",
        "invariants/replication/properties.py",
        r"implies\(presumes_leadership\(s, r\), _agree_below_hw\(s, r, s\.quorum",
        r"implies(presumes_leadership(s, r) & ~presumes_leadership(s, r), _agree_below_hw(s, r, s.quorum",
        PROMISES,
        "vacuous",
    ),
    # -- the specs
    Mutation("constants are shrunk", PROMISES, "max_leader_epoch = 2", "max_leader_epoch = 1", PROMISES, "floor"),
    Mutation(
        "constants are shrunk until a promise says nothing", PROMISES, "log_size = 2", "log_size = 1", PROMISES, "vacuous"
    ),
    Mutation(
        "constants are shrunk under a violation", LOSES, "max_leader_epoch = 1", "max_leader_epoch = 0", LOSES, "verdict"
    ),
    Mutation("constants are grown", HOLDS, "max_leader_epoch = 1", "max_leader_epoch = 2", HOLDS, "count"),
    Mutation(
        "a property that holds is removed", PROMISES, '"WeakIsr", ("StrongIsr", "LeaderInIsr")', r"\1", PROMISES, "unreadable"
    ),
    Mutation(
        "a property that is violated is removed",
        CONTROL,
        r'(invariants = \[\n)  "StrongIsr",\n',
        r"\1",
        CONTROL,
        "unreadable",
    ),
    Mutation("all properties are removed", HOLDS, r"invariants = \[.*?\]", "invariants = []", HOLDS, "unreadable"),
    Mutation("the weakening is removed", CONTROL, r"drop = \[.*?\]", "drop = []", CONTROL, "verdict"),
    Mutation("the expectation is removed", HOLDS, r"\[expect\].*", "", HOLDS, "no-expectation"),
    Mutation("the spec is emptied", HOLDS, r"\A.*\Z", "", HOLDS, "unreadable"),
    Mutation("a count is edited", HOLDS, _WRONG, r"\g<1>6", HOLDS, "count"),
    Mutation("the depth is edited", HOLDS, r"depth = (\d+)", r"depth = 1\1", HOLDS, "count"),
    Mutation("the floor is raised", PROMISES, "= 5900", "= 6000", PROMISES, "floor"),
    Mutation("the trace is expected longer", LOSES, "trace_length = 9", "trace_length = 10", LOSES, "shorter-trace"),
    Mutation("the trace is expected shorter", LOSES, "trace_length = 9", "trace_length = 8", LOSES, "longer-trace"),
    Mutation("the verdict is edited", LOSES, r"verdict = .*?trace_length = 9", 'verdict = "holds"', LOSES, "verdict"),
    Mutation("another property is expected", CONTROL, r'(violates = \[\n)  "StrongIsr",\n', r"\1", CONTROL, "property"),
    Mutation(
        "an action is expected never to fire",
        HOLDS,
        r'(verdict = "holds")',
        r'\1\nnever_fired = ["LeaderWrite"]',
        HOLDS,
        "fired",
    ),
    Mutation("nothing is asked any more", HOLDS, r"invariants = \[.*?\]", "count_only = true", HOLDS, "incomplete"),
    Mutation("every spec is gone", HOLDS, r"\A", "", "", "no-spec", also=_without_specs),
    Mutation("every spec calls itself slow", HOLDS, r"\A", "", "", "no-spec", also=_slow),
    # -- the cache
    Mutation(
        "a count is edited, and the cache with it", HOLDS, _WRONG, r"\g<1>6", HOLDS, "count", also=_poisoned(_claims_956)
    ),
    Mutation("answers are exchanged in the cache", HOLDS, _WRONG, r"\g<1>6", HOLDS, "count", also=_swapped),
    Mutation("the cache is garbage", HOLDS, _WRONG, r"\g<1>6", HOLDS, "count", also=_garbage),
    # -- the engine
    Mutation(
        "successors are lost",
        "checker/loops/expansion.py",
        r"(    m = fire_all\(context, here, n\)\n)",
        r"\1    m = m - m // 16\n",
        PROMISES,
        "floor",
    ),
    Mutation(
        "an emitted comparison is flipped", "checker/native/bits.py",
        "less = NO", "less = YES", HOLDS, "verdict"
    ),
    Mutation(
        "a level's count is off by one", "checker/question/ledger.py",
        r"(\.sizes, report\.states)\)", r"\1 + 1)", HOLDS, "count"
    ),
    Mutation(
        "levels are off by one", "checker/question/ledger.py",
        r"(return len\(self\._counts\.sizes\))", r"\1 + 1", HOLDS, "count"
    ),
    Mutation(
        "the search ends early and calls it complete",
        "checker/question/ledger.py",
        r"is_last = report\.next_states == 0",
        "is_last = report.next_states < 40 < self.distinct_states",
        HOLDS,
        "count",
    ),
    Mutation(
        "violations are not looked at",
        "checker/question/ledger.py",
        r"(        )fresh = self\._take_findings\(report\)",
        r"\1fresh = []",
        LOSES,
        "verdict",
    ),
    Mutation(
        "the search's process dies",
        "checker/batch/local.py",
        r"( {16})(bounds = Bounds\(1, self\._memory)",
        r"\1import os; os._exit(3)\n\1\2",
        HOLDS,
        "no-answer",
    ),
    Mutation("there is hardly any memory", HOLDS, r"\A", "", PROMISES, "incomplete", ("--memory", "64KB", "--no-cache")),
    Mutation(
        "a state is looked for that cannot be",
        HOLDS,
        r"\[check\]",
        r"[reach]\nNobody = 'quorum.isr == {} and quorum.leader == 0'\n[check]",
        HOLDS,
        "unreached",
    ),
    Mutation(
        "a state is said to be unreachable that is not",
        HOLDS,
        r"\[expect\]",
        r"[reach]\nAlone = 'quorum.isr == {0}'\n[expect]\nunreachable = 'Alone'",
        HOLDS,
        "reached",
    ),
)


def copy_of_the_checkout(target: Path) -> Path:
    """A copy with a handful of small specs.

    Bytecode comes along: it is of the files that nothing changes, as the times that are copied with them say.
    """
    for name in COPIED:
        shutil.copytree(CHECKOUT / name, target / name, symlinks=True)
    with_specs(target)
    return target


def with_specs(target: Path) -> None:
    """Writes the specs that the gate runs into a new folder."""
    specs = target / "specs"
    specs.mkdir(parents=True)
    shutil.copy(CHECKOUT / "specs/counts/kip320-2221.toml", specs / HOLDS)
    shutil.copy(CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml", specs / LOSES)
    shutil.copy(CHECKOUT / "specs/controls/elect-outside-isr.toml", specs / CONTROL)
    (specs / PROMISES).write_text(_PROMISES, "utf-8")


def run_gate(copy: Path, cache: Path, *arguments: str, spec: str = "") -> Seen:
    """The gate over the specs of a copy, or one of them, run by the copy's packages, or here by ours where it has none."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON", "ACKED", "GITHUB"))}
    kept |= {"PYTHONDONTWRITEBYTECODE": "1", "ACKED_CACHE_DIR": str(cache)}
    command = ["gate", f"specs/{spec}", "--format", "json", "--jobs", "1", "--memory", "200MB", *arguments]
    if (copy / "acked").exists():
        whole = [sys.executable, "-m", "acked", *command]
        done = subprocess.run(whole, cwd=copy, env=kept, capture_output=True, text=True, timeout=900)
    else:
        with patch.dict(os.environ, kept, clear=True):
            done = acked(*command, cwd=copy)
    if not done.stdout:
        raise AssertionError(f"the gate said nothing: {done.stderr}")
    return Seen(done.returncode, json.loads(done.stdout))


def attempt(mutation: Mutation, folder: Path, cache: Path) -> Seen:
    """Makes a copy, mutates it, and runs its gate on a cache that knows the sound answers."""
    if "/" in mutation.file:
        path = copy_of_the_checkout(folder) / mutation.file
    else:
        with_specs(folder)
        path = folder / "specs" / mutation.file
    text, count = re.subn(mutation.old, mutation.new, path.read_text("utf-8"), count=0, flags=re.DOTALL)
    if count != 1:
        raise AssertionError(f"{mutation.file} holds {mutation.old!r} {count} times; write the mutation anew")
    path.write_text(text, "utf-8")
    if mutation.also is not None:
        own = folder / "cache"
        shutil.copytree(cache, own)
        cache = own
        mutation.also(folder, cache)
    return run_gate(folder, cache, *mutation.arguments, spec=mutation.spec)
