"""The validation of one run: its events explained one after the other, the promises checked on the way, and the verdict."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from acked.base.frozen import frozen
from acked.cluster.observation.events import Event, Says
from acked.cluster.observation.lanes import Slack
from acked.cluster.observation.moves import NOT_ASKED, PASSED_OVER
from acked.cluster.observation.promises import Broken, Promises
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.walking import WINDOW, Stuck, Taken, Walk
from acked.model.concrete.program import State

EVERY = 2_000
"""Events between two reports of progress."""


@frozen
class Held:
    """What a broker holds at the end: its log end, its high watermark, and where the epochs of its log start.

    Below `start` its lines tell that records were deleted.
    """

    broker: int
    end: int
    hw: int
    epochs: tuple[tuple[int, int], ...]
    start: int = 0


@frozen
class Verdict:
    """Whether a behaviour explains a run, and what was seen on the way.

    `stuck` says where it does not; `broken` is the first promise that the behaviour does not keep. `events` and `steps` count
    what was explained, by what it says and by action. `tried` are the steps that were taken, those taken back included.
    """

    subject: Subject
    stuck: Stuck | None
    broken: Broken | None
    explained: int
    tried: int
    events: Mapping[str, int]
    steps: Mapping[str, int]
    checked: Mapping[str, int]
    held: tuple[Held, ...]
    slack: Slack
    in_sync: frozenset[int]
    """Who must have every acknowledged record at the end: the controller's ISR and its eligible leaders (ELR).

    The ISR is empty where the last broker was shut down, and eligible leaders are not kept; then it is whoever led last.
    """

    @property
    def is_valid(self) -> bool:
        """A behaviour explains every event, and it keeps every promise."""
        return self.stuck is None and self.broken is None


def validate(
    subject: Subject,
    created: Event,
    events: Iterable[Event],
    *,
    without: frozenset[str] = frozenset(),
    slack: Slack | None = None,
    progress: Callable[[int], None] | None = None,
    window: int = WINDOW,
    begins: Callable[[Walk], None] = lambda walk: None,
) -> Verdict:
    """Explains events that follow the creation of a partition; `without` names actions that may not be used.

    `window` is how many steps can be taken back; promises are checked of those that cannot. `begins` is given the walk, for
    those who look how far it has come.
    """
    promises = Promises(subject)
    seen: dict[str, int] = {}
    steps: dict[str, int] = {}
    broken: list[Broken] = []
    starts: dict[int, int] = {}
    done = 0

    def note(before: State, taken: Taken) -> None:
        nonlocal done
        for event in taken.events:
            seen[event.says.value] = seen.get(event.says.value, 0) + 1
            if event.says is Says.DELETES:
                starts[event.by] = event["from"]
        for item in taken.moves:
            if item.action in (NOT_ASKED, PASSED_OVER):
                continue
            steps[item.action] = steps.get(item.action, 0) + 1
        if not broken and (found := promises.first_broken(before, taken)) is not None:
            broken.append(found)
        done += len(taken.events)
        if progress is not None and done % EVERY < len(taken.events):
            progress(done)

    start = subject.creation(created["leader"], created["isr"], created["epoch"])
    walk = Walk(subject, events, start, without=without, slack=slack, on_taken=note, window=window)
    begins(walk)
    with _seldom_collected():
        stuck = walk.run()
    explained = walk.explained if stuck is None else stuck.explained
    last = walk.state if stuck is None else stuck.state
    first = broken[0] if broken else None
    return Verdict(
        subject, stuck, first, explained, walk.visited, seen, steps, promises.checked, _holdings(subject, last, starts),
        walk.slack, _sync_members(subject, last),
    )  # fmt: skip


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Garbage is looked for seldom: next to nothing here is in a circle, and looking took a third of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(200_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _sync_members(subject: Subject, state: State) -> frozenset[int]:
    has_eligible = subject.concrete.layout.leaves[subject.elr].cardinality > 1
    known = subject.members(state[subject.isr] | (state[subject.elr] if has_eligible else 0))
    leaders = [index for index, place in enumerate(subject.at) if state[place.leader] == index + 1]
    return known or frozenset(subject.brokers[index] for index in leaders)


def _holdings(subject: Subject, state: State, starts: Mapping[int, int]) -> tuple[Held, ...]:
    found = []
    for index, broker in enumerate(subject.brokers):
        runs = subject.concrete.runs(state, index)
        place = subject.at[index]
        epochs = tuple((record[0], first) for first, record in runs)
        found.append(Held(broker, state[place.end], state[place.hw], epochs, starts.get(broker, 0)))
    return tuple(found)
