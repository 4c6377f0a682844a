"""A consumer that reads the log once, from its start to the last stable offset, with read_committed.

Sources: the documentation of delete.retention.ms (Topic configs); `CompletedFetch` of the consumer of 4.3.1.
"""

from __future__ import annotations

from acked.model.compaction.common import is_committed, is_readable, last_stable_offset
from acked.model.compaction.settings import reader
from acked.model.compaction.state import VALUE, Key, State
from acked.model.language.action import action, require
from acked.model.language.quantify import each, ite
from acked.model.language.telling import CONSUMER


@action(
    says=lambda t: f"a consumer begins to read at offset {t.after.scan.position}", when=lambda: reader.on, actor=CONSUMER
)
def begin_to_read(s: State) -> None:
    """A consumer begins at the log start (auto.offset.reset=earliest)."""
    require("it has not begun", ~s.scan.has_begun)
    s.scan.has_begun = True
    s.scan.position = s.start
    s.scan.since = s.now


@action(says=lambda t: f"the consumer reads offset {t.before.scan.position}", when=lambda: reader.on, actor=CONSUMER)
def read(s: State) -> None:
    """It takes the next batch, if there still is one, and believes what a committed record of it says."""
    scan = s.scan
    require("it reads", scan.has_begun & (scan.position >= s.start))
    require("there is more", scan.position < last_stable_offset(s))
    batch = s.log.at(scan.position)
    counts = is_readable(s, scan.position) & is_committed(s, scan.position)
    for key in each(Key):
        s.believed[key] = ite(counts & (batch.key == key), batch.kind == VALUE, s.believed[key])
    scan.position = scan.position + 1
