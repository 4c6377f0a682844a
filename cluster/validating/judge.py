"""What a run's lines, the nodes' disks and the producers' side say together: is it a behaviour, and is everything there?"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag

from acked.base.errors import AckedError, ConfigurationError, SpecUnreadable
from acked.base.frozen import frozen
from acked.base.release import LATEST, NEWEST, release
from acked.cluster.lines.facts import Unknown, Ununderstood, files_of
from acked.cluster.lines.following import Following
from acked.cluster.lines.parting import Part, part
from acked.cluster.lines.recording import Begun, Reassigned, Recording, nodes_of
from acked.cluster.observation.subject import Subject, rules_of
from acked.cluster.observation.validation import Verdict, validate
from acked.cluster.observation.walking import WINDOW, Walk
from acked.cluster.observe.acknowledgements import Presence, look_for, read_acknowledged
from acked.cluster.observe.directories import Compared, compare, controller_decisions, find_directories, folders_of

LIVE_WINDOW = 500
"""Steps that can be taken back of a run that goes on: promises are checked so many steps late."""


@frozen
class Asked:
    """What is to be judged; `settings` are constants of `partition` that the user names."""

    logs: tuple[str, ...]
    topic: str
    partition: int = 0
    version: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    data: tuple[Path, ...] = ()
    acknowledged: Path | None = None
    ununderstood: Ununderstood = Ununderstood.REFUSED


@frozen
class SoFar:
    """How far a run that goes on is explained: events, those that were read and wait, log ends by broker, the ISR."""

    explained: int
    waiting: int
    ends: tuple[tuple[int, int], ...]
    in_sync: frozenset[int]


@dataclass
class Live:
    """A run that goes on: `stop` ends it, `told` hears how far it is after every so many seconds."""

    told: Callable[[SoFar], None]
    every: float = 60.0
    stop: Flag = field(default_factory=Flag)
    _walk: Walk | None = None
    _recording: Recording | None = None
    _last: float = field(default_factory=time.monotonic)

    def following(self) -> Following:
        """How the files are followed."""
        return Following(self.stop, self._looks)

    def begins(self, walk: Walk, recording: Recording) -> None:
        """The events are explained by this walk."""
        self._walk, self._recording = walk, recording

    def _looks(self) -> None:
        if time.monotonic() - self._last < self.every:
            return
        self._last = time.monotonic()
        walk, recording = self._walk, self._recording
        if walk is None or recording is None:
            self.told(SoFar(0, 0, (), frozenset()))
            return
        subject, state = walk.subject, walk.state
        ends = tuple((broker, state[place.end]) for broker, place in zip(subject.brokers, subject.at, strict=True))
        waiting = max(0, recording.events_read - walk.explained)
        self.told(SoFar(walk.explained, waiting, ends, subject.members(state[subject.isr])))


@frozen
class Judged:
    """The verdict on the lines, what was read in words, and what was found on disks and of acknowledged records.

    `unknown` are the lines without which the verdict is.
    """

    verdict: Verdict
    about: str
    compared: Compared | None
    presence: Presence | None
    unknown: tuple[Unknown, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Lines, disks and producer agree."""
        return (
            self.verdict.is_valid
            and not (self.compared and self.compared.differences)
            and not (self.presence and (self.presence.missing or not self.presence.brokers))
        )


def judge(
    asked: Asked, progress: Callable[[int], None] | None = None, said: Callable[[str], None] = lambda line: None,
    live: Live | None = None, parted: Part | None = None,
) -> Judged:  # fmt: skip
    """Reads and validates everything; `said` is told what the user should know of the releases. `AckedError` of what fails.

    With `live` the files still grow; it returns when that is stopped, or a line is not explained. `parted` has the lines
    of the partition, where those of several have been parted.
    """
    others: frozenset[int] = frozenset()
    while True:
        try:
            return _judge(asked, progress, said, live, parted, others)
        except Reassigned as moved:
            if live is not None:
                raise SpecUnreadable(
                    f"{moved}: the partition moves to broker {min(moved.brokers)}, and a run that goes on is read with the "
                    "brokers of its beginning; validate the files without --follow"
                ) from None
            others |= moved.brokers


