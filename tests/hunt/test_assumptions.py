"""What the answers rest on: clauses that exist, evidence that names its place, and what breaks without."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.base.errors import SpecUnreadable
from acked.hunt.assumptions.drop import Assumption
from acked.hunt.assumptions.evidence import UNVERIFIED, Basis, evidence_of, read_evidence
from acked.hunt.reports.assumptions import heaviest
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings

KNOWN = read_evidence()


@pytest.mark.slow
def test_evidence_is_about_clauses_and_constants_that_the_model_has() -> None:
    constants = {name: setting.value for name, setting in partition.profile("4.4", "kraft").items()}
    more = {"replicas": 3, "leadership_moves": 1, "zombies": 1, "retries": 1, "idempotence": 1, "consumer": 1}
    clauses = set()
    for crashes in (settings.CLEAN_CRASHES, settings.LOSSY_CRASHES):
        labels = partition.labels_under({**constants, **more, "crashes": crashes, "kills": 1})
        clauses |= {f"{action}: {label}" for action, every in labels.items() for label in every}
    assert [clause for item in KNOWN for clause in item.clauses if clause not in clauses] == []
    assert {name for item in KNOWN for name in item.drop or ()} <= {constant.name for constant in partition.constants}


def test_what_was_read_or_seen_names_its_place_and_each_entry_is_about_clauses_or_a_sentence() -> None:
    assert [item for item in KNOWN if item.basis is not Basis.UNVERIFIED and not item.place] == []
    assert [item for item in KNOWN if bool(item.clauses) == bool(item.sentence)] == []


def test_a_clause_that_no_entry_names_is_unverified() -> None:
    assert evidence_of("Produce: of nobody", KNOWN) is UNVERIFIED
    assert evidence_of("CommitAlterPartition: true leader", KNOWN).basis is Basis.READ


def test_the_heaviest_assumption_is_the_one_that_most_promises_rest_on_then_the_one_that_breaks_first() -> None:
    def assumption(name: str, *lengths: int) -> Assumption:
        return Assumption(name, UNVERIFIED, tuple((f"P{at}", steps) for at, steps in enumerate(lengths)), False, True)

    found = [assumption("none"), assumption("late", 9), assumption("soon", 3), assumption("two", 8, 9)]
    assert [one.name for one in heaviest(found)] == ["two", "soon", "late"]


def test_evidence_that_cannot_be_read_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "evidence.toml"
    path.write_text('[[assumption]]\nbasis = "source read"\n\n[[assumption]]\nbasis = "guessed"\n')
    with pytest.raises(SpecUnreadable, match="assumption 2 cannot be read"):
        read_evidence(path)
