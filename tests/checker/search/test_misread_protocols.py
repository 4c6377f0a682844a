"""Protocols of users that were once answered wrongly, as files with specs: what search and proof say of them now.

Each reproduction end to end, with the engines that share what was wrong.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.processes import Limits
from acked.checker.native.compile import kernel_key
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import ProofResult
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, Verdict
from acked.checker.replay.trace_file import replay, trace_document
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.model.formulas.errors import DomainOverflow

LIMITS = Limits(jobs=1, timeout=600.0)
HEAD = """
from acked.model.language.context import Constant
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, ite, some
from acked.model.language.state import Array, Between, Log, Optional, Struct, field
from acked.model.language.values import Bool, Id, Int

class Node(Id, size=3): pass
class Num(Int, lo=0, hi=2): pass
class Offset(Int, lo=0, hi=3): pass
class Entry(Struct):
    v = field(Offset)
class By(Struct):
    by = field(Node)
{types}
class State(Struct):
{fields}

def initial(s): pass

p = Protocol("p", State, title="t", source="s", constants=({constants}), initial=initial, symmetric=(Node,))
{actions}
"""


def asked(
    folder: Path, fields: str, actions: str, holds: str = "", types: str = "", constants: str = "", given: str = ""
) -> Question:
    """The question of a protocol with these fields and actions, one to a line, and of one promise, if there is one."""
    lines = [line for line in actions.strip().splitlines() if line.strip()]
    made = [f"@p.action()\n{line}" if line.startswith("def ") else line for line in lines]
    declared = "".join(f"    {line.strip()}\n" for line in fields.strip().splitlines())
    source = HEAD.format(types=types, fields=declared, constants=constants, actions="\n".join(made))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(source)
    promise = f'[check]\ninvariants = ["I"]\n[invariants.I]\nholds = "{holds}"\n' if holds else "[check]\ncount_only = true\n"
    (folder / "mine.toml").write_text(f'title = "t"\nprotocol = "mine.py:p"\n[constants]\n{given}\n{promise}')
    return load_spec(folder / "mine.toml").question()


def found(question: Question) -> Result:
    """The answer of the search."""
    return search(question, Bounds(1, 1 << 26), StopPolicy.FIRST_VIOLATION)


def proved(question: Question, **options: Any) -> ProofResult:
    """What induction says."""
    return prove_by_induction(question, (), LIMITS, InductionOptions(**options))


# -- a constant that hides a field --------------------------------------------------------------------------------------


def test_a_promise_about_a_field_is_not_read_as_one_about_a_constant(tmp_path: Path) -> None:
    grow = 'def grow(s: State) -> None:\n    require("room", s.epoch < 3)\n    s.epoch = s.epoch + 1'
    with pytest.raises(ConfigurationError, match="'epoch' is a constant and a field of the state"):
        asked(tmp_path, "epoch = field(Offset)", grow, "epoch <= 2", constants='Constant("epoch", 1, 3, "e", 2),')


def test_a_struct_and_a_constant_of_one_name_are_both_understood(tmp_path: Path) -> None:
    grow = "def grow(s: State) -> None:\n    s.epoch.v = (s.epoch.v + 1) % 4"
    constants = 'Constant("epoch", 1, 3, "e", 2),'
    result = found(asked(tmp_path, "epoch = field(Entry)", grow, "epoch.v <= epoch", constants=constants))
    assert result.violated == {"I": 4}


# -- an empty range -----------------------------------------------------------------------------------------------------

LATER = "last = Constant('last', 0, 3, 'the last later number', 0)\nclass Later(Int, lo=1, hi=last): pass"
STOP = """
def stop(s: State) -> None:
    require("no later one", ~some(Later, lambda e: s.n >= 0))
    s.n = 1
def grow(s: State, e: Later) -> None:
    s.n = 2
