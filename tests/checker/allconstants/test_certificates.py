"""Certificates: what is written of a proof for all constants, what is refused, and what a second solver confirms."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acked.base.errors import AckedError, ExitCode, SpecUnreadable
from acked.base.processes import Limits
from acked.checker.allconstants.certificate import (
    MANIFEST,
    Certificate,
    Derivation,
    derivation_of,
    faults_of,
    read_certificate,
    write_certificate,
)
from acked.checker.allconstants.proof import AllConstantsProof, ObligationResult, SolverVerdict, prove_all_constants
from acked.checker.allconstants.verification import Verification, verify
from acked.checker.solver.lemma_sets import Core, shipped_sets
from acked.checker.solver.tasks import TextTask
from acked.checker.spec.spec import load_spec
from acked.cli import main
from acked.invariants.proofs import argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.partition.protocol import partition
from acked.model.partition.rules.settings import LOSSY_OUTSIDE_ISR
from tests.places import SPECS

pytestmark = pytest.mark.slow

CLAIM = load_spec(SPECS / "claims" / "acks-all-min-2-clean.toml")
LEFT_OPEN = {("BecomeLeader", "AckedInPlace")}
"""What cvc5 does not decide of the claim."""

MOST_OPEN = 4
"""cvc5 does not always take the same way, so what it leaves open may be an obligation more or less."""


ASKED = {"kip320": load_spec(SPECS / "kip320.toml").asked.properties}
"""What is asked of a protocol besides the goals of its argument."""


def derived(name: str, switches: dict[str, int]) -> Derivation:
    argument = argument_of(PROTOCOLS[name], switches, ASKED.get(name, ()))
    assert argument is not None
    return Derivation(PROTOCOLS[name], argument, (), switches)


def as_proved(name: str, switches: dict[str, int], obligations: Derivation) -> AllConstantsProof:
    """The proof with the lemma sets that ship, which z3 is not asked about here."""
    argument = argument_of(PROTOCOLS[name], switches, ASKED.get(name, ()))
    assert argument is not None
    cores = shipped_sets(PROTOCOLS[name]).cores
    results = []
    for subject, clause in obligations.names:
        core = cores.get(f"{subject}|{clause}", Core())
        results.append(ObligationResult(subject, clause, SolverVerdict.UNSAT, 0.5, core.lemmas, core.way))
    return AllConstantsProof(
        name, argument.goals, switches, (), obligations.fingerprint, tuple(results), (), (), "z3", 1.0
    )


@pytest.fixture(scope="module")
def kip320() -> tuple[Derivation, AllConstantsProof]:
    made = derived("kip320", {})
    return made, as_proved("kip320", {}, made)


@pytest.fixture(scope="module")
def written(kip320: tuple[Derivation, AllConstantsProof], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificate")
    write_certificate(kip320[1], "kip320", folder)
    return folder


@pytest.fixture
def folder(
    kip320: tuple[Derivation, AllConstantsProof], written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A certificate of kip320, whose texts are made once for all tests."""
    monkeypatch.setattr("acked.checker.allconstants.certificate.Derivation", lambda *_: kip320[0])
    return Path(shutil.copytree(written, tmp_path / "certificate"))


def manifest(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / MANIFEST).read_text())
    return document


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    document = manifest(folder)
    edit(document)
    (folder / MANIFEST).write_text(json.dumps(document))


