"""Machine code made from a protocol: guards and invariants of many states at once, and successors one by one.

The LLVM IR of three kinds of functions, emitted straight from the expression nodes.

- `unpack(states, columns, blocks)`: packed states (W words each) become one column of narrow lanes per leaf.
- `guards(columns, rows, blocks)`: branch-free, a full vector register of states at a time; row r is a bit per state: for
  r < actions whether action r is enabled, then for each state property whether the state *violates* it.
- `fire_k(states, list, count, out, flags)`: the successors of `count` states, named by 16-bit indices, under action
  instance k; where steps need checks, flags[j] gets one bit per violated check and the result is their union. One state at
  a time takes a tenth of the time to compile, a vector of states half the time to run.

Lanes are as narrow as the intervals of all expressions allow, so one AVX-512 instruction handles 64 states of a small
protocol. Booleans are mask registers. Nothing here depends on the vector width of the machine at hand: LLVM splits the
vectors where registers are narrower.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.checker.loops.slots import FIRE_GROUP
from acked.checker.question.orbits import representatives_ir
from acked.checker.question.plan import BATCH, KernelPlan
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.model.language.tracings import ActionInstance


class _Code:
    """Emits expressions as instructions on one type: a vector of lanes, or one 64-bit integer."""

    def __init__(self, lane: str, lanes: int) -> None:
        self.lane = lane
        self.lanes = lanes
        self.int_type = lane if lanes == 1 else f"<{lanes} x {lane}>"
        self.bool_type = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self._counter = 0

    def let(self, text: str) -> str:
        """One instruction with a result."""
        self._counter += 1
        name = f"%v{self._counter}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """One instruction without a result."""
        self.lines.append(f"  {text}")

    def literal(self, value: int, is_bool: bool = False) -> str:
        """A constant in every lane."""
        if is_bool:
            if self.lanes == 1:
                return "true" if value else "false"
            return f"splat (i1 {'true' if value else 'false'})"
        return str(value) if self.lanes == 1 else f"splat ({self.lane} {value})"

    def expressions(self, roots: Sequence[Expr], fields: dict[int, str]) -> dict[int, str]:
        """Operand text by node id; `fields` gives the operand of every leaf that occurs."""
        value: dict[int, str] = {}
        for node in evaluation_order(roots):
            if node.op is Op.CONST:
                value[node.id] = self.literal(node.value, node.is_bool)
            elif node.op is Op.FIELD:
                value[node.id] = fields[node.value]
            else:
                value[node.id] = self._node(node, [value[arg.id] for arg in node.args])
        return value

    def _node(self, node: Expr, args: list[str]) -> str:
        op, t, b = node.op, self.int_type, self.bool_type
        if op is Op.NOT:
            return self.let(f"xor {b} {args[0]}, {self.literal(1, True)}")
        if op is Op.AND:
            return self.let(f"and {b} {args[0]}, {args[1]}")
        if op is Op.OR:
            return self.let(f"or {b} {args[0]}, {args[1]}")
        if op is Op.EQ:
            return self.let(f"icmp eq {b if node.args[0].is_bool else t} {args[0]}, {args[1]}")
        if op is Op.LT:
            return self.let(f"icmp slt {t} {args[0]}, {args[1]}")
        if op is Op.ITE:
            kind = b if node.is_bool else t
            return self.let(f"select {b} {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
        if op is Op.MUL and node.args[1].is_const and node.args[1].value.bit_count() == 1 and node.args[1].value > 0:
            return self.let(f"shl {t} {args[0]}, {self.literal(node.args[1].value.bit_length() - 1)}")
        if op in (Op.DIV, Op.MOD):
            return self._divide(node, args)
        name = {
            Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.BITAND: "and", Op.BITOR: "or", Op.BITXOR: "xor",
            Op.SHL: "shl", Op.SHR: "ashr",
        }[op]  # fmt: skip
        return self.let(f"{name} {t} {args[0]}, {args[1]}")

    def _divide(self, node: Expr, args: list[str]) -> str:
        t, (a, b) = self.int_type, args
        if node.args[0].lo >= 0:
            return self.let(f"{'udiv' if node.op is Op.DIV else 'urem'} {t} {a}, {b}")
        # The machine rounds towards zero, the language towards minus infinity.
        remainder = self.let(f"srem {t} {a}, {b}")
        negative = self.let(f"icmp slt {t} {remainder}, {self.literal(0)}")
        if node.op is Op.MOD:
            corrected = self.let(f"add {t} {remainder}, {b}")
            return self.let(f"select {self.bool_type} {negative}, {t} {corrected}, {t} {remainder}")
        quotient = self.let(f"sdiv {t} {a}, {b}")
        corrected = self.let(f"sub {t} {quotient}, {self.literal(1)}")
        return self.let(f"select {self.bool_type} {negative}, {t} {corrected}, {t} {quotient}")


def _leaves_of(roots: Sequence[Expr]) -> list[int]:
    return [node.value for node in evaluation_order(roots) if node.op is Op.FIELD]


_LOOP_HEAD = """\
entry:
{opening}  %any = icmp ne i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}"""

_LOOP_TAIL = """\
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
{result}
}}
"""


def _looped(head: str, body: Sequence[str], phis: str = "", result: str = "  ret i64 0", opening: str = "") -> str:
    begin, end = _LOOP_HEAD.format(phis=phis, opening=opening), _LOOP_TAIL.format(result=result)
    return "\n".join([f"define i64 {head} nounwind {{", begin, *body, end])


def _unpack(plan: KernelPlan) -> str:
    """Eight states at a time: deinterleave their words, then shift, mask and narrow every leaf."""
    group = 8
    schema = plan.instance.schema
    words = schema.words
    wide = f"<{group} x i64>"
    code = _Code("i64", group)
    start = code.let(f"mul nuw nsw i64 %i, {group}")
    raw = code.let(f"getelementptr inbounds i64, ptr %states, i64 {code.let(f'mul nuw nsw i64 {start}, {words}')}")
    loaded = code.let(f"load <{group * words} x i64>, ptr {raw}, align 8")
    lanes = []
    for word in range(words):
        picks = ", ".join(f"i32 {k * words + word}" for k in range(group))
        lanes.append(
            code.let(
                f"shufflevector <{group * words} x i64> {loaded}, <{group * words} x i64> poison, "
                f"<{group} x i32> <{picks}>"
            )
        )
    for index, leaf in enumerate(schema.leaves):
        if leaf.bits == 0:
            continue
        value = lanes[leaf.word]
        if leaf.shift:
            value = code.let(f"lshr {wide} {value}, {code.literal(leaf.shift)}")
        value = code.let(f"and {wide} {value}, {code.literal((1 << leaf.bits) - 1)}")
        lane = f"i{plan.lane_bits}"
        if plan.lane_bits < 64:
            value = code.let(f"trunc {wide} {value} to <{group} x {lane}>")
        column = code.let(f"getelementptr inbounds i8, ptr %columns, i64 {index * plan.column_bytes}")
        target = code.let(f"getelementptr inbounds {lane}, ptr {column}, i64 {start}")
        code.do(f"store <{group} x {lane}> {value}, ptr {target}, align {plan.lane_bits // 8}")
    return _looped("@unpack(ptr noalias %states, ptr noalias %columns, i64 %count)", code.lines)


def _guards(plan: KernelPlan) -> str:
    block = plan.block
    code = _Code(f"i{plan.lane_bits}", block)
    roots = [*(item.guard for item in plan.instance.actions), *plan.state_violations]
    start = code.let(f"mul nuw nsw i64 %i, {block}")
    fields: dict[int, str] = {}
    for leaf in _leaves_of(roots):
        column = code.let(f"getelementptr inbounds i8, ptr %columns, i64 {leaf * plan.column_bytes}")
        address = code.let(f"getelementptr inbounds {code.lane}, ptr {column}, i64 {start}")
        fields[leaf] = code.let(f"load {code.int_type}, ptr {address}, align {block * plan.lane_bits // 8}")
    values = code.expressions(roots, fields)
    for row, root in enumerate(roots):
        bits = code.let(f"bitcast {code.bool_type} {values[root.id]} to i{block}")
        base = code.let(f"getelementptr inbounds i8, ptr %rows, i64 {row * BATCH // 8}")
        address = code.let(f"getelementptr inbounds i{block}, ptr {base}, i64 %i")
        code.do(f"store i{block} {bits}, ptr {address}, align {block // 8}")
    return _looped("@guards(ptr noalias %columns, ptr noalias %rows, i64 %count)", code.lines)


def _fire(plan: KernelPlan, index: int, step: ActionInstance, group: int) -> str:
    """So many states at a time, by their places in a list: load their words, change what is changed, and store them."""
    schema = plan.instance.schema
    checks = [check for check in plan.step_checks if check.action == index]
    code = _Code("i64", group)
    number = code.int_type
    start = code.let(f"mul nuw nsw i64 %i, {group}")
    words = _listed_words(code, start, schema.words)
    roots = [*(new for _, new in step.updates), *(check.violated for check in checks)]
    fields = {}
    for leaf_number in _leaves_of(roots):
        leaf = schema.leaves[leaf_number]
        value = words[leaf.word]
        if leaf.shift:
            value = code.let(f"lshr {number} {value}, {code.literal(leaf.shift)}")
        if leaf.shift + leaf.bits < 64:
            value = code.let(f"and {number} {value}, {code.literal((1 << leaf.bits) - 1)}")
        fields[leaf_number] = value
    values = code.expressions(roots, fields)
    results = []
    for word in range(schema.words):
        # A leaf of one value has no bits to change; its shift may be the word's width.
        changed = [(k, new) for k, new in step.updates if schema.leaves[k].word == word and schema.leaves[k].bits]
        kept = (1 << 64) - 1
        for k, _ in changed:
            kept &= ~(((1 << schema.leaves[k].bits) - 1) << schema.leaves[k].shift)
        result = words[word] if not changed else code.let(f"and {number} {words[word]}, {code.literal(_signed(kept))}")
        for k, new in changed:
            leaf = schema.leaves[k]
            value = values[new.id]
            if new.lo < 0 or new.hi >= 1 << leaf.bits:  # such a step is flagged; it must not spill into neighbours
                value = code.let(f"and {number} {value}, {code.literal((1 << leaf.bits) - 1)}")
            if leaf.shift:
                value = code.let(f"shl {number} {value}, {code.literal(leaf.shift)}")
            result = code.let(f"or {number} {result}, {value}")
        results.append(result)
    first = code.let(f"mul nuw nsw i64 {start}, {schema.words}")
    target = code.let(f"getelementptr inbounds i64, ptr %out, i64 {first}")
    _store_states(code, results, target)
    head = f"@fire_{index}(ptr noalias %states, ptr noalias %list, i64 %listed, ptr noalias %out, ptr noalias %flags)"
    opening = f"  %filled = add i64 %listed, {group - 1}\n  %count = udiv i64 %filled, {group}\n"
    if not checks:
        return _looped(head, code.lines, opening=opening)
    flags = code.literal(0)
    for check in checks:
        bit = code.let(f"zext {code.bool_type} {values[check.violated.id]} to {number}")
        flags = code.let(f"or {number} {flags}, {code.let(f'shl {number} {bit}, {code.literal(check.bit)}')}")
    code.do(f"store {number} {flags}, ptr {code.let(f'getelementptr inbounds i64, ptr %flags, i64 {start}')}, align 8")
    code.do(f"%union = or {number} %seen, {flags}")
    union = "  ret i64 %all"
    if group > 1:
        union = f"  %one = call i64 @llvm.vector.reduce.or.v{group}i64({number} %all)\n  ret i64 %one"
    nothing = code.literal(0)
    return _looped(
        head,
        code.lines,
        f"  %seen = phi {number} [ {nothing}, %entry ], [ %union, %loop ]",
        f"  %all = phi {number} [ {nothing}, %entry ], [ %union, %loop ]\n{union}",
        opening,
    )


def _listed_words(code: _Code, start: str, words: int) -> list[str]:
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


def _store_states(code: _Code, columns: Sequence[str], target: str) -> None:
    """Stores states one after the other, from the values of every word."""
    group = code.lanes
    if group == 1:
        # No vectors here: LLVM's quickest way of compiling knows none, and the other takes five times as long.
        for word, value in enumerate(columns):
            code.do(f"store i64 {value}, ptr {code.let(f'getelementptr inbounds i64, ptr {target}, i64 {word}')}")
        return
    joined, width = list(columns), group
    while len(joined) > 1:
        order = ", ".join(f"i32 {k}" for k in range(2 * width))
        kind = f"<{width} x i64>"
        pairs = [(joined[k], joined[k + 1] if k + 1 < len(joined) else "poison") for k in range(0, len(joined), 2)]
        joined = [code.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{order}>") for a, b in pairs]
        width *= 2
    order = ", ".join(f"i32 {word * group + k}" for k in range(group) for word in range(len(columns)))
    size = group * len(columns)
    states = code.let(f"shufflevector <{width} x i64> {joined[0]}, <{width} x i64> poison, <{size} x i32> <{order}>")
    code.do(f"store <{size} x i64> {states}, ptr {target}, align 8")


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def vector_ir(plan: KernelPlan) -> str:
    """LLVM IR of `unpack` and `guards`, and of `representatives` where the plan is symmetric.

    In one module: LLVM's loader takes the constants of only one object from where they are.
    """
    symmetric = [representatives_ir(plan.instance)] if plan.is_symmetric else []
    return "\n".join([_unpack(plan), _guards(plan), *symmetric])


def fire_ir(plan: KernelPlan) -> str:
    """LLVM IR of every `fire_k`, one state at a time: quickly compiled."""
    return "\n".join(_fire(plan, index, step, 1) for index, step in enumerate(plan.instance.actions))


def optimized_ir(plan: KernelPlan) -> str:
    """LLVM IR of the whole kernel with every `fire_k` of a vector of states: slowly compiled, for long searches."""
    lanes = f"v{FIRE_GROUP}i64"
    wide, pointers, truths = (f"<{FIRE_GROUP} x {kind}>" for kind in ("i64", "ptr", "i1"))
    return "\n".join(
        [
            vector_ir(plan),
            f"declare {wide} @llvm.masked.gather.{lanes}.v{FIRE_GROUP}p0({pointers}, i32, {truths}, {wide})",
            f"declare i64 @llvm.vector.reduce.or.{lanes}({wide})",
            *(_fire(plan, index, step, FIRE_GROUP) for index, step in enumerate(plan.instance.actions)),
        ]
    )
