"""Failing: replicas crash, lose what was not flushed, and come back.

What a crash leaves. A replica's term and its vote are flushed always (Raft §5; the file `quorum-state` of
KIP-595); its log is, too, unless crashes are lossy.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import ite
from acked.model.language.state import none_of
from acked.model.language.telling import Fault, Telling
from acked.model.majority.common import forget_matches, renumber_terms
from acked.model.majority.state import CLEAN_CRASHES, NO_CRASHES, Offset, Replica, State, counts_losses, crashes


def _says_crash(t: Telling) -> str:
    lost = t.before.log[t.replica].end - t.after.log[t.replica].end
    how = f" and loses what it had from offset {t.log_end} on, which was not flushed" if lost else ""
    return f"replica {t.replica} crashes{how}"


@action(says=_says_crash, when=lambda: crashes.value != NO_CRASHES, actor="replica", fault=Fault.STOPS)
def crash(s: State, replica: Replica, log_end: Offset) -> None:
    """A replica crashes; of its log a prefix is left, all of it unless crashes are lossy."""
    mine, log = s.replica[replica], s.log[replica]
    lossy = log_end < log.end
    require("up", ~mine.down)
    require("a prefix of the log survives", log_end <= log.end)
    if crashes.value == CLEAN_CRASHES:
        require("the whole log survives", ~lossy)
    if counts_losses.on:
        require("a lossy crash is left", ~lossy | (s.lossy_left > 0))
        s.lossy_left = ite(lossy, s.lossy_left - 1, s.lossy_left)
    mine.down = True
    mine.leads = False
    mine.hw = 0
    mine.granted = none_of(Replica)
    mine.lost = mine.lost | lossy
    forget_matches(s, replica)
    log.truncate(log_end)
    renumber_terms(s)


@action(
    says=lambda t: f"replica {t.replica} restarts", when=lambda: crashes.value != NO_CRASHES,
    actor="replica", fault=Fault.RESTARTS,
)
def restart(s: State, replica: Replica) -> None:
    """A replica that was down comes back; it knows its term, whom it voted for, and its log."""
    require("down", s.replica[replica].down)
    s.replica[replica].down = False
