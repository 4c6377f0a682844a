"""The cache on disk: a folder that is ours alone, and entries that only we can have written.

Where the folder is and when there is none, the key, and `SealedStore`, which seals what it keeps.

The folder is `$ACKED_CACHE_DIR`, else `$XDG_CACHE_HOME/acked`, else `~/.cache/acked`; without a home there is none, because a
name that others can guess in a folder that they share is theirs to take. What is cached is believed, and compiled code is
run, so nobody else may be able to put a file there: not into the folder, and not in the place of one that leads to it.

Every entry carries an HMAC-SHA256 over its name and content, made with the user's key: `$ACKED_CACHE_KEY`, else a file in
`$XDG_STATE_HOME/acked` (`~/.local/state/acked`), away from the cache, so that a cache that came from elsewhere brings none;
where there can be none, a file in the cache itself.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.files import listing, open_file
from acked.base.frozen import frozen

_VARIABLE, _KEY_VARIABLE = "ACKED_CACHE_DIR", "ACKED_CACHE_KEY"
_KEY_FILE = "cache.key"
_KEY_BYTES = 32
_MIN_KEY_LENGTH = 16
"""A key that is shorter could be found by trying."""

_FORMAT = b"acked-cache/2"
_MAX_LINKS = 40


class NotOurs(ValueError):
    """An entry that was damaged, or written by a process that does not have the key."""


class _Intruded(Exception):
    """Others could put files into a folder; the message is a clause that says how."""


# -- the folder -----------------------------------------------------------------------------------------------------------


def cache_directory() -> Path | None:
    """Where the cache would be; None where there is no home. Whether it may be used, `cache_folder` decides."""
    chosen = os.environ.get(_VARIABLE)
    # Without `..`, which a link would lead elsewhere than what is looked at.
    return Path(os.path.abspath(chosen)) if chosen else _own("XDG_CACHE_HOME", ".cache")


def cache_folder(*parts: str) -> Path | None:
    """The cache, or a folder in it, made if it is missing; None if there is none, for which `why_no_cache` has the reason.

    `ConfigurationError` if `ACKED_CACHE_DIR` names a folder that others own or may write to.
    """
    place = cache_directory()
    if place is None:
        return None
    is_chosen = bool(os.environ.get(_VARIABLE))
    try:
        if _usable(place, mends=not is_chosen) is None:
            return None
        # What is in the cache is ours to close.
        return _usable(place.joinpath(*parts), mends=True) if parts else place
    except _Intruded as intruded:
        if is_chosen:
            raise ConfigurationError(f"{_VARIABLE} is {place}, but {intruded}; name a folder of your own") from None
        return None


def why_no_cache() -> str:
    """Why nothing is kept between runs although there is a home, in a sentence; empty if there is nothing to say."""
    place = None if os.environ.get(_VARIABLE) else cache_directory()
    try:
        if place is not None:
            _usable(place, mends=True)
    except _Intruded as intruded:
        return f"nothing is cached, because {intruded}; correct that, or name a folder of your own in {_VARIABLE}"
    return ""


def _own(variable: str, below_home: str) -> Path | None:
    base = os.environ.get(variable)
    try:
        return Path(os.path.abspath(Path(base) if base else Path.home() / below_home)) / "acked"
    except RuntimeError:  # a user without a home directory, as in many containers
        return None


def _usable(folder: Path, mends: bool) -> Path | None:
    """The folder, made if it is missing; None if it cannot be. `_Intruded` if others could put files into it."""
    try:
        _refuse_intrusion(folder, mends)
        if os.path.isdir(folder):
            return folder
        if _make_folder(folder) is None:
            return None
        _refuse_intrusion(folder, mends)
    except OSError:
        return None
    return folder


def _make_folder(folder: Path) -> Path | None:
    """The folder, made for us alone if it is missing; None if it cannot be made."""
    try:
        for place in reversed([folder, *folder.parents]):
            if not os.path.lexists(place):
                try:
                    os.mkdir(place, 0o700)
                except FileExistsError:
                    pass  # Another process was faster.
    except (OSError, ValueError):
        return None
    return folder if os.path.isdir(folder) else None


def _refuse_intrusion(folder: Path, mends: bool) -> None:
    """`_Intruded` if others could put files into a folder, or another one in its place.

    Everything on the way must belong to us or to root, and be writable by nobody else, but for folders such as /tmp, where
    nobody takes away what others made. The folder itself must be ours, and where `mends`, it is closed to others. Of one
    that is missing only the way to it is looked at.
    """
    ours = os.getuid()
    last: tuple[str, os.stat_result] | None = None
    try:
        for place, status in _way(str(folder)):
            _refuse_open(last, folder)
            if status.st_uid not in (0, ours):
                raise _Intruded(f"{place} belongs to another user ({status.st_uid})")
            if not stat.S_ISLNK(status.st_mode):
                last = (place, status)
    except FileNotFoundError:
        _refuse_open(last, folder)
        return
    assert last is not None
    place, status = last
    if status.st_uid != ours:
        raise _Intruded(f"{place} belongs to another user ({status.st_uid})")
    if status.st_mode & 0o022:
        if not mends:
            raise _Intruded(f"others may write to {place}")
        os.chmod(place, 0o700)  # Loose because of an older acked, or a loose umask; the entries are sealed.


def _refuse_open(above: tuple[str, os.stat_result] | None, folder: Path) -> None:
    if above is not None and _is_open(above[1]):
        raise _Intruded(f"others may write to {above[0]}, which leads to {folder}")


def _way(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every folder and link that the system passes on the way to an absolute path, the path itself the last."""
    here, rest, links = os.sep, path.split(os.sep)[::-1], 0
    yield here, os.lstat(here)
    while rest:
        part = rest.pop()
        if part in ("", os.curdir):
            continue
        there = os.path.dirname(here) if part == os.pardir else os.path.join(here, part)
        status = os.lstat(there)
        yield there, status
        if not stat.S_ISLNK(status.st_mode):
            here = there
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(f"{path} has too many links")
        target = os.readlink(there)
        here = os.sep if target.startswith(os.sep) else here
        rest += target.split(os.sep)[::-1]