def test_a_certificate_lists_every_obligation_with_a_file_that_is_as_hashed(folder: Path) -> None:
    told = manifest(folder)
    assert (told["spec"], told["protocol"], told["promises"]) == ("kip320", "kip320", [*ASKED["kip320"]])
    assert len(told["obligations"]) == 378
    for item in told["obligations"]:
        content = (folder / item["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == item["sha256"]
    names = [item["file"] for item in told["obligations"]]
    assert sorted(path.name for path in folder.iterdir()) == sorted([MANIFEST, *names])
    read = read_certificate(folder)
    assert read.document() == told
    assert list(faults_of(folder, read, derivation_of(read))) == []


def faults(folder: Path) -> list[str]:
    """What is wrong with the folder; no solver is asked where something is."""
    found = verify(folder, Limits(0, 1.0))
    assert found.obligations == ()
    assert found.exit_code is ExitCode.UNMET_EXPECTATION
    assert found.verdict == "refused"
    return list(found.faults)


def rewritten(folder: Path, number: int, text: str) -> None:
    """Another text in the place of an obligation's, with a hash that fits."""
    item = manifest(folder)["obligations"][number]
    (folder / item["file"]).write_text(text)
    fits = hashlib.sha256(text.encode()).hexdigest()
    change(folder, lambda document: document["obligations"][number].update(sha256=fits))


def test_files_that_are_missing_altered_exchanged_or_unlisted_are_refused(folder: Path) -> None:
    first, second, third, *_ = [item["file"] for item in manifest(folder)["obligations"]]
    (folder / first).unlink()
    (folder / second).write_text((folder / second).read_text() + "; more\n")
    rewritten(folder, 2, "(set-logic UFLIA)\n(assert false)\n(check-sat)\n")
    (folder / "999-more.smt2").write_text("")
    unlisted, missing, altered, another = faults(folder)
    assert unlisted == "999-more.smt2 is in the folder and not in the manifest"
    assert missing == f"{first} is missing, or cannot be read"
    assert altered == f"{second} was altered: it has another hash than the manifest says"
    assert another.startswith(f"{third} is not the obligation initial state: ")


def needy(told: dict[str, Any]) -> dict[str, Any]:
    """An obligation that was proved with lemmas."""
    found: dict[str, Any] = next(item for item in told["obligations"] if len(item["lemmas"]) > 1)
    return found


EDITS: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda told: told["obligations"].pop(40), "it lacks"),
    (lambda told: told["obligations"].append(told["obligations"][0]), "each once and in order"),
    (lambda told: told["obligations"][0].update(lemmas=["WeakIsr"]), "may not assume what the manifest says: WeakIsr"),
    (lambda told: needy(told).update(lemmas=["CommitQuorum'"]), "may not assume"),
    (lambda told: needy(told).update(lemmas=[]), "is not the obligation"),
    (lambda told: needy(told).update(way=99), "may not assume"),
    (lambda told: told["obligations"][0].update(file="../other.smt2"), "the manifest has not 001-"),
    (lambda told: told.update(promises=["StrongIsr", "NoGaps"]), "promises StrongIsr, NoGaps; what is proved is WeakIsr"),
    (lambda told: told.update(fingerprint="0"), "its rules or lemmas are not those of this acked's kip320"),
]


@pytest.mark.parametrize(("edit", "sentence"), EDITS, ids=range(len(EDITS)))
def test_a_manifest_that_claims_something_else_is_refused(
    edit: Callable[[dict[str, Any]], object], sentence: str, folder: Path
) -> None:
    change(folder, edit)
    assert any(sentence in fault for fault in faults(folder))


UNREADABLE: list[tuple[str, str]] = [
    ("not JSON", "is not a certificate's manifest"),
    ("[]", "is not a certificate's manifest"),
    ('{"format": "acked-certificate/1"}', "'acked' is missing"),
    ('{"format": "acked-certificate/9"}', "is not of the format acked-certificate/1"),
]


@pytest.mark.parametrize(("text", "sentence"), UNREADABLE)
def test_what_is_no_manifest_gets_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(SpecUnreadable, match=sentence):
        read_certificate(tmp_path)


def test_a_folder_without_a_manifest_or_of_another_protocol_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpecUnreadable, match="cannot read the certificate's manifest"):
        read_certificate(tmp_path)
    with pytest.raises(SpecUnreadable, match="is no folder"):
        read_certificate(tmp_path / "nothing")
    for protocol, switches, sentence in (
        ("majority", {}, "of which this acked has no proof for all constants"),
        ("kip321", {}, "of which this acked has no proof for all constants"),
        ("kip320", {"zombies": 1}, r"are not the switches of this acked's kip320 \(zombies\)"),
    ):
        with pytest.raises(SpecUnreadable, match=sentence):
            derivation_of(Certificate("0.1", "x", protocol, switches, (), (), "", "z3", ()))
    again = {**CLAIM.switches, "reassignment": 1, "moves": 2}
    moved = Certificate("0.1", "x", "partition", again, (), (), "", "z3", ())
    with pytest.raises(SpecUnreadable, match="does not cover reassignment"):
        derivation_of(moved)
    told = Certificate("0.1", "x", "partition", CLAIM.switches, (("Produce", "nothing"),), (), "", "z3", ())
    with pytest.raises(SpecUnreadable, match="action Produce has no clause 'nothing'"):
        derivation_of(told)


