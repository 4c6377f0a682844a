"""Words that all pictures of a Kafka partition share: its legend, and what is said of leaders, followers and the ISR.

The look and the badges of `partition` and of the replication family.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.model.language.telling import says_set
from acked.reports.pictures.picture import Badge, Explained, Look, Sign, Tone


def legend_of_logs(sample: str) -> tuple[Explained, ...]:
    """What is explained where rows are replicated logs; `sample` says what record 0 of epoch 1 is."""
    return (
        Explained(Sign.RECORD, sample, "r0"),
        Explained(Sign.LOG_END, "log end"),
        Explained(Sign.HIGH_WATERMARK, "high watermark"),
        Explained(Sign.ACKED, "acknowledged"),
        Explained(Sign.LOST, "acknowledged, lost here", "r0"),
        Explained(Sign.REMOVED, "record removed"),
    )


KAFKA = Look(
    row="broker",
    epoch="e",
    legend=legend_of_logs("record 0 of epoch 1"),
    first_badge=len("out of ISR"),
)

IN_ISR = Badge("isr", "in ISR")
OUT_OF_ISR = Badge("isr", "out of ISR", Tone.ABSENT)
LEADER = Badge("leader", "leader", Tone.STRONG)
STALE_LEADER = Badge("leader", "stale leader", Tone.WRONG)
UNAWARE = Badge("elected", "elected, unaware", Tone.PENDING)
LEADERLESS = Badge("follows", "knows no leader", Tone.ABSENT)


def follows(leader: int) -> Badge:
    """Whom a broker takes for the leader."""
    return Badge("follows", f"follows broker {leader}")


def own_isr(members: Sequence[int]) -> Badge:
    """What a leader takes for the ISR."""
    return Badge("own isr", f"own ISR {says_set(list(members))}", Tone.ASIDE)
