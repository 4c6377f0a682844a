"""Reading and writing files so that failures are one sentence and nothing is left half-written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from checker.errors import SpecUnreadable, SystemFailure

MAX_BYTES = 256 << 20
"""No spec or trace of ours comes near this; a larger file is something else."""


def read_text(path: Path, what: str) -> str:
    """The file's text; `SpecUnreadable` names what it should have been and why it cannot be read."""
    try:
        if path.is_dir():
            raise SpecUnreadable(f"{path} is a folder, not a {what}; name a file in it")
        if path.stat().st_size > MAX_BYTES:
            raise SpecUnreadable(f"{path} is larger than {MAX_BYTES >> 20} MB and cannot be a {what}")
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff")  # Some editors begin a file with this mark.
    except UnicodeDecodeError as error:
        raise SpecUnreadable(f"{path} is no {what}: byte {error.start} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecUnreadable(f"cannot read the {what} {path}: {reason}") from None


def write_text(path: Path, text: str, what: str) -> None:
    """Writes under a temporary name and renames; `SystemFailure` leaves the old file, if any, as it was."""
    if path.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: it is a folder; name a file in it")
    temporary = None
    try:
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


def check_writable(path: Path, what: str) -> None:
    """Fails early, before long work, where `write_text` would fail for sure."""
    if path.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise SystemFailure(f"cannot write the {what} to {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK):
        raise SystemFailure(f"cannot write the {what} to {path}: the folder {path.parent} is not writable")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