"""


def test_where_there_is_no_later_number_some_later_number_is_not_there(tmp_path: Path) -> None:
    question = asked(tmp_path, "n = field(Offset)", STOP, "n == 0", LATER, "last,")
    result = found(question)
    assert (result.violated, result.distinct_states) == ({"I": 2}, 2)
    assert [step.label for step in result.violations[0].run.actions] == ["Stop()"]
    assert proved(question).verdict is Verdict.INCOMPLETE
    assert check_bounded(question, Bound(2), LIMITS).violations[0].trace_length == 2


# -- one below the least number -----------------------------------------------------------------------------------------

OPTIONAL = "end = field(Offset)\nhw = field(Optional(Offset))\nsaw = field(Between(Offset, 0, 1))"
GROW = 'def grow(s: State) -> None:\n    require("room", s.end < 3)\n    s.end = s.end + 1\n'


@pytest.mark.parametrize(
    ("condition", "violated"),
    [
        ("s.hw == s.end - 1", None),  # of none it is false, and with an empty log −1 is no offset
        ("~(s.hw == s.end - 1)", 2),
        ("s.hw < s.end - 1", 2),  # none is below every number, −1 too
        ("s.end - 1 > s.hw", 2),
        ("s.hw >= s.end - 1", None),
    ],
)
def test_no_high_watermark_is_not_taken_for_the_offset_below_the_first(
    condition: str, violated: int | None, tmp_path: Path
) -> None:
    action = f'def see(s: State) -> None:\n    require("as asked", {condition})\n    s.saw = 1\n'
    question = asked(tmp_path, OPTIONAL, GROW + action, "saw == 0")
    assert found(question).violated == ({} if violated is None else {"I": violated})
    bounded = check_bounded(question, Bound(4), LIMITS)
    assert [item.trace_length for item in bounded.violations] == ([] if violated is None else [violated])


def test_the_offset_below_the_first_is_not_stored_as_no_offset(tmp_path: Path) -> None:
    question = asked(tmp_path, OPTIONAL, GROW + "def commit(s: State) -> None:\n    s.hw = s.end - 1\n", "saw == 0")
    with pytest.raises(DomainOverflow, match=r"Commit\(\) assigns hw a value outside its domain"):
        found(question)
    assert proved(question).verdict is not Verdict.HOLDS


# -- records past the end, records in variables -------------------------------------------------------------------------

LOG = "log = field(Log(Entry, Offset, 2))\ngot = field(Offset)"
SCRIBBLE = """
def scribble(s: State) -> None:
    s.log.at(s.log.end).v = 2
def append(s: State) -> None:
    require("room", ~s.log.is_full)
    s.log.append(Entry(v=1))
def peek(s: State) -> None:
    s.got = s.log.at(s.log.end).v
"""


def test_what_is_written_past_a_logs_end_is_no_state_that_nobody_sees(tmp_path: Path) -> None:
    question = asked(tmp_path, LOG, SCRIBBLE, "got == 0")
    result = found(question)
    assert result.violated == {"I": 4}
    run = result.violations[0].run
    shown = [question.instance.schema.decode(question.instance.schema.unpack(words)) for words in run.states]
    assert [json.dumps(state) for state in shown].count(json.dumps(shown[0])) == 1
    document = json.loads(json.dumps(trace_document(Counterexample.of("t", question, result.violations[0]))))
    document["spec"]["protocol"] = "mine.py:p"
    assert replay(document, folder=tmp_path).run.states == run.states


def test_the_last_record_may_be_taken_cut_off_and_put_back(tmp_path: Path) -> None:
    actions = """
def first(s: State) -> None:
    require("empty", s.log.is_empty)
    s.log.append(Entry(v=3))
def rewrite(s: State) -> None:
    require("one", s.log.end == 1)
    last = s.log.last
    s.log.truncate(s.log.end - 1)
    s.log.append(last)
"""
    result = found(asked(tmp_path, LOG, actions, "log.end == 0 or log.records[0].v == 3"))
    assert (result.verdict, result.distinct_states) == (Verdict.HOLDS, 2)


# -- ids: what holds them, and where there are none -----------------------------------------------------------------------

FIELDS = "other = field(Node)\nslot = field({0})\nseen = field(Array({0}, Bool))\nc = field(Between(Num, 0, 3))"
STORE = """
def put(s: State, n: Node) -> None:
    s.other = n
def store(s: State, k: {0}) -> None:
    require("new", ~s.seen[k])
    s.seen[k] = True
    s.slot = k
    s.c = s.c + 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", ["Num", "Node"])
