"""Reading and writing files so that failures are one sentence, nothing is left half-written, and nothing is waited for.

The one way in which a file that a user names is opened. A named pipe would be waited for, a device may
never end, so only regular files are read, and what the shell hands over already open (`/dev/stdin`, `<(…)`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from acked.base.errors import SpecUnreadable, SystemFailure

PACKAGE = Path(__file__).parents[1]
"""The folder of the package `acked`, with the rooms in it."""

ROOMS = ("base", "model", "invariants", "checker", "reports", "cluster", "audit", "roll", "hunt")
"""The rooms, lowest first, each a folder at the top of the repository; above them is the command line."""

MAX_BYTES = 256 << 20
"""No spec or trace of ours comes near this; a larger file is something else."""

_HANDED_OVER = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""Names of what this process has open already; reading it waits for the process that writes."""

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def is_uri(place: str) -> bool:
    """Whether a place is named by a URI, so that it is not a path of this machine."""
    return re.match(r"[a-z][a-z0-9+.-]+:/", place) is not None


def open_file(path: Path) -> BinaryIO:
    """A regular file, opened for reading; an OSError names what else it is, before it is opened or waited for."""
    if str(path).startswith(_HANDED_OVER):
        return open(path, "rb")
    _refuse_others(os.stat(path))
    # It may be another by now: O_NONBLOCK, so that no pipe in its place is waited for.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _refuse_others(os.fstat(number))
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def _refuse_others(status: os.stat_result) -> None:
    for is_kind, name in _KINDS:
        if is_kind(status.st_mode):
            raise OSError(errno.EISDIR if name == "a folder" else errno.EINVAL, f"it is {name}")


def read_bytes(path: Path, what: str, most: int = MAX_BYTES) -> bytes:
    """The file's bytes, at most so many; `SpecUnreadable` names what it should have been and why it cannot be read."""
    try:
        with open_file(path) as file:
            is_large = os.fstat(file.fileno()).st_size > most
            content = b"" if is_large else file.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EISDIR:
            raise SpecUnreadable(f"{path} is a folder, not a {what}; name a file in it") from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        fix = "; name a regular file" if isinstance(error, OSError) and error.errno == errno.EINVAL else ""
        raise SpecUnreadable(f"cannot read the {what} {path}: {reason}{fix}") from None
    if is_large or len(content) > most:
        raise SpecUnreadable(f"{path} is larger than {most >> 20} MB and cannot be a {what}")
    return content


def listing(folder: Path, paths: Iterable[Path]) -> bytes:
    """The SHA-256 and the name within the folder of every file, a line each, in the order of their names; or an OSError."""
    lines = []
    for path in sorted(paths):
        digest = hashlib.sha256()
        with open_file(path) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        lines.append(f"{digest.hexdigest()}  {path.relative_to(folder)}\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def read_text(path: Path, what: str) -> str:
    """The file's text; `SpecUnreadable` names what it should have been and why it cannot be read."""
    try:
        return read_bytes(path, what).decode("utf-8").removeprefix("\ufeff")  # Some editors begin a file with this mark.
    except UnicodeDecodeError as error:
        raise SpecUnreadable(f"{path} is not a valid {what}: byte {error.start} is not UTF-8 text") from None


def write_text(path: Path, text: str, what: str) -> None:
    """Writes under a temporary name and renames; `SystemFailure` leaves the old file, if any, as it was.

    Into a pipe or a device, such as `/dev/stdout`, the text is written as it is: nothing may take its place.
    """
    if path.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: it is a folder; name a file in it")
    import tempfile  # here, as in the cache

    temporary = None
    try:
        if _is_no_file(path):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as f:
            temporary = f.name
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise SystemFailure(
            f"cannot write the {what} to {path}: {error.strerror}; choose another place or make room"
        ) from None


def replace_text(path: Path, text: str) -> None:
    """A small file of ours, under its name in one step, not forced to the disk; an OSError leaves the old one as it was."""
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def check_writable(path: Path | None, what: str) -> None:
    """Fails early, before long work, where `write_text` would fail for sure; without a path nothing is written."""
    if path is None:
        return
    if path.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: it is a folder; name a file in it")
    if _is_no_file(path) and os.access(path, os.W_OK):
        return
    if not path.parent.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise SystemFailure(f"cannot write the {what} to {path}: the folder {path.parent} is not writable")


def _is_no_file(path: Path) -> bool:
    """Whether there is something that is not a regular file, such as a device."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