def _is_open(status: os.stat_result) -> bool:
    """Whether others could put another folder in the place of one in this one."""
    if status.st_mode & stat.S_ISVTX:
        return False
    return bool(status.st_mode & stat.S_IWOTH) or bool(status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid))


def _is_own_group(number: int) -> bool:
    """Whether a group is the user's own, of which nobody else is a member, as many systems make one for every user."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


# -- the key --------------------------------------------------------------------------------------------------------------


def cache_key(folder: Path) -> bytes:
    """The key of what is kept in a folder, made if there is none; one that nobody keeps if there is no place for it.

    `ConfigurationError` if `ACKED_CACHE_KEY` is too short to be a secret.
    """
    given = os.environ.get(_KEY_VARIABLE, "")
    if given:
        if len(given) < _MIN_KEY_LENGTH:
            raise ConfigurationError(f"{_KEY_VARIABLE} has fewer than {_MIN_KEY_LENGTH} characters; choose a longer secret")
        return hashlib.sha256(given.encode("utf-8", "surrogateescape")).digest()
    for place in (_own("XDG_STATE_HOME", os.path.join(".local", "state")), folder):
        key = None if place is None else _key_in(place)
        if key is not None:
            return key
    return os.urandom(_KEY_BYTES)


def _key_in(folder: Path) -> bytes | None:
    """The key that is kept in a folder, or a new one; None if there can be none that is ours alone."""
    try:
        if _usable(folder, mends=False) is None:
            return None
        path = folder / _KEY_FILE
        known = _read_key(path)
        return _new_key(path) if known is None else known
    except (OSError, ValueError, _Intruded):
        return None


def _read_key(path: Path) -> bytes | None:
    """The key in a file; None if there is none, or one that others could have read."""
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            text = file.read(2 * _KEY_BYTES + 2).decode("ascii").strip()
        key = bytes.fromhex(text)
    except (OSError, ValueError):
        return None
    is_ours = status.st_uid == os.getuid() and not status.st_mode & 0o077
    return key if is_ours and len(key) == _KEY_BYTES else None


def _new_key(path: Path) -> bytes | None:
    """Writes a new key, unless another process has just written one, which then is the key."""

    def link(temporary: str) -> None:
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(temporary, path)

    def fill(temporary: str) -> None:
        link(temporary)
        if _read_key(path) is None:
            # What is there is no key, or no secret: it must not keep the name. One process at a time looks and takes it
            # away, or the second would take away the key that the first has just written.
            with _alone_in(path.parent):
                if _read_key(path) is None:
                    path.unlink(missing_ok=True)
                    link(temporary)

    _write_temporary(path.parent, os.urandom(_KEY_BYTES).hex().encode() + b"\n", fill)
    return _read_key(path)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """While no other process of ours is in here; at once where the file system has no locks."""
    import fcntl

    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _write_temporary(folder: Path, content: bytes, use: Callable[[str], None]) -> None:
    """A file of this content that only we may read, handed on by its name, and removed if it still has that."""
    import tempfile  # here, because what is only read does not wait for it

    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            temporary = file.name
            file.write(content)
        use(temporary)
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


# -- entries --------------------------------------------------------------------------------------------------------------


@frozen
class SealedStore:
    """Sealed entries in a folder. A name may hold folders; it is part of what is sealed."""

    folder: Path
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> SealedStore:
        """The store in a folder, with the user's key."""
        return cls(folder, cache_key(folder))

    def beside(self, folder: Path) -> SealedStore:
        """The store in another folder, with the same key."""
        return SealedStore(folder, self.key)

    def path(self, name: str) -> Path:
        """Where an entry is."""
        return self.folder / name

    def read(self, name: str) -> bytes | None:
        """An entry's content; None if there is none under this key, `NotOurs` if it is not to be believed, or an OSError."""
        try:
            with open_file(self.path(name)) as file:
                head, _, content = file.read().partition(b"\n")
        except FileNotFoundError:
            return None
        said = head.split(b" ")
        if len(said) != 3 or said[0] != _FORMAT:
            raise NotOurs(name)
        if said[1] != self._owner:
            return None
        if not hmac.compare_digest(said[2], self._seal(name, content)):
            raise NotOurs(name)
        return content

    def known(self, name: str) -> bytes | None:
        """An entry's content; None if there is none that can be read and is to be believed."""
        try:
            return self.read(name)
        except (OSError, NotOurs):
            return None

    def seals(self, name: str, paths: Iterable[Path]) -> bool:
        """Whether an entry lists these files, which are below the folder, as they are now (`listing`)."""
        try:
            return self.read(name) == listing(self.folder, paths)
        except (NotOurs, OSError):
            return False

    def write(self, name: str, content: bytes) -> None:
        """Keeps an entry; one that cannot be written costs time, nothing else."""
        path = self.path(name)
        head = b" ".join([_FORMAT, self._owner, self._seal(name, content)])
        try:
            if _make_folder(path.parent) is not None:
                _write_temporary(path.parent, head + b"\n" + content, lambda temporary: os.replace(temporary, path))
        except OSError:
            pass

    @property
    def _owner(self) -> bytes:
        """Tells keys apart, and nothing about them."""
        return hmac.digest(self.key, b"owner", "sha256").hex()[:16].encode()

    def _seal(self, name: str, content: bytes) -> bytes:
        return hmac.digest(self.key, b"entry\0" + name.encode() + b"\0" + content, "sha256").hex().encode()


def open_cache() -> SealedStore | None:
    """The cache itself; None where nothing is kept. `ConfigurationError` if the environment sets it to something unusable."""
    folder = cache_folder()
    return None if folder is None else SealedStore.of(folder)


def store_in(*parts: str) -> SealedStore | None:
    """The store in a folder of the cache; None where nothing is kept, for whatever reason."""
    try:
        folder = cache_folder(*parts)
    except ConfigurationError:
        return None  # Whoever needs the cache says so.
    return None if folder is None else SealedStore.of(folder)
