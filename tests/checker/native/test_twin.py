"""The C that benchmarks/peers.py gives to SPIN is the protocol: the same actions enabled, successors and verdicts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from acked.checker.question.question import Question
from acked.checker.spec.resolve import property_named, protocol_named
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance
from benchmarks.parts.promela import KEPT, MODEL, PROTOCOL, TYPES, Unsuited, twin

MOST_ENABLED = 16

# What SPIN's verifier provides, and one function to call from here.
DRIVER = f"""
#include "{TYPES}"
long depth;
static struct {{ Packed packed; }} now;
#include "{KEPT}"
int expand(const Packed *state, uint16_t *actions, Packed *successors, int *count)
{{
    now.packed = *state;
    int violated = is_violated();
    for (*count = 0; *count < MOST_ENABLED && is_enabled(*count); ++*count) {{
        now.packed = *state;
        fire(&now.packed, *count);
        actions[*count] = kept[depth].action[*count];
        successors[*count] = now.packed;
    }}
    return violated;
}}
"""


def question(protocol_name: str, properties: tuple[str, ...], **constants: int) -> Question:
    """A family protocol's question."""
    protocol = protocol_named(protocol_name)
    return Question(protocol.instantiate(constants), tuple(property_named(protocol, name) for name in properties))


def compiled(asked: Question, folder: Path) -> ctypes.CDLL:
    """The twin's C with `expand`."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler on this machine")
    for name, text in twin(asked, MOST_ENABLED).items():
        (folder / name).write_text(text)
    (folder / "driver.c").write_text(DRIVER)
    command = [compiler, "-O0", "-w", "-shared", "-fPIC", "-o", "driver.so", "driver.c", PROTOCOL]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / "driver.so"))


def expanded(library: ctypes.CDLL, words: tuple[int, ...]) -> tuple[bool, list[tuple[int, tuple[int, ...]]]]:
    """Whether a property is violated in a state, and its successors with their actions, by the twin."""
    width = len(words)
    actions, count = (ctypes.c_uint16 * MOST_ENABLED)(), ctypes.c_int()
    successors = (ctypes.c_uint64 * (width * MOST_ENABLED))()
    violated = library.expand((ctypes.c_uint64 * width)(*words), actions, successors, ctypes.byref(count))
    found = [(actions[k], tuple(successors[k * width : (k + 1) * width])) for k in range(count.value)]
    return bool(violated), found


def judged(instance: Instance, codes: list[int]) -> list[tuple[int, list[int]]]:
    """The successors by the evaluator, as leaf codes."""
    number = {step.label: at for at, step in enumerate(instance.actions)}
    return [(number[step.label], instance.fire(step, codes)) for step in instance.enabled_actions(codes)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "constants", "is_broken"),
    [
        # Two words, more actions than one word has bits; and a protocol that loses records.
        ("kip320", {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 3}, False),
        ("majority", {"replicas": 3, "log_size": 2, "records": 2, "failures": 1}, False),
        ("truncate-to-hw", {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}, True),
    ],
)
def test_the_twin_goes_where_the_evaluator_goes(
    protocol: str, constants: dict[str, int], is_broken: bool, tmp_path: Path
) -> None:
    promises = ("OneLeaderPerTerm",) if protocol == "majority" else ("WeakIsr", "StrongIsr")
    asked = question(protocol, promises, **constants)
    instance, schema = asked.instance, asked.instance.schema
    library = compiled(asked, tmp_path)
    properties = Evaluator(asked.plan.state_violations)
    (first,) = asked.initial
    level, seen, violations = [schema.unpack(first)], {first}, 0
    while level and len(seen) < 400:
        following = []
        for codes in level:
            violated, successors = expanded(library, schema.pack(codes))
            known = judged(instance, codes)
            assert successors == [(number, schema.pack(after)) for number, after in known]
            assert violated == any(properties(codes))
            violations += violated
            following += [after for _, after in known if schema.pack(after) not in seen]
            seen.update(schema.pack(after) for _, after in known)
        level = following
    assert (violations > 0) == is_broken
    assert len(seen) > 100


def test_the_model_has_an_option_for_every_action_that_may_be_enabled_at_once() -> None:
    asked = question("kip320", ("WeakIsr",), replicas=2, log_size=1, max_records=1, max_leader_epoch=1)
    assert [twin(asked, most)[MODEL].count("fire(") for most in (3, 9)] == [3, 9]


def test_a_question_about_steps_has_no_twin() -> None:
    asked = question("kip320", ("LeaderEpochsOnlyGrow",), replicas=2, log_size=1, max_records=1, max_leader_epoch=1)
    with pytest.raises(Unsuited, match="LeaderEpochsOnlyGrow is no invariant of single states"):
        twin(asked, MOST_ENABLED)
