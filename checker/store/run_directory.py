"""Run directories: what a search has completed, on disk, so that any engine can resume it.

`RunDirectory`: which question a run is about, which levels are complete, and in which files their states stand.

    run.json             the question: protocol, constants, properties, and a hash of all expressions; layout and buckets
    commits/00000.json   the files of level 1
    commits/00007.json   what expanding level 7 found (a `LevelReport`), and the files of level 8
    levels/…             level files; those that no commit names do not count
    scratch/…            what tasks send each other; worth nothing once its attempt is over
    run.lock             held while a search is at work here

A commit appears under its name in one step, after its files did, so a run that is killed at any moment resumes from its last
commit. Every JSON file carries a SHA-256 of its content, every level file CRCs. Nothing is forced to the disk: after a power
failure the checksums show what was lost.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import open_file, replace_text
from acked.base.frozen import frozen
from acked.checker.question.ledger import LevelReport
from acked.checker.question.question import Question
from acked.checker.store.level_file import MAX_BUCKETS, LevelFile, StateCodec, cannot_write, damage_of

FORMAT = "acked-run/2"
OLDER = "acked-run/1"
"""Before level files could have packed blocks. Such a run goes on without them, so that what wrote it can read it."""
HASHES = "structural"
"""How the rules and what is looked for are hashed. In older directories, which do not say, by the order in which expressions
were made."""
DEFAULT_BUCKETS = 64
WORTH_BYTES = 1 << 20
"""A temporary run that has stored so much is worth being resumed: some hundred thousand states."""
PARTS = ("commits", "levels", "scratch")
LOCK, ABOUT = "run.lock", "run.json"


@frozen
class Commit:
    """A completed step of a run: the report of expanding a level (None at the start) and the files of the next one."""

    number: int
    report: LevelReport | None
    files: tuple[LevelFile, ...]


@dataclass
class RunDirectory:
    """A run directory that this process holds; use it in a `with` block, which gives it back."""

    path: Path
    buckets: int
    layout: str | None
    identity: Mapping[str, object]
    commits: list[Commit] = field(default_factory=list)
    format: str = FORMAT
    copy: Callable[[Path], None] | None = None
    """What is called with every file that has been completed, if the run is kept elsewhere, too."""
    is_temporary: bool = False
    """It ends with the search, unless `keep` is called."""
    _lock: IO[bytes] | None = None

    # -- opening ----------------------------------------------------------------------------------------------------

    @classmethod
    def is_begun(cls, path: Path) -> bool:
        """Whether a run was begun in a folder."""
        return (path / ABOUT).exists()

    @classmethod
    def create(cls, path: Path, question: Question, buckets: int = DEFAULT_BUCKETS) -> RunDirectory:
        """A new run in a folder that does not exist yet, is empty, or has what a run leaves that ended before it began."""
        if not 1 <= buckets <= MAX_BUCKETS:
            raise ConfigurationError(f"{buckets} buckets are requested; choose from 1 to {MAX_BUCKETS:,}")
        if cls.is_begun(path):
            raise ConfigurationError(f"{path} already holds a run; resume it with --resume {path}, or name another folder")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not _holds_nothing(path):
                raise ConfigurationError(f"{path} is not empty; choose a new folder")
            for part in PARTS:
                (path / part).mkdir(exist_ok=True)
            run = cls(path, buckets, None, identity_of(question))
            run._take_lock()
        except FileExistsError:
            raise ConfigurationError(f"{path} is a file; name a folder") from None
        except OSError as error:
            raise cannot_write(path, error) from None
        return run

    @classmethod
    def open(cls, path: Path, question: Question) -> RunDirectory:
        """An existing run of the same question; refused with a sentence if it is another's or damaged."""
        if not path.is_dir():
            raise SystemFailure(f"there is no run directory {path}; a search with --run-dir {path} would make it")
        if not (path / ABOUT).is_file():
            raise SystemFailure(f"{path} is not a run directory: {path / ABOUT} is missing")
        about = read_document(path / ABOUT)
        if about.get("format") not in (FORMAT, OLDER):
            raise SystemFailure(f"{path / ABOUT} is of format {about.get('format')!r}, and this acked reads {FORMAT}")
        refuse_another_question(path / ABOUT, about.get("identity", {}), identity_of(question))
        run = cls(path, int(about["buckets"]), about["layout"], about["identity"], format=about["format"])
        try:
            run._take_lock()
        except OSError as error:
            raise cannot_write(path, error) from None
        try:
            run.commits.extend(read_commits(path))
            run._tidy()
        except BaseException:
            run.close()
            raise
        return run

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keep(self) -> bool:
        """Whether an incomplete run can be resumed when the search has ended; a temporary one stays if it is worth that."""
        if self.stored_bytes >= WORTH_BYTES:
            self.is_temporary = False
        return not self.is_temporary

    def close(self) -> None:
        """Lets others have the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        lock = open(self.path / LOCK, "ab")  # noqa: SIM115  (held until `close`)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise SystemFailure(f"another search is at work in {self.path}; wait for it, or end it") from None
        self._lock = lock

    def _tidy(self) -> None:
        """Removes what earlier attempts left unfinished."""
        known = {file.name for commit in self.commits for file in commit.files}
        try:
            shutil.rmtree(self.path / "scratch", ignore_errors=True)
            (self.path / "scratch").mkdir(exist_ok=True)
            for entry in os.scandir(self.path / "levels"):
                if entry.name not in known:
                    os.unlink(entry.path)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    # -- what is in it ----------------------------------------------------------------------------------------------

    def agree_on_layout(self, codec: StateCodec) -> None:
        """Writes down, or compares, how states are laid out in files; the codec deals them as is written there."""
        if self.layout is None:
            self.layout = codec.fingerprint
            write_document(
                self.path / ABOUT,
                {"format": self.format, "identity": dict(self.identity), "buckets": self.buckets, "layout": self.layout},
            )
            self._copy([self.path / ABOUT])
            return
        codec.adopt(self.layout)
        if self.layout != codec.fingerprint:
            raise SystemFailure(
                f"{self.path / ABOUT} describes files of another version of acked; start over in another folder"
            )

    def commit_path(self, number: int) -> Path:
        """Where a commit stands."""
        return self.path / "commits" / f"{number:05}.json"

    def level_path(self, file: LevelFile) -> Path:
        """Where a level file stands."""
        return self.path / "levels" / file.name

    def new_attempt(self) -> str:
        """A name that no other attempt at this run has, in this process or another."""
        return secrets.token_hex(4)

    def commit(self, report: LevelReport | None, files: tuple[LevelFile, ...]) -> None:
        """Makes a step permanent."""
        number = len(self.commits)
        body = {
            "number": number,
            "report": None if report is None else report_to_json(report),
            "files": [[file.name, file.states, file.size, file.digest] for file in files],
        }
        write_document(self.commit_path(number), body)
        self.commits.append(Commit(number, report, files))
        self._copy([*map(self.level_path, files), self.commit_path(number)])

    def _copy(self, paths: Iterable[Path]) -> None:
        if self.copy is not None:
            for path in paths:
                self.copy(path)

    def verify(self, codec: StateCodec) -> None:
        """Reads every level file; `DamagedFile` names the first that is not as it was written."""
        for level, commit in enumerate(self.commits, start=1):
            for file in commit.files:
                for _ in codec.read(self.level_path(file), level, file):
                    pass  # The reader checks.

    def files_of(self, level: int) -> tuple[LevelFile, ...]:
        """The files of a level, counted from 1."""
        return self.commits[level - 1].files

    @property
    def known_levels(self) -> int:
        """Levels whose states are all on disk; the last of them may not have been expanded."""
        return len(self.commits)

    @property
    def reports(self) -> list[LevelReport]:
        """What expanding the levels found, from level 1 on."""
        return [commit.report for commit in self.commits if commit.report is not None]

    @property
    def stored_bytes(self) -> int:
        """Bytes of all level files."""
        return sum(file.size for commit in self.commits for file in commit.files)


# -- identity -------------------------------------------------------------------------------------------------------


def identity_of(question: Question) -> dict[str, object]:
    """What a run is about, in words and as a hash of the protocol's and the properties' expressions."""
    instance = question.instance
    looked_for = {
        probe.name: instance.fingerprint([probe.in_state(instance)])
        for probe in question.probes
        if probe.is_sought and probe.in_state is not None
    }
    return {
        **({"reach": looked_for} if looked_for else {}),
        "protocol": instance.protocol.name,
        "constants": dict(instance.constants),
        "drop": sorted(f"{action}: {label}" for action, label in instance.dropped),
        "properties": [item.name for item in question.properties],
        "probes": [item.name for item in question.probes],
        "fingerprint": question.fingerprint,
        "hashes": HASHES,
        "actions": [step.action.name for step in instance.actions],
        "symmetry": question.is_symmetric,
    }


def refuse_another_question(path: Path, stored: Mapping[str, object], asked: Mapping[str, object]) -> None:
    """`ConfigurationError` if a stored run is about another question; it names the difference."""
    is_older = stored.get("hashes") != asked["hashes"]
    for key in ("protocol", "constants", "drop", "properties", "reach", "probes"):
        if stored.get(key) != asked.get(key) and not (is_older and key == "reach"):
            raise ConfigurationError(
                f"{path} is about {_describe(key, stored.get(key))}, and the spec about {_describe(key, asked.get(key))}; "
                "resume it with its own spec, or start over in another folder"
            )
    if stored.get("symmetry", False) != asked["symmetry"]:
        how = "with" if stored.get("symmetry") else "without"
        raise ConfigurationError(f"{path} was started {how} symmetry; resume it {how} it, or start over in another folder")
    if is_older:
        raise ConfigurationError(
            f"{path} was started with an older version of acked, whose rules cannot be compared with those of this version; "
            "resume it with that version, or start over in another folder"
        )
    if stored.get("fingerprint") != asked["fingerprint"]:
        raise ConfigurationError(
            f"{path} was started with another version of the rules of {asked['protocol']} or of its properties, so its "
            "states may not be reachable now; start over in another folder"
        )


def _describe(key: str, value: object) -> str:
    if key == "reach":
        return f"{', '.join(value)} as it was written then" if isinstance(value, dict) and value else "no [reach]"
    if key == "constants" and isinstance(value, dict):
        return ", ".join(f"{name}={number}" for name, number in value.items())
    if isinstance(value, list):
        what = "dropped clauses" if key == "drop" else key
        return f"the {what} {', '.join(map(str, value))}" if value else f"no {what}"
    return f"{key} {value}"


def _holds_nothing(path: Path) -> bool:
    """Whether a folder is empty but for what is made before `run.json` is: empty folders, a lock, and its temporary file."""
    for entry in path.iterdir():
        is_part = entry.name in PARTS and entry.is_dir() and not any(entry.iterdir())
        if not is_part and entry.name not in (LOCK, f".{ABOUT}.part"):
            return False
    return True


# -- documents ------------------------------------------------------------------------------------------------------


def write_document(path: Path, body: Mapping[str, object]) -> None:
    """A JSON file with a checksum of its content, under its name in one step."""
    # On one line: with an indent Python's own loops write it, not its C encoder, and the threads that search wait for them.
    text = json.dumps({**body, "checksum": _checksum(body)})
    try:
        replace_text(path, text + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None


def read_document(path: Path) -> dict[str, Any]:
    """A document that `write_document` wrote; `DamagedFile` if it is not as it was written."""
    try:
        with open_file(path) as file:
            body = json.loads(file.read().decode())
    except FileNotFoundError:
        raise damage_of(path, "is missing") from None
    except OSError as error:
        raise SystemFailure(f"cannot read {path}: {error.strerror}; check the disk") from None
    except (ValueError, RecursionError):
        raise damage_of(path, "is damaged: it is not valid JSON") from None
    if not isinstance(body, dict) or body.pop("checksum", None) != _checksum(body):
        raise damage_of(path, "is damaged: its checksum does not match")
    return body


def _checksum(body: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def report_to_json(report: LevelReport) -> dict[str, object]:
    """A report as JSON."""
    return {
        "states": report.states,
        "next_states": report.next_states,
        "enabled": list(report.enabled),
        "new": list(report.new),
        "bad_states": [[p, list(words)] for p, words in sorted(report.bad_states.items())],
        "bad_steps": [[bit, list(words), action] for bit, (words, action) in sorted(report.bad_steps.items())],
        "is_expanded": report.is_expanded,
    }


def report_from_json(body: Mapping[str, Any]) -> LevelReport:
    """The inverse of `report_to_json`."""
    return LevelReport(
        body["states"],
        body["next_states"],
        tuple(body["enabled"]),
        tuple(body["new"]),
        {p: tuple(words) for p, words in body["bad_states"]},
        {bit: (tuple(words), action) for bit, words, action in body["bad_steps"]},
        body["is_expanded"],
    )


def read_commits(path: Path) -> list[Commit]:
    """The commits of the run in a folder, in order; `DamagedFile` if one is missing or not as it was written."""
    commits = []
    try:
        names = sorted(name for name in os.listdir(path / "commits") if name.endswith(".json"))
    except OSError as error:
        raise SystemFailure(f"cannot read {path / 'commits'}: {error.strerror}; check the disk") from None
    for number, name in enumerate(names):
        expected = path / "commits" / f"{number:05}.json"
        if expected.name != name:
            raise damage_of(expected, "is missing")
        commits.append(_commit_from(number, expected, read_document(expected)))
    return commits


def _commit_from(number: int, path: Path, body: Mapping[str, Any]) -> Commit:
    try:
        report = None if body["report"] is None else report_from_json(body["report"])
        files = tuple(LevelFile(*entry) for entry in body["files"])
    except (KeyError, TypeError, ValueError):
        raise damage_of(path, "is not a commit of a run") from None
    if body.get("number") != number or (report is None) != (number == 0):
        raise damage_of(path, "is the commit of another level")
    return Commit(number, report, files)
