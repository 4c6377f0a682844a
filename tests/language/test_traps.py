"""A protocol with a trap in it is refused, in a sentence with the line; it is never taken for one that holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acked.asking.working_copy import working_copy
from acked.base.errors import ConfigurationError
from acked.checker.spec.resolve import property_named
from acked.cli import main
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas import watch
from acked.model.language import protocol
from acked.model.language.protocol import Protocol
from acked.model.language.state import Struct
from tests.language import traps
from tests.language.traps import Trap


def answer(
    trap: Trap, folder: Path, capsys: pytest.CaptureFixture[str], *options: str, command: str = "check"
) -> tuple[int, str]:
    """The exit code, and everything that is said."""
    (folder / "trap.py").write_text(trap.source)
    (folder / "trap.toml").write_text(trap.spec)
    code = main([command, str(folder / "trap.toml"), "--quiet", *options])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


TRAPS = {**traps.NOT_RUN, **traps.SWALLOWED, **traps.HELD, **traps.UNSTEADY}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_is_refused_with_its_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trap = TRAPS[name]
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said in shown
    assert code == trap.code


@pytest.mark.parametrize("name", traps.FINE)
def test_what_only_looks_like_a_trap_is_answered(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = answer(Trap(traps.FINE[name], ""), tmp_path, capsys)
    assert code == 12, shown


@pytest.mark.parametrize("name", ["a generator", "a state that is returned", "an initial state that is returned"])
def test_nothing_is_proved_of_a_body_that_does_not_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = answer(traps.NOT_RUN[name], tmp_path, capsys, command="prove")
    assert traps.NOT_RUN[name].said in shown
    assert code == 151


def test_the_order_of_a_set_in_a_file_beside_the_protocols_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "beside.py").write_text('def first():\n    return [*{"a", "b"}][0]\n')
    source = traps.action("s.x = ord(first()) - 96  # here")
    source = source.replace("from acked import *", "from acked import *; from .beside import first")
    trap = Trap(source, "action Go (HERE): a set has no certain order")
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said in shown
    assert code == 151


# -- sentences in the place of Python's own ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", traps.SAID)
def test_what_python_would_say_is_said_in_our_words(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, said = traps.SAID[name]
    trap = Trap(traps.action(f"{line}  # here"), "trap: action Go (HERE): ")
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said in shown
    assert said in shown
    assert code == 151


@pytest.mark.parametrize("parameter", traps.SIGNATURES)
def test_a_parameter_without_values_is_refused(parameter: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = traps.action("s.x = 1", define=f"def go(s: State, {parameter}) -> None:")
    code, shown = answer(Trap(source, ""), tmp_path, capsys)
    assert traps.SIGNATURES[parameter] in shown
    assert code == 151


@pytest.mark.parametrize("predicate", traps.PREDICATES)
def test_a_predicate_of_another_language_is_told_how_it_is_written_here(
    predicate: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = traps.SPEC.replace('"x != 5"', f"'{predicate}'")
    code, shown = answer(Trap(traps.action("s.flag = True"), "", spec=spec), tmp_path, capsys)
    assert traps.PREDICATES[predicate] in shown
    assert code == 151


def test_a_property_that_there_is_not_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = traps.SPEC.replace('["P"]', '["Q"]')
    code, shown = answer(Trap(traps.action("s.flag = True"), "", spec=spec), tmp_path, capsys)
    assert "there is no property 'Q'; trap and this spec have P" in shown
    assert code == 151


# -- words, and values that leave their domain -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decorator", "said"),
    [
        ('@p.action(says=lambda t: f"{t.bb}")', "a step has no 'bb'; it has before, after"),
        ('@p.action(says=lambda t: f"{t.after.y}")', "there is no field 'y' here; the fields are x, flag"),
        ("@p.action(messages=[Tells(CLIENT, CONTROLLER, lambda t: t.bb)])", "a step has no 'bb'; it has before, after"),
    ],
)
def test_a_name_that_no_step_has_is_refused_before_the_search(
    decorator: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trap = Trap(traps.action("s.flag = True", decorator=f"{decorator}  # here"), "trap: the words of action Go (HERE): ")
    code, shown = answer(trap, tmp_path, capsys)
    assert trap.said + said in shown
    assert code == 151


@pytest.mark.parametrize("declared", ["says=lambda t: str([0][t.after.x])", "says=lambda t: t.after.x - t.before.flag",
                                      "messages=[Tells(CLIENT, CONTROLLER, lambda t: str([0][t.after.x]))]"])  # fmt: skip
def test_words_that_fail_lose_no_counterexample(declared: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = traps.action("s.flag = True").replace("@p.action()\ndef up", f"@p.action({declared})\ndef up")
    code, shown = answer(Trap(source, ""), tmp_path, capsys, "--trace-out", str(tmp_path / "trace.json"))
    assert code == 12
    assert "✗ violated: P in 5 steps" in shown
    assert "of action Up" in shown or "of Up" in shown
    assert (tmp_path / "trace.json").is_file()


@pytest.mark.parametrize("options", [(), ("--workers", "1"), ("--workers", "2")])
def test_a_value_that_leaves_its_domain_is_told_with_its_line_and_the_way(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = traps.action("s.flag = True").replace('require("room", s.x < 5)', "pass").replace("+ 1\n", "+ 1  # here\n")
    spec = traps.SPEC.replace("x != 5", "x != 9 - x")
    trap = Trap(
        source, "Up() assigns x a value outside its domain: 7, and it holds 0..6 (HERE); the state is {'x': 6", spec=spec
    )
    trace = tmp_path / "trace.json"
    code, shown = answer(trap, tmp_path, capsys, "--trace-out", str(trace), *options)
    assert code == 10
    assert trap.said in shown
    assert " 6  Up()" in shown
    assert main(["show", str(trace), "--spec", str(tmp_path / "trap.toml")]) == 0
    assert ["x", "*6"] in [line.split() for line in capsys.readouterr().out.splitlines()]


# -- what only another process shows, and what is shipped -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_order_of_a_set_is_refused_whatever_the_seed_of_hashes(seed: str, tmp_path: Path) -> None:
    trap = traps.UNSTEADY["the order of a set of texts"]
    (tmp_path / "trap.py").write_text(trap.source)
    (tmp_path / "trap.toml").write_text(trap.spec)
    command = [sys.executable, "-m", "acked", "check", str(tmp_path / "trap.toml"), "-q"]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=120)
    assert trap.said in done.stderr
    assert done.returncode == 151


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_shipped_protocol_is_the_same_when_it_is_traced_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    for module in (protocol, watch):
        monkeypatch.setattr(module, "is_shipped", lambda function: looked.append(function))
    asked = PROTOCOLS[name]
    small = {item.name: item.default if item.default is not None else max(item.lo, 2) for item in asked.constants}
    instance = asked.instantiate(small)
    assert {item.function for item in instance.action_rules} < {*looked}


def test_model_values_in_a_trace_are_ids_unless_which_is_left_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(Trap(traps.action("s.flag = True"), ""), tmp_path, capsys)
    state = {"x": 0, "flag": False, "up": [], "pair": {"a": 0, "b": 0}, "log": {"end": 0, "records": []}}
    for names, answers in ((("r1", "r2"), {0}), (("r1", "r2", "s"), {150, 151})):
        ends = {"#map": [[name, 0] for name in names]}
        (tmp_path / "itf.json").write_text(json.dumps({"vars": [*state, "ends"], "states": [{**state, "ends": ends}]}))
        code = main(["show", str(tmp_path / "itf.json"), "--spec", str(tmp_path / "trap.toml")])
        assert code in answers
    assert "the trace names r1, r2, s, and there are 2 nodes: say in a mapping file which is which" in capsys.readouterr().err


# -- copies of what is shipped ------------------------------------------------------------------------------------------


def test_a_copy_says_what_it_is_a_copy_of() -> None:
    copy = working_copy(PROTOCOLS["kip101"], "mine")
    (text,) = copy.texts.values()
    assert 'source="a copy of kip101, whose source is KIP-101, Kafka 0.11; KAFKA-1211"' in text


def test_a_copy_whose_state_has_more_fields_keeps_the_properties_and_a_state_of_its_own_has_none() -> None:
    base = PROTOCOLS["kip101"]

    class More(base.state):  # type: ignore[name-defined, misc]
        """A state with more in it."""

    for state, names in ((More, list(properties_of(base))), (type("Own", (Struct,), {}), [])):
        made = Protocol("mine", state, title="", source="", constants=base.constants, initial=lambda s: None)
        assert list(properties_of(made)) == names
    with pytest.raises(ConfigurationError, match="mine has no property 'StrongIsr'; it has none, because its state is its"):
        property_named(made, "StrongIsr")


@pytest.mark.parametrize(("bound", "code", "said"), [
    ("9", 10, "✓ a step leaves the domain of its field, as the spec expects"),
    ("5", 12, "verdict is violated, expected a step that leaves the domain of its field"),
])  # fmt: skip
def test_a_step_that_leaves_a_domain_can_be_expected_and_is_in_the_trace(
    bound: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = traps.action("s.flag = True").replace('require("room", s.x < 5)', "pass")
    spec = traps.SPEC.replace("x != 5", f"x != {bound} - 0 * x") + '[expect]\nverdict = "incomplete: overflow"\n'
    got, shown = answer(Trap(source, "", spec=spec), tmp_path, capsys)
    assert (got, said in shown) == (code, True), shown
    assert (" 7  ✗ Up() assigns x a value outside its domain: 7, and it holds 0..6 (trap.py:" in shown) is (code == 10)
    assert main(["gate", str(tmp_path / "trap.toml")]) == (0 if code == 10 else 1)


def test_what_is_expected_to_be_violated_is_named_as_it_is_spelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = traps.SPEC + 'deadlock = true\n[expect]\nverdict = "violated"\nviolates = "deadlock"\n'
    code, shown = answer(Trap(traps.action("s.flag = True"), "", spec=spec), tmp_path, capsys)
    assert "'deadlock' is expected to be violated but not asked (did you mean Deadlock?); [check] asks P, Deadlock" in shown
    assert code == 151
