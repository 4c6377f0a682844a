"""Which promises of `transactions` brokers have broken, by what is seen of them and by what clients were answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from acked.base.frozen import frozen
from acked.cluster.transacting.compare import TransactionView, name_of

COMMITTED, ABORTED, ASKED = "committed", "aborted", "asked to commit"
"""What a client was told of its transaction, or that it has asked for a COMMIT and was told nothing so far."""


@frozen
class Answers:
    """What clients have been answered: by transaction its fate as they know it, and which input they read for it (None: there
    are no inputs).
    """

    fates: Mapping[int, str] = field(default_factory=dict)
    inputs: Mapping[int, int] | None = None


def records_under(log: tuple[str, ...], result: str) -> list[str]:
    """The records that such a marker ends, in order."""
    found: list[str] = []
    run: list[str] = []
    for text in log:
        if text in ("COMMIT", "ABORT"):
            found += run if text == result else []
            run = []
        else:
            run.append(text)
    return found


def broken_promises(seen: TransactionView, answers: Answers) -> dict[str, bool]:
    """By promise whether it is broken, of ZombieFenced nothing.

    With inputs the last partition has a group's offsets: a copy of one may be readable beside one that is aborted, or twice.
    """
    fates, inputs = answers.fates, answers.inputs
    has_offsets = inputs is not None
    readable = [records_under(one.log, "COMMIT") for one in seen.ledgers]
    hidden = [records_under(one.log, "ABORT") for one in seen.ledgers]
    if has_offsets:
        hidden[-1] = [name for name in hidden[-1] if name not in readable[-1]]
    shown = {name for names in readable for name in names}
    gone = {name for names in hidden for name in names}
    committed = {name_of(txn) for txn, what in fates.items() if what == COMMITTED}
    asked = committed | {name_of(txn) for txn, what in fates.items() if what == ASKED}
    aborted = {name_of(txn) for txn, what in fates.items() if what == ABORTED}
    hangs = any(one.stable < len(one.log) and p not in seen.partitions for p, one in enumerate(seen.ledgers))
    pairs = list(zip(seen.ledgers, hidden, strict=True))
    whole = all(name in one.log and name not in aborted_here for name in committed for one, aborted_here in pairs)
    once = readable[:-1] if has_offsets else readable
    return {
        "AtomicTransactions": not whole,
        "NoAbortedRead": bool(aborted & shown),
        "NoTornTransaction": bool(shown & gone),
        "NoRecordOfAnother": not shown <= asked,
        "NoDuplicates": any(len(set(names)) < len(names) for names in once),
        "NoHangingTransaction": hangs,
        **({} if inputs is None else _judge_inputs(seen, readable, hidden, inputs)),
    }


def _judge_inputs(
    seen: TransactionView, readable: list[list[str]], hidden: list[list[str]], inputs: Mapping[int, int]
) -> dict[str, bool]:
    """Whether an input was processed twice, or passed over: results of it are not in all partitions but the last."""
    named = {name_of(txn): read for txn, read in inputs.items()}
    results = list(zip(seen.ledgers[:-1], hidden[:-1], strict=True))
    done = {read for name, read in named.items() if all(name in one.log and name not in gone for one, gone in results)}
    valid = named[readable[-1][-1]] + 1 if readable[-1] else 0
    return {
        "NoInputTwice": any(len({named[name] for name in names}) < len(set(names)) for names in readable[:-1]),
        "NoInputLost": not set(range(valid)) <= done,
    }
