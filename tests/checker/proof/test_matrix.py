"""The answers of the matrix, each held against an explicit search."""

from __future__ import annotations

import pytest

from acked.base.errors import SystemFailure
from acked.base.processes import Limits
from acked.checker.proof import variants
from acked.checker.proof.variants import PROMISES, How, Searched, entry_of
from acked.checker.question.result import Verdict
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from acked.invariants.replication.properties import PROPERTIES
from acked.model.catalogue import PROTOCOLS

KNOWN = {item.name: item for item in (*KIP320_LEMMAS, *PROPERTIES)}
ASKED = [KNOWN[name] for _, names in PROMISES for name in names]
SMALL = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
LIMITS = Limits(1, 600.0)
VARIANT = PROTOCOLS["truncate-to-hw"]


@pytest.fixture(autouse=True)
def small_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "CONSTANTS", SMALL)


@pytest.mark.slow
def test_a_solver_and_the_search_agree_in_verdict_and_length() -> None:
    searched = Searched.all_of(VARIANT, ASKED, SMALL)
    assert searched.is_complete
    decided: dict[How, list[tuple[str, int | None]]] = {}
    for item in ASKED:
        entry = entry_of(VARIANT, "", item, searched, LIMITS)
        assert (entry.verdict, entry.actions) == (searched.verdict(item.name), searched.shortest.get(item.name))
        decided.setdefault(entry.how, []).append((item.name, entry.actions))
    assert decided == {
        How.BMC: [("HwWithinOwnIsr", 8), ("HwWithinQuorumIsr", 9), ("StrongIsr", 9)],
        How.INDUCTION: [("CommittedRecordsStay", None)],
        How.SEARCH: [("CommitRequest", None)],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "searched", "words"),
    [
        ("HwWithinOwnIsr", {"HwWithinOwnIsr": 7}, "bmc says violated after 8 actions, explicit search violated after 7"),
        ("CommittedRecordsStay", {"CommittedRecordsStay": 7}, "induction says holds, explicit search violated after 7"),
    ],
)
def test_an_answer_that_the_search_contradicts_is_an_error(name: str, searched: dict[str, int], words: str) -> None:
    with pytest.raises(SystemFailure, match=f"{name}: {words} actions; please report"):
        entry_of(VARIANT, "", KNOWN[name], Searched(True, searched, 0.0), LIMITS)


def test_a_run_that_is_long_for_bmc_is_left_to_the_search() -> None:
    entry = entry_of(VARIANT, "", KNOWN["StrongIsr"], Searched(True, {"StrongIsr": 13}, 2.0), LIMITS)
    assert (entry.verdict, entry.how, entry.actions, entry.seconds) == (Verdict.VIOLATED, How.SEARCH, 13, 2.0)


def test_what_nobody_decides_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "DEPTH", 2)
    entry = entry_of(VARIANT, "", KNOWN["StrongIsr"], Searched(False, {}, 2.0), LIMITS)
    assert (entry.verdict, entry.how) == (Verdict.INCOMPLETE, How.NONE)