def test_a_certificate_is_of_the_lemmas_that_its_switches_ask_for() -> None:
    """An idempotent producer is promised more, by a lemma more."""
    switches = {**CLAIM.switches, "retries": 1, "idempotence": 1}
    made = derivation_of(Certificate("0.1", "x", "partition", switches, (), (), "", "z3", ()))
    assert {"NoDuplicates", "NoReordering"} <= set(made.goals)
    assert ("Retry", "RecordsAscend") in made.names


def test_nothing_is_left_where_a_certificate_cannot_be_written(
    kip320: tuple[Derivation, AllConstantsProof], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acked.checker.allconstants.certificate.Derivation", lambda *_: kip320[0])
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(AckedError, match="cannot write the certificate's manifest"):
        write_certificate(kip320[1], "kip320", tmp_path)
    assert list(tmp_path.glob("*.smt2")) == []


def test_the_command_says_why_a_certificate_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(folder, lambda told: told["obligations"].pop())
    assert main(["prove", "check", str(folder), "--quiet"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "refused: this is not the proof that it says; no solver was asked" in out
    assert "does not list the 378 obligations" in out
    assert main(["prove", "check", str(folder), "kip320", "--format", "json", "--quiet"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["verdict"], answer["verified"], len(answer["faults"])) == ("refused", 0, 1)
    assert main(["prove", "check", str(folder), "-c", "replicas=2"]) == ExitCode.CONFIGURATION
    assert "name the SPEC" in capsys.readouterr().err
    for spec, sentence in (("kip279", "is about kip320, and kip279 about kip279"), ("partition", "about partition")):
        assert main(["prove", "check", str(folder), spec]) == ExitCode.CONFIGURATION
        assert sentence in capsys.readouterr().err


def test_a_certificate_of_other_switches_than_the_spec_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = Certificate("0.1", "x", "partition", {**CLAIM.switches, "zombies": 1}, (), (), "", "z3", ())
    (tmp_path / MANIFEST).write_text(json.dumps(told.document()))
    assert main(["prove", "check", str(tmp_path), CLAIM.name]) == ExitCode.CONFIGURATION
    assert "is about other switches than acks-all-min-2-clean: zombies (False in" in capsys.readouterr().err


# -- the second solver ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def claim() -> tuple[Derivation, AllConstantsProof]:
    made = derived("partition", CLAIM.switches)
    return made, as_proved("partition", CLAIM.switches, made)


def second_solver() -> Any:
    from acked.checker.allconstants.second_solver import SecondSolver

    return SecondSolver(None, 60.0)


def test_a_sample_of_ten_obligations_is_confirmed_by_a_second_solver(claim: tuple[Derivation, AllConstantsProof]) -> None:
    made, proof = claim
    solver = second_solver()
    left = set()
    for number in (at * len(made.names) // 10 for at in range(10)):
        item = proof.obligations[number]
        answer = solver.answer(TextTask(made.text(number, Core(item.lemmas, item.way)) or ""), lambda _: None)
        assert answer.answer != "sat", item.key
        left |= {(item.subject, item.clause)} if answer.answer == "unknown" else set()
    assert left <= LEFT_OPEN


def test_an_obligation_without_the_lemmas_that_it_needs_is_not_confirmed(claim: tuple[Derivation, AllConstantsProof]) -> None:
    made, _ = claim
    number = made.names.index(("ElectLeader", "VacantEpoch"))
    answer = second_solver()._ask(made.text(number, Core()), 60_000, {})
    assert answer in ("sat", "unknown")


def test_the_answers_of_the_second_solver_are_told_apart() -> None:
    solver = second_solver()
    for text, answer in (("(assert false)", "unsat"), ("(assert true)", "sat")):
        assert solver.answer(TextTask(f"(set-logic UFLIA){text}(check-sat)"), lambda _: None).answer == answer
    with pytest.raises(RuntimeError, match="nothing"):
        solver.answer(TextTask("(set-logic UFLIA)(assert nothing)(check-sat)"), lambda _: None)
    with pytest.raises(ValueError, match="instead of unsat, sat or unknown"):
        solver.answer(TextTask(""), lambda _: None)


def answered(proof: AllConstantsProof, *verdicts: SolverVerdict) -> Verification:
    told = Certificate("0.1", "x", proof.protocol, {}, (), (), "", "z3", tuple([None] * len(proof.obligations)))  # type: ignore[arg-type]
    results = tuple(
        ObligationResult(item.subject, item.clause, verdict, 0.1, ())
        for item, verdict in zip(proof.obligations, verdicts, strict=False)
    )
    return Verification(told, (), results, "cvc5", 1.0)


def test_only_a_certificate_of_which_everything_was_confirmed_is_verified(
    kip320: tuple[Derivation, AllConstantsProof],
) -> None:
    _, proof = kip320
    good, unknown, bad = SolverVerdict.UNSAT, SolverVerdict.UNKNOWN, SolverVerdict.REFUTED
    number = len(proof.obligations)
    assert answered(proof, *[good] * number).exit_code is ExitCode.HOLDS
    one_open = answered(proof, *[good] * (number - 1), unknown)
    assert (one_open.exit_code, one_open.verdict, len(one_open.verified)) == (ExitCode.TOO_LARGE, "incomplete", number - 1)
    assert len(one_open.document()["open"]) == 1
    sample = answered(proof, *[good] * 60)
    assert (sample.exit_code, sample.verdict) == (ExitCode.TOO_LARGE, "incomplete")
    disagreeing = answered(proof, *[good] * (number - 1), bad)
    assert (disagreeing.exit_code, disagreeing.verdict) == (ExitCode.UNMET_EXPECTATION, "refuted")


STALE = {"zombies": 1, "leadership_moves": 1, "reelection_forgets_ends": 1}
HARDEST = {
    **STALE, "retries": 1, "idempotence": 1, "delivery_timeout": 1, "producer_restarts": 1, "crashes": LOSSY_OUTSIDE_ISR,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "changed"),
    [("kip320", {}), ("partition", {}), ("partition", STALE), ("partition", HARDEST)],
    ids=["kip320", "claim", "stale leaders", "hardest"],
)
def test_a_second_solver_confirms_all_but_the_few_obligations_that_are_named(
    name: str, changed: dict[str, int], tmp_path: Path
) -> None:
    switches = {} if name == "kip320" else {**CLAIM.switches, **changed}
    # Lemma sets ship for the claim's own switches; for others z3 looks for some that are missing.
    if changed:
        proof = prove_all_constants(PROTOCOLS[name], Limits(2, 600.0), constants=switches)
    else:
        proof = as_proved(name, switches, derived(name, switches))
    write_certificate(proof, name, tmp_path)
    found = verify(tmp_path, Limits(2, 120.0))
    assert found.faults == ()
    assert found.refuted == ()
    assert len(found.verified) + len(found.open) == len(proof.obligations)
    assert len(found.open) <= MOST_OPEN


# -- the texts -----------------------------------------------------------------------------------------------------------


def test_a_text_says_what_z3_is_asked(claim: tuple[Derivation, AllConstantsProof]) -> None:
    """z3 reads from the text the formulas that it is given without it."""
    import z3

    from acked.checker.allconstants.texts import obligation_text
    from acked.checker.allconstants.ways import WAYS
    from acked.model.firstorder.solve import Lowering

    obligations = claim[0]._obligations
    cores = shipped_sets(partition).cores
    shapes: dict[object, int] = {}
    for item in obligations.all[5::137]:
        core = cores.get(item.key, Core())
        way = WAYS[core.way]
        lowering = Lowering()
        query = obligations.query(item, core.lemmas, way)
        further = obligations.numbers_of_ids(query) if way.makes_models or way.marks_state else ()
        asked = [lowering.clause(clause) for clause in (*query.clauses(way.hints), *further)]
        read = z3.parse_smt2_string(obligation_text(obligations, item, core), ctx=lowering.context)
        assert len(asked) == len(read)
        for mine, theirs in zip(asked, read, strict=True):
            assert patterns(mine) == patterns(theirs)
            assert shape(plain(mine), shapes) == shape(plain(theirs), shapes), mine


def plain(formula: Any) -> Any:
    """A formula as z3 simplifies it, without its quantifier, whose name and patterns say nothing of its meaning."""
    import z3

    if z3.is_quantifier(formula):
        values = [z3.Const(f"x{at}", formula.var_sort(at)) for at in reversed(range(formula.num_vars()))]
        formula = z3.substitute_vars(formula.body(), *values)
    return z3.simplify(formula)


def shape(term: Any, known: dict[object, int]) -> int:
    """A number for each form of a term; the sides of an equation have no order."""
    import z3

    parts = [shape(part, known) for part in term.children()]
    name = str(term) if not parts else term.decl().name()
    return known.setdefault((name, *(sorted(parts) if z3.is_eq(term) else parts)), len(known))


def patterns(formula: Any) -> list[str]:
    import z3

    if not z3.is_quantifier(formula):
        return []
    return [str(z3.simplify(part)) for at in range(formula.num_patterns()) for part in formula.pattern(at).children()]
