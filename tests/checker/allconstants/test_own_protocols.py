"""Proofs for all constants of protocols of one's own: what closes, what is refused, and that nothing false holds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from acked import load_spec
from acked.checker.allconstants.lemma_search import FIRST_EFFORT, CoreSearch
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.own import own_argument
from acked.checker.allconstants.prover import Prover
from acked.checker.solver.lemma_sets import StepCounterexample
from acked.checker.solver.tasks import OwnClauses
from acked.checker.spec.spec import Spec
from acked.commands.proving.own import own_clauses
from tests.e2e.driver import assert_one_sentence, call

EXAMPLES = Path(__file__).resolve().parents[3] / "specs" / "examples"


def spec(name: str) -> Spec:
    return load_spec(str(EXAMPLES / f"{name.replace('#', '.toml#')}"))


def claim(name: str, text: str = "") -> tuple[Spec, OwnClauses]:
    """What a spec asks, or another claim in the place of its invariants, with the spec's lemmas."""
    asked = spec(name)
    own = own_clauses(asked)
    assert own is not None
    return asked, replace(own, invariants=(("Claim", text, ""),)) if text else own


FALSE = {
    "a bug: one participant decides": ("two_phase_commit#bug", ""),
    "a bug: another value is proposed": ("paxos#bug", ""),
    "a bug: an old lease writes": ("lease#bug", ""),
    "a bug: the head answers": ("chain_replication#bug", ""),
    "a bug: figure 8": ("raft#bug", ""),
    "nobody commits": ("two_phase_commit#holds", 'not any(phase[a] == "committed" for a in participants)'),
    "nobody is heard": ("two_phase_commit#holds", "count(a in heard for a in participants) == 0"),
    "less than a majority is heard": ("two_phase_commit#holds", "2 * len(heard) <= participants"),
    "nothing is aborted": ("two_phase_commit#holds", 'decision != "abort"'),
    "nothing is chosen": (
        "paxos#holds",
        "not any(2 * count(votes[a][b][v] for a in acceptors) > acceptors for b in ballots for v in values)",
    ),
    "nobody votes twice": (
        "paxos#holds",
        "all(count(votes[a][b][v] for b in ballots) <= 1 for a in acceptors for v in values)",
    ),
    "all ballots propose one value": (
        "paxos#holds",
        "all(v == w for b in ballots for v in values if proposals[b][v] for c in ballots for w in values if proposals[c][w])",
    ),
    "a lease is left": ("lease#holds", "given < leases"),
    "who writes has the last lease": ("lease#holds", "all(mine[n] == given for n in nodes if is_writing[n])"),
    "everybody has what is acknowledged": ("chain_replication#holds", "all(held[n] >= acked for n in servers)"),
    "nobody fails": ("chain_replication#holds", "count(is_up[n] for n in servers) == servers"),
    "nobody is two behind": ("chain_replication#holds", "all(held[m] <= held[n] + 1 for m in servers for n in servers)"),
    "nobody leads": ("raft#holds", 'not any(role[s] == "leader" for s in servers)'),
    "logs are the same": ("raft#holds", "all(log[a].end == log[b].end for a in servers for b in servers)"),
}


QUICK = {
    *("a bug: an old lease writes", "nobody commits", "nothing is aborted"),
    *("a lease is left", "nobody fails", "logs are the same"),
}
"""Of each protocol one or two, and of the kinds of claims; the others are left to the long run."""


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name not in QUICK else ()) for name in FALSE])
def test_nothing_false_is_proved_of_a_protocol_of_ones_own(name: str) -> None:
    """An obligation is refuted by a step of a small instance, and z3 does not prove it, whatever it may assume."""
    asked, own = claim(*FALSE[name])
    protocol = asked.protocol
    obligations = Obligations(protocol, own_argument(protocol, own), asked.drop, asked.switches)
    prover = Prover(obligations)
    search = CoreSearch(prover)
    for item in obligations.all:
        if item.may_use and not obligations.is_untouched(item):
            small = search._instance(0).lemmas_of_step(item.subject, item.clause)
            if isinstance(small, StepCounterexample):
                break
    else:
        # What every step keeps on the smallest instance is false to begin with, or on the spec's own.
        item = next(one for one in obligations.all if prover.solve(one, (), FIRST_EFFORT) is None and not one.may_use)
    assert prover.solve(item, tuple(obligations.clauses), FIRST_EFFORT) is None


def prove(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, object]]:
    done = call(capsys, "prove", "all-constants", *arguments, "--format", "json", "--quiet")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


