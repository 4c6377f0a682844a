"""`acked prove all-constants` and `check` answer what the spec asks, or refuse; and the spec's expectation counts."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.api import load_spec
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.checker.allconstants.certificate import MANIFEST, Certificate, derivation_of
from acked.checker.allconstants.proof import AllConstantsProof, covering_argument
from acked.checker.question.result import Verdict
from acked.commands.proving.demands import refuse_unmade, refuse_unprovable
from tests.e2e.driver import TINY, assert_one_sentence, call
from tests.places import SPECS

FALSE = TINY.replace('invariants = ["WeakIsr"]', 'invariants = ["NothingWritten"]').replace(
    "[check]", '[invariants.NothingWritten]\nholds = "log[0].end == 0"\n[check]'
)
UNEXPECTED = TINY.replace('verdict = "holds"', 'verdict = "violated"\nviolates = "WeakIsr"')
SEEKS = TINY.replace("[expect]", '[reach]\nWritten = "log[0].end == 1"\n[expect]')
MACHINE = (SPECS / "claims" / "replication-instead-of-flush-4-1.toml").read_text("utf-8")


def spec(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_a_claim_that_the_argument_does_not_prove_is_refused_with_what_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own promises used to be proved instead, and a spec that expects a violation held."""
    for name, asked, told in (
        ("refused-is-not-written", "RefusalsAreTrue", "AckedRecordsSurvive, AckedRecordsInIsr, CommittedInIsr, HwWithinIsr"),
        (spec(tmp_path, FALSE), "NothingWritten", "WeakIsr, StrongIsr"),
    ):
        done = call(capsys, "prove", "all-constants", name, "--certificate", tmp_path / "certificate")
        assert_one_sentence(done, 151, f"there is no proof for all constants of {asked}", told)
        assert not (tmp_path / "certificate").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TINY.replace('invariants = ["WeakIsr"]', "count_only = true").partition("[expect]")[0], "nothing to prove"),
        (TINY.replace("[check]", "[check]\ndeadlock = true"), "no proof for all constants of Deadlock"),
        (TINY.replace("[check]", '[check]\nrecoverable = ["quorum.leader is not None"]'), "no proof for all constants of"),
        (
            MACHINE.replace("min_insync_replicas = 2", "min_insync_replicas = 1"),
            "the proof for all constants is about min_insync_replicas of at least 2, and mine has min_insync_replicas = 1",
        ),
    ],
    ids=["a count", "a deadlock", "a way back", "a size"],
)
def test_whatever_else_a_spec_asks_is_refused(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_one_sentence(call(capsys, "prove", "all-constants", spec(tmp_path, text)), 151, sentence)


@pytest.mark.slow
def test_a_proof_says_that_it_does_not_decide_what_can_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """[reach] used to be passed over in silence."""
    told = "a proof looks for no states, so whether Written can be reached is not decided; ask acked check"
    seeking = spec(tmp_path, SEEKS)
    for way in ((), ("bmc", "--depth", "1")):
        answer = json.loads(call(capsys, "prove", *way, seeking, "--format", "json", "--quiet").stdout)
        assert told in answer["notes"]
    proof = certificate(tmp_path, "WeakIsr", "StrongIsr")
    assert told in json.loads(call(capsys, "prove", "check", proof, seeking, "--format", "json", "-q").stdout)["notes"]


def test_a_working_copy_has_no_argument_of_the_protocol_that_it_was_copied_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rules are others, though it has the same state."""
    (tmp_path / "mine.py").write_text(
        "from acked.model.replication.kip320 import kip320\nfrom acked.model.language.protocol import Protocol\n"
        "mine = Protocol('mine', kip320.state, title='', source='', constants=kip320.constants,\n"
        "                initial=kip320.initial, actions=kip320.actions[1:])\n"
    )
    copy = spec(tmp_path, TINY.replace('protocol = "kip320"', 'protocol = "mine.py:mine"'))
    done = call(capsys, "prove", "all-constants", copy)
    assert_one_sentence(done, 151, "no argument for all constants is known of mine", "as acked has them")


@pytest.mark.slow
def test_a_proof_of_what_is_expected_to_be_violated_is_not_as_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an example, whose proof takes a moment; KIP-320's would say it in the same words."""
    shutil.copy(SPECS / "examples" / "lease.py", tmp_path)
    text = (SPECS / "examples" / "lease.toml").read_text("utf-8")
    unexpected = text.replace('verdict = "holds"', 'verdict = "violated"\nviolates = "NewestStays"')
    done = call(capsys, "prove", "all-constants", f"{spec(tmp_path, unexpected)}#holds", "--quiet")
    assert done.returncode == 1
    assert "holds: every obligation is proved" in done.stdout
    assert "verdict is holds, expected violated" in done.stdout


def test_a_spec_that_bounds_no_controller_epochs_is_among_those_that_are_proved() -> None:
    """0 is no bound of 0, but epochs by rank: any number of them."""
    unbounded = load_spec("kip380-leader-fix")
    argument = covering_argument(unbounded.protocol, unbounded.switches)
    assert (unbounded.constants["max_controller_epoch"], argument.least) == (0, {"max_controller_epoch": 1})
    refuse_unprovable(unbounded, [item.name for item in argument.provable], argument.least)


# -- certificates --------------------------------------------------------------------------------------------------------


def certificate(folder: Path, *goals: str) -> Path:
    """A manifest that says that it proves these of kip320; nothing is beside it."""
    told = Certificate("0.1", "x", "kip320", {}, (), goals, "", "z3", ())
    (folder / MANIFEST).write_text(json.dumps(told.document()))
    return folder


def test_a_certificate_is_held_against_what_the_spec_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = certificate(tmp_path, "WeakIsr", "StrongIsr")
    asks_more = spec(tmp_path, TINY.replace('["WeakIsr"]', '["WeakIsr", "HwWithinLog"]'))
    done = call(capsys, "prove", "check", proof, asks_more)
    assert_one_sentence(done, 151, "is about WeakIsr, StrongIsr, and mine asks for HwWithinLog too")
    done = call(capsys, "prove", "check", proof, spec(tmp_path, FALSE))
    assert_one_sentence(done, 151, "there is no proof for all constants of NothingWritten")


def test_a_certificate_of_a_proof_with_several_controllers_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was refused as one of other switches: the number of controller epochs is open, and no size."""
    monkeypatch.setattr("acked.checker.allconstants.certificate.Derivation", lambda *told: told)
    many = load_spec("kip380-leader-fix")
    named = {name: value for name, value in many.switches.items() if name != "max_controller_epoch"}
    told = Certificate("0.1", "x", "partition", named, (), ("AckedRecordsSurvive",), "", "z3", ())
    assert derivation_of(told)[3] == named  # type: ignore[index]
    with pytest.raises(ConfigurationError, match="asks for"):
        refuse_unmade(many, tmp_path, replace(told, promises=()))
    with pytest.raises(SpecUnreadable, match=r"not the switches of this acked's partition \(max_controller_epoch\)"):
        derivation_of(replace(told, constants={**named, "controllers": 0}))


@pytest.mark.slow
def test_a_certificate_that_promises_what_cannot_be_proved_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = certificate(tmp_path, "WeakIsr", "StrongIsr", "NothingWritten")
    done = call(capsys, "prove", "check", proof, "--quiet")
    assert done.returncode == 1
    assert "refused: this is not the proof that it says" in done.stdout


@pytest.mark.slow
def test_a_verified_certificate_of_what_is_expected_to_be_violated_is_not_as_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def verified(folder: Path, limits: Any, on_result: Any, told: Certificate) -> Any:
        from acked.checker.allconstants.proof import ObligationResult, SolverVerdict
        from acked.checker.allconstants.verification import Verification

        one = (ObligationResult("initial state", "WeakIsr", SolverVerdict.UNSAT, 0.1, ()),)
        return Verification(Certificate("0.1", "x", "kip320", {}, (), told.promises, "", "z3", one), (), one, "cvc5", 1.0)  # type: ignore[arg-type]

    monkeypatch.setattr("acked.commands.proving.certificate.verify", verified)
    proof = certificate(tmp_path, "WeakIsr", "StrongIsr")
    done = call(capsys, "prove", "check", proof, spec(tmp_path, UNEXPECTED), "--quiet")
    assert (done.returncode, "verdict is holds, expected violated" in done.stdout) == (1, True)
    done = call(capsys, "prove", "check", proof, spec(tmp_path, TINY), "--quiet")
    assert (done.returncode, "holds, as the spec expects" in done.stdout) == (0, True)


@pytest.mark.slow
def test_one_obligation_is_asked_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it says is of that one, and never that the spec is proved."""
    asked = ("prove", "all-constants", spec(tmp_path, TINY), "--quiet")
    done = call(capsys, *asked, "--only", "BecomeLeader: WeakIsr")
    assert (done.returncode, "1 of 1 obligations are proved, others were not asked" in done.stdout) == (152, True)
    done = call(capsys, *asked, "--only", "BecomeLeader: WeekIsr")
    assert_one_sentence(done, 151, "there is no obligation 'BecomeLeader: WeekIsr' (did you mean BecomeLeader: WeakIsr?)")
    done = call(capsys, *asked, "--only", "BecomeLeader: WeakIsr", "--lemma-sets", tmp_path / "sets.json")
    assert_one_sentence(done, 151, "--lemma-sets is a file for all obligations, and --only asks some")


def test_the_verdict_of_a_proof_for_all_constants_is_never_violated() -> None:
    """What refutes an obligation need not be reachable."""
    none = AllConstantsProof("kip320", (), {}, (), "", (), (), (), "z3", 0.0)
    assert none.verdict is Verdict.INCOMPLETE