def _judge(
    asked: Asked, progress: Callable[[int], None] | None, said: Callable[[str], None], live: Live | None, parted: Part | None,
    others: frozenset[int],
) -> Judged:  # fmt: skip
    """The same with brokers to which the partition moves, `others`; `Reassigned` if there are more of them."""
    directories = find_directories(asked.data)
    decided = controller_decisions(directories, asked.topic, asked.partition)
    following = None if live is None else live.following()
    recording = Recording(asked.logs, asked.topic, asked.partition, decided, following, asked.ununderstood, parted, others)
    begun = recording.begin()
    subject = subject_of(begun, asked.version, asked.settings, said, others)
    try:
        verdict = validate(
            subject, begun.created, recording.events(), progress=progress, window=WINDOW if live is None else LIVE_WINDOW,
            begins=lambda walk: None if live is None else live.begins(walk, recording),
        )  # fmt: skip
    finally:
        if following is not None:
            following.close()
    compared = presence = None
    if verdict.stuck is None:
        folders = folders_of(directories, asked.topic, asked.partition)
        if directories:
            compared = compare(folders, verdict.held, max(held.hw for held in verdict.held))
        if asked.acknowledged is not None:
            records = read_acknowledged(asked.acknowledged, asked.topic, asked.partition)
            presence = look_for(records, verdict.held, verdict.in_sync, folders)
    about = recording.about(subject.rules, begun, {**begun.settings, **asked.settings})
    return Judged(verdict, about, compared, presence, recording.unknown())


def judge_all(
    asked: Asked, topics: Iterable[str], wanted: Collection[int] | None, progress: Callable[[int], None] | None = None,
    said: Callable[[str], None] = lambda line: None,
) -> Iterator[tuple[Asked, Judged | AckedError]]:  # fmt: skip
    """The partitions of some topics, all or some by their numbers, one after the other, with files that are read once.

    An error of one partition is in the place of its verdict. `ConfigurationError` if no line is about any, or about one that
    is named.
    """
    topics = tuple(topics)
    with TemporaryDirectory(prefix="acked-parted-") as folder:
        parts = part(nodes_of(files_of(asked.logs)), topics, Path(folder))
        chosen = [item for item in parts if wanted is None or item.partition in wanted]
        found = {(item.topic, item.partition) for item in chosen}
        named = [(topic, number) for topic in topics for number in sorted(wanted or ())]
        gone = [f"{topic}-{number}" for topic, number in named if (topic, number) not in found]
        gone += [topic for topic in topics if wanted is None and not any(item.topic == topic for item in chosen)]
        if gone:
            raise ConfigurationError(f"no line of these logs tells of {', '.join(gone)}; are these topics and partitions?")
        for item in chosen:
            one = replace(asked, topic=item.topic, partition=item.partition)
            try:
                yield one, judge(one, progress, said, parted=item)
            except (ConfigurationError, SpecUnreadable) as error:
                yield one, error


def subject_of(
    begun: Begun, version: str | None, settings: Mapping[str, object], said: Callable[[str], None],
    others: frozenset[int] = frozenset(),
) -> Subject:
    """The rules of the release that is named, else of the one in the logs, and the settings; differences are told."""
    of = f"the logs are of Kafka {', '.join(begun.releases)}"
    if version is not None:
        number = release(version)
        named = NEWEST if number.name == LATEST else number.name
        same = (f"{logged}.".startswith(f"{named}.") and rules_of(logged) == rules_of(named) for logged in begun.releases)
        if begun.releases and not any(same):
            said(f"{of}; the rules of {rules_of(named)} are taken, as asked for")
    elif begun.releases:
        named = begun.releases[0]
        if len(begun.releases) > 1:
            said(f"{of}; the rules of {named} are taken")
    else:
        raise ConfigurationError(
            "no start-up line in these logs says which release of Kafka the brokers are; name it with --kafka-version"
        )
    for name, value in settings.items():
        if name in begun.settings and begun.settings[name] != value:
            said(f"the logs say {name} = {begun.settings[name]}; {value} is taken, as asked for")
    brokers = sorted(begun.created["replicas"] | others)
    return Subject(named, brokers, {**begun.settings, **settings})


