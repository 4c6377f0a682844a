"""Machine code made from a protocol: guards and invariants of many states at once, and successors one by one.

The LLVM IR of three kinds of functions, emitted straight from the expression nodes.

- `unpack(states, columns, blocks)` and `guards(columns, rows, blocks)` decide all guards and properties (`slices.py`).
- `fire_k(states, list, count, out, flags)`: the successors of `count` states, named by 16-bit indices, under action
  instance k; where steps need checks, flags[j] gets one bit per violated check and the result is their union. One state at
  a time takes a tenth of the time to compile, a vector of states half the time to run.

Nothing here depends on the vector width of the machine at hand: LLVM splits the vectors where registers are narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acked.checker.loops.slots import FIRE_GROUP, LANES
from acked.checker.native.instructions import Code, loop, store_states
from acked.checker.native.programs import steps_of
from acked.checker.native.representatives import representatives_ir
from acked.checker.native.slices import slices_ir
from acked.checker.question.plan import KernelPlan, StepCheck
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op


def _leaves_of(roots: Sequence[Expr]) -> list[int]:
    return [node.value for node in evaluation_order(roots) if node.op is Op.FIELD]


def _fire(plan: KernelPlan, index: int, checks: Sequence[StepCheck], roots: Sequence[Expr], group: int) -> str:
    """So many states at a time, by their places in a list: load their words, change what is changed, and store them."""
    schema, step = plan.instance.schema, plan.instance.actions[index]
    code = Code("i64", group)
    number = code.int_type
    start = code.let(f"mul nuw nsw i64 %i, {group}")
    words = _listed_words(code, start, schema.words)
    fields = {number: code.field(words, schema.leaves[number]) for number in _leaves_of(roots)}
    values = code.expressions(roots, fields)
    results = []
    for word in range(schema.words):
        # A leaf of one value has no bits to change; its shift may be the word's width.
        changed = [(k, new) for k, new in step.updates if schema.leaves[k].word == word and schema.leaves[k].bits]
        kept = (1 << 64) - 1
        for k, _ in changed:
            kept &= ~(((1 << schema.leaves[k].bits) - 1) << schema.leaves[k].shift)
        result = words[word] if not changed else code.op("and", words[word], kept)
        for k, new in changed:
            leaf = schema.leaves[k]
            value = values[new.id]
            if new.lo < 0 or new.hi >= 1 << leaf.bits:  # such a step is flagged; it must not spill into neighbours
                value = code.op("and", value, (1 << leaf.bits) - 1)
            if leaf.shift:
                value = code.op("shl", value, leaf.shift)
            result = code.op("or", result, value)
        results.append(result)
    first = code.let(f"mul nuw nsw i64 {start}, {schema.words}")
    target = code.let(f"getelementptr inbounds i64, ptr %out, i64 {first}")
    store_states(code, results, target)
    head = f"@fire_{index}(ptr noalias %states, ptr noalias %list, i64 %listed, ptr noalias %out, ptr noalias %flags)"
    opening = f"  %filled = add i64 %listed, {group - 1}\n  %count = udiv i64 %filled, {group}\n"
    if not checks:
        return loop(head, code.lines, opening=opening)
    flags = code.literal(0)
    for check in checks:
        bit = code.let(f"zext {code.bool_type} {values[check.violated.id]} to {number}")
        flags = code.op("or", flags, code.op("shl", bit, check.bit))
    code.do(f"store {number} {flags}, ptr {code.let(f'getelementptr inbounds i64, ptr %flags, i64 {start}')}, align 8")
    code.do(f"%union = or {number} %seen, {flags}")
    union = "  ret i64 %all"
    if group > 1:
        union = f"  %one = call i64 @llvm.vector.reduce.or.v{group}i64({number} %all)\n  ret i64 %one"
    nothing = code.literal(0)
    return loop(
        head,
        code.lines,
        f"  %seen = phi {number} [ {nothing}, %entry ], [ %union, %loop ]",
        f"  %all = phi {number} [ {nothing}, %entry ], [ %union, %loop ]\n{union}",
        opening,
    )


def _listed_words(code: Code, start: str, words: int) -> list[str]:
    """Every word of the states whose places stand in %list from `start` on."""
    group, number = code.lanes, code.int_type
    narrow = "i16" if group == 1 else f"<{group} x i16>"
    pick = code.let(f"getelementptr inbounds i16, ptr %list, i64 {start}")
    index = code.let(f"zext {narrow} {code.let(f'load {narrow}, ptr {pick}, align 2')} to {number}")
    place = code.let(f"mul nuw nsw {number} {index}, {code.literal(words)}")
    found = []
    for word in range(words):
        base = code.let(f"getelementptr inbounds i64, ptr %states, i64 {word}")
        pointer = code.let(f"getelementptr inbounds i64, ptr {base}, {number} {place}")
        if group == 1:
            found.append(code.let(f"load i64, ptr {pointer}"))
        else:
            gather = f"@llvm.masked.gather.v{group}i64.v{group}p0"
            mask = f"{code.bool_type} {code.literal(1, is_bool=True)}"
            found.append(code.let(f"call {number} {gather}(<{group} x ptr> {pointer}, i32 8, {mask}, {number} poison)"))
    return found


def vector_ir(plan: KernelPlan, lanes: int = LANES) -> str:
    """LLVM IR of `unpack` and `guards`, for so many lanes, and of `representatives` where the plan is symmetric.

    In one module: LLVM's loader takes the constants of only one object from where they are.
    """
    symmetric = [representatives_ir(plan.instance)] if plan.is_symmetric else []
    return "\n".join([slices_ir(plan, lanes), *symmetric])


def fire_ir(plan: KernelPlan, actions: Iterable[int] | None = None) -> str:
    """LLVM IR of `fire_k` of every action, or of these, one state at a time: quickly compiled."""
    steps = steps_of(plan)
    return "\n".join(_fire(plan, index, *steps[index], 1) for index in (range(len(steps)) if actions is None else actions))


def optimized_ir(plan: KernelPlan) -> str:
    """LLVM IR of the whole kernel as a long search has it; see `successors_ir`."""
    return "\n".join([vector_ir(plan), successors_ir(plan, FIRE_GROUP, range(len(plan.instance.actions)))])


def successors_ir(plan: KernelPlan, group: int, actions: Iterable[int]) -> str:
    """LLVM IR of `fire_k` of these actions, of so many states at a time: slowly compiled, for long searches.

    `group` is FIRE_GROUP or a divisor of it. One that fills more than a register makes more code, which a search has to read
    again and again: the actions of a large protocol together are larger than the caches of a core.
    """
    steps = steps_of(plan)
    lanes = f"v{group}i64"
    wide, pointers, truths = (f"<{group} x {kind}>" for kind in ("i64", "ptr", "i1"))
    return "\n".join(
        [
            f"declare {wide} @llvm.masked.gather.{lanes}.v{group}p0({pointers}, i32, {truths}, {wide})",
            f"declare i64 @llvm.vector.reduce.or.{lanes}({wide})",
            *(_fire(plan, index, *steps[index], group) for index in actions),
        ]
    )
