"""The proof for all constants: every obligation proved, none vacuous, weakened protocols refused, a second solver agrees."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple, cast

import pytest

from acked.base.processes import Limits
from acked.checker.allconstants.counterparts import broken_rules
from acked.checker.allconstants.lemma_search import FIRST_EFFORT, SEARCH_EFFORT, CoreSearch, LemmaProcess
from acked.checker.allconstants.obligations import PROMISES, TERMS, Obligations
from acked.checker.allconstants.proof import (
    PROOF_EFFORT,
    AllConstantsOptions,
    AllConstantsProof,
    ObligationResult,
    SolverVerdict,
    _known_sets,
    prove_all_constants,
)
from acked.checker.solver.lemma_sets import Core, CoreFile, StepCounterexample, shipped_file, shipped_sets
from acked.checker.solver.tasks import FirstOrderProblem, ObligationAnswer, ObligationTask
from acked.checker.spec.spec import load_spec
from acked.commands.proving import all_constants
from acked.invariants.proofs import COUNTERPARTS, argument_of
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every
from acked.model.replication.kip320 import kip320
from acked.model.replication.state import Replica, State
from tests.e2e.driver import acked
from tests.places import SPECS
from tests.proofs.few import prover_of
from tests.proofs.grounded import grounded
from tests.sharing import made_once

pytestmark = pytest.mark.slow

LIMITS = Limits(1, 600.0)
SHIPPED = shipped_sets(kip320)
VARIANTS = [name for name, item in PROTOCOLS.items() if item.state is State and item is not kip320]


@cache
def proof(name: str = "kip320") -> AllConstantsProof:
    return prove_all_constants(PROTOCOLS[name], LIMITS)


class Written(NamedTuple):
    """The proof of all that kip320's spec asks, the folder of its queries, the command's answer, and its progress."""

    proof: AllConstantsProof
    folder: Path
    done: CompletedProcess[str]
    told: list[tuple[str, int, int]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    place = made_once(tmp_path_factory, "kip320-proof", write)
    return cast(Written, pickle.loads((place / "written").read_bytes()))._replace(folder=place)


def write(folder: Path) -> None:
    """Fills the folder, for all processes of the session."""
    made: list[AllConstantsProof] = []
    told: list[tuple[str, int, int]] = []

    def tell(result: ObligationResult, number: int, count: int) -> None:
        told.append((result.clause, number, count))

    def prove(protocol: Protocol, _: Limits, options: AllConstantsOptions, *asked: Any) -> AllConstantsProof:
        drop, _, switches = asked
        made.append(prove_all_constants(protocol, LIMITS, options, drop, tell, switches))
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_constants, "prove_all_constants", prove)
        done = acked("prove", "all-constants", "kip320", "--smt2", folder, "--format", "json", "--quiet")
    (folder / "written").write_bytes(pickle.dumps(Written(made[0], folder, done, told)))


ASKED = {"kip320": load_spec(SPECS / "kip320.toml").asked.properties}
"""What a protocol's lemma sets were found for besides the goals of its argument."""


def obligations(protocol: Protocol, drop: Iterable[tuple[str, str]] = (), asked: Iterable[str] = ()) -> Obligations:
    argument = argument_of(protocol, asked=asked)
    assert argument is not None
    return Obligations(protocol, argument, drop)


@cache
def of_kip320() -> Obligations:
    return obligations(kip320, asked=ASKED["kip320"])


def test_a_sample_of_kip320_is_proved_with_the_shipped_sets() -> None:
    """A fortieth, and so of most actions one."""
    keys = [item.key for item in of_kip320().all][::40]
    few = prover_of(of_kip320(), keys)
    for item in few.obligations.all:
        assert few.effort(item, SHIPPED.cores.get(item.key, Core()), PROOF_EFFORT) is not None, item.key


@pytest.mark.landing("test_a_sample_of_kip320_is_proved_with_the_shipped_sets")
def test_kip320_holds_for_all_constants(written: Written) -> None:
    made = written.proof
    assert [(item.subject, item.clause) for item in made.open] == []
    assert made.vacuous == ()
    assert made.holds


