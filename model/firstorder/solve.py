"""First-order terms and clauses as z3 terms.

Importing this module imports z3, which is slow: only what asks a solver may do so.
"""

from __future__ import annotations

from operator import add, eq, lt, mul, sub
from typing import Any

import z3

from acked.model.firstorder.normal import Clause
from acked.model.firstorder.symbols import BOOL, INT, Op, Sort, Symbol, Variable
from acked.model.firstorder.terms import Term
from acked.model.formulas.connectives import evaluation_order

Z3 = Any
"""A sort, a function, a constant or a term of z3, which carries no types of its own."""


_OPERATORS = {Op.ADD: add, Op.SUB: sub, Op.MUL: mul, Op.EQ: eq, Op.LT: lt}


class Lowering:
    """The z3 terms of first-order terms, each made once, in a z3 context of their own.

    `weight` is that of every quantifier: z3 instantiates at once what costs at most 10, the rest when nothing else is left to
    do, and it costs the weight and how many instantiations its terms come from.
    """

    def __init__(self, weight: int = 1) -> None:
        self._weight = weight
        self.context = z3.Context()
        self._sorts: dict[Sort, Z3] = {BOOL: z3.BoolSort(self.context), INT: z3.IntSort(self.context)}
        self._functions: dict[Symbol, Z3] = {}
        self._variables: dict[Variable, Z3] = {}
        self._terms: dict[int, Z3] = {}
        self._clauses: dict[int, tuple[Clause, Z3]] = {}
        self._quantified: dict[str, Z3] = {}

    def term(self, root: Term) -> Z3:
        """The z3 term of a term."""
        if root.id not in self._terms:
            for node in evaluation_order([root]):
                if node.id not in self._terms:
                    self._terms[node.id] = self._lower(node)
        return self._terms[root.id]

    def clause(self, clause: Clause) -> Z3:
        """The z3 formula of a clause, its pattern with it."""
        known = self._clauses.get(id(clause))
        if known is None:
            literals = [self.term(item) for item in clause.literals]
            body = z3.Or(literals) if literals else z3.BoolVal(False, self.context)
            if clause.variables:
                pattern = z3.MultiPattern(*map(self.term, clause.pattern))
                number = f"clause{len(self._quantified)}"
                variables = [self.term(x) for x in clause.variables]
                body = z3.ForAll(variables, body, weight=self._weight, qid=number, patterns=[pattern])
                self._quantified[number] = body
            known = self._clauses[id(clause)] = (clause, body)
        return known[1]

    def instance(self, quantifier: Z3, values: list[Z3]) -> Z3 | None:
        """The instance, by these values, of the clause from which a solver made `quantifier`; None if it is of no clause."""
        context = quantifier.ctx_ref()
        number = z3.Z3_get_quantifier_id(context, quantifier.as_ast())
        clause = self._quantified.get(z3.Z3_get_symbol_string(context, number))
        if clause is None or clause.num_vars() != len(values):
            return None
        return z3.substitute_vars(clause.body(), *reversed(values))

    def _sort(self, sort: Sort) -> Z3:
        if sort not in self._sorts:
            self._sorts[sort] = z3.DeclareSort(sort.name, self.context)
        return self._sorts[sort]

    def _function(self, symbol: Symbol) -> Z3:
        if symbol not in self._functions:
            sorts = [self._sort(sort) for sort in (*symbol.arguments, symbol.result)]
            self._functions[symbol] = z3.Function(symbol.name, *sorts)
        return self._functions[symbol]

    def _variable(self, variable: Variable) -> Z3:
        if variable not in self._variables:
            self._variables[variable] = z3.Const(variable.name, self._sort(variable.sort))
        return self._variables[variable]

    def _lower(self, node: Term) -> Z3:
        args = [self._terms[arg.id] for arg in node.args]
        match node.op:
            case Op.CONST:
                return z3.BoolVal(node.value, self.context) if node.is_bool else z3.IntVal(node.value, self.context)
            case Op.VARIABLE:
                return self._variable(node.value)
            case Op.APPLY:
                return self._function(node.value)(*args)
            case Op.NOT:
                return z3.Not(args[0])
            case Op.AND:
                return z3.And(*args)
            case Op.OR:
                return z3.Or(*args)
            case Op.ITE:
                return z3.If(*args)
            case Op.EVERY | Op.SOME:
                return self._quantifier(node, args)
        return _OPERATORS[node.op](*args)

    def _quantifier(self, node: Term, args: list[Z3]) -> Z3:
        variable = self._variable(node.value)
        *bounds, body = args
        if node.op is Op.EVERY:
            if bounds:
                body = z3.Implies(z3.And(bounds[0] <= variable, variable <= bounds[1]), body)
            return z3.ForAll([variable], body)
        if bounds:
            body = z3.And(bounds[0] <= variable, variable <= bounds[1], body)
        return z3.Exists([variable], body)
