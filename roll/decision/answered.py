"""All that was answered about a cluster, for whoever shows it."""

from __future__ import annotations

from acked.base.frozen import frozen
from acked.roll.decision.judge import BrokerAnswer, Case, Verdict, Wish, order_of
from acked.roll.partitions.now import ClusterNow


@frozen
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
    def worst_story(self) -> tuple[int, Case] | None:
        """The loss that takes the least to go wrong, in the fewest steps, with the broker of which it is one."""
        if not self.wish.loss:
            return None
        found = [(one.broker, case) for one in self.answers for case in one.cases
                 if case.story and case.counts(self.wish) is Verdict.MAY_NOT]  # fmt: skip
        return min(found, key=lambda one: (one[1].is_by_settings, one[1].rank, len(one[1].story)), default=None)