@pytest.mark.landing("tests/checker/allconstants/test_own_protocols.py::test_an_example_is_proved_for_any_sizes")
def test_every_property_that_kip320_asks_is_proved_those_of_steps_too(written: Written) -> None:
    answer = json.loads(written.done.stdout)
    asked = list(load_spec(SPECS / "kip320.toml").asked.properties)
    assert (written.done.returncode, answer["verdict"], answer["asked"]) == (0, "holds", asked)
    assert answer["expectation"] == {"met": True, "differences": []}
    assert answer["promises"] == asked
    proved = {(item["subject"], item["clause"]) for item in answer["obligations"] if item["verdict"] == "unsat"}
    assert len(proved) == len(answer["obligations"]) == 378
    assert ("FencedBecomeFollowerAndTruncate", "CommittedRecordsStay") in proved
    assert ("promises", "HwWithinOwnIsr") in proved


def test_every_clause_is_an_obligation_of_the_initial_state_and_of_every_action() -> None:
    made = of_kip320().all
    subjects = dict.fromkeys(item.subject for item in made)
    assert list(subjects) == ["initial state", *(item.name for item in kip320.actions), PROMISES, TERMS]
    counts = {subject: sum(item.subject == subject for item in made) for subject in subjects}
    assert (counts["initial state"], {counts[item.name] for item in kip320.actions}) == (35, {37}), "two are of steps"
    assert len(made) == 35 + 37 * 9 + 6 + 4


@pytest.mark.parametrize("name", ["kip320", *VARIANTS])
def test_the_shipped_lemma_sets_are_of_the_shipped_protocol_and_small(name: str) -> None:
    shipped, asked = shipped_sets(PROTOCOLS[name]), obligations(PROTOCOLS[name], asked=ASKED.get(name, ()))
    again = f"found for other rules; run: acked prove all-constants {name} --lemma-sets {shipped_file(asked.argument)}"
    assert shipped.fingerprint == asked.fingerprint, again
    assert max(len(core.lemmas) for core in shipped.cores.values()) <= 16
    assert {name for core in shipped.cores.values() for name in core.lemmas} <= {
        *(item.name for item in asked.argument.clauses),
        *(name for name in asked.clauses if name.startswith("Domain(")),
    }


def test_a_changed_rule_or_lemma_has_another_fingerprint() -> None:
    same = obligations(kip320).fingerprint
    assert obligations(kip320).fingerprint == same
    assert obligations(kip320, drop=[("FencedLeaderExpandIsr", "HW in this epoch")]).fingerprint != same
    argument = argument_of(kip320)
    assert argument is not None
    assert Obligations(kip320, replace(argument, clauses=argument.clauses[1:])).fingerprint != same


@pytest.mark.landing(
    "tests/checker/allconstants/test_certificates.py::test_a_certificate_lists_every_obligation_with_a_file_that_is_as_hashed"
)
def test_the_proof_is_plain_data_that_names_what_it_used(written: Written) -> None:
    document = json.loads(json.dumps(written.proof.document()))
    assert document["verdict"] == "holds"
    assert document["proved"] == len(document["obligations"]) == 378
    by_key = {(item["subject"], item["clause"]): item for item in document["obligations"]}
    assert "CommitRequest" in by_key["BecomeLeader", "CommitRequest"]["lemmas"]


@pytest.mark.landing("test_an_interrupt_ends_the_proof_and_is_no_pass")
def test_progress_is_told_after_every_obligation(written: Written) -> None:
    assert len(written.proof.obligations) == 378
    assert [number for _, number, _ in written.told] == list(range(1, 379))
    assert {count for _, _, count in written.told} == {378}


def test_without_a_lemma_set_or_without_time_an_obligation_is_not_proved() -> None:
    key = "BecomeLeader|CommitRequest"
    core = SHIPPED.cores[key]
    engine = LemmaProcess(FirstOrderProblem("kip320", asked=ASKED["kip320"]), 0.001)
    number = [item.key for item in engine._obligations.all].index(key)
    for seconds, lemmas, proved in ((0.001, core.lemmas, False), (600.0, None, False), (600.0, core.lemmas, True)):
        engine._prover._seconds = seconds
        answer = engine.answer(ObligationTask(number, lemmas, core.way, PROOF_EFFORT, False), lambda _: None)
        assert isinstance(answer, ObligationAnswer)
        assert (answer.is_proved, answer.counterexample) == (proved, None)


