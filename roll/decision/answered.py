"""All that was answered about a cluster, for whoever shows it."""

from __future__ import annotations

from dataclasses import dataclass

from acked.roll.decision.judge import BrokerAnswer, Case, Verdict, Wish, order_of
from acked.roll.partitions.now import ClusterNow
from acked.roll.questions.ask import Failing


@dataclass(frozen=True)
class Answered:
    """The answers, worst first; `source` names the cluster or the files, `notes` are remarks, each a sentence."""

    source: str
    cluster: ClusterNow
    wish: Wish
    answers: tuple[BrokerAnswer, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all brokers; undecided where none was asked about."""
        found = {one.verdict(self.wish) for one in self.answers}
        return next((verdict for verdict in Verdict if verdict in found), Verdict.UNDECIDED)

    @property
    def order(self) -> list[int]:
        """In which the brokers that may go down had best be taken."""
        return order_of(self.answers, self.cluster, self.wish)

    @property
    def asked_words(self) -> str:
        """What was asked."""
        how = " or ".join(stop.words for stop in self.wish.stops)
        parts = ["no partition refuses writes"] if self.wish.writes else []
        parts += ["nothing is lost even if one thing more fails"] if self.wish.loss else []
        return f"each asked: if it {how}, so that {' and '.join(parts)}"

    @property
    def worst_story(self) -> tuple[int, Case] | None:
        """The loss that takes the least to go wrong, in the fewest steps, with the broker of which it is one."""
        if not self.wish.loss:
            return None
        found = [(one.broker, case) for one in self.answers for case in one.cases
                 if case.story and case.counts(self.wish) is Verdict.MAY_NOT]  # fmt: skip
        return min(found, key=lambda one: (_rank(one[1]), len(one[1].story)), default=None)


def _rank(case: Case) -> int:
    worst = case.worst
    return len(Failing) if worst is None or worst[1].worst is None else [*Failing].index(worst[1].worst.failing)


