"""What a log with its cleaner promises, asked of the enumeration's worlds: by fetches, and by copies that replay batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.model.breadth_first import by_levels
from tests.model.compaction.enumeration import Batch, Rules, World, fetch, last_stable, outcome, steps


def truth(w: World) -> dict[int, int]:
    """By key the offset of its last committed record that readers may reach."""
    readable = range(w.start, last_stable(w))
    return {key: o for o in readable if (key := w.history[o].key) is not None and outcome(w, o) == "committed"}


def on_disk(w: World) -> dict[int, Batch]:
    return {batch.offset: batch for item in w.segments for batch in item.batches}


def last_values_stay(rules: Rules, w: World) -> bool:
    read = {}
    for o, batch in sorted(on_disk(w).items()):
        if w.start <= o < last_stable(w) and batch.control is None and not batch.empty and outcome(w, o) == "committed":
            read[batch.key] = batch
    for key, o in truth(w).items():
        seen = read.get(key)
        if w.history[o].value:
            if seen is None or seen.offset != o:
                return False
        elif seen is not None and seen.value:
            return False
    return True


def replayed(w: World) -> tuple[dict[int, str], set[int]]:
    """What `ProducerStateManager` makes of a copy: how the transaction of each batch ended, and which ones did not."""
    open_: dict[int, list[int]] = {}
    ended: dict[int, str] = {}
    for o, batch in sorted(on_disk(w).items()):
        if o < w.start or batch.pid is None:
            continue
        if batch.control is None:
            open_.setdefault(batch.pid, []).append(o)
        elif not batch.empty:
            ended |= dict.fromkeys(open_.pop(batch.pid, []), batch.control)
    return ended, {o for data in open_.values() for o in data}


def records_of(w: World, kind: str) -> list[int]:
    """Records that are on disk, that readers may reach, and whose transaction ended so."""
    whole = [o for o, batch in on_disk(w).items() if batch.control is None and not batch.empty]
    return [o for o in whole if w.start <= o < last_stable(w) and outcome(w, o) == kind]


def aborted_records_stay_hidden(rules: Rules, w: World) -> bool:
    ended, _ = replayed(w)
    read = {batch.offset for batch in fetch(w)}
    return not any(o in read or ended.get(o) == "COMMIT" for o in records_of(w, "aborted"))


def committed_records_stay_readable(rules: Rules, w: World) -> bool:
    ended, _ = replayed(w)
    read = {batch.offset for batch in fetch(w)}
    return not any(o not in read or ended.get(o) == "ABORT" for o in records_of(w, "committed"))


def transactions_end(rules: Rules, w: World) -> bool:
    return not any(w.start <= o < last_stable(w) for o in replayed(w)[1])


def readers_see_deletions(rules: Rules, w: World) -> bool:
    if w.scan is None or w.scan[0] != last_stable(w) or w.now - w.scan[1] >= rules.retention:
        return True
    return not any(key in w.believed and not w.history[o].value for key, o in truth(w).items())


def copies_catch_up(rules: Rules, w: World) -> bool:
    return w.end == w.start or w.end - 1 in on_disk(w)


def followers_go_on(rules: Rules, w: World) -> bool:
    return not w.copy[2]


PROMISES: dict[str, Callable[[Rules, World], bool]] = {
    "LastValuesStay": last_values_stay,
    "AbortedRecordsStayHidden": aborted_records_stay_hidden,
    "CommittedRecordsStayReadable": committed_records_stay_readable,
    "TransactionsEnd": transactions_end,
    "ReadersSeeDeletions": readers_see_deletions,
    "CopiesCatchUp": copies_catch_up,
    "FollowersGoOn": followers_go_on,
}


def explore(rules: Rules) -> tuple[list[int], dict[str, int]]:
    """How many states are new at each level, and for each promise that breaks the first level at which it does."""
    return by_levels(World(), partial(steps, rules), {name: partial(holds, rules) for name, holds in PROMISES.items()})
