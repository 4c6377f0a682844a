"""Formulas as TLA+: masks become sets again, codes values, and paths records and functions: `Writer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from acked.model.formulas.expr import Expr, Op, operands
from acked.model.language.domain import (
    BoolDomain,
    Domain,
    EnumDomain,
    LeafDomain,
    OptionalDomain,
    Range,
    SetDomain,
)
from acked.model.language.storage.composites import ArrayDomain, Declaration, LogDomain, StructDomain, as_leaf, is_absent
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.storage.store import SymbolicPath
from acked.reports.exports.tla_names import (
    ATOM,
    COMPARED,
    IMPLIES,
    JOINED,
    NONE,
    OPEN,
    PRODUCT,
    SUM,
    UNION,
    Sets,
    Text,
    kept_as,
    moved,
    negation,
    number_text,
    record_text,
    refuse_bits,
    refuse_enum,
    within,
)
from acked.reports.exports.tla_reading import Clamped, Place, Quantified, Sketch, Variable


class Writer:
    """Writes the formulas of a sketch, whose state is a struct."""

    def __init__(self, pool: Sketch, state: type[Declaration], sets: Sets) -> None:
        self._pool, self._sets = pool, sets
        self._constants = sets.constants
        self._root = StructDomain(state)
        self.helpers: dict[str, None] = {}
        """The operators that were used."""
        self.shared: dict[int, str] = {}
        """What has a name of its own where it is written, by the nodes' numbers."""

    # -- truth ------------------------------------------------------------------------------------------------------

    def truth(self, node: Expr) -> Text:
        """A truth value."""
        if node.id in self.shared:
            return Text(self.shared[node.id], ATOM)
        match node.op:
            case Op.CONST:
                return Text("TRUE" if node.truth else "FALSE", ATOM)
            case Op.FIELD:
                return self._quantified(node)
            case Op.NOT:
                return self._negated(node.args[0])
            case Op.AND:
                return self._joined("/\\", operands(node, Op.AND))
            case Op.OR:
                return self._disjunction(operands(node, Op.OR))
            case Op.EQ:
                return self._equation(node, "=")
            case Op.LT:
                return self._compared(node.args[0], node.args[1], "<")
            case Op.ITE:
                return self._choice(node, self.truth)
        raise AssertionError(node.op)

    def _negated(self, node: Expr) -> Text:
        if node.op is Op.EQ:
            return self._equation(node, "#")
        if node.op is Op.LT:
            return self._compared(node.args[0], node.args[1], ">=")
        return negation(self.truth(node))

    def _joined(self, sign: str, parts: Iterable[Expr]) -> Text:
        return Text(f" {sign} ".join(within(self.truth(part), JOINED) for part in parts), JOINED)

    def _disjunction(self, parts: Sequence[Expr]) -> Text:
        given = [part.args[0] for part in parts if part.op is Op.NOT and part.args[0].op not in (Op.EQ, Op.LT)]
        said = [part for part in parts if part.op is not Op.NOT or part.args[0].op in (Op.EQ, Op.LT)]
        if len(given) != 1 or not said:
            return self._joined("\\/", parts)
        conclusion = self._joined("\\/", said) if len(said) > 1 else self.truth(said[0])
        return Text(f"{within(self.truth(given[0]), IMPLIES)} => {within(conclusion, IMPLIES)}", IMPLIES)

    def _quantified(self, node: Expr) -> Text:
        found = self._pool.named(node)
        assert isinstance(found, Quantified)
        sign = "\\A" if found.is_every else "\\E"
        bound = [self._variable(variable) for variable in found.variables]
        if found.members is not None:
            ranges = [f"{bound[0].name} \\in {within(self.members(found.members), UNION)}"]
        else:
            ranges = [f"{variable.name} \\in {self._sets.of(variable.domain)}" for variable in bound]
        return Text(f"{sign} {', '.join(ranges)} : {self.truth(found.body).text}", OPEN)

    def _variable(self, node: Expr) -> Variable:
        found = self._pool.named(node)
        assert isinstance(found, Variable)
        return found

    def is_plain(self, node: Expr) -> bool:
        """Whether a node is a truth value or a number wherever it stands, and no value that is coded as one."""
        is_number = node.op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD, Op.ITE)
        return node.is_bool or (is_number and self._domain_of(node) is None and not self._is_set(node))

    def _choice(self, node: Expr, write: Callable[[Expr], Text]) -> Text:
        test, then, other = node.args
        return Text(f"IF {self.truth(test).text} THEN {write(then).text} ELSE {write(other).text}", OPEN)

    # -- comparisons ------------------------------------------------------------------------------------------------

    def _equation(self, node: Expr, sign: str) -> Text:
        one, other = node.args
        if (member := self._membership(one, other)) is not None:
            element, members = member
            kind = "\\notin" if sign == "=" else "\\in"
            return Text(f"{within(element, COMPARED)} {kind} {within(self.members(members), COMPARED)}", COMPARED)
        if one.is_bool:
            return self._same(self.truth(one), self.truth(other), sign)
        if self._is_set(one) or self._is_set(other):
            return self._same(self.members(one), self.members(other), sign)
        if (below := min(_constant_part(one), _constant_part(other))) < 0:
            one, other = (self._pool.add(side, self._pool.int(-below)) for side in (one, other))
        domain = self._domain_of(one) or self._domain_of(other)
        if isinstance(domain, BoolDomain) and other.is_const:
            text = self.value(one, domain)
            return text if other.truth is (sign == "=") else negation(text)
        if domain is not None and self._fits(one, domain) and self._fits(other, domain):
            return self._same(self.value(one, domain), self.value(other, domain), sign)
        return self._compared(one, other, sign)

    def _same(self, one: Text, other: Text, sign: str) -> Text:
        return Text(f"{within(one, COMPARED)} {sign} {within(other, COMPARED)}", COMPARED)

    def _compared(self, one: Expr, other: Expr, sign: str) -> Text:
        (left, more), (right, most) = self._parts(one), self._parts(other)
        if left is None or right is None:
            numbers = [number_text(number) for number in (more - most, most - more)]
            return self._same(left or numbers[0], right or numbers[1], sign)
        # What is added on both sides, such as by the codes of optional values, says nothing.
        least = min(more, most)
        return self._same(moved(left, more - least), moved(right, most - least), sign)

    def _domain_of(self, node: Expr) -> LeafDomain | None:
        """The domain whose codes a node has, of those in which codes are no numbers."""
        if node.op is Op.ITE:
            return self._domain_of(node.args[1]) or self._domain_of(node.args[2])
        if node.op is not Op.FIELD or node.is_bool:
            return None
        found = self._pool.named(node)
        domain = None if isinstance(found, (Clamped, Quantified)) else kept_as(found.domain)
        return domain if isinstance(domain, (BoolDomain, EnumDomain, OptionalDomain)) else None

    def _fits(self, node: Expr, domain: LeafDomain) -> bool:
        """Whether a node is written as a value of a domain without a detour."""
        if node.op is Op.ITE:
            return self._fits(node.args[1], domain) and self._fits(node.args[2], domain)
        if node.is_const:
            return 0 <= node.value < domain.cardinality(self._constants)
        return self._domain_of(node) == domain or (isinstance(domain, OptionalDomain) and node.lo > 0)

    # -- numbers ----------------------------------------------------------------------------------------------------

    def number(self, node: Expr) -> Text:
        """A number."""
        text, more = self._parts(node)
        return number_text(more) if text is None else moved(text, more)

    def _parts(self, node: Expr) -> tuple[Text | None, int]:
        """A number as a text, if it is more than a constant, and what is added to that."""
        if node.id in self.shared:
            return Text(self.shared[node.id], ATOM), 0
        match node.op:
            case Op.CONST:
                return None, node.value
            case Op.FIELD:
                return self._code(node)
            case Op.ADD if node.args[1].is_const:
                text, more = self._parts(node.args[0])
                return text, more + node.args[1].value
            case Op.ADD:
                return self._sum(node)
            case Op.SUB:
                (text, more), (without, less) = self._parts(node.args[0]), self._parts(node.args[1])
                assert without is not None
                return Text(f"{'0' if text is None else within(text, SUM - 1)} - {within(without, SUM)}", SUM), more - less
            case Op.MUL | Op.DIV | Op.MOD:
                sign = {Op.MUL: "*", Op.DIV: "\\div", Op.MOD: "%"}[node.op]
                product = f" {sign} ".join(within(self.number(arg), PRODUCT) for arg in node.args)
                return Text(product, PRODUCT) if node.op is Op.MUL else Text(f"({product})", ATOM), 0
            case Op.ITE:
                test, then, other = node.args
                if then.is_const and other.is_const and abs(then.value - other.value) == 1:
                    truth = self.truth(test) if then.value > other.value else self._negated(test)
                    return self._call("One", truth), min(then.value, other.value)
                return self._choice(node, self.number), 0
        refuse_bits()

    def _sum(self, node: Expr) -> tuple[Text, int]:
        parts = operands(node, Op.ADD)
        if (counted := self._counted(parts)) is not None:
            return Text(f"Cardinality({self.members(counted).text})", ATOM), 0
        texts, total = [], 0
        for part in parts:
            text, more = self._parts(part)
            total += more
            texts += [] if text is None else [within(text, SUM - 1)]
        return Text(" + ".join(texts), SUM), total

    def _counted(self, parts: Sequence[Expr]) -> Expr | None:
        """The set whose size a sum is: one for each id that is a member."""
        found: dict[Expr, set[int]] = {}
        for part in parts:
            test = part.args[0] if part.op is Op.ITE else part
            if part.op is not Op.ITE or test.op is not Op.EQ or (part.args[1].value, part.args[2].value) != (0, 1):
                return None
            mask, zero = test.args
            if mask.op is not Op.BITAND or not mask.args[1].is_const or not zero.is_const or zero.value:
                return None
            found.setdefault(mask.args[0], set()).add(mask.args[1].value)
        (members, bits), *others = found.items()
        is_whole = bits == {1 << k for k in range(members.hi.bit_length())} and len(parts) == len(bits)
        return members if not others and is_whole else None

    def _code(self, node: Expr) -> tuple[Text, int]:
        """What is named, as the number that its code is."""
        found = self._pool.named(node)
        if isinstance(found, Clamped):
            return self._call("Within", self.number(found.index), Text(str(found.count - 1), ATOM)), 0
        assert not isinstance(found, Quantified)
        text, domain = self._named(found), kept_as(found.domain)
        if isinstance(domain, OptionalDomain):
            if isinstance(as_leaf(domain.item), EnumDomain):
                refuse_enum(domain.item.__name__)
            below = domain.least(self._constants) - 1
            return self._call("Number", text, Text(str(below), ATOM)), -below
        if isinstance(domain, BoolDomain):
            return self._call("One", text), 0
        if isinstance(domain, EnumDomain):
            refuse_enum(domain.item.__name__)
        if isinstance(domain, SetDomain):
            refuse_bits()
        return text, -domain.bounds(self._constants)[0] if isinstance(domain, Range) else 0

    def _call(self, helper: str, *arguments: Text) -> Text:
        self.helpers[helper] = None
        return Text(f"{helper}({', '.join(argument.text for argument in arguments)})", ATOM)

    # -- sets -------------------------------------------------------------------------------------------------------

    def members(self, node: Expr) -> Text:
        """A mask as a set."""
        if (element := self._single(node)) is not None:
            return Text(f"{{{element.text}}}", ATOM)
        match node.op:
            case Op.CONST:
                numbers = [str(bit) for bit in range(node.value.bit_length()) if node.value >> bit & 1]
                return Text(f"{{{', '.join(numbers)}}}", ATOM)
            case Op.FIELD:
                found = self._pool.named(node)
                if isinstance(found, (Place, Variable)) and isinstance(found.domain.bare, SetDomain):
                    return self._named(found)
            case Op.BITOR:
                return Text(" \\cup ".join(within(self.members(arg), UNION) for arg in node.args), UNION)
            case Op.BITAND:
                return self._intersection(*node.args)
            case Op.BITXOR:
                one, other = (within(self.members(arg), UNION) for arg in node.args[::-1])
                return Text(f"{one} \\ {other}", UNION) if node.args[1].is_const else refuse_bits()
            case Op.ITE:
                return self._choice(node, self.members)
        refuse_bits()

    def _intersection(self, one: Expr, other: Expr) -> Text:
        for kept, without in ((one, other), (other, one)):
            if without.op is Op.BITXOR and without.args[1].is_const and without.args[1].value >= kept.hi:
                return Text(f"{within(self.members(kept), UNION)} \\ {within(self.members(without.args[0]), UNION)}", UNION)
        if other.is_const and one.hi & ~other.value and bin(one.hi & ~other.value).count("1") < bin(other.value).count("1"):
            left_out = self.members(self._pool.int(one.hi & ~other.value))
            return Text(f"{within(self.members(one), UNION)} \\ {left_out.text}", UNION)
        return Text(f"{within(self.members(one), UNION)} \\cap {within(self.members(other), UNION)}", UNION)

    def _membership(self, one: Expr, other: Expr) -> tuple[Text, Expr] | None:
        """An element and a set, where an equation says that the one is not in the other."""
        if not other.is_const or other.value or one.op is not Op.BITAND:
            return None
        for members, single in (one.args, one.args[::-1]):
            if (element := self._single(single)) is not None:
                return element, members
        return None

    def _single(self, node: Expr) -> Text | None:
        """The element of a set that has one; one that is no id is in no set, so it does not matter which it is."""
        if node.is_const:
            return Text(str(node.value.bit_length() - 1), ATOM) if node.value and not node.value & (node.value - 1) else None
        if node.op is Op.SHL and node.args[0].is_const and node.args[0].value == 1:
            return self.number(node.args[1])
        if node.op is Op.SHR and node.args[0].op is Op.SHL and node.args[1].is_const:
            text, more = self._parts(node.args[0].args[1])
            assert text is not None
            return moved(text, more - node.args[1].value)
        if node.op is Op.ITE and node.args[1].is_const and node.args[2].op is Op.SHR:
            return self._single(node.args[2])
        return None

    def _is_set(self, node: Expr) -> bool:
        if node.op is Op.ITE:
            return self._is_set(node.args[1]) or self._is_set(node.args[2])
        if node.op is Op.FIELD and not node.is_bool:
            found = self._pool.named(node)
            return isinstance(found, (Place, Variable)) and isinstance(found.domain.bare, SetDomain)
        return node.op in (Op.BITAND, Op.BITOR, Op.BITXOR, Op.SHL, Op.SHR)

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, node: Expr, domain: LeafDomain) -> Text:
        """A code as a value of a domain."""
        domain = kept_as(domain)
        if isinstance(domain, SetDomain):
            return self.members(node)
        if isinstance(domain, BoolDomain):
            return self._truth_of(node)
        if isinstance(domain, (EnumDomain, OptionalDomain)):
            if node.op is Op.ITE and not self._is_number(node, domain):
                return self._choice(node, lambda part: self.value(part, domain))
            if node.op is Op.FIELD and self._domain_of(node) == domain:
                found = self._pool.named(node)
                assert isinstance(found, (Place, Variable))
                return self._named(found)
            return self._enum(node, domain) if isinstance(domain, EnumDomain) else self._optional(node, domain)
        text, more = self._parts(node)
        more += domain.bounds(self._constants)[0] if isinstance(domain, Range) else 0
        return number_text(more) if text is None else moved(text, more)

    def _is_number(self, node: Expr, domain: LeafDomain) -> bool:
        return isinstance(domain, OptionalDomain) and not self._fits(node, domain)

    def _truth_of(self, node: Expr) -> Text:
        if node.is_const:
            return Text("TRUE" if node.value else "FALSE", ATOM)
        if node.op is Op.ITE:
            test, then, other = node.args
            if then.is_const and other.is_const:
                return self.truth(test) if then.value else self._negated(test)
            return self._choice(node, self._truth_of)
        found = self._pool.named(node)
        assert isinstance(found, (Place, Variable))
        return self._named(found)

    def _enum(self, node: Expr, domain: EnumDomain) -> Text:
        if node.is_const:
            return Text(f'"{domain.item.names[node.value]}"', ATOM)
        refuse_enum(domain.item.__name__)

    def _optional(self, node: Expr, domain: OptionalDomain) -> Text:  # type: ignore[type-arg]
        item = as_leaf(domain.item)
        if node.is_const and node.value == 0:
            return Text(NONE, ATOM)
        if node.is_const or node.lo > 0:
            return self.value(self._pool.sub(node, self._pool.int(1)), item)
        if isinstance(item, EnumDomain):
            refuse_enum(domain.item.__name__)
        least = domain.least(self._constants) - 1
        text, more = self._parts(node)
        assert text is not None
        return self._call("Maybe", moved(text, more + least), Text(str(least), ATOM))

    # -- places -----------------------------------------------------------------------------------------------------

    def _named(self, found: Place | Variable) -> Text:
        if isinstance(found, Variable):
            return Text(found.name, ATOM)
        return self.place(found.path, found.is_primed)

    def place(self, path: SymbolicPath, is_primed: bool = False) -> Text:
        """What stands at a path of the state."""
        text, messages = self.steps(path, str(path[0]) + ("'" if is_primed else ""))
        return Text(text, ATOM) if messages is None else Text(f"{messages} \\in {text}", COMPARED)

    def steps(self, path: SymbolicPath, start: str) -> tuple[str, str | None]:
        """What leads from a variable to a place, and of a set of structs the struct whose membership is meant."""
        domain: Domain = self._root.struct.domains()[path[0]]
        text, at = start, 1
        while at < len(path):
            part = path[at]
            if isinstance(domain, MessagesDomain):
                letter = self.letter(domain, path[at:])
                return (text, letter) if isinstance(domain.leaf, BoolDomain) else (f"{text}[{letter}]", None)
            if isinstance(domain, StructDomain):
                text, domain = f"{text}.{part}", domain.struct.domains()[part]
            elif isinstance(domain, ArrayDomain):
                text, domain = f"{text}[{self.index(part, domain.index).text}]", domain.element
            else:
                assert isinstance(domain, LogDomain)
                if part == LogDomain.END:
                    return f"{text}.{part}", None
                at += 1
                text = f"{text}.{part}[{self._at(path[at]).text}]"
                domain = domain.content
            at += 1
        return text, None

    def index(self, part: int | Expr, domain: LeafDomain) -> Text:
        """An index as a value of its domain."""
        return self.value(self._pool.int(part) if isinstance(part, int) else part, domain)

    def _at(self, part: int | Expr) -> Text:
        return self.number(self._pool.int(part) if isinstance(part, int) else part)

    def letter(self, domain: MessagesDomain, codes: SymbolicPath) -> str:
        """A struct whose fields have these codes."""
        texts = {
            path: self.index(code, inner).text
            for (path, inner), code in zip(domain.fields(), codes, strict=True)
            if not is_absent(inner, self._constants)
        }
        return record_text(texts)


def _constant_part(node: Expr) -> int:
    return node.args[1].value if node.op is Op.ADD and node.args[1].is_const else 0
