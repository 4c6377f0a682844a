"""Random expressions and statements of actions, each as two texts.

What lives here: `Form`, a text in the language and one in plain Python; `Expressions`, which draws conditions, values of every
kind and statements over the fields of a `Scope`. What does not: protocols (`drawing.py`) and what the plain helpers mean
(`plain.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as data_field
from typing import Any, NamedTuple

from tests.language.plain import Trap

PLAIN_ONLY = {"struct Pair", "struct Case", "struct Tag", "struct Entry"}


class Form(NamedTuple):
    """One thing said twice."""

    dsl: str
    plain: str


@dataclass(frozen=True)
class Field:
    """A field: what it is used as, how it is declared, and its type for the twin."""

    use: str
    dsl: str
    kind: tuple[Any, ...]


class Spot(NamedTuple):
    """A place in the state: how it is read, and how a value is put there, given as plain Python."""

    read: Form
    target: str
    put: Callable[[str], str]
    kind: tuple[Any, ...]


@dataclass
class Scope:
    """What may be named: fields, structs, the action's parameters, names bound by quantifiers, and structs in variables."""

    rng: random.Random
    fields: dict[str, Field]
    structs: dict[str, dict[str, Field]]
    sizes: dict[str, int]
    least: int
    most: int
    is_symmetric: bool
    theme: str
    mark: str
    """The type of fields that hold numbers in one protocol and ids in another."""
    names: dict[str, str] = data_field(default_factory=dict)
    traps: set[Trap] = data_field(default_factory=set)
    """Those that show in the text, whatever comes of it."""
    counter: int = 0

    def begin(self, parameters: dict[str, str]) -> None:
        """An action with these parameters begins."""
        self.names = dict(parameters)

    def fresh(self, letter: str) -> str:
        """A name that nothing else has."""
        self.counter += 1
        return f"{letter}{self.counter}"

    def of(self, kind: str) -> list[str]:
        """The names of a kind."""
        return [name for name, known in self.names.items() if known == kind]


