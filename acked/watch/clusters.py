"""Clusters that are read every so many seconds, and asked about again where something in them has changed.

A thread for each cluster reads it and asks about its state, one for all of them audits settings, which takes all processors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, Generic, TypeVar

from acked.audit.clusters.live import LiveCluster
from acked.audit.clusters.policy import Cluster
from acked.audit.commands.live import client_properties
from acked.base.errors import AckedError
from acked.base.frozen import frozen
from acked.base.names import first_of
from acked.watch.answers import (
    SettingsAnswer,
    StateAnswer,
    Watched,
    ask_apart,
    ask_settings,
    ask_state,
    settings_of,
    unknown_settings,
    unknown_state,
)

T = TypeVar("T")

_AGAIN = 600.0
"""Seconds after which a question without an answer is asked again, though nothing has changed."""

_SECRETS = ("sasl.password", "ssl.key.password", "ssl.key.pem")
"""What must not be in a text that people see, whoever wrote it: a broker may send back what it was sent."""

Tell = Callable[[str], None]
"""Is told in one line what has changed."""


@frozen
class Kept(Generic[T]):
    """An answer, what it is about, and when (seconds since 1970) that was last read; `failed_at` if there was none."""

    value: T
    about: object
    read_at: float
    failed_at: float | None = None

    def is_about(self, about: object) -> bool:
        """Whether it need not be asked again: it is about the same, and did not fail long ago."""
        return self.about == about and (self.failed_at is None or time.time() - self.failed_at < _AGAIN)


@frozen
class Seen:
    """What is known of a cluster. Not `is_up` if the last reading failed, for which there is a `reason`.

    Answers of before are kept while it cannot be read; `read_at` says of when they are.
    """

    name: str
    is_up: bool = False
    reason: str = "it was not read yet"
    live: LiveCluster | None = None
    read_at: float = 0.0
    state: Kept[StateAnswer] | None = None
    settings: Kept[SettingsAnswer] | None = None


class Watcher:
    """One cluster. `look` and `audit` may run in two threads; whoever reads `seen` gets one moment of it."""

    def __init__(self, watched: Watched, tell: Tell) -> None:
        self.watched = watched
        self.seen = Seen(watched.name)
        self._tell = tell
        self._lock = threading.Lock()

    def look(self) -> None:
        """Reads the cluster, and asks about its state if that is another."""
        try:
            live = self.watched.read()
        except Exception as error:  # Of ours, too: a watch goes on.
            self._change(is_up=False, reason=self._reason(error))
            return
        now = time.time()
        kept = self.seen.state
        self._change(is_up=True, reason="", live=live, read_at=now)
        if kept is not None and kept.is_about(live):
            kept = replace(kept, read_at=now)
        else:
            kept = self._ask(partial(ask_state, self.watched, live), partial(unknown_state, live), live, now)
        self._change(state=kept)

    def audit(self) -> None:
        """Asks about the settings that were read last, if they are others or it is another day."""
        seen, today = self.seen, date.today()
        if seen.live is None:
            return
        about = settings_of(seen.live), today
        kept = seen.settings
        if kept is not None and kept.is_about(about):
            kept = replace(kept, read_at=seen.read_at)
        else:
            unknown = partial(unknown_settings, self.watched, seen.live)
            kept = self._ask(partial(ask_settings, self.watched, seen.live, today), unknown, about, seen.read_at)
        self._change(settings=kept)

    def _ask(self, ask: Callable[[], T], unknown: Callable[[str], T], about: object, read_at: float) -> Kept[T]:
        try:
            return Kept(ask_apart(ask, self.watched.batch.limits.memory), about, read_at)
        except Exception as error:
            return Kept(unknown(self._reason(error)), about, read_at, time.time())

    def _reason(self, error: Exception) -> str:
        text = str(error) if isinstance(error, AckedError) else f"internal error ({type(error).__name__}: {error})"
        return without_secrets(text, self.watched.cluster)

    def _change(self, **what: Any) -> None:
        with self._lock:
            before, self.seen = self.seen, replace(self.seen, **what)
            after = self.seen
        if (line := news(before, after)) is not None:
            self._tell(f"{after.name}: {line}")


def news(before: Seen, after: Seen) -> str | None:
    """What people should hear of a change, in one line."""
    if (before.is_up, before.reason) != (after.is_up, after.reason):
        return after.reason or "it is read"
    lines = [(_of_state(one.state), _of_settings(one.settings)) for one in (before, after)]
    return next((new for old, new in zip(*lines, strict=True) if new != old), None)


def _of_state(kept: Kept[StateAnswer] | None) -> str:
    return "" if kept is None else kept.value.text.rstrip("\n").rpartition("\n")[2]


def _of_settings(kept: Kept[SettingsAnswer] | None) -> str:
    lines = [] if kept is None else [text for _, text in kept.value.lines]
    return "" if kept is None else f"settings: {first_of(lines, 1) or 'what is required is kept'}"


def without_secrets(text: str, cluster: Cluster) -> str:
    """A text without the passwords and keys of the cluster's client properties."""
    try:
        properties = client_properties(cluster.command_config)
    except AckedError:
        return text  # The file was not read, so nothing of it was sent anywhere.
    for secret in filter(None, map(properties.get, _SECRETS)):
        text = text.replace(secret, "…")
    return text


class Watch:
    """All clusters, read and asked about for a `with` block in threads that end with the process."""

    def __init__(self, watched: Sequence[Watched], every: float, tell: Tell) -> None:
        self.watchers = tuple(Watcher(one, tell) for one in watched)
        self._every = every
        self._is_over = threading.Event()
        self._was_read = threading.Event()

    def seen(self) -> list[Seen]:
        """What is known now."""
        return [one.seen for one in self.watchers]

    def once(self) -> None:
        """Every cluster once, beside each other, and then their audits."""
        threads = [threading.Thread(target=one.look, daemon=True) for one in self.watchers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in self.watchers:
            one.audit()

    def __enter__(self) -> None:
        for one in self.watchers:
            threading.Thread(target=self._look, args=(one,), daemon=True).start()
        threading.Thread(target=self._audit, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._was_read.set()

    def _look(self, watcher: Watcher) -> None:
        while not self._is_over.is_set():
            began = time.monotonic()
            watcher.look()
            self._was_read.set()
            self._is_over.wait(max(self._every - (time.monotonic() - began), 1.0))

    def _audit(self) -> None:
        while not self._is_over.is_set():
            self._was_read.wait()
            self._was_read.clear()
            for one in self.watchers:
                if not self._is_over.is_set():
                    one.audit()
