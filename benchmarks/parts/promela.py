"""A twin of a protocol for SPIN: the same guards, updates and packed states, as C inside a Promela model.

The C of an instance's guards, state properties and updates, made from the very expressions that the native kernel is made
from, and the Promela model around it.

The model is the quickest that we know how to write for SPIN. One process with one state of its own; the protocol's whole
state is one C value in SPIN's state vector, packed as acked packs it; every action instance is one `d_step`, so that SPIN
stores no state in between. All guards and properties are evaluated at once when SPIN looks at a state for the first time; the
result is kept beside SPIN's search stack, so that a guard costs one bit test, also when a depth-first search comes back to
the state. What acked checks besides, that no update leaves its field's domain, the twin leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.checker.question.question import Question
from acked.invariants.property import Kind
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.model.language.protocol import Instance
from acked.model.language.tracings import ActionInstance

WORD = 64
"""Bits of a word of a packed state, and of a row of guards."""

MODEL, TYPES, KEPT, PROTOCOL = "twin.pml", "twin_types.h", "twin_kept.h", "twin_protocol.c"
"""The files of a twin. What is the protocol's is compiled once for all verifiers: of a large one that takes minutes."""

_SYMBOLS = {
    Op.ADD: "+", Op.SUB: "-", Op.MUL: "*", Op.BITAND: "&", Op.BITOR: "|", Op.BITXOR: "^",
    Op.EQ: "==", Op.LT: "<", Op.AND: "&", Op.OR: "|",
}  # fmt: skip


class Unsuited(Exception):
    """A question that has no twin; the message is a sentence that says why."""


def twin(question: Question, most_enabled: int) -> dict[str, str]:
    """The files of the model, by name, of a question whose properties are all decided in single states.

    Its states are those of the protocol, one to one, and its transitions the firings of action instances.
    """
    for item in question.properties:
        if item.kind not in (Kind.STATE, Kind.DEADLOCK):
            raise Unsuited(f"{item.name} is no invariant of single states, and the twin has only those")
    if len(question.initial) != 1:
        raise Unsuited(
            f"{question.instance.protocol.name} has {len(question.initial)} initial states and the twin starts in one"
        )
    options = "\n".join(
        f"    :: d_step {{ c_expr {{ (is_enabled({number})) }} -> c_code {{ fire(&now.packed, {number}); }} }}"
        for number in range(most_enabled)
    )
    model = f"""\
c_decl {{
\\#include "{TYPES}"
}}
c_code {{
\\#include "{KEPT}"
}}
c_state "Packed packed" "Global" "initial_state"

active proctype protocol() {{
    do
    :: d_step {{ c_expr {{ (is_violated()) }} -> assert(false) }}
{options}
    od
}}
"""
    declared = types(question, most_enabled) + _DECLARED
    return {MODEL: model, TYPES: declared, KEPT: _KEPT, PROTOCOL: f'#include "{TYPES}"\n{functions(question)}'}


def types(question: Question, most_enabled: int) -> str:
    """C declarations: a packed state, the initial one, and what is known of a state once it has been looked at."""
    words = question.instance.schema.words
    (initial,) = question.initial
    return f"""\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define MOST_ENABLED {most_enabled}
typedef struct {{ uint64_t word[{words}]; }} Packed;
typedef struct {{ uint16_t count, action[MOST_ENABLED]; }} Known;
static const Packed initial_state = {{ {{ {", ".join(f"{word}ULL" for word in initial)} }} }};
"""


_DECLARED = """\
int look(const Packed *state, Known *known);
void fire_action(Packed *state, int action);
"""

# SPIN's own `depth` names the place on the search stack: whoever comes back to a state finds what was kept there. `look` is
# run for every state before its first action, in every kind of search.
_KEPT = """\
extern long depth;
static Known *kept;
static long kept_size;
static inline int is_violated(void)
{
    if (depth >= kept_size) {
        kept_size = depth < 1024 ? 2048 : 2 * depth;
        kept = realloc(kept, kept_size * sizeof(Known));
        if (!kept) abort();
    }
    return look(&now.packed, &kept[depth]);
}
#define is_enabled(k) ((k) < kept[depth].count)
#define fire(packed, k) fire_action(packed, kept[depth].action[k])
"""


