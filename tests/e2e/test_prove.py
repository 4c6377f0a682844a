"""`acked prove` as a user runs it: verdicts, exit codes, words, documents, files."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acked.cli import main
from tests.e2e.driver import COMMAND, TINY, acked, assert_one_sentence, environment, interrupted
from tests.places import CHECKOUT

BROKEN = """\
title = "epochs are not compared"
protocol = "truncate-to-hw"
[constants]
replicas = 2
log_size = 2
max_records = 2
max_leader_epoch = 1
[check]
invariants = ["WeakIsr"]
[expect]
verdict = "violated"
violates = "WeakIsr"
trace_length = 9
"""

WEAKENED = TINY.replace('title = "tiny"', 'title = "unfenced"').replace(
    "[expect]", '[weaken]\ndrop = ["FencedFollowerFetch: follows in this epoch"]\n[expect]'
)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN)
    return path


@pytest.fixture
def weakened(tmp_path: Path) -> Path:
    path = tmp_path / "weakened.toml"
    path.write_text(WEAKENED)
    return path


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(done.stdout)
    return read


@pytest.mark.slow
def test_a_proof_says_what_it_rests_on(tiny: Path) -> None:
    done = acked("prove", tiny)
    assert done.returncode == 0, done.stderr
    assert "holds: proved by induction with 24 lemmas, in traces of any length" in " ".join(done.stdout.split())
    for name in ("initial state", "LeaderWrite", "FencedFollowerFetch", "CommitRequest", "symmetry", "as the spec expects"):
        assert name in done.stdout
    lines = done.stderr.splitlines()
    assert re.fullmatch(r"\s*1/\d+  proved +\S+ \S+  \w+\(.*\)", lines[0]), lines[0]


@pytest.mark.slow
def test_the_document_of_a_proof_has_everything(tiny: Path) -> None:
    done = acked("prove", tiny, "--format", "json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    answer = document(done)
    assert answer["verdict"] == "holds"
    assert (answer["engine"], answer["method"], answer["protocol"]) == ("z3", "induction", "kip320")
    assert answer["expectation"] == {"met": True, "differences": []}
    assert answer["attempt"] is None
    proof = answer["proof"]
    assert (proof["method"], proof["k"]) == ("induction", 1)
    assert "CommitRequest" in proof["lemmas"]
    assert list(proof["per_action"])[:2] == ["initial state", "ControllerElectLeader"]
    for action in proof["per_action"].values():
        assert action["verdict"] == "proved"
        assert action["seconds"] >= 0
        assert all(item["verdict"] == "proved" for item in action["obligations"])


@pytest.mark.slow
def test_bounded_model_checking_shows_the_shortest_run(broken: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = acked("prove", "bmc", broken, "--depth", "10", "--trace-out", trace)
    assert done.returncode == 12, done.stderr
    assert "violated: WeakIsr in 8 steps" in done.stdout
    assert "as the spec expects" in done.stdout
    shown = acked("show", trace)
    assert shown.returncode == 0, shown.stderr
    assert "WeakIsr is violated" in shown.stdout


@pytest.mark.slow
def test_both_engines_answer_a_violated_spec_alike(broken: Path) -> None:
    searched = document(acked("check", broken, "--format", "json", "-q"))
    proved = document(acked("prove", broken, "--format", "json", "-q"))
    for key in ("protocol", "constants", "verdict", "properties", "expectation"):
        assert proved[key] == searched[key], key
    (one,), (other,) = proved["violations"], searched["violations"]
    assert one["trace_length"] == other["trace_length"]
    assert one["trace"]["spec"] == other["trace"]["spec"]
    assert len(one["trace"]["steps"]) == 9


@pytest.mark.slow
def test_no_violation_up_to_a_depth_is_incomplete(tiny: Path) -> None:
    done = acked("prove", "bmc", tiny, "--depth", "3", "--format", "json", "-q")
    assert done.returncode == 152
    answer = document(done)
    assert answer["verdict"] == "incomplete"
    assert answer["proof"] is None
    assert answer["bounded"]["depth"] == 3
    assert [item["holds"] for item in answer["properties"]] == [None]


@pytest.mark.slow
def test_a_failed_induction_shows_what_breaks_what(weakened: Path) -> None:
    done = acked("prove", weakened)
    text = " ".join(done.stdout.split())
    assert done.returncode == 152, done.stderr
    assert "Counterexample to induction: the step FencedFollowerFetch" in text
    assert "a state in which every property and every lemma holds; it is unreachable: explicit search" in text
    assert "FencedFollowerFetch does not preserve" in text
    assert "broker 0" in text, "states are drawn as log grids"
    assert "incomplete: not a proof, because of FencedFollowerFetch" in text


@pytest.mark.slow
def test_the_document_of_a_failed_induction_has_its_counterexamples(weakened: Path) -> None:
    answer = document(acked("prove", weakened, "--format", "json", "-q", "--explore", "0"))
    assert answer["proof"] is None
    fetch = answer["attempt"]["per_action"]["FencedFollowerFetch"]
    assert fetch["verdict"] == "refuted"
    found = [one for item in fetch["obligations"] for one in item["counterexamples"]]
    assert found
    for one in found:
        assert one["first_state"] == "unknown"
        assert [step["action"] for step in one["steps"]] == [None, "FencedFollowerFetch"]
        assert one["breaks"]


@pytest.mark.slow
def test_minimizing_names_the_lemmas_that_are_needed(tiny: Path) -> None:
    answer = document(acked("prove", tiny, "--minimize", "--format", "json", "-q"))
    assert answer["verdict"] == "holds"
    assert set(answer["proof"]["needed_lemmas"]) < set(answer["proof"]["lemmas"])


@pytest.mark.slow
def test_every_query_is_written_as_a_file(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    answer = document(acked("prove", tiny, "--smt2", folder, "--format", "json", "-q"))
    count = sum(len(action["obligations"]) for action in answer["proof"]["per_action"].values())
    files = sorted(folder.glob("*.smt2"))
    assert len(files) == count
    assert all("(set-logic QF_BV)" in file.read_text() and "(check-sat)" in file.read_text() for file in files)
    again = acked("prove", tiny, "--smt2", folder)
    assert_one_sentence(again, 151, "already holds SMT-LIB files", "empty folder")


@pytest.mark.slow
def test_a_timeout_is_no_pass_and_names_what_was_left_open(tiny: Path) -> None:
    done = acked("prove", tiny, "-c", "replicas=3", "-c", "log_size=2", "--timeout", "0.001")
    assert done.returncode == 152
    assert "incomplete: not a proof" in done.stdout
    assert "open: " in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_solver_that_is_not_given_enough_memory_is_reported(tiny: Path) -> None:
    done = acked("prove", tiny, "--memory", "64MB", "--format", "json", "-q")
    assert done.returncode == 152
    actions = document(done)["attempt"]["per_action"]
    reasons = {item["reason"] for name, one in actions.items() if name != "initial state" for item in one["obligations"]}
    assert None not in reasons


@pytest.mark.slow
def test_ctrl_c_ends_everything() -> None:
    done = interrupted("prove", "kip320", "-c", "replicas=5", "-c", "log_size=5", "-c", "max_records=5", after=2.0)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("below", "arguments", "parts"),
    [
        ("bmc", ("--k", "2"), ("--k",)),
        ("induction", ("--depth", "3"), ("--depth",)),
        ("", ("--timeout", "0"), ("timeout",)),
        ("", ("--timeout", "nan"), ("--timeout nan", "seconds")),
        ("", ("--timeout", "inf"), ("--timeout inf", "seconds")),
        ("", ("-c", "brokers=2"), ("brokers", "replicas")),
        ("", ("--without", "NoSuchLemma"), ("NoSuchLemma", "LogMatching")),
        ("bmc", ("--without", "LogMatching"), ("--without",)),
        ("suggest", (), ("no counterexample", "nothing to suggest")),
        ("suggest", ("--minimize",), ("--minimize", "`acked prove suggest --help`")),
        ("all-constants", ("--no-cache",), ("--no-cache", "`acked prove all-constants --help`")),
        ("all-constants", ("--trace-out", "x.json"), ("--trace-out",)),
        ("check folder", ("--smt2", "x"), ("--smt2",)),
        ("variants", (), ("unexpected extra argument",)),
        ("releases", ("-c", "replicas=2"), ("-c",)),
    ],
)
def test_an_option_that_means_nothing_to_a_command_below_prove_is_none_of_it(
    tiny: Path, below: str, arguments: tuple[str, ...], parts: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["prove", *below.split(), str(tiny), *arguments])  # In this process: what starts up is not in question.
    out, err = capsys.readouterr()
    assert_one_sentence(subprocess.CompletedProcess((), code, out, err), 151, *parts)


@pytest.mark.parametrize(
    ("typed", "now"),
    [
        ("prove kip320 --all-constants --lemma-sets x.json", "acked prove all-constants SPEC"),
        ("prove kip320 --method=bmc", "acked prove bmc SPEC"),
        ("prove kip101 --depth 10", "acked prove bmc SPEC --depth N"),
        ("prove kip320 --suggest", "acked prove suggest SPEC"),
        ("prove --matrix", "acked prove variants"),
        ("prove --releases --no-cache", "acked prove releases"),
        ("prove kip320 --check folder", "acked prove check DIR"),
        ("audit x.properties --upgrade-to 4.0", "acked audit upgrade FILE... --to V"),
        ("audit x.properties --plan plan.json", "acked audit plan PLAN FILE..."),
    ],
)
def test_an_option_that_became_a_command_is_answered_with_the_command(
    typed: str, now: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(typed.split())
    out, err = capsys.readouterr()
    assert_one_sentence(subprocess.CompletedProcess((), code, out, err), 151, f"`{now}`")


def test_a_file_that_is_no_lemma_sets_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "thesis.txt"
    mine.write_text("years of work")
    code = main(["prove", "all-constants", "kip320", "--lemma-sets", str(mine)])
    out, err = capsys.readouterr()
    assert_one_sentence(subprocess.CompletedProcess((), code, out, err), 151, str(mine), "no lemma sets", "another file")
    assert mine.read_text() == "years of work"


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody can write into")
def test_a_folder_that_takes_no_queries_is_refused_before_any_work(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["prove", str(tiny), "--smt2", "/proc/self"])
    out, err = capsys.readouterr()
    assert_one_sentence(subprocess.CompletedProcess((), code, out, err), 153, "SMT-LIB", "not writable")


@pytest.mark.slow
@pytest.mark.long
def test_a_certificate_is_written_checked_and_refused_once_a_file_is_altered(tmp_path: Path) -> None:
    folder = tmp_path / "proof"
    done = acked_slowly("prove", "all-constants", "kip320", "--certificate", str(folder), "--quiet")
    assert done.returncode == 0, done.stderr
    assert len(list(folder.glob("*.smt2"))) == 378
    checked = acked_slowly("prove", "check", str(folder), "kip320", "--quiet", "--format", "json")
    answer = document(checked)
    assert answer["faults"] == answer["refuted"] == []
    assert answer["verified"] + len(answer["open"]) == 378
    assert checked.returncode == (152 if answer["open"] else 0)
    assert answer["verified"] >= 374
    with open(next(folder.glob("*.smt2")), "a", encoding="utf-8") as file:
        file.write("\n")
    refused = acked_slowly("prove", "check", str(folder), "--quiet")
    assert refused.returncode == 1
    assert "was altered" in refused.stdout


def test_without_a_spec_there_is_nothing_to_prove() -> None:
    assert_one_sentence(acked("prove"), 151, "SPEC")


@pytest.mark.slow
@pytest.mark.long
def test_the_matrix_decides_every_promise_of_every_variant() -> None:
    done = acked_slowly("prove", "variants", "--format", "json")
    assert done.returncode == 0, done.stderr
    answer = document(done)
    verdicts = {(item["protocol"], item["property"]): item["verdict"] for item in answer["matrix"]}
    kept = {name for name, verdict in verdicts.items() if verdict == "holds"}
    assert kept == {(name, item) for name, item in verdicts if name == "kip320"} | {
        ("truncate-to-hw", "CommittedRecordsStay")
    }
    assert {item["protocol"] for item in answer["breaks"]} == {name for name, _ in verdicts} - {"kip320"}


def acked_slowly(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], env=environment(), capture_output=True, text=True, timeout=1700)


def test_constants_given_beside_all_constants_are_refused() -> None:
    done = acked("prove", "all-constants", "kip320", "-c", "replicas=3")
    assert done.returncode == 151
    assert done.stderr.startswith("acked: a proof for all constants is about every value")


@pytest.mark.slow
def test_an_older_variant_is_refuted_by_steps_of_small_instances() -> None:
    asked = ("FollowerReplicate: RecordEpoch", "BecomeFollowerTruncateKip279: LeaderFirst")
    done = acked("prove", "all-constants", "kip279", *(part for name in asked for part in ("--only", name)), "--quiet")
    text = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (152, "")
    assert "FollowerReplicate does not preserve RecordEpoch" in text
    assert "BecomeFollowerTruncateKip279 does not preserve LeaderFirst" in text
    assert "FencedFollowerFetch of kip320 asks in addition: follows in this epoch" in text
    assert "a state in which every lemma and both properties hold; it may be unreachable" in text
    assert "broker 0" in text, "states are drawn as log grids"


@pytest.mark.slow
def test_lemma_sets_that_a_file_lacks_are_found_again_and_written(tmp_path: Path) -> None:
    sets = tmp_path / "sets.json"
    example = CHECKOUT / "specs" / "examples" / "lease.toml"
    asked = ("prove", "all-constants", f"{example}#holds", "--lemma-sets", sets, "--quiet")
    assert acked(*asked).returncode == 0
    found = json.loads(sets.read_text())
    lost, *kept = found["cores"]
    sets.write_text(json.dumps({**found, "cores": {key: found["cores"][key] for key in kept}}))
    assert acked(*asked).returncode == 0
    assert set(json.loads(sets.read_text())["cores"]) == {lost, *kept}


@pytest.mark.long
def test_an_older_variant_is_refuted_for_all_constants_and_lemma_sets_are_kept_in_a_file(tmp_path: Path) -> None:
    shipped = CHECKOUT / "invariants" / "replication" / "kip279_cores.json"
    known = json.loads(shipped.read_text())
    lost = ["BecomeLeader|WeakIsr", "LeaderWrite|IdFresh"]
    mine = tmp_path / "sets.json"
    mine.write_text(json.dumps({**known, "cores": {key: one for key, one in known["cores"].items() if key not in lost}}))
    done = acked("prove", "all-constants", "kip279", "--lemma-sets", mine, "--quiet")
    text = " ".join(done.stdout.split())
    assert (done.returncode, done.stderr) == (152, "")
    assert "330 of 344 obligations are proved, 14 are refuted by a step of a small instance" in text
    assert "FollowerReplicate does not preserve RecordEpoch, LogMatching, CommitQuorum, CommitRequest" in text
    assert "BecomeFollowerTruncateKip279 does not preserve LeaderFirst" in text
    assert "FencedFollowerFetch of kip320 asks in addition: follows in this epoch" in text
    assert "a state in which every lemma and both properties hold; it may be unreachable" in text
    assert "broker 0" in text, "states are drawn as log grids"
    written = json.loads(mine.read_text())
    assert written["fingerprint"] == known["fingerprint"]
    assert set(known["cores"]) <= set(written["cores"])


@pytest.mark.landing(
    "tests/checker/allconstants/test_allconstants.py::test_without_a_lemma_set_or_without_time_an_obligation_is_not_proved"
)
@pytest.mark.slow
def test_a_proof_for_all_constants_without_time_ends_at_once_and_names_what_is_open(tmp_path: Path) -> None:
    shipped = CHECKOUT / "invariants" / "replication" / "kip320_cores.json"
    mine = tmp_path / "sets.json"
    mine.write_bytes(shipped.read_bytes())
    done = acked("prove", "all-constants", "kip320", "--timeout", "0.001", "--lemma-sets", mine, "-q", "--format", "json")
    assert (done.returncode, done.stderr) == (152, "")
    answer = document(done)
    left = [item for item in answer["obligations"] if item["verdict"] == "unknown"]
    assert answer["verdict"] == "incomplete"
    assert answer["open"] == [f"{item['subject']}: {item['clause']}" for item in left]
    assert "BecomeLeader: CommitRequest" in answer["open"]
    # A minute's search for other lemma sets is not begun where a query has no time.
    assert {item["reason"] for item in left} == {"z3 did not answer within 0.001 s"}
    assert set(json.loads(shipped.read_text())["cores"]) <= set(json.loads(mine.read_text())["cores"]), "no set is lost"


@pytest.mark.slow
def test_ctrl_c_ends_a_search_for_lemma_sets(tmp_path: Path) -> None:
    sets = tmp_path / "sets.json"
    done = interrupted("prove", "all-constants", "kip320", "--lemma-sets", sets, after=1.5)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert not sets.exists(), "what is half found is not written"


@pytest.mark.slow
def test_a_counterexample_to_induction_is_drawn_as_a_page_and_a_proof_has_none(tmp_path: Path) -> None:
    spec, page = CHECKOUT / "specs" / "examples" / "two_phase_commit.toml", tmp_path / "step.html"
    asked = ("prove", "induction", f"{spec}#holds", "--html", page, "-q")

    proved = acked(*asked)
    assert (proved.returncode, page.exists()) == (0, False)
    assert "nothing breaks a property, so no page was written" in proved.stderr

    done = acked(*asked, "--without", "CommitIsOfAll")
    assert done.returncode == 152, done.stderr
    drawn = page.read_text("utf-8")
    assert "Counterexample to induction: the step GiveUp(who=0) breaks Consistent" in drawn
    assert "a state in which every property and every lemma holds; it is unreachable" in drawn
    assert "participant 0 aborts by itself" in drawn
