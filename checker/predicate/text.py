"""The text of a predicate: an example in a protocol's own fields, and where a text is written as other languages have it.

`example_of` is what messages and the explorer suggest; `unreadable` says where a text is no predicate: `=` for `==`, `&&` for
`and` and the like, or where Python stops reading.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from acked.base.frozen import frozen
from acked.model.language.domain import BoolDomain, EnumDomain, IdDomain, OptionalDomain, Range, SetDomain, path_name
from acked.model.language.storage.composites import LogDomain
from acked.model.language.storage.layout import Leaf, Schema
from acked.model.language.values import Id


@frozen
class Slip:
    """A place where a text is not what it seems to mean: the column from 0, and what to write instead."""

    column: int
    advice: str


_TEXT_OR_SLIP = (
    r"""(?P<text>'[^']*'|"[^"]*")|(?P<slip><=>|=>|->|/\\|\\/|\\A\b|\\E\b|\\in\b|&&|\|\|)|(?P<fine>[=!<>]=|:=)"""
    r"""|(?P<sign>=|!|≤|≥|≠|∧|∨|¬|⇒|∀|∃|∈)|(?P<word>\b(?:true|false|null|AND|OR|NOT)\b|\bimplies\b(?!\s*\())"""
)
_INSTEAD = {
    "=>": "write implies(A, B), or not A or B, instead of A => B",
    "->": "write implies(A, B), or not A or B, instead of A -> B",
    "⇒": "write implies(A, B), or not A or B, instead of A ⇒ B",
    "<=>": "write == instead of <=>",
    "/\\": "write and instead of /\\",
    "\\/": "write or instead of \\/",
    "\\A": "write all(… for r in …) instead of \\A",
    "\\E": "write any(… for r in …) instead of \\E",
    "\\in": "write in instead of \\in",
    "∀": "write all(… for r in …) instead of ∀",
    "∃": "write any(… for r in …) instead of ∃",
    "∈": "write in instead of ∈",
    "=": "== compares; = is no part of a predicate",
    "&&": "write and instead of &&",
    "||": "write or instead of ||",
    "!": "write not instead of !",
    "≤": "write <= instead of ≤",
    "≥": "write >= instead of ≥",
    "≠": "write != instead of ≠",
    "∧": "write and instead of ∧",
    "∨": "write or instead of ∨",
    "¬": "write not instead of ¬",
    "true": "write True instead of true",
    "false": "write False instead of false",
    "null": "write None instead of null",
    "AND": "write and instead of AND",
    "OR": "write or instead of OR",
    "NOT": "write not instead of NOT",
    "implies": "write implies(A, B), or not A or B, instead of A implies B",
}


def slip_in(text: str) -> Slip | None:
    """The first place of a text that cannot be read where another language's sign stands; None if there is none."""
    for found in re.finditer(_TEXT_OR_SLIP, text):
        sign = found["slip"] or found["sign"] or found["word"]
        if sign is not None:
            return Slip(found.start(), _INSTEAD[sign])
    return None


_CALLED = {
    "implies": "an implication has two parts, implies(A, B)",
    "sum": "count(… for r in …) counts; a sum is written with +",
    "max": "write all(x <= … for r in …), or a comparison, instead of max(…)",
    "min": "write all(x >= … for r in …), or a comparison, instead of min(…)",
    "every": "write all(… for r in …) instead of every(…)",
    "some": "write any(… for r in …) instead of some(…)",
    "size": "write len(…) for how many members a set has",
    "contains": "write x in … instead of ….contains(x)",
    "at": "write log[0] instead of log.at(0)",
}
_ONLY = "the only calls are any(…), all(…) and count(…), each of `… for r in …`, len(…) of a set, and implies(A, B)"


def unknown_call(name: str) -> str:
    """What is wrong with a call of something else than what predicates have."""
    return f"{_CALLED[name]}; {_ONLY}" if name in _CALLED else _ONLY