def functions(question: Question) -> str:
    """C functions `look`, which says whether a property is violated and which actions are enabled, and `fire_action`."""
    instance = question.instance
    plan = question.plan
    guards = [step.guard for step in instance.actions]
    body, names = _body(instance, [*guards, *plan.state_violations], "state->")
    lists = []
    for begin in range(0, len(guards), WORD):
        bits = " | ".join(f"(uint64_t){names[guard.id]} << {at}" for at, guard in enumerate(guards[begin : begin + WORD]))
        lists.append(f"    count = list_bits({bits}, {begin}, known, count);")
    violated = " | ".join(names[item.id] for item in plan.state_violations) or "0"
    lines = [_LIST_BITS, "int look(const Packed *state, Known *known)", "{", *body, "    int count = 0;", *lists]
    lines += ["    known->count = count;", f"    return {violated};", "}"]
    lines += [line for at, step in enumerate(instance.actions) for line in _fire(instance, at, step)]
    cases = [f"    case {at}: fire_{at}(state); break;" for at in range(len(instance.actions))]
    lines += ["void fire_action(Packed *state, int action)", "{", "    switch (action) {", *cases, "    }", "}", ""]
    return "\n".join(lines)


_LIST_BITS = """\
static inline int list_bits(uint64_t bits, int first, Known *known, int count)
{
    for (; bits; bits &= bits - 1) {
        if (count == MOST_ENABLED) {
            printf("more than %d actions are enabled in a state\\n", MOST_ENABLED);
            exit(3);
        }
        known->action[count++] = first + __builtin_ctzll(bits);
    }
    return count;
}"""


def _fire(instance: Instance, number: int, step: ActionInstance) -> list[str]:
    leaves = instance.schema.leaves
    body, names = _body(instance, [new for _, new in step.updates], "state->")
    stores = []
    for word in range(instance.schema.words):
        changed = [(leaves[k], names[new.id]) for k, new in step.updates if leaves[k].word == word and leaves[k].bits]
        if changed:
            cleared = sum((1 << leaf.bits) - 1 << leaf.shift for leaf, _ in changed)
            parts = " | ".join(f"(uint64_t){new} << {leaf.shift}" for leaf, new in changed)
            stores.append(f"    state->word[{word}] = (state->word[{word}] & {~cleared % (1 << WORD)}ULL) | {parts};")
    return [f"static inline void fire_{number}(Packed *state)", "{", *body, *stores, "}"]


def _body(instance: Instance, roots: Sequence[Expr], state: str) -> tuple[list[str], dict[int, str]]:
    """Definitions of every node of the roots, once each, and the operand by node id."""
    lines: list[str] = []
    names: dict[int, str] = {}
    nodes = evaluation_order(roots)
    # A shift by a type's width or more is undefined in C; the language shifts by 62 at most.
    shifts = [node.args[1].hi + 1 for node in nodes if node.op in (Op.SHL, Op.SHR)]
    widths = [max(-node.lo - 1, node.hi).bit_length() for node in nodes]
    kind = "int32_t" if max([*shifts, *widths], default=0) < 32 else "int64_t"
    for node in nodes:
        if node.op is Op.CONST:
            names[node.id] = str(node.value) if node.value >= 0 else f"({node.value})"
            continue
        names[node.id] = f"v{node.id}"
        if node.op is Op.FIELD:
            leaf = instance.schema.leaves[node.value]
            text = f"{state}word[{leaf.word}] >> {leaf.shift} & {(1 << leaf.bits) - 1}"
        else:
            text = _operation(node, [names[arg.id] for arg in node.args])
        lines.append(f"    const {kind} v{node.id} = {text};")
    return lines, names


def _operation(node: Expr, args: list[str]) -> str:
    if node.op is Op.NOT:
        return f"!{args[0]}"
    if node.op is Op.ITE:
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if node.op is Op.SHR:
        return f"{args[0]} >> {args[1]}"
    if node.op is Op.SHL:
        return f"{args[0]} * ((int64_t)1 << {args[1]})"
    if node.op in (Op.DIV, Op.MOD):
        if node.args[0].lo < 0:
            raise Unsuited("a division of what may be negative rounds otherwise in C")
        return f"{args[0]} {'/' if node.op is Op.DIV else '%'} {args[1]}"
    return f"{args[0]} {_SYMBOLS[node.op]} {args[1]}"
