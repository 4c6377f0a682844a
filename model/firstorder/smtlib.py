"""Queries as SMT-LIB 2.6 texts, for solvers of which acked knows nothing.

`script`, the text of a query. It is made from the same clauses that z3 is given (`solve.Lowering`), without z3: what it says
depends on no solver's version, and two people who read one protocol get one text, byte for byte.

Only what the standard has is used: declared sorts and functions, linear integers, `let` for shared terms, and patterns, which
a solver may ignore.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from acked.model.firstorder.normal import Clause
from acked.model.firstorder.query import Hints, Query
from acked.model.firstorder.symbols import BOOL, INT, Op, Sort, Symbol
from acked.model.firstorder.terms import Term
from acked.model.formulas.connectives import evaluation_order

LOGIC = "UFLIA"
"""Uninterpreted functions and sorts, linear integers, quantifiers."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_!.]*")
_RESERVED = frozenset(("as", "let", "exists", "forall", "match", "par", "BINARY", "DECIMAL", "NUMERAL", "STRING"))
"""Words of the language, which are no names."""

_TAKEN = frozenset(("Bool", "Int", "true", "false", "not", "and", "or", "xor", "distinct", "ite", "div", "mod", "abs"))
"""Names that the logic has given already; quoting does not make others of them."""

_NEUTRAL = {Op.AND: "true", Op.OR: "false"}


def script(
    query: Query, hints: Hints, heading: Sequence[str] = (), further: Sequence[Clause] = (), weight: int = 1
) -> str:
    """A text that is unsatisfiable exactly if the query's conclusion follows; `heading` are lines of comment.

    `further` are hints besides; `weight` is for z3, and says how soon it looks at a quantifier (`solve.Lowering`).
    """
    writer = _Writer("" if weight == 1 else f" :weight {weight}")
    body: list[str] = []
    for part in query.parts:
        if part.clauses:
            body.append(f"; {'assumed: ' + part.label if part.label else 'given, or the denial of what is to be shown'}")
            body += map(writer.assertion, part.clauses)
    if hinted := (*query.hint_clauses(hints), *further):
        body.append("; hints: marks mean nothing, they are true of everything")
        body += map(writer.assertion, hinted)
    head = [f"; {line}" for line in heading]
    head += ["(set-info :smt-lib-version 2.6)", "(set-info :status unsat)", f"(set-logic {LOGIC})"]
    return "\n".join([*head, *writer.declarations, *body, "(check-sat)", "(exit)", ""])


class _Writer:
    """Writes clauses, and declares what they use when it first occurs."""

    def __init__(self, further: str) -> None:
        self._further = further
        self.declarations: list[str] = []
        self._sorts: dict[Sort, str] = {BOOL: "Bool", INT: "Int"}
        self._functions: dict[Symbol, str] = {}
        self._taken: set[str] = set(_TAKEN)

    def assertion(self, clause: Clause) -> str:
        """The clause as a command."""
        if not clause.variables:
            return f"(assert {self._disjunction(clause.literals)})"
        variables = " ".join(f"({_name(x.value.name)} {self._sort(x.sort)})" for x in clause.variables)
        pattern = " ".join(self._plain(item, {}) for item in clause.pattern)
        return f"(assert (forall ({variables}) (! {self._disjunction(clause.literals)} :pattern ({pattern}){self._further})))"

    def _disjunction(self, literals: Sequence[Term]) -> str:
        """One of the literals holds; a compound term that occurs more than once is written once, with a name."""
        uses: dict[int, int] = {}
        for node in evaluation_order(literals):
            for arg in node.args:
                uses[arg.id] = uses.get(arg.id, 0) + 1
        for item in literals:
            uses[item.id] = uses.get(item.id, 0) + 1
        known: dict[int, str] = {}
        lets: list[str] = []
        for node in evaluation_order(literals):
            if node.args and uses[node.id] > 1:
                text = self._plain(node, known)
                known[node.id] = f"?{len(lets)}"
                lets.append(text)
        body = _many("or", "false", [self._plain(item, known) for item in literals])
        for number in reversed(range(len(lets))):
            body = f"(let ((?{number} {lets[number]})) {body})"
        return body

    def _plain(self, root: Term, known: dict[int, str]) -> str:
        """The term, with these names for some of its parts."""
        texts: dict[int, str] = {}
        for node in _beneath(root, known):
            texts[node.id] = self._node(node, [known.get(arg.id) or texts[arg.id] for arg in node.args])
        return texts[root.id] if root.id in texts else known[root.id]

    def _node(self, node: Term, args: list[str]) -> str:
        match node.op:
            case Op.CONST:
                if node.is_bool:
                    return "true" if node.value else "false"
                return str(node.value) if node.value >= 0 else f"(- {-node.value})"
            case Op.VARIABLE:
                return _name(node.value.name)
            case Op.APPLY:
                name = self._function(node.value)
                return f"({name} {' '.join(args)})" if args else name
            case Op.AND | Op.OR:
                return _many(node.op.value, _NEUTRAL[node.op], args)
            case Op.EVERY | Op.SOME:
                raise AssertionError("literals of clauses have no quantifiers")
        return f"({node.op.value} {' '.join(args)})"

    def _sort(self, sort: Sort) -> str:
        if sort not in self._sorts:
            self._sorts[sort] = self._fresh(sort.name)
            self.declarations.append(f"(declare-sort {self._sorts[sort]} 0)")
        return self._sorts[sort]

    def _function(self, symbol: Symbol) -> str:
        if symbol not in self._functions:
            arguments = " ".join(self._sort(sort) for sort in symbol.arguments)
            result = self._sort(symbol.result)
            self._functions[symbol] = self._fresh(symbol.name)
            self.declarations.append(f"(declare-fun {self._functions[symbol]} ({arguments}) {result})")
        return self._functions[symbol]

    def _fresh(self, name: str) -> str:
        """A symbol that nothing else has: the standard lets no two functions share a name."""
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}.{number}"
        self._taken.add(found)
        return _name(found)


def _beneath(root: Term, known: dict[int, str]) -> Iterable[Term]:
    """The term's parts, each after its own parts, as far as they have no name yet; the root in any case."""
    done: set[int] = set()
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            yield node
        elif node.id not in done and (node is root or node.id not in known):
            done.add(node.id)
            stack.append((node, True))
            stack += [(arg, False) for arg in node.args]


def _many(sign: str, neutral: str, args: Sequence[str]) -> str:
    """A chain of any length; the standard wants two members at least."""
    return neutral if not args else args[0] if len(args) == 1 else f"({sign} {' '.join(args)})"


def _name(text: str) -> str:
    """The symbol as the standard writes it."""
    return text if _PLAIN.fullmatch(text) and text not in _RESERVED else f"|{text}|"
