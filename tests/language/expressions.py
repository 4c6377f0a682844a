"""Random expressions of actions, each as two texts.

`Form`, a text in the language and one in plain Python; `Expressions`, which draws conditions and values of every kind over
the fields of a `Scope`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as data_field
from typing import Any, NamedTuple

from tests.language.plain import Trap


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

    def parts(self, struct: str, use: str) -> list[tuple[tuple[str, ...], Field]]:
        """The fields of a struct, and of structs in it, that are used so."""
        found: list[tuple[tuple[str, ...], Field]] = []
        for name, item in self.scope.structs[struct].items():
            if item.use == use:
                found.append(((name,), item))
            if item.use.startswith("struct "):
                found += [((name, *path), inner) for path, inner in self.parts(item.use.removeprefix("struct "), use)]
        return found

    def places(self, use: str, depth: int = 1) -> list[Callable[[], Spot]]:
        """Ways to a place of that use."""
        ways: list[Callable[[], Spot]] = []
        for name, item in self.scope.fields.items():
            if item.use == use:
                ways.append(lambda n=name, k=item.kind: self.simple(Form(f"s.{n}", f"s[{n!r}]"), k))  # type: ignore[misc]
            elif item.use.startswith("struct "):
                for path, part in self.parts(item.use.removeprefix("struct "), use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._inner(n, p, k))  # type: ignore[misc]
            elif item.use == "array Pair" and depth > 0:
                for path, part in self.parts("Pair", use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._element(n, p, k))  # type: ignore[misc]
            elif item.use == "log" and depth > 0:
                for path, part in self.parts("Entry", use):
                    ways.append(lambda n=name, p=path, k=part.kind: self._record(n, p, k))  # type: ignore[misc]
        return ways

    def simple(self, read: Form, kind: tuple[Any, ...]) -> Spot:
        return Spot(read, read.dsl, lambda value: f"{read.plain} = {value}", kind)

    def _inner(self, name: str, path: tuple[str, ...], kind: tuple[Any, ...]) -> Spot:
        if len(path) > 1 and kind[0] == "optional":
            self.scope.traps.add(Trap.NESTED_OPTIONAL)
        texts = "".join(f"[{part!r}]" for part in path)
        return self.simple(Form(f"s.{name}.{'.'.join(path)}", f"s[{name!r}]{texts}"), kind)

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
            simple.append(self._literal)
            return rng.choice(simple)()
        compound: list[Callable[[], Form]] = [
            lambda: self._pair("({} + {})", self.number(depth - 1), str(rng.choice([1, 1, 2]))),
            lambda: self._pair("({} - {})", self.number(depth - 1), str(rng.choice([1, 1, 2]))),
            lambda: self.two("({} - {})", self.number(depth - 1), self.number(0)),
            lambda: self._pair("({} % {})", self.number(depth - 1), str(rng.choice([2, 3]))),
            lambda: self.choice(self.condition(depth - 1), self.number(depth - 1), self.number(0)),
            lambda: self._extreme(depth - 1),
        ]
        if (value := self.read("opt number", 0)) is not None:
            compound.append(lambda: Form(f"{value.dsl}.value", f"value_of({value.plain}, LEAST)"))
        return rng.choice([*simple, *compound])()

    def _literal(self) -> Form:
        value = self.rng.choice([self.scope.least, 0, 1, self.scope.most])
        return Form(f"num({value})", str(value))

    def _pair(self, text: str, a: Form, k: str) -> Form:
        return Form(text.format(a.dsl, k), text.format(a.plain, k))

    def two(self, text: str, a: Form, b: Form) -> Form:
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
            who = Form("s.who", "s['who']")
            mixed = Form("ite(s.flag, s.who, 0)", "(s['who'] if s['flag'] else 0)")
            choices.append(lambda: mixed if "flag" in self.scope.fields else who)
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
            lambda: self.two("({} | {})", place, other),
            lambda: self.two("({} & {})", place, other),
            lambda: self.two("({} - {})", place, other),
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
        kinds = ["id", "number"]
        kinds += ["later"] * 4 if "opt later" in uses else []
        kinds += ["ghost"] * 4 if "ghosts" in uses else []
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
            made.append(lambda: self._comparison(depth))
        if self.read("opt number") is not None:
            made += [self._optional_comparison] * 3
        if (flag := self.read("flag")) is not None:
            made.append(lambda: flag)
        if scope.of("id") or self.read("id") is not None:
            made.append(lambda: self.two("({} == {})", self.id(1), self.id(0)))
        if (place := self.read("opt id")) is not None:
            made += [
                lambda: self.two(f"({{}} {rng.choice(['==', '!='])} {{}})", place, self.id(0)),
                lambda: self.two("({} == {})", self.id(0), place),
                lambda: Form(f"{place.dsl}.is_none", f"({place.plain} is None)"),
            ]
        if (members := self.set(depth)) is not None:
            made += [lambda: self._about_set(members)] * 2
        for log in [name for name, item in scope.fields.items() if item.use == "log"]:
            made.append(lambda n=log: self._about_log(n))  # type: ignore[misc]
        if self.structs() and depth:
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

    def _comparison(self, depth: int) -> Form:
        sign = self.rng.choice(["<", "<=", "==", "!="])
        return self.two(f"({{}} {sign} {{}})", self.number(depth), self.number(0))

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

    def structs(self) -> list[Callable[[], Spot]]:
        """Places of `Pair`s."""
        found: list[Callable[[], Spot]] = []
        for name in ("box", "spare"):
            if name in self.scope.fields:
                found.append(lambda n=name: self.simple(Form(f"s.{n}", f"s[{n!r}]"), ("struct",)))  # type: ignore[misc]
        if "case" in self.scope.fields:
            found.append(lambda: self.simple(Form("s.case.inner", "s['case']['inner']"), ("struct",)))
        if "pairs" in self.scope.fields:
            found.append(self._whole_element)
        return found

    def _whole_element(self) -> Spot:
        index = self.id(0)
        read = Form(f"s.pairs[{index.dsl}]", f"element(s['pairs'], {index.plain})")
        return Spot(read, read.dsl, lambda value: f"put(s['pairs'], {index.plain}, {value})", ("struct",))

    def _same_structs(self) -> Form:
        a, b = (self.rng.choice(self.structs())().read for _ in range(2))
        return self.two("({} == {})", a, b)


class Bound:
    """A name that a quantifier binds, within its body."""

    def __init__(self, scope: Scope, name: str, kind: str) -> None:
        self.scope, self.name, self.kind = scope, name, kind

    def __enter__(self) -> None:
        self.scope.names[self.name] = self.kind

    def __exit__(self, *_: object) -> None:
        del self.scope.names[self.name]
