"""Random predicates, as people type them and in plain Python over decoded states.

Parentheses are written only where they are needed, so what binds more tightly is drawn, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.language.expressions import Field, Form, Scope
from tests.language.plain import Trap

OR, AND, NOT, COMPARED, SUM, ATOM = range(6)
"""What binds more and more tightly."""


class Said(NamedTuple):
    """A text, how tightly it binds, and the same in plain Python."""

    text: str
    binds: int
    plain: str

    def within(self, binds: int) -> str:
        """The text as an operand of something that binds so."""
        return self.text if self.binds >= binds else f"({self.text})"


class Predicates:
    """Draws predicates about the fields of a scope; `shared` is a constant named like a field that has parts.

    `is_first` tells whether a predicate in plain Python is true initially.
    """

    def __init__(self, scope: Scope, constants: dict[str, int], shared: str, is_first: Callable[[str], bool]) -> None:
        self.scope = scope
        self.rng: random.Random = scope.rng
        self.constants = constants
        self.shared = shared
        self.is_first = is_first
        self.names: list[str] = []

    def drawn(self, count: int) -> dict[str, Form]:
        """So many promises, and one state that is sought."""
        made = {f"P{number}": self._promise() for number in range(count)}
        if self.shared:
            made["P0"] = self._about_shared()
        made["R0"] = self.condition(1)
        return {name: Form(self._broken(said.text), said.plain) for name, said in made.items()}

    def _promise(self) -> Said:
        """Mostly one that is not broken from the beginning."""
        for _ in range(6):
            said = self.condition(2)
            if self.is_first(said.plain) or self.rng.random() < 0.1:
                break
        return said

    def _broken(self, text: str) -> str:
        """In several lines, perhaps."""
        return "\n".join(text.split(" ", 1)) if self.rng.random() < 0.3 and not text.startswith("not") else text

    def _about_shared(self) -> Said:
        """The constant and a part of the field in one comparison."""
        self.scope.traps.add(Trap.CONSTANT_LIKE_STRUCT)
        item = self.scope.fields[self.shared]
        part = ("end",) if item.use == "log" else ("inner", "x") if self.shared == "case" else ("x",)
        text = f"{self.shared}.{'.'.join(part)} <= {self.shared} + 1"
        value = f"d[{self.shared!r}]" + "".join(f"[{name!r}]" for name in part)
        return Said(text, COMPARED, f"at_most({value}, const_{self.shared} + 1)")

    # -- fields -------------------------------------------------------------------------------------------------------

    def fields(self, use: str) -> list[Said]:
        """The fields of that use; of arrays and logs some element."""
        found: list[Said] = []
        for name, item in self.scope.fields.items():
            found += self._below(name, f"d[{name!r}]", item, use)
        return found

    def _below(self, text: str, plain: str, item: Field, use: str) -> list[Said]:
        if item.use == use:
            return [Said(text, ATOM, plain)]
        if item.use.startswith("struct "):
            parts = self.scope.structs[item.use.removeprefix("struct ")]
            inner = [self._below(f"{text}.{name}", f"{plain}[{name!r}]", part, use) for name, part in parts.items()]
            return [said for found in inner for said in found]
        if item.use == "array Pair":
            index = self._index()
            return self._below(f"{text}[{index}]", f"{plain}[{index}]", Field("struct Pair", "", ()), use) if index else []
        if item.use == "spots" and use == "flag":
            number = self.rng.choice([0, 1, 2])
            return [Said(f"{text}[{number}]", ATOM, f"{plain}[{number}]")]
        if item.use == "log":
            return self._in_log(text, plain, use)
        return []

    def _in_log(self, text: str, plain: str, use: str) -> list[Said]:
        found = [Said(f"{text}.end", ATOM, f"{plain}['end']")] if use == "number" else []
        room = self.scope.sizes["room"]
        if not room:
            return found
        offset = self.rng.randrange(room)
        trap = {"flag": "FLAG_PAST_END", "set": "SET_PAST_END"}.get(use, "PREDICATE_PAST_END")

        def walk(struct: str, path: tuple[str, ...]) -> None:
            for name, item in self.scope.structs[struct].items():
                here = (*path, name)
                if item.use == use:
                    said = f"{text}.records[{offset}].{'.'.join(here)}"
                    found.append(Said(said, ATOM, f"part({plain}, {offset}, {here!r}, Trap.{trap})"))
                elif item.use.startswith("struct "):
                    walk(item.use.removeprefix("struct "), here)

        walk("Entry", ())
        return found

    def _index(self) -> str:
        """An id: one that a quantifier binds, or any if no id is to be preferred."""
        if self.names:
            return self.rng.choice(self.names)
        return "" if self.scope.is_symmetric else str(self.rng.randrange(self.scope.sizes["nodes"]))

    def any_of(self, use: str) -> Said | None:
        """Some field of that use."""
        found = self.fields(use)
        return self.rng.choice(found) if found else None

    # -- terms --------------------------------------------------------------------------------------------------------

    def number(self, depth: int) -> Said:
        """A number or None."""
        rng = self.rng
        ways: list[Callable[[], Said]] = [self._literal]
        for use in ("number", "opt number", "opt later"):
            if (found := self.any_of(use)) is not None:
                ways += [lambda said=found: said] * 3  # type: ignore[misc]
        if (members := self.any_of("set")) is not None:
            ways.append(lambda: Said(f"len({members.text})", ATOM, f"size({members.plain})"))
        if depth > 0:
            ways += [lambda: self._sum(depth), lambda: self._counted(depth - 1)]
        return rng.choice(ways)()

    def _literal(self) -> Said:
        if self.rng.random() < 0.4:
            name = self.rng.choice(list(self.constants))
            return Said(name, ATOM, f"const_{name}")
        value = self.rng.choice([0, 1, 2])
        return Said(str(value), ATOM, str(value))

    def _sum(self, depth: int) -> Said:
        a, b = self.number(depth - 1), self.number(0)
        sign, function = self.rng.choice([("+", "plus"), ("-", "minus")])
        return Said(f"{a.within(SUM)} {sign} {b.within(ATOM)}", SUM, f"{function}({a.plain}, {b.plain})")

    def _counted(self, depth: int) -> Said:
        text, over = self._generated(depth)
        return Said(f"count({text})", ATOM, f"sum(1 for {over[1]} if {over[0]})")

    def _generated(self, depth: int) -> tuple[str, tuple[str, str]]:
        """`body for r in nodes`, and in plain Python the body and the rest."""
        name = f"q{len(self.names)}"
        ways = [("nodes", "range(nodes)")]
        if (members := self.any_of("set")) is not None:
            ways.append((members.text, f"each({members.plain})"))
        text, plain = self.rng.choice(ways)
        self.names.append(name)
        body = self.condition(depth)
        test = self.condition(0) if self.rng.random() < 0.3 else None
        self.names.pop()
        filtered = ("", "") if test is None else (f" if {test.within(OR)}", f" if {test.plain}")
        return f"{body.text} for {name} in {text}{filtered[0]}", (body.plain, f"{name} in {plain}{filtered[1]}")

    # -- conditions ---------------------------------------------------------------------------------------------------

    def condition(self, depth: int) -> Said:
        """A condition."""
        if depth <= 0:
            return self.rng.choice(self._atoms())()
        compound: list[Callable[[], Said]] = [
            lambda: self._joined("and", AND, depth), lambda: self._joined("or", OR, depth), lambda: self._negated(depth),
            lambda: self._quantified(depth), lambda: self._quantified(depth),
        ]  # fmt: skip
        return self.rng.choice([*compound, *self.rng.choices(self._atoms(), k=len(compound))])()

    def _joined(self, word: str, binds: int, depth: int) -> Said:
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return Said(f"{a.within(binds)} {word} {b.within(binds)}", binds, f"({a.plain} {word} {b.plain})")

    def _negated(self, depth: int) -> Said:
        a = self.condition(depth - 1)
        return Said(f"not {a.within(NOT)}", NOT, f"(not {a.plain})")

    def _quantified(self, depth: int) -> Said:
        which = self.rng.choice(["any", "all"])
        text, (body, rest) = self._generated(depth - 1)
        if which == "any":
            return Said(f"any({text})", ATOM, f"any({body} for {rest})")
        return Said(f"all({text})", ATOM, f"all({body} for {rest})")

    def _atoms(self) -> list[Callable[[], Said]]:
        made: list[Callable[[], Said]] = [self._comparison]
        for use, ask in (("flag", self._flag), ("set", self._set), ("id", self._id), ("opt id", self._id)):
            if (found := self.any_of(use)) is not None:
                made += [lambda said=found, function=ask: function(said)] * 2  # type: ignore[misc]
        for use in ("opt number", "opt later", "opt id", "opt mark"):
            if (found := self.any_of(use)) is not None:
                made.append(lambda said=found: self._none(said))  # type: ignore[misc]
        return made

    def _none(self, said: Said) -> Said:
        text, plain = self.rng.choice([("is None", "is None"), ("is not None", "is not None"), ("== None", "is None")])
        return Said(f"{said.text} {text}", COMPARED, f"({said.plain} {plain})")

    def _comparison(self) -> Said:
        a, b = self.number(1), self.number(1)
        if a.plain.isdigit() or b.plain.isdigit() or "const_" in a.plain + b.plain:
            # That a field is never equal to what is written out is refused; an order between them is not.
            sign = self.rng.choice(["<", "<=", ">", ">="])
        else:
            sign = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        plain = {
            "<": f"less({a.plain}, {b.plain})", "<=": f"at_most({a.plain}, {b.plain})", ">": f"less({b.plain}, {a.plain})",
            ">=": f"at_most({b.plain}, {a.plain})", "==": f"({a.plain} == {b.plain})", "!=": f"({a.plain} != {b.plain})",
        }[sign]  # fmt: skip
        text = f"{a.within(SUM)} {sign} {b.within(SUM)}"
        if self.rng.random() < 0.15 and sign in ("<", "<="):
            c = self.number(0)
            text, plain = f"{text} <= {c.within(SUM)}", f"({plain} and at_most({b.plain}, {c.plain}))"
        return Said(text, COMPARED, plain)

    def _flag(self, flag: Said) -> Said:
        past = "records[" in flag.text
        ways = [(flag.text, ATOM, f"({flag.plain} is True)"), (f"not {flag.text}", NOT, f"({flag.plain} is not True)"),
                (f"{flag.text} == False", COMPARED, f"({flag.plain} == False)"),
                (f"{flag.text} != True", COMPARED, f"({flag.plain} != True)")]  # fmt: skip
        if past:
            ways += [(f"{flag.text} is None", COMPARED, f"({flag.plain} is None)")] * 2
        return Said(*self.rng.choice(ways))

    def _set(self, members: Said) -> Said:
        ways: list[tuple[str, int, str]] = [(f"{members.text} == {{}}", COMPARED, f"({members.plain} == [])")]
        if "records[" in members.text:
            ways += [(f"{members.text} is None", COMPARED, f"({members.plain} is None)")] * 2
        if who := self._index():
            ways += [(f"{who} in {members.text}", COMPARED, f"inside({who}, {members.plain})"),
                     (f"{who} not in {members.text}", COMPARED, f"(not inside({who}, {members.plain}))")]  # fmt: skip
            ways += [(f"{members.text} != {{{who}}}", COMPARED, f"({members.plain} != [{who}])")]
        for use in ("id", "opt id"):
            if (place := self.any_of(use)) is not None:
                ways += [(f"{place.text} in {members.text}", COMPARED, f"inside({place.plain}, {members.plain})")] * 2
        return Said(*self.rng.choice(ways))

    def _id(self, who: Said) -> Said:
        others: list[Any] = [said for use in ("id", "opt id") for said in self.fields(use) if said.text != who.text]
        if index := self._index():
            others += [Said(index, ATOM, index)] * 2
        if not others:
            return self._comparison()
        other, sign = self.rng.choice(others), self.rng.choice(["==", "!="])
        return Said(f"{who.text} {sign} {other.text}", COMPARED, f"({who.plain} {sign} {other.plain})")