PROVED = [
    pytest.param("two_phase_commit", 56, id="two-phase commit", marks=pytest.mark.long),
    pytest.param("lease", 20, id="a lease"),
    pytest.param("chain_replication", 20, id="chain replication", marks=pytest.mark.landing),
    pytest.param("paxos", 70, id="Paxos", marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "obligations"), PROVED)
def test_an_example_is_proved_for_any_sizes(name: str, obligations: int, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = prove(capsys, f"{EXAMPLES / name}.toml#holds")
    assert (code, answer["verdict"], answer["proved"], answer["open"]) == (0, "holds", obligations, [])
    assert isinstance(answer["searched"], dict)
    assert answer["searched"]["complete"]


@pytest.mark.slow
def test_a_proof_whose_lemma_is_missing_is_incomplete_and_shows_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(EXAMPLES / "chain_replication.py", tmp_path)
    text = (EXAMPLES / "chain_replication.toml").read_text("utf-8")
    before, _, rest = text.partition("[lemmas.EarlierHaveMore]")
    (tmp_path / "mine.toml").write_text(before + rest.partition("\n\n")[2])
    code, answer = prove(capsys, f"{tmp_path / 'mine.toml'}#holds")
    assert (code, answer["verdict"], answer["open"]) == (152, "incomplete", ["Acknowledge: AckedIsHeld"])
    asked = ("prove", "all-constants", f"{tmp_path / 'mine.toml'}#holds", "--only", "Acknowledge: AckedIsHeld")
    shown = call(capsys, *asked, "--quiet").stdout
    assert "a state in which every lemma and invariant holds" in shown
    assert "Acknowledge does not preserve AckedIsHeld" in shown


def test_a_lemma_that_is_false_at_small_sizes_is_told_by_a_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(EXAMPLES / "lease.py", tmp_path)
    text = (EXAMPLES / "lease.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("[check]", '[lemmas.OneIsLeft]\nholds = "given < leases"\n[check]'))
    trace = tmp_path / "trace.json"
    code, answer = prove(capsys, f"{tmp_path / 'mine.toml'}#holds", "--trace-out", trace)
    assert (code, answer["verdict"]) == (12, "violated")
    (found,) = answer["violations"]  # type: ignore[misc]
    assert (found["property"], found["trace_length"]) == ("OneIsLeft", 6)
    assert "OneIsLeft" in trace.read_text()


def test_what_the_reading_does_not_cover_is_refused_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(EXAMPLES / "lease.py", tmp_path)
    shutil.copy(EXAMPLES / "bounded_queue.py", tmp_path)
    lease, queue = ((EXAMPLES / f"{name}.toml").read_text("utf-8") for name in ("lease", "bounded_queue"))
    code = (tmp_path / "lease.py").read_text("utf-8")
    mine = tmp_path / "mine.toml"
    asks = '[invariants.Q]\nholds = "queue.end <= places"\n[check]\ninvariants = ["Q"]\n'
    beyond = "this is beyond a proof for all constants: "
    of_none, counted = "s.holder.value == node)", "s.is_writing[node] = True\n    each(Node)"
    cases = (
        (queue, code, "mine.toml:10: holds: a proof for all constants is of invariants, not of Deadlock"),
        (queue.replace("[check]\ndeadlock = true\n", asks), code, f"mine.toml:2: holds: {beyond}queue is a queue"),
        (lease.replace("not is_over", "not holder == 0 and is_over"), code, f":10: holds: NewestStays: {beyond}column"),
        (lease, code.replace("s.holder == node)", of_none), "lease.py:44): the .value of an optional node"),
        (lease, code.replace("s.is_writing[node] = True", counted).replace("import Array", "import each, Array"),
         "lease.py:46): each(…) needs finitely many values"),
    )  # fmt: skip
    for text, source, sentence in cases:
        (tmp_path / "lease.py").write_text(source)
        mine.write_text(text)
        assert_one_sentence(call(capsys, "prove", "all-constants", f"{mine}#holds"), 151, sentence)


def test_a_shipped_protocol_has_the_lemmas_of_its_own_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(
        'title = "mine"\nprotocol = "kip320"\n[constants]\nreplicas = 2\nlog_size = 1\nmax_records = 1\n'
        'max_leader_epoch = 1\n[lemmas.Mine]\nholds = "log[0].end >= 0"\n[check]\ninvariants = ["WeakIsr"]\n'
    )
    done = call(capsys, "prove", "all-constants", tmp_path / "mine.toml")
    assert_one_sentence(done, 151, "mine.toml:8: the proof of kip320 for all constants has lemmas of its own")