class _Implications(ast.NodeTransformer):
    """Writes `implies(A, B)` as `not A or B`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_one = isinstance(node.func, ast.Name) and node.func.id == "implies" and len(node.args) == 2 and not node.keywords
        if not is_one:
            return node
        unmet = ast.copy_location(ast.UnaryOp(ast.Not(), node.args[0]), node.args[0])
        return ast.copy_location(ast.BoolOp(ast.Or(), [unmet, node.args[1]]), node)


def flattened(text: str) -> str:
    """A text of several lines as one line."""
    return " ".join(text.splitlines())


def parse(flat: str) -> ast.Expression:
    """The syntax of a text of one line; what `ast.parse` raises if it is none of Python's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python about text that is none of its own
        tree: ast.Expression = _Implications().visit(ast.parse(flat.strip(), mode="eval"))
    return tree


def unreadable(text: str, error: BaseException, schema: Schema) -> str:
    """What is wrong with a text that is no Python expression: a sign of another language, or Python's own place."""
    hint = f"write e.g. {example_of(schema)}"
    if (slip := slip_in(text)) is not None:
        return f"column {slip.column + 1}: {slip.advice}; {hint}"
    if not isinstance(error, SyntaxError) or error.lineno != 1:
        return f"the predicate cannot be read; {hint}"
    if not error.offset:  # Python's way to say that more was to come.
        return f"the predicate ends at column {len(text.rstrip())}, where more is to come; {hint}"
    at = error.offset + len(text) - len(text.lstrip())
    why = f": {error.msg}" if error.msg != "invalid syntax" else ""
    return f"the predicate cannot be read at column {min(at, len(text))}{why}; {hint}"


def example_of(schema: Schema) -> str:
    """A predicate that means something under this schema: `quorum.isr == {0} and log[1].end > 0`."""
    parts = [part for part in (_about_the_whole(schema), _about_one(schema)) if part]
    return " and ".join(dict.fromkeys(parts)) or f"{schema.leaves[0].name} == 0"


def such_a_set(schema: Schema, form: str = "{}") -> str:
    """`, such as quorum.isr`: a set of this schema; nothing if it has none."""
    found = next((leaf.name for leaf, kind in _kinds(schema) if kind == "set"), None)
    return "" if found is None else f", such as {form.format(found)}"


def _about_the_whole(schema: Schema) -> str:
    """A condition on a field that the state has once: a set rather than an id, an id rather than a truth value."""
    said: dict[str, str] = {}
    for leaf, kind in _kinds(schema):
        if not any(isinstance(part, int) for part in leaf.path):
            domain = leaf.domain.bare
            value = f' == "{domain.item.names[-1]}"' if isinstance(domain, EnumDomain) else ""
            said.setdefault(kind, f"{leaf.name}{value}")
    if "set" in said:
        return f"{said['set']} == {{0}}"
    return f"{said['id']} == 0" if "id" in said else said.get("flag") or said.get("name", "")


def _about_one(schema: Schema) -> str:
    """A condition on a number, of the second of many things rather than the first, so that it shows what an index is."""
    for leaf, kind in _kinds(schema):
        if kind == "number":
            second = tuple(1 if part == 0 else part for part in leaf.path)
            return f"{path_name(second if second in schema.by_path else leaf.path)} > {_least(leaf, schema)}"
    return ""


def _kinds(schema: Schema) -> Iterator[tuple[Leaf, str]]:
    """Every leaf that has more than one value, with its kind; but none of records and messages, which may not be there."""
    for leaf in schema.leaves:
        domain = leaf.domain.bare
        if leaf.cardinality < 2 or LogDomain.RECORDS in leaf.path or leaf.path in schema.messages:
            continue
        if isinstance(domain, SetDomain):
            yield leaf, "set"
        elif isinstance(domain, IdDomain) or (isinstance(domain, OptionalDomain) and issubclass(domain.item, Id)):
            yield leaf, "id"
        elif isinstance(domain, BoolDomain):
            yield leaf, "flag"
        elif isinstance(domain, EnumDomain):
            yield leaf, "name"
        elif isinstance(domain, Range):
            yield leaf, "number"


def _least(leaf: Leaf, schema: Schema) -> int:
    domain = leaf.domain.bare
    assert isinstance(domain, Range)
    return domain.bounds(schema.constants)[0]
