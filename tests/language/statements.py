"""Random statements: what actions do, each line as two texts.

`Statements`, which draws assignments to every kind of field, appends and truncations, and what is done with structs in
variables.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.language.expressions import Expressions, Field, Form, Spot
from tests.language.plain import Trap


class Statements(Expressions):
    """Draws statements of a scope. A line `REQUIRE` is a condition, in both languages, that a clause is to be made of."""

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
        if structs := self.structs():
            ways += [lambda: self._whole(structs), lambda: self._exchange(structs), lambda: self._kept(structs)]
            ways += [self._own, lambda: self._kept(structs)]
        if "case" in fields:
            ways += [self._case, self._own]
        if "log" in fields:
            ways.append(self._own)
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
        if self.rng.random() < 0.4:
            return self._guarded_member(spot)
        return [Form(f"{spot.target} = {who.dsl}", spot.put(who.plain))]

    def _assigned(self, use: str, spot: Spot) -> list[Form]:
        value = self.value_for(Field(use, "", spot.kind))
        return [Form(f"{spot.target} = {value.dsl}", spot.put(value.plain))]

    def _guarded_member(self, spot: Spot) -> list[Form]:
        """A member that may be none, where a clause says that it is not."""
        who = self.read("opt id")
        if who is None or "log" in who.dsl:
            who = Form("s.lead", "s['lead']")
        guard = Form("REQUIRE", f"{who.dsl}.is_some\0({who.plain} is not None)")
        joined = spot.put(f"with_member({spot.read.plain}, {who.plain})")
        return [guard, Form(f"{spot.target} = {spot.read.dsl}.add({who.dsl})", joined)]

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
        for path, item in self.parts(struct, "number"):
            wanted.append((path, item))
        for use in ("opt number", "flag", "id", "opt id", "set"):
            wanted += self.parts(struct, use)
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

    def _own(self) -> list[Form]:
        """A struct is taken, assigned through its variable, and used; a record may not be there at all."""
        ways: list[Callable[[], tuple[str, Form, str]]] = []
        if structs := self.structs():
            ways.append(lambda: self._taken_struct(self.rng.choice(structs)()))
        if "case" in self.scope.fields:
            ways.append(lambda: ("Case", Form("s.case", "s['case']"), "s['case']"))
        for log in ("log", "copy"):
            if log in self.scope.fields:
                ways.append(lambda n=log: self._taken_record(n))  # type: ignore[misc]
        struct, taken, there = self.rng.choice(ways)()
        name = self.scope.fresh("v")
        uses = ("number", "opt number", "flag", "id", "opt id", "set")
        path, item = self.rng.choice([part for use in uses for part in self.parts(struct, use)])
        value, texts = self.value_for(item), "".join(f"[{part!r}]" for part in path)
        lines = [
            Form(f"{name} = {taken.dsl}", f"{name}_at = {there}; {name} = copied({taken.plain})"),
            Form(
                f"{name}.{'.'.join(path)} = {value.dsl}",
                f"{name}_new = {value.plain}; put_field({name}_at, {path!r}, {name}_new); note(Trap.OWN_WRITES)\n"
                f"    if {name}_at is not None: {name}{texts} = {name}_new",
            ),
        ]
        if struct != "Entry" and self.rng.random() < 0.5 and (structs := self.structs()):
            target, inner = self.rng.choice(structs)(), Form(name, name)
            if struct == "Case":
                inner = Form(f"{name}.inner", f"{name}['inner']")
            lines.append(Form(f"{target.target} = {inner.dsl}", target.put(f"copied({inner.plain})")))
            return lines
        return [*lines, *self._used(name, struct)]

    def _taken_struct(self, spot: Spot) -> tuple[str, Form, str]:
        there = spot.read.plain
        return "Pair", spot.read, there.replace("element(", "place(", 1) if there.startswith("element(") else there

    def _taken_record(self, log: str) -> tuple[str, Form, str]:
        offset = self.offset(log)
        read = Form(f"s.{log}.at({offset.dsl})", f"record(s[{log!r}], {offset.plain}, BLANK)")
        return "Entry", read, f"slot(s[{log!r}], {offset.plain})"

    def _case(self) -> list[Form]:
        made = self._made_struct("Case")
        name = self.scope.fresh("v")
        kept = [Form(f"{name} = s.case", f"{name} = copied(s['case'])")]
        lines = [Form(f"s.case = {made.dsl}", f"s['case'] = {made.plain}; note(Trap.REPLACED_AFTER_READ)")]
        back = [Form(f"s.case.inner = {name}.inner", f"s['case']['inner'] = copied({name}['inner'])")]
        return self.rng.choice([lines, [*kept, *lines, *back]])

    def _later(self) -> list[Form]:
        if not self.scope.sizes["last"]:
            self.scope.traps.add(Trap.OPTIONAL_OF_NOTHING)
        texts = [text for name in self.scope.of("later") for text in (name, f"{name} - 1")]
        value = self.rng.choice([Form(text, text) for text in [*texts, "None"]])
        return [Form(f"s.after = {value.dsl}", f"s['after'] = stored({value.plain}, 1)")]

    def _ghost(self) -> list[Form]:
        if not self.scope.sizes["ghosts"]:
            self.scope.traps.add(Trap.EMPTY_SORT)
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