def test_compiled_code_and_fingerprints_know_which_fields_hold_ids(
    first: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))
    made = {name: asked(tmp_path / name, FIELDS.format(name), STORE.format(name), "c < 3") for name in ("Num", "Node")}
    symmetric = {name: replace(question, is_symmetric=True) for name, question in made.items()}
    counts = {}
    for name in sorted(symmetric, key=lambda name: name != first):
        symmetric[name].refuse_asymmetry()
        result = found(symmetric[name])
        counts[name] = result.distinct_states
        assert result.violated == {"I": 4}
    # Counted by hand: numbers stay what they are, ids are exchanged.
    assert counts == {"Num": 13, "Node": 9}
    assert len({kernel_key(question.plan) for question in symmetric.values()}) == 2
    assert len({question.fingerprint for question in made.values()}) == 2
    assert len({question.instance.fingerprint() for question in made.values()}) == 2


def test_id_types_of_one_name_are_told_apart(tmp_path: Path) -> None:
    twin = "class Box:\n    class Node(Id, size=3): pass"
    fields = ("x = field(Node)\ny = field(Box.Node)", "x = field(Node)\ny = field(Node)")
    act = "def act(s: State) -> None:\n    s.x = 1"
    prints = {asked(tmp_path / str(at), text, act, types=twin).fingerprint for at, text in enumerate(fields)}
    assert len(prints) == 2
    with pytest.raises(ConfigurationError, match="a Node is compared with a Node"):
        asked(tmp_path / "mixed", fields[0], act, "x == y", types=twin)


BY = "log = field(Log(By, Num, 2))"
APPEND = 'def append(s: State, n: Node) -> None:\n    require("room", ~s.log.is_full)\n    s.log.append(By(by=n))\n'
CUT = "def cut(s: State) -> None:\n    s.log.truncate(s.log.end - s.log.end)\n"


@pytest.mark.parametrize("actions", [APPEND, APPEND + CUT], ids=["append", "cut"])
def test_slots_without_a_record_prefer_no_id(actions: str, tmp_path: Path) -> None:
    """Logs of up to two of three ids: none, one, twice the same, two different ones."""
    question = asked(tmp_path, BY, actions)
    assert found(question).distinct_states == 1 + 3 + 9
    symmetric = replace(question, is_symmetric=True)
    symmetric.refuse_asymmetry()
    assert found(symmetric).distinct_states == 4


def test_a_proof_knows_that_records_below_a_logs_end_are_there(tmp_path: Path) -> None:
    """Else `owner` could be taken from a record without an id, in a state that no run reaches."""
    guard = '    require("some", ~s.log.is_empty)\n'
    take = f"def take(s: State) -> None:\n{guard}    s.owner = s.log.last.by\n    s.taken = True\n"
    fields = BY + "\nowner = field(Node)\ntaken = field(Bool)"
    question = asked(tmp_path, fields, APPEND + CUT + take, "not taken or log.end >= 0")
    assert proved(question).verdict is Verdict.HOLDS
    unguarded = take.replace(guard, "")
    question = asked(tmp_path / "unguarded", fields, APPEND + unguarded, "not taken or log.end >= 0")
    assert proved(question).verdict is not Verdict.HOLDS
    with pytest.raises(DomainOverflow):
        found(question)


# -- an initial state that names an id --------------------------------------------------------------------------------

FIRST = "first = field(Node)\nwho = field(Node)\ndone = field(Bool)"
HAND_OVER = """
def hand_over(s: State, n: Node) -> None:
    require("not yet, or back", ~s.done | (n == s.first))
    s.done = True
    s.who = n
"""


@pytest.mark.slow
def test_solvers_do_not_take_an_id_that_the_initial_state_names_for_any_other(tmp_path: Path) -> None:
    """Node 0 is first. The shortest violation hands over to another one, and induction from two states assumes too much."""
    question = asked(tmp_path, FIRST, HAND_OVER, "not done or who == first")
    assert found(question).violated == {"I": 2}
    for is_used in (True, False):
        bounded = check_bounded(question, Bound(4, use_symmetry=is_used), LIMITS)
        assert [item.trace_length for item in bounded.violations] == [2]
    assert proved(question, k=2).verdict is Verdict.VIOLATED