def test_one_obligation_that_is_left_open_makes_the_verdict_incomplete() -> None:
    made = as_proved()
    assert (made.holds, made.exit_code, made.document()["verdict"]) == (True, 0, "holds")
    last = made.obligations[-1]
    lost = replace(made, obligations=(*made.obligations[:-1], replace(last, verdict=SolverVerdict.UNKNOWN, reason="no time")))
    assert (lost.holds, lost.exit_code, lost.document()["verdict"]) == (False, 152, "incomplete")
    assert lost.document()["open"] == [f"{last.subject}: {last.clause}"]
    idle = replace(made, vacuous=("LeaderWrite",))
    assert (idle.holds, idle.exit_code, idle.document()["verdict"]) == (False, 152, "incomplete")


def as_proved() -> AllConstantsProof:
    """The proof with the lemma sets that ship, which z3 is not asked about here."""
    obligations = of_kip320()
    results = [
        ObligationResult(item.subject, item.clause, SolverVerdict.UNSAT, 0.5, SHIPPED.cores.get(item.key, Core()).lemmas)
        for item in obligations.all
    ]
    goals = obligations.argument.goals
    return AllConstantsProof("kip320", goals, {}, (), obligations.fingerprint, tuple(results), (), (), "z3", 1.0)


def find_again(keys: Iterable[str]) -> None:
    few = prover_of(of_kip320(), keys)
    search = CoreSearch(few)
    for item in few.obligations.all:
        found = search.find(item)
        assert isinstance(found, Core), item.key
        assert few.effort(item, found, SEARCH_EFFORT) is not None, item.key


def test_lemma_sets_are_found_again_from_nothing() -> None:
    find_again(("BecomeLeader|FollowerPrefix", "LeaderWrite|IdFresh"))


HARD = ("BecomeLeader|CommitRequest", "FencedBecomeFollowerAndTruncate|CommitQuorum")
"""Finding these takes z3 as long as finding all others."""


@pytest.mark.long
def test_a_sample_of_all_lemma_sets_is_found_again_from_nothing() -> None:
    find_again(["FencedLeaderExpandIsr|CommitQuorum", *[key for key in SHIPPED.cores if key not in HARD][::7]])


def test_lemma_sets_survive_being_written(tmp_path: Path) -> None:
    file = CoreFile("abc", {"A|B": Core(("C", "Domain(log[].end)"), 2), "A|C": Core()})
    file.save(tmp_path / "cores.json")
    assert CoreFile.load(tmp_path / "cores.json") == file


def test_a_lemma_set_with_a_way_that_there_is_not_is_no_lemma_set() -> None:
    """Whoever tried it ended in an error; with a negative way there was a proof, of which no certificate could be written."""
    argument = argument_of(kip320)
    assert argument is not None
    cores = {"A|B": Core(("C",), 3), "A|C": Core((), 999), "A|D": Core(("C",), -5)}
    known = _known_sets(argument, AllConstantsOptions(CoreFile("abc", cores)))
    assert known == CoreFile("abc", {"A|B": Core(("C",), 3)})


def test_a_broken_file_of_lemma_sets_is_no_lemma_set(tmp_path: Path) -> None:
    (tmp_path / "cores.json").write_text('{"fingerprint": 3, "cores": [1]}')
    assert CoreFile.load(tmp_path / "cores.json") == CoreFile()
    assert CoreFile.load(tmp_path / "none.json") == CoreFile()


# -- what is asked besides the goals -----------------------------------------------------------------------------------


def test_what_is_false_is_not_proved_because_it_is_asked() -> None:
    argument = argument_of(kip320)
    assert argument is not None
    false = (
        Property("Empty", Kind.STATE, lambda s: every(Replica, lambda r: s.log[r].is_empty), "", "", ""),
        Property("NothingIsWritten", Kind.STEP, _no_log_grows, "", "", ""),
    )
    asked = Obligations(kip320, replace(argument, further=false).asking(item.name for item in false))
    said = [item.key for item in asked.all if item.clause in ("Empty", "NothingIsWritten")]
    search = CoreSearch(few := prover_of(asked, said), FIRST_EFFORT)
    found = {item.key: search.find(item) for item in few.obligations.all}
    assert found["promises|Empty"] is None
    written = found["LeaderWrite|NothingIsWritten"]
    assert isinstance(written, StepCounterexample)
    assert (written.breaks, written.step.partition("(")[0]) == ("NothingIsWritten", "LeaderWrite")
    assert isinstance(found["BecomeLeader|NothingIsWritten"], Core)


def _no_log_grows(before: State, after: State) -> Any:
    return every(Replica, lambda r: after.log[r].end <= before.log[r].end)


