"""LLVM IR as it is emitted: instructions on one type, expressions as such instructions, and the loop around them.

`Code`, and how packed states are loaded word by word and stored again.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.model.language.storage.layout import Leaf

_OPERATIONS = {
    Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.BITAND: "and", Op.BITOR: "or", Op.BITXOR: "xor", Op.SHL: "shl",
    Op.SHR: "ashr",
}  # fmt: skip


class Code:
    """Emits instructions on one type: a vector of lanes, or one 64-bit integer."""

    def __init__(self, lane: str, lanes: int) -> None:
        self.lane = lane
        self.lanes = lanes
        self.int_type = lane if lanes == 1 else f"<{lanes} x {lane}>"
        self.bool_type = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.lines: list[str] = []
        self._counter = 0

    def let(self, text: str) -> str:
        """One instruction with a result, which has a number for a name: LLVM reads those without a table of names.

        They count up from 0 in the order of the lines, so whatever else a function has must be named.
        """
        name = f"%{self._counter}"
        self._counter += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """One instruction without a result."""
        self.lines.append(f"  {text}")

    def op(self, name: str, a: str, b: str | int) -> str:
        """`a op b` in every lane; a number of 64 bits stands for itself."""
        return self.let(f"{name} {self.int_type} {a}, {self.literal(b) if isinstance(b, int) else b}")

    def literal(self, value: int, is_bool: bool = False) -> str:
        """A constant in every lane."""
        if is_bool:
            if self.lanes == 1:
                return "true" if value else "false"
            return f"splat (i1 {'true' if value else 'false'})"
        signed = value - (1 << 64) if value >> 63 == 1 else value
        return str(signed) if self.lanes == 1 else f"splat ({self.lane} {signed})"

    def field(self, words: Sequence[str], leaf: Leaf) -> str:
        """The code of a leaf, from the words of its states."""
        value = words[leaf.word]
        if leaf.shift:
            value = self.op("lshr", value, leaf.shift)
        return self.op("and", value, (1 << leaf.bits) - 1) if leaf.shift + leaf.bits < 64 else value

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
            return self.op("shl", args[0], node.args[1].value.bit_length() - 1)
        if op in (Op.DIV, Op.MOD):
            return self._divide(node, *args)
        return self.op(_OPERATIONS[op], *args)

    def _divide(self, node: Expr, a: str, b: str) -> str:
        if node.args[0].lo >= 0:
            return self.op("udiv" if node.op is Op.DIV else "urem", a, b)
        # The machine rounds towards zero, the language towards minus infinity.
        remainder = self.op("srem", a, b)
        negative = self.op("icmp slt", remainder, 0)
        rounded = remainder if node.op is Op.MOD else self.op("sdiv", a, b)
        corrected = self.op("add", rounded, b) if node.op is Op.MOD else self.op("sub", rounded, 1)
        return self.let(f"select {self.bool_type} {negative}, {self.int_type} {corrected}, {self.int_type} {rounded}")


# -- packed states ------------------------------------------------------------------------------------------------------


def load_states(code: Code, count: int) -> tuple[str, list[str]]:
    """Of the states at %states that are this round's, a group of lanes: where they stand, and each of their `count` words."""
    size = code.lanes * count
    first = code.let(f"mul nuw nsw i64 %i, {size}")
    place = code.let(f"getelementptr inbounds i64, ptr %states, i64 {first}")
    loaded = code.let(f"load <{size} x i64>, ptr {place}, align 8")
    words = []
    for word in range(count):
        picks = ", ".join(f"i32 {lane * count + word}" for lane in range(code.lanes))
        order = f"<{code.lanes} x i32> <{picks}>"
        words.append(code.let(f"shufflevector <{size} x i64> {loaded}, <{size} x i64> poison, {order}"))
    return place, words


def store_states(code: Code, words: Sequence[str], target: str) -> None:
    """Stores states one after the other, from the values of every word."""
    group = code.lanes
    if group == 1:
        # No vectors here: LLVM's quickest way of compiling knows none, and the other takes five times as long.
        for word, value in enumerate(words):
            code.do(f"store i64 {value}, ptr {code.let(f'getelementptr inbounds i64, ptr {target}, i64 {word}')}")
        return
    joined, width = list(words), group
    while len(joined) > 1:
        order = ", ".join(f"i32 {k}" for k in range(2 * width))
        kind = f"<{width} x i64>"
        pairs = [(joined[k], joined[k + 1] if k + 1 < len(joined) else "poison") for k in range(0, len(joined), 2)]
        joined = [code.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{order}>") for a, b in pairs]
        width *= 2
    order = ", ".join(f"i32 {word * group + k}" for k in range(group) for word in range(len(words)))
    size = group * len(words)
    states = code.let(f"shufflevector <{width} x i64> {joined[0]}, <{width} x i64> poison, <{size} x i32> <{order}>")
    code.do(f"store <{size} x i64> {states}, ptr {target}, align 8")


# -- the loop -----------------------------------------------------------------------------------------------------------

_HEAD = """\
entry:
{opening}  %any = icmp ne i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}"""

_TAIL = """\
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
{result}
}}
"""


def loop(
    head: str, body: Sequence[str], phis: str = "", result: str = "  ret i64 0", opening: str = "", linkage: str = ""
) -> str:
    """A function that does its body `%count` times, for `%i` from 0 on."""
    begin, end = _HEAD.format(phis=phis, opening=opening), _TAIL.format(result=result)
    return "\n".join([f"define {linkage}i64 {head} nounwind {{", begin, *body, end])