class Expressions:
    """Draws expressions and statements of a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.rng = scope.rng

    # -- places -------------------------------------------------------------------------------------------------------

    def _parts(self, struct: str, use: str) -> list[tuple[tuple[str, ...], Field]]:
        """The fields of a struct, and of structs in it, that are used so."""
        found: list[tuple[tuple[str, ...], Field]] = []
        for name, item in self.scope.structs[struct].items():
            if item.use == use:
                found.append(((name,), item))
            if item.use.startswith("struct "):
                found += [((name, *path), inner) for path, inner in self._parts(item.use.removeprefix("struct "), use)]
        return found

    def places(self, use: str, depth: int = 1) -> list[Callable[[], Spot]]:
        """Ways to a place of that use."""
        ways: list[Callable[[], Spot]] = []
        for name, item in self.scope.fields.items():
            if item.use == use:
                ways.append(lambda n=name, k=item.kind: self._simple(Form(f"s.{n}", f"s[{n!r}]"), k))  # type: ignore[misc]
            elif item.use.startswith("struct "):
                for path, part in self._parts(item.use.removeprefix("struct "), use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._inner(n, p, k))  # type: ignore[misc]
            elif item.use == "array Pair" and depth > 0:
                for path, part in self._parts("Pair", use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._element(n, p, k))  # type: ignore[misc]
            elif item.use == "log" and depth > 0:
                for path, part in self._parts("Entry", use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._record(n, p, k))  # type: ignore[misc]
        return ways

    def _simple(self, read: Form, kind: tuple[Any, ...]) -> Spot:
        return Spot(read, read.dsl, lambda value: f"{read.plain} = {value}", kind)

    def _inner(self, name: str, path: tuple[str, ...], kind: tuple[Any, ...]) -> Spot:
        if len(path) > 1 and kind[0] == "optional":
            self.scope.traps.add(Trap.NESTED_OPTIONAL)
        texts = "".join(f"[{part!r}]" for part in path)
        return self._simple(Form(f"s.{name}.{'.'.join(path)}", f"s[{name!r}]{texts}"), kind)

    def _element(self, name: str, path: tuple[str, ...], kind: tuple[Any, ...]) -> Spot:
        index = self.id(0)
        dsl, texts = f"s.{name}[{index.dsl}].{'.'.join(path)}", "".join(f"[{part!r}]" for part in path)
        read = Form(dsl, f"element(s[{name!r}], {index.plain}){texts}")
        return Spot(read, dsl, lambda value: f"put_field(place(s[{name!r}], {index.plain}), {path!r}, {value})", kind)

    def _record(self, name: str, path: tuple[str, ...], kind: tuple[Any, ...]) -> Spot:
        if self.rng.random() < 0.3:
            offset, at = Form(f"s.{name}.end - 1", f"s[{name!r}]['end'] - 1"), "last"
        else:
            offset, at = self.offset(name), ""
        dsl = f"s.{name}.last" if at else f"s.{name}.at({offset.dsl})"
        dsl, texts = f"{dsl}.{'.'.join(path)}", "".join(f"[{part!r}]" for part in path)
        read = Form(dsl, f"record(s[{name!r}], {offset.plain}, BLANK){texts}")
        return Spot(read, dsl, lambda value: f"put_field(slot(s[{name!r}], {offset.plain}), {path!r}, {value})", kind)

    def offset(self, log: str) -> Form:
        """Where in a log, in it or not."""
        return self.rng.choice([
            lambda: Form("num(0)", "0"),
            lambda: Form(f"s.{log}.end - 1", f"(s[{log!r}]['end'] - 1)"),
            lambda: Form(f"s.{log}.end", f"s[{log!r}]['end']"),
            lambda: self.number(0),
        ])()  # fmt: skip

    def read(self, use: str, depth: int = 1) -> Form | None:
        """A field of that use, if there is one."""
        ways = self.places(use, depth)
        return self.rng.choice(ways)().read if ways else None

    # -- values -------------------------------------------------------------------------------------------------------

    def number(self, depth: int) -> Form:
        """A number of the unit that fields and offsets share."""
        rng = self.rng
        simple: list[Callable[[], Form]] = []
        if ways := self.places("number", depth):
            simple += [lambda: rng.choice(ways)().read] * 3
        if names := self.scope.of("number"):
            simple += [lambda: (lambda n: Form(n, n))(rng.choice(names))] * 2
        if logs := [name for name, item in self.scope.fields.items() if item.use == "log"]:
            simple.append(lambda: (lambda n: Form(f"s.{n}.end", f"s[{n!r}]['end']"))(rng.choice(logs)))
        if depth <= 0 or not simple:
            simple.append(lambda: (lambda k: Form(f"num({k})", str(k)))(rng.choice([self.scope.least, 0, 1, self.scope.most])))
            return rng.choice(simple)()
        compound: list[Callable[[], Form]] = [
            lambda: self._pair("({} + {})", self.number(depth - 1), str(rng.choice([1, 1, 2]))),
            lambda: self._pair("({} - {})", self.number(depth - 1), str(rng.choice([1, 1, 2]))),
            lambda: self._two("({} - {})", self.number(depth - 1), self.number(0)),
            lambda: self._pair("({} % {})", self.number(depth - 1), str(rng.choice([2, 3]))),
            lambda: self.choice(self.condition(depth - 1), self.number(depth - 1), self.number(0)),
            lambda: self._extreme(depth - 1),
        ]
        if (value := self.read("opt number", 0)) is not None:
            compound.append(lambda: Form(f"{value.dsl}.value", f"value_of({value.plain}, LEAST)"))
        return rng.choice([*simple, *compound])()

    def _pair(self, text: str, a: Form, k: str) -> Form:
        return Form(text.format(a.dsl, k), text.format(a.plain, k))

    def _two(self, text: str, a: Form, b: Form) -> Form:
        return Form(text.format(a.dsl, b.dsl), text.format(a.plain, b.plain))

    def choice(self, test: Form, a: Form, b: Form) -> Form:
        """One of two, by a condition."""
        return Form(f"ite({test.dsl}, {a.dsl}, {b.dsl})", f"({a.plain} if {test.plain} else {b.plain})")

    def _extreme(self, depth: int) -> Form:
        name, which = self.scope.fresh("x"), self.rng.choice(["greatest", "least"])
        otherwise = self.number(0)
        with_bound = Bound(self.scope, name, "number")
        with with_bound:
            body = self.condition(depth)
        function = "max" if which == "greatest" else "min"
        return Form(
            f"{which}(Number, lambda {name}: {body.dsl}, otherwise={otherwise.dsl})",
            f"{function}([{name} for {name} in range(LEAST, MOST + 1) if {body.plain}], default={otherwise.plain})",
        )

    def id(self, depth: int) -> Form:
        """An id of the sort that everything shares; it may be none."""
        rng = self.rng
        choices: list[Callable[[], Form]] = [lambda n=name: Form(n, n) for name in self.scope.of("id")] * 2  # type: ignore[misc]
        if (place := self.read("id", depth)) is not None:
            choices.append(lambda: place)
        if (value := self.read("opt id", 0)) is not None and not (self.scope.is_symmetric and choices):
            choices.append(lambda: Form(f"{value.dsl}.value", f"value_of({value.plain}, 0)"))
        if not self.scope.is_symmetric and "who" in self.scope.fields:
            # A plain number stands for an id only beside one.
            choices.append(lambda: Form("ite(s.flag, s.who, 0)", "(s['who'] if s['flag'] else 0)") if "flag" in self.scope.fields
                           else Form("s.who", "s['who']"))  # fmt: skip
        if not choices:
            return Form("Node(literal(0))", "0")
        return rng.choice(choices)()

    def optional_id(self) -> Form:
        """An id or none."""
        if (place := self.read("opt id")) is None:
            return self.id(1)
        return self.rng.choice([
            lambda: place,
            lambda: place,
            lambda: self.choice(self.condition(0), Form("None", "None"), place),
            lambda: self.choice(self.condition(0), self.id(0), place),
        ])()  # fmt: skip

    def optional_number(self) -> Form | None:
        """A number or none, of a field or made of one."""
        if (place := self.read("opt number")) is None:
            return None
        return self.rng.choice([
            lambda: place,
            lambda: place,
            lambda: place,
            lambda: self.choice(self.condition(0), Form("None", "None"), place),
            lambda: self.choice(self.condition(0), self.number(1), place),
        ])()  # fmt: skip

    def set(self, depth: int) -> Form | None:
        """A set of ids."""
        if (place := self.read("set", depth)) is None:
            return None
        if depth <= 0:
            return place
        other = self.set(0) or place
        return self.rng.choice([
            lambda: place,
            lambda: self._two("({} | {})", place, other),
            lambda: self._two("({} & {})", place, other),
            lambda: self._two("({} - {})", place, other),
            lambda: Form("all_of(Node)", "frozenset(range(nodes))"),
            lambda: Form("none_of(Node)", "frozenset()"),
            lambda: self.with_member(place, self.rng.choice(["add", "remove"])),
        ])()  # fmt: skip

    def with_member(self, members: Form, method: str) -> Form:
        """A set with an id more or less."""
        who = self.optional_id() if self.rng.random() < 0.5 else self.id(1)
        function = "with_member" if method == "add" else "without_member"
        return Form(f"{members.dsl}.{method}({who.dsl})", f"{function}({members.plain}, {who.plain})")

    # -- conditions ---------------------------------------------------------------------------------------------------

    def condition(self, depth: int) -> Form:
        """A condition."""
        if depth <= 0:
            return self.rng.choice(self._atoms(0))()
        compound: list[Callable[[], Form]] = [
            lambda: self._both("&", "and", depth), lambda: self._both("|", "or", depth),
            lambda: (lambda c: Form(f"~{c.dsl}", f"(not {c.plain})"))(self.condition(depth - 1)),
            lambda: self._implies(depth), lambda: self._quantified(depth), lambda: self._quantified(depth),
        ]  # fmt: skip
        atoms = self._atoms(1)
        return self.rng.choice([*compound, *self.rng.choices(atoms, k=len(compound))])()

    def _both(self, dsl: str, word: str, depth: int) -> Form:
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return Form(f"({a.dsl} {dsl} {b.dsl})", f"({a.plain} {word} {b.plain})")

    def _implies(self, depth: int) -> Form:
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return Form(f"implies({a.dsl}, {b.dsl})", f"(not {a.plain} or {b.plain})")

    def _quantified(self, depth: int) -> Form:
        ranges = {
            "number": ("Number", "range(LEAST, MOST + 1)"), "later": ("Later", "over(range(1, last + 1))"),
            "ghost": ("Ghost", "over(range(ghosts))"), "id": ("Node", "range(nodes)"),
        }  # fmt: skip
        uses = {item.use for item in self.scope.fields.values()}
        kinds = ["id", "number", *(["later"] * 4 if "opt later" in uses else []), *(["ghost"] * 4 if "ghosts" in uses else [])]
        kind = self.rng.choice(kinds)
        over, values = ranges[kind]
        if kind == "id" and (members := self.set(0)) is not None and self.rng.random() < 0.5:
            over, values = members.dsl, f"ids({members.plain})"
        name, which = self.scope.fresh("x"), self.rng.choice(["every", "some"])
        with Bound(self.scope, name, kind):
            body = self.condition(depth - 1)
        function = "all" if which == "every" else "any"
        return Form(f"{which}({over}, lambda {name}: {body.dsl})", f"{function}({body.plain} for {name} in {values})")

    def _atoms(self, depth: int) -> list[Callable[[], Form]]:
        scope, rng = self.scope, self.rng
        uses = {item.use for item in scope.fields.values()}
        made: list[Callable[[], Form]] = []
        if self.places("number", 0) or scope.of("number") or "log" in uses:
            made += [lambda: self._two(f"({{}} {rng.choice(['<', '<=', '==', '!='])} {{}})", self.number(depth), self.number(0))]
        if self.read("opt number") is not None:
            made += [self._optional_comparison] * 3
        if (flag := self.read("flag")) is not None:
            made.append(lambda: flag)
        if scope.of("id") or self.read("id") is not None:
            made.append(lambda: self._two("({} == {})", self.id(1), self.id(0)))
        if (place := self.read("opt id")) is not None:
            made += [
                lambda: self._two(f"({{}} {rng.choice(['==', '!='])} {{}})", place, self.id(0)),
                lambda: self._two("({} == {})", self.id(0), place),
                lambda: Form(f"{place.dsl}.is_none", f"({place.plain} is None)"),
            ]
        if (members := self.set(depth)) is not None:
            made += [lambda: self._about_set(members)] * 2
        for log in [name for name, item in scope.fields.items() if item.use == "log"]:
            made.append(lambda n=log: self._about_log(n))  # type: ignore[misc]
        if self._structs() and depth:
            made.append(self._same_structs)
        if "opt later" in uses:
            made.append(self._about_later)
        for name in scope.of("ghost"):
            made.append(lambda n=name: Form(f"s.crew.contains({n})", f"is_member({n}, s['crew'])"))  # type: ignore[misc]
        if "spots" in uses and scope.of("spot"):
            made.append(lambda: self._about_spot(rng.choice(scope.of("spot"))))
        if "mark" in uses:
            made.append(self._about_marks)
        if not made:
            made.append(lambda: Form(f"(num({scope.least}) < num({scope.most}))", "True"))
        return made

    def _optional_comparison(self) -> Form:
        optional = self.optional_number()
        assert optional is not None
        kind = self.rng.choice(["value", "value", "value", "below", "other", "none", "turned"])
        if kind == "none":
            return self.rng.choice([
                Form(f"{optional.dsl}.is_none", f"({optional.plain} is None)"),
                Form(f"{optional.dsl}.is_some", f"({optional.plain} is not None)"),
                Form(f"({optional.dsl} == None)", f"({optional.plain} is None)"),
            ])  # fmt: skip
        other = self.optional_number() if kind == "other" else self.number(1)
        if kind == "below":
            other = Form(f"num({self.scope.least - 1})", str(self.scope.least - 1))
        assert other is not None
        if kind == "turned":
            optional, other = other, optional
            sign = self.rng.choice([">", "=="])
        else:
            sign = self.rng.choice(["<", "<=", ">", ">=", "==", "==", "!="])
        a, b = optional.plain, other.plain
        plain = {
            "<": f"below({a}, {b}, LEAST)", ">": f"below({b}, {a}, LEAST)", "<=": f"(not below({b}, {a}, LEAST))",
            ">=": f"(not below({a}, {b}, LEAST))", "==": f"equal({a}, {b}, LEAST)", "!=": f"(not equal({a}, {b}, LEAST))",
        }[sign]  # fmt: skip
        return Form(f"({optional.dsl} {sign} {other.dsl})", plain)

    def _about_set(self, members: Form) -> Form:
        rng, other = self.rng, self.set(0) or members
        who = self.optional_id() if rng.random() < 0.6 else self.id(1)
        size = rng.choice([1, 2])
        return rng.choice([
            Form(f"{members.dsl}.contains({who.dsl})", f"is_member({who.plain}, {members.plain})"),
            Form(f"{members.dsl}.contains({who.dsl})", f"is_member({who.plain}, {members.plain})"),
            Form(f"{members.dsl}.is_only({who.dsl})", f"is_only({members.plain}, {who.plain})"),
            Form(f"{members.dsl}.is_empty", f"(not {members.plain})"),
            Form(f"{members.dsl}.issubset({other.dsl})", f"({members.plain} <= {other.plain})"),
            Form(f"({members.dsl} == {other.dsl})", f"({members.plain} == {other.plain})"),
            Form(f"({members.dsl}.size >= {size})", f"(len(ids({members.plain})) >= {size})"),
        ])  # fmt: skip

    def _about_log(self, log: str) -> Form:
        offset = self.offset(log)
        choices = [
            Form(f"s.{log}.has({offset.dsl})", f"has(s[{log!r}], {offset.plain})"),
            Form(f"s.{log}.is_empty", f"(s[{log!r}]['end'] == 0)"),
            Form(f"s.{log}.is_full", f"(s[{log!r}]['end'] == room)"),
            Form(
                f"(s.{log}.at({offset.dsl}) == s.{log}.last)",
                f"(record(s[{log!r}], {offset.plain}, BLANK) == record(s[{log!r}], s[{log!r}]['end'] - 1, BLANK))",
            ),
        ]
        if {"log", "copy"} <= set(self.scope.fields):
            both = f"has(s['log'], {offset.plain}) and has(s['copy'], {offset.plain})"
            same = f"record(s['log'], {offset.plain}, BLANK) == record(s['copy'], {offset.plain}, BLANK)"
            choices.append(Form(f"s.log.same_record_at(s.copy, {offset.dsl})", f"({both} and {same})"))
        return self.rng.choice(choices)

    def _about_later(self) -> Form:
        names = self.scope.of("later")
        if not names:
            return Form("s.after.is_none", "(s['after'] is None)")
        name = self.rng.choice(names)
        return self.rng.choice([
            Form(f"(s.after == {name})", f"equal(s['after'], {name}, 1)"),
            Form(f"(s.after < {name})", f"below(s['after'], {name}, 1)"),
            Form(f"(s.after >= {name} - 1)", f"(not below(s['after'], {name} - 1, 1))"),
        ])  # fmt: skip

    def _about_spot(self, name: str) -> Form:
        self.scope.traps.add(Trap.NEGATIVE_INDEX)
        return Form(f"s.marks[{name}]", f"element(s['marks'], {name} + 1)")

    def _about_marks(self) -> Form:
        names = self.scope.of("mark")
        mark = self.rng.choice([Form(n, n) for n in names] + [Form("s.slot", "s['slot']")])
        return self.rng.choice([
            Form(f"~s.met[{mark.dsl}]", f"(not element(s['met'], {mark.plain}))"),
            Form(f"s.met[{mark.dsl}]", f"element(s['met'], {mark.plain})"),
            Form(f"(s.slot == {mark.dsl})", f"(s['slot'] == {mark.plain})"),
            Form(f"(s.kept == {mark.dsl})", f"(s['kept'] == {mark.plain})"),
            Form("s.kept.is_none", "(s['kept'] is None)"),
        ])  # fmt: skip

    # -- structs ------------------------------------------------------------------------------------------------------

    def _structs(self) -> list[Callable[[], Spot]]:
        """Places of `Pair`s."""
        found: list[Callable[[], Spot]] = []
        for name in ("box", "spare"):
            if name in self.scope.fields:
                found.append(lambda n=name: self._simple(Form(f"s.{n}", f"s[{n!r}]"), ("struct",)))  # type: ignore[misc]
        if "case" in self.scope.fields:
            found.append(lambda: self._simple(Form("s.case.inner", "s['case']['inner']"), ("struct",)))
        if "pairs" in self.scope.fields:
            found.append(self._whole_element)
        return found

    def _whole_element(self) -> Spot:
        index = self.id(0)
        read = Form(f"s.pairs[{index.dsl}]", f"element(s['pairs'], {index.plain})")
        return Spot(read, read.dsl, lambda value: f"put(s['pairs'], {index.plain}, {value})", ("struct",))

    def _same_structs(self) -> Form:
        a, b = (self.rng.choice(self._structs())().read for _ in range(2))
        return self._two("({} == {})", a, b)

    def _made_struct(self, name: str) -> Form:
        """A struct made in place."""
        dsl, texts = [], []
        for part, item in self.scope.structs[name].items():
            value = self.value_for(item)
            dsl.append(f"{part}={value.dsl}")
            texts.append(f"{part!r}: {value.plain}")
        return Form(f"{name}({', '.join(dsl)})", f"{{{', '.join(texts)}}}")

    def value_for(self, item: Field) -> Form:
        """A value for a field: mostly one that it can hold."""
        kind, rng = item.kind, self.rng
        if item.use == "number":
            lo, hi = kind[1], kind[2]
            if rng.random() < 0.25:
                return self.number(1)
            value = self.number(1)
            return Form(f"({value.dsl} - {lo}) % {hi - lo + 1} + {lo}", f"(({value.plain} - {lo}) % {hi - lo + 1} + {lo})")
        if item.use == "opt number":
            return self._for_optional()
        if item.use == "flag":
            return self.condition(1)
        if item.use == "id":
            return self.id(1)
        if item.use == "opt id":
            return rng.choice([self.optional_id(), self.id(1), Form("None", "None")])
        if item.use == "set":
            return self.set(1) or Form("none_of(Node)", "frozenset()")
        assert item.use.startswith("struct ")
        return self._made_struct(item.use.removeprefix("struct "))

    def _for_optional(self) -> Form:
        rng, least, most = self.rng, self.scope.least, self.scope.most
        value = self.number(1)
        within = Form(
            f"({value.dsl} - {least}) % {most - least + 1} + {least}",
            f"(({value.plain} - {least}) % {most - least + 1} + {least})",
        )
        chosen = rng.choice([within, within, within, value, Form("None", "None"), self.optional_number() or within])
        return Form(chosen.dsl, f"stored({chosen.plain}, LEAST)")

    # -- statements ---------------------------------------------------------------------------------------------------

    def driver(self) -> list[Form]:
        """Something that moves, or spaces would be a handful of states."""
        fields, rng = self.scope.fields, self.rng
        if "log" in fields and rng.random() < 0.7:
            return self._append("log", safely=True)
        for name in ("n0", "n1"):
            if name in fields and rng.random() < 0.7:
                lo, hi = fields[name].kind[1:]
                step = f"s.{name} = (s.{name} - {lo} + 1) % {hi - lo + 1} + {lo}"
                return [Form(step, f"s[{name!r}] = (s[{name!r}] - {lo} + 1) % {hi - lo + 1} + {lo}")]
        for name in ("who", "lead"):
            if name in fields and self.scope.of("id"):
                return [Form(f"s.{name} = a", f"s[{name!r}] = a")]
        return self.statement()

    def statement(self) -> list[Form]:
        """One thing that an action does, in one or more lines."""
        fields, rng = self.scope.fields, self.rng
        ways: list[Callable[[], list[Form]]] = []
        for use in ("number", "opt number", "flag", "id", "opt id", "set"):
            for way in self.places(use):
                ways.append(lambda u=use, w=way: self._assigned(u, w()))  # type: ignore[misc]
        for log in ("log", "copy"):
            if log in fields:
                ways += [lambda n=log: self._append(n, rng.random() < 0.8)] * 2  # type: ignore[misc]
                ways += [lambda n=log: self._truncate(n), lambda n=log: self._rewritten(n)]  # type: ignore[misc]
                ways += [lambda n=log: self._rewritten(n)]  # type: ignore[misc]
        if structs := self._structs():
            ways += [lambda: self._whole(structs), lambda: self._exchange(structs), lambda: self._kept(structs)]
            ways += [lambda: self._own(structs), lambda: self._kept(structs)]
        if "case" in fields:
            ways.append(self._case)
        if "after" in fields:
            ways.append(self._later)
        if "crew" in fields and self.scope.of("ghost"):
            ways.append(self._ghost)
        if "marks" in fields and self.scope.of("spot"):
            ways.append(self._spot)
        if "slot" in fields:
            ways += [self._mark] * 4
        if self.scope.theme == "set":
            ways += [lambda: self._joined(rng.choice(self.places("set", 0))())] * 4
        if self.scope.theme == "optional":
            ways += [lambda: self._assigned("opt number", rng.choice(self.places("opt number", 0))())] * 3
        return rng.choice(ways)()

    def _joined(self, spot: Spot) -> list[Form]:
        """A set gains or loses a member, which may be none."""
        who = self.with_member(spot.read, self.rng.choice(["add", "remove"]))
        return self._guarded_member(spot) if self.rng.random() < 0.4 else [Form(f"{spot.target} = {who.dsl}", spot.put(who.plain))]

    def _assigned(self, use: str, spot: Spot) -> list[Form]:
        value = self.value_for(Field(use, "", spot.kind))
        return [Form(f"{spot.target} = {value.dsl}", spot.put(value.plain))]

    def _guarded_member(self, spot: Spot) -> list[Form]:
        """A member that may be none, where a clause says that it is not."""
        who = self.read("opt id")
        if who is None or "log" in who.dsl:
            who = Form("s.lead", "s['lead']")
        guard = Form("REQUIRE", f"{who.dsl}.is_some\0({who.plain} is not None)")
        return [guard, Form(f"{spot.target} = {spot.read.dsl}.add({who.dsl})", spot.put(f"with_member({spot.read.plain}, {who.plain})"))]

    def _append(self, log: str, safely: bool) -> list[Form]:
        record = self._made_struct("Entry")
        lines = [Form(f"s.{log}.append({record.dsl})", f"append(s[{log!r}], {record.plain})")]
        if {"log", "copy"} <= set(self.scope.fields) and self.rng.random() < 0.3:
            offset = self.offset("copy")
            taken = f"record(s['copy'], {offset.plain}, BLANK)"
            lines = [Form(f"s.{log}.append(s.copy.at({offset.dsl}))", f"append(s[{log!r}], {taken})")]
        guard = Form("REQUIRE", f"~s.{log}.is_full\0(s[{log!r}]['end'] != room)")
        return [guard, *lines] if safely else lines

    def _truncate(self, log: str) -> list[Form]:
        cut = self._cut(log)
        return [Form(f"s.{log}.truncate({cut.dsl})", f"truncate(s[{log!r}], {cut.plain})")]

    def _cut(self, log: str) -> Form:
        value, room = self.number(1), self.scope.sizes["room"]
        return self.rng.choice([
            Form("num(0)", "0"),
            Form(f"{value.dsl} % {room + 1}", f"({value.plain} % {room + 1})"),
            Form(f"s.{log}.end - 1", f"s[{log!r}]['end'] - 1"),
        ])  # fmt: skip

    def _rewritten(self, log: str) -> list[Form]:
        """A record is taken, the log is cut, and the record is put back, or asked about."""
        name, cut = self.scope.fresh("v"), self._cut(log)
        lines = [Form("REQUIRE", f"~s.{log}.is_empty\0(s[{log!r}]['end'] != 0)")] if self.rng.random() < 0.8 else []
        lines += [
            Form(f"{name} = s.{log}.last", f"{name} = copied(record(s[{log!r}], s[{log!r}]['end'] - 1, BLANK))"),
            Form(f"s.{log}.truncate({cut.dsl})", f"truncate(s[{log!r}], {cut.plain}); note(Trap.CUT_AFTER_READ)"),
        ]
        if self.rng.random() < 0.7:
            lines.append(Form(f"s.{log}.append({name})", f"append(s[{log!r}], {name})"))
        lines += self._used(name, "Entry") if self.rng.random() < 0.6 else []
        return lines

    def _used(self, name: str, struct: str) -> list[Form]:
        """A clause or an assignment about a struct in a variable."""
        wanted = []
        for path, item in self._parts(struct, "number"):
            wanted.append((path, item))
        for use in ("opt number", "flag", "id", "opt id", "set"):
            wanted += self._parts(struct, use)
        path, item = self.rng.choice(wanted)
        value = Form(f"{name}.{'.'.join(path)}", name + "".join(f"[{part!r}]" for part in path))
        if ways := [way for way in self.places(item.use, 0) if item.use != "number"]:
            spot = self.rng.choice(ways)()
            return [Form(f"{spot.target} = {value.dsl}", spot.put(value.plain))]
        if item.use == "number":
            other = self.number(0)
            return [Form("REQUIRE", f"{value.dsl} <= {other.dsl}\0{value.plain} <= {other.plain}")]
        if item.use in ("opt number", "opt id"):
            return [Form("REQUIRE", f"{value.dsl}.is_none\0{value.plain} is None")]
        if item.use == "flag":
            return [Form("REQUIRE", f"{value.dsl}\0{value.plain}")]
        if item.use == "set":
            return [Form("REQUIRE", f"~{value.dsl}.is_empty\0{value.plain}")]
        other = self.id(0)
        return [Form("REQUIRE", f"{value.dsl} == {other.dsl}\0{value.plain} == {other.plain}")]

    def _struct_value(self, structs: list[Callable[[], Spot]]) -> Form:
        a, b = (self.rng.choice(structs)().read for _ in range(2))
        return self.rng.choice([a, a, self._made_struct("Pair"), self.choice(self.condition(1), a, b)])

    def _whole(self, structs: list[Callable[[], Spot]]) -> list[Form]:
        spot, value = self.rng.choice(structs)(), self._struct_value(structs)
        return [Form(f"{spot.target} = {value.dsl}", spot.put(f"copied({value.plain})"))]

    def _exchange(self, structs: list[Callable[[], Spot]]) -> list[Form]:
        a, b = self.rng.choice(structs)(), self.rng.choice(structs)()
        x, y = self.scope.fresh("t"), self.scope.fresh("t")
        taken = f"{x}, {y} = copied({b.read.plain}), copied({a.read.plain})"
        plain = f"{taken}; {a.put(x)}; {b.put(y)}; note(Trap.SWAPPED)"
        return [Form(f"{a.target}, {b.target} = {b.read.dsl}, {a.read.dsl}", plain)]

    def _kept(self, structs: list[Callable[[], Spot]]) -> list[Form]:
        """A struct is taken, something else takes its place, or one that may be its place, and it is used."""
        name, taken, put = self.scope.fresh("v"), self.rng.choice(structs)(), self.rng.choice(structs)()
        if self.rng.random() < 0.6:
            put = taken
        value, target = self._struct_value(structs), self.rng.choice(structs)()
        lines = [
            Form(f"{name} = {taken.read.dsl}", f"{name} = copied({taken.read.plain})"),
            Form(f"{put.target} = {value.dsl}", put.put(f"copied({value.plain})") + "; note(Trap.REPLACED_AFTER_READ)"),
        ]
        if self.rng.random() < 0.6:
            lines.append(Form(f"{target.target} = {name}", target.put(f"copied({name})")))
        return [*lines, *self._used(name, "Pair")] if self.rng.random() < 0.6 or len(lines) == 2 else lines

    def _own(self, structs: list[Callable[[], Spot]]) -> list[Form]:
        """A struct is taken, assigned through its variable, and used."""
        name, taken = self.scope.fresh("v"), self.rng.choice(structs)()
        part, item = self.rng.choice(list(self.scope.structs["Pair"].items()))
        value = self.value_for(item)
        there = taken.read.plain
        if there.startswith("element("):
            there = there.replace("element(", "place(", 1)
        lines = [
            Form(f"{name} = {taken.read.dsl}", f"{name}_at = {there}; {name} = copied({taken.read.plain})"),
            Form(
                f"{name}.{part} = {value.dsl}",
                f"{name}_new = {value.plain}; put_field({name}_at, ({part!r},), {name}_new); note(Trap.OWN_WRITES)\n"
                f"    if {name}_at is not None: {name}[{part!r}] = {name}_new",
            ),
        ]
        if self.rng.random() < 0.5:
            target = self.rng.choice(structs)()
            lines.append(Form(f"{target.target} = {name}", target.put(f"copied({name})")))
            return lines
        return [*lines, *self._used(name, "Pair")]

    def _case(self) -> list[Form]:
        made = self._made_struct("Case")
        name = self.scope.fresh("v")
        kept = [Form(f"{name} = s.case", f"{name} = copied(s['case'])")]
        lines = [Form(f"s.case = {made.dsl}", f"s['case'] = {made.plain}; note(Trap.REPLACED_AFTER_READ)")]
        back = [Form(f"s.case.inner = {name}.inner", f"s['case']['inner'] = copied({name}['inner'])")]
        return self.rng.choice([lines, [*kept, *lines, *back]])

    def _later(self) -> list[Form]:
        self.scope.traps.add(Trap.OPTIONAL_OF_NOTHING) if not self.scope.sizes["last"] else None
        names = self.scope.of("later")
        value = self.rng.choice([*(Form(n, n) for n in names), *(Form(f"{n} - 1", f"{n} - 1") for n in names), Form("None", "None")])
        return [Form(f"s.after = {value.dsl}", f"s['after'] = stored({value.plain}, 1)")]

    def _ghost(self) -> list[Form]:
        self.scope.traps.add(Trap.EMPTY_SORT) if not self.scope.sizes["ghosts"] else None
        name, method = self.rng.choice(self.scope.of("ghost")), self.rng.choice(["add", "remove"])
        plain = f"{'with' if method == 'add' else 'without'}_member(s['crew'], {name})"
        return [Form(f"s.crew = s.crew.{method}({name})", f"s['crew'] = {plain}")]

    def _spot(self) -> list[Form]:
        self.scope.traps.add(Trap.NEGATIVE_INDEX)
        name, value = self.rng.choice(self.scope.of("spot")), self.condition(1)
        return [Form(f"s.marks[{name}] = {value.dsl}", f"put(s['marks'], {name} + 1, {value.plain})")]

    def _mark(self) -> list[Form]:
        mark = self.rng.choice([Form(n, n) for n in self.scope.of("mark")] + [Form("s.slot", "s['slot']")])
        return [self.rng.choice([
            Form(f"s.slot = {mark.dsl}", f"s['slot'] = {mark.plain}"),
            Form(f"s.kept = {mark.dsl}", f"s['kept'] = {mark.plain}"),
            Form("s.kept = None", "s['kept'] = None"),
            Form(f"s.met[{mark.dsl}] = True", f"put(s['met'], {mark.plain}, True)"),
            Form(f"s.met[{mark.dsl}] = False", f"put(s['met'], {mark.plain}, False)"),
        ])]  # fmt: skip

    def initial(self) -> list[Form]:
        """What an initial state sets, without a word about ids."""
        lines = []
        for name, item in self.scope.fields.items():
            if item.use == "number" and self.rng.random() < 0.4:
                value = self.rng.randint(item.kind[1], item.kind[2])
                lines.append(Form(f"s.{name} = {value}", f"s[{name!r}] = {value}"))
            if item.use == "set" and self.rng.random() < 0.4:
                lines.append(Form(f"s.{name} = all_of(Node)", f"s[{name!r}] = frozenset(range(nodes))"))
        return lines


class Bound:
    """A name that a quantifier binds, within its body."""

    def __init__(self, scope: Scope, name: str, kind: str) -> None:
        self.scope, self.name, self.kind = scope, name, kind

    def __enter__(self) -> None:
        self.scope.names[self.name] = self.kind

    def __exit__(self, *_: object) -> None:
        del self.scope.names[self.name]