def test_only_what_is_known_to_be_provable_can_be_asked() -> None:
    argument = argument_of(kip320, asked=("HwWithinLog", "NothingWritten", "WeakIsr"))
    assert argument is not None
    assert argument.goals == ("WeakIsr", "StrongIsr", "HwWithinLog")


# -- other solvers -----------------------------------------------------------------------------------------------------


@pytest.mark.landing(
    "tests/checker/allconstants/test_certificates.py::test_a_sample_of_ten_obligations_is_confirmed_by_a_second_solver"
)
def test_every_obligation_is_written_as_a_file_that_z3_refutes_by_itself(written: Written) -> None:
    import z3

    files = sorted(written.folder.glob("*.smt2"))
    assert len(files) == 378
    for path in files[::20]:
        context = z3.Context()
        solver = z3.SimpleSolver(ctx=context)
        solver.set("mbqi", False)
        solver.set("auto_config", False)
        solver.from_string(path.read_text())
        assert solver.check() == z3.unsat, path.name


def refutes(text: str) -> bool:
    """Whether cvc5 finds an SMT-LIB text unsatisfiable."""
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("tlimit-per", "60000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    answer = ""
    while not (command := parser.nextCommand()).isNull():
        answer += command.invoke(solver, parser.getSymbolManager())
    return str(answer).split() == ["unsat"]


def refuted_by_another(keys: Sequence[str]) -> list[str]:
    """The obligations that cvc5 refutes in their form without quantifiers."""
    few = prover_of(of_kip320(), keys)
    known = {item.key: item for item in few.obligations.all}
    refuted = []
    for key in keys:
        text = grounded(few, known[key], SHIPPED.cores.get(key, Core()), 10 * SEARCH_EFFORT)
        assert text is not None, key
        assert "forall" not in text
        refuted += [key] if refutes(text) else []
    return refuted


def test_a_second_solver_refutes_obligations_without_quantifiers() -> None:
    keys = ["BecomeLeader|WeakIsr", "FencedFollowerFetch|CommitQuorum", "FencedLeaderExpandIsr|StrongIsr"]
    assert refuted_by_another(keys) == keys


@pytest.mark.long
def test_a_second_solver_refutes_a_sixth_of_all_obligations() -> None:
    keys = [item.key for item in of_kip320().all][::6]
    assert refuted_by_another(keys) == keys


# -- the older variants -------------------------------------------------------------------------------------------------

FENCED = {
    "FencedLeaderIncHighWatermark": {"every ISR member follows in this epoch and holds the offset"},
    "FencedLeaderExpandIsr": {"follows in this epoch", "HW in this epoch"},
    "FencedFollowerFetch": {"follows in this epoch"},
    "FencedBecomeFollowerAndTruncate": {"leader presumes leadership", "leader is in the request's epoch"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_every_obligation_of_an_older_variant_is_proved_or_refuted_by_what_kip320_fences(name: str) -> None:
    made = proof(name)
    assert not made.holds
    assert [item.key for item in made.open if item.verdict is SolverVerdict.UNKNOWN] == []
    assert made.vacuous == ()
    found = [item.counterexample for item in made.refuted if item.counterexample is not None]
    assert len(found) == len(made.refuted)
    rules = broken_rules(PROTOCOLS[name], (), found)
    shared = {"ControllerElectLeader", "ControllerShrinkIsr", "BecomeLeader", "LeaderWrite"}
    assert not shared & {item.action for item in rules}, "what all variants share breaks nothing"
    assert {item.rule for item in rules} == set(FENCED)
    for item in rules:
        assert COUNTERPARTS[item.action] == item.rule
        assert item.clauses
        assert set(item.clauses) <= FENCED[item.rule]


# -- solvers that fail -----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.usefixtures("started_workers")
def test_solvers_without_memory_leave_obligations_open_and_say_why() -> None:
    starved = prove_all_constants(kip320, Limits(2, 60.0, 64 << 20), AllConstantsOptions(search=False))
    assert starved.exit_code == 152
    assert len(starved.open) == len(starved.obligations) == 344
    assert all(item.reason for item in starved.open)


def test_an_interrupt_ends_the_proof_and_is_no_pass() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    made = prove_all_constants(kip320, LIMITS, on_result=interrupt)
    assert (made.exit_code, made.holds, made.interrupted) == (130, False, True)
    assert len(made.obligations) < 344
