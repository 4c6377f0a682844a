"""Random protocols, each drawn once and written twice: as a user writes it, and in plain Python.

`Drawing`, which makes a protocol's source and its twin's from one stream of random choices, fields and actions.

Every choice appends a text to either side, so what one side says the other says in its own words. Nothing here knows what
the language makes of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.language import plain, spaces
from tests.language.expressions import Field, Form, Scope
from tests.language.predicates import Predicates
from tests.language.statements import Statements

T = plain.Trap
THEMES: dict[str, tuple[plain.Trap, ...]] = {
    "optional": (T.BELOW_COMPARED, T.NONE_ORDERED, T.VALUE_OF_NONE),
    "log": (T.WRITTEN_PAST_END, T.NO_ROOM, T.SET_PAST_END, T.FLAG_PAST_END, T.READ_PAST_END),
    "struct": (T.REPLACED_AFTER_READ, T.SWAPPED, T.OWN_WRITES),
    "set": (T.OPTIONAL_MEMBER,),
    "empty": (T.EMPTY_RANGE, T.EMPTY_SORT, T.OPTIONAL_OF_NOTHING, T.EMPTY_PARAMETER),
    "record ids": (T.PREDICATE_PAST_END, T.CUT_AFTER_READ, T.READ_PAST_END),
    "exchange": (),
    "mixed": (),
    "deep": (T.NESTED_OPTIONAL,),
    "cut": (T.CUT_AFTER_READ, T.PREDICATE_PAST_END),
}
"""What protocols are about, and the traps that they must meet, one after the other; else another one is drawn."""

ERRORS = {"optional": T.BELOW_ASSIGNED, "set": T.NONE_ADDED}
"""The traps that protocols meet which leave the range of a field."""

SYMMETRIC = ("record ids", "exchange")

HEAD = '''"""A drawn protocol."""
from acked.model.language.context import Constant, literal
from acked.model.language.action import require
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, greatest, implies, ite, least, some
from acked.model.language.state import Array, Between, Log, Optional, SetOf, Struct, all_of, field, none_of
from acked.model.language.values import Bool, Id, Int
from acked.model.language.sets import SetValue

nodes = Constant("nodes", 1, 3, "ids")
ghosts = Constant("ghosts", 0, 2, "ids of another sort, or none at all")
last = Constant("last", 0, 3, "the last later number; 0: there is none")
room = Constant("room", 0, 3, "records that a log has room for")


class Node(Id, size=nodes):
    """A sort."""


class Ghost(Id, size=ghosts):
    """A sort that may be empty."""


class Later(Int, lo=1, hi=last):
    """1..last, which may be nothing."""


class Spot(Int, lo=-1, hi=1):
    """A place in an array."""


def num(k):
    return Number(literal(k))


'''
TWIN_HEAD = '''"""A drawn protocol in plain Python."""
from tests.language.plain import *
from tests.language.spaces import Act, Twin

'''


@dataclass
class Drawn:
    """A protocol: its own source, its spec, and its twin's source; what must be refused if it is added, by T."""

    seed: int
    theme: str
    source: str
    spec: str
    twin: str
    nodes: int
    is_symmetric: bool
    predicates: dict[str, str]
    traps: set[plain.Trap] = field(default_factory=set)
    """Those that show in the text, whatever comes of it."""
    mutants: dict[plain.Trap, tuple[str, str, str]] = field(default_factory=dict)
    """By trap: source and spec that must be refused, and what the refusal says."""


class Drawing:
    """One protocol, drawn from a seed; `exchanged` puts numbers in the place of the ids of a sort that nothing else names."""

    def __init__(self, seed: int, attempt: int = 0, exchanged: bool = False) -> None:
        self.seed = seed
        self.rng = random.Random(f"{seed}/{attempt}")
        self.theme = list(THEMES)[seed % len(THEMES)]
        self.wanted = wanted_of(seed)
        self.exchanged = exchanged
        self.is_symmetric = self.theme in SYMMETRIC or (self.theme in ("mixed", "set") and self.rng.random() < 0.5)
        rng = self.rng
        self.least = rng.choice([-1, 0, 0, 1])
        self.most = self.least + rng.choice([1, 2])
        self.sizes = {
            "nodes": 3 if self.is_symmetric else rng.choice([1, 2, 2, 3]),
            "ghosts": rng.choice([0, 0, 1, 2]),
            "last": rng.choice([0, 0, 0, 1, 2]),
            "room": rng.choice([0, 1, 2, 2]) if self.theme not in ("record ids", "cut") else 2,
        }
        empty = {T.NO_ROOM: "room", T.EMPTY_SORT: "ghosts", T.EMPTY_RANGE: "last", T.OPTIONAL_OF_NOTHING: "last"}
        if self.wanted in empty:
            self.sizes[empty[self.wanted]] = 0
        self.structs: dict[str, dict[str, Field]] = {}
        self.fields = self._fields()
        self.scope = Scope(
            rng, self.fields, self.structs, self.sizes, self.least, self.most, self.is_symmetric, self.theme,
            "Kind" if exchanged else "Node"
        )
        self.statements = Statements(self.scope)
        self._labels = 0

    # -- fields -------------------------------------------------------------------------------------------------------

    def _between(self) -> Field:
        lo = self.rng.choice([self.least, self.least, 0, -1])
        hi = lo + self.rng.choice([1, 1, 2])
        return Field("number", f"Between(Number, {lo}, {hi})", ("number", lo, hi))

    def _fields(self) -> dict[str, Field]:
        """Every field that a theme asks for, and some others."""
        sizes, number = self.sizes, ("number", self.least, self.most)
        node = ("id", "Node", sizes["nodes"])
        opt_number = Field("opt number", "Optional(Number)", ("optional", number))
        opt_id = Field("opt id", "Optional(Node)", ("optional", node))
        flag = Field("flag", "Bool", ("bool",))
        members = Field("set", "SetOf(Node)", ("set", "Node", sizes["nodes"]))
        self.structs["Pair"] = {"x": self._between(), "seen": opt_number}
        if self.rng.random() < 0.4:
            self.structs["Pair"]["by"] = opt_id
        self.structs["Case"] = {"inner": self._struct("Pair"), "open": flag}
        self.structs["Tag"] = {"t": opt_number}
        entry = {"v": self._between()}
        extras = {"by": Field("id", "Node", node), "lead": opt_id, "ok": flag, "tag": self._struct("Tag"), "of": members}
        wanted = self.rng.sample(list(extras), 1)
        if self.wanted in (T.SET_PAST_END, T.FLAG_PAST_END):
            wanted = ["of" if self.wanted is T.SET_PAST_END else "ok"]
        if self.theme == "record ids":
            entry, wanted = {}, self.rng.choice([["by"], ["by", "ok"], ["by", "lead"]])
        entry |= {name: extras[name] for name in wanted}
        self.structs["Entry"] = entry
        log_type = ("log", sizes["room"], {name: item.kind for name, item in entry.items()})
        later = ("number", 1, sizes["last"])
        catalogue = {
            "n0": self._between(), "n1": self._between(), "flag": flag, "who": Field("id", "Node", node), "lead": opt_id,
            "hw": opt_number, "low": opt_number, "members": members, "others": members,
            "crew": Field("ghosts", "SetOf(Ghost)", ("set", "Ghost", sizes["ghosts"])),
            "after": Field("opt later", "Optional(Later)", ("optional", later)),
            "box": self._struct("Pair"), "spare": self._struct("Pair"), "case": self._struct("Case"),
            "pairs": Field("array Pair", "Array(Node, Pair)", ("array", "Node", sizes["nodes"], self._struct("Pair").kind)),
            "marks": Field("spots", "Array(Spot, Bool)", ("array", None, 3, ("bool",))),
            "log": Field("log", "Log(Entry, Number, room)", log_type),
            "copy": Field("log", "Log(Entry, Number, room)", log_type),
        }  # fmt: skip
        chosen = {
            "optional": ["n0", "hw", "low"], "log": ["log", "n0"], "struct": ["box", "spare", "n0"],
            "set": ["members", "lead", "who"], "empty": ["crew", "after", "n0"], "record ids": ["log"],
            "exchange": ["who"], "mixed": [], "deep": ["case", "box"], "cut": ["log", "flag"],
        }[self.theme]  # fmt: skip
        rest = [name for name in catalogue if name not in chosen]
        if self.is_symmetric:
            # What numbers are compared with tells no id from another, but makes spaces large.
            rest = [name for name in rest if name in ("n0", "flag", "who", "lead", "members", "marks")]
        if self.theme == "mixed":
            chosen = ["log", "hw"] if not self.is_symmetric else ["members", "lead", "log"]
        chosen = [*chosen, *self.rng.sample(rest, self.rng.choice([1, 1, 2, 2]))]
        found = {name: catalogue[name] for name in catalogue if name in chosen}
        if self.theme == "exchange":
            kind = ("number", 0, sizes["nodes"] - 1) if self.exchanged else node
            sort, name = (None, "Kind") if self.exchanged else ("Node", "Node")
            found |= {
                "slot": Field("mark", name, kind),
                "kept": Field("opt mark", f"Optional({name})", ("optional", kind)),
                "met": Field("marked", f"Array({name}, Bool)", ("array", sort, sizes["nodes"], ("bool",))),
            }
        return found

    def _struct(self, name: str) -> Field:
        kinds = {part: item.kind for part, item in self.structs[name].items()}
        return Field(f"struct {name}", name, ("struct", kinds))

    # -- actions ------------------------------------------------------------------------------------------------------

    def _actions(self) -> list[tuple[str, str, str, str]]:
        """Name, both bodies and the twin's parameters of every action."""
        made = []
        for number in range(self.rng.choice([3, 4, 4, 5])):
            parameters = self._parameters()
            self.scope.begin({name: kind for name, (kind, _, _) in parameters.items()})
            lines: list[Form] = []
            if number > 1 and self.rng.random() < 0.6:
                lines.append(self._require(self.statements.condition(2)))
            count = self.rng.choice([1, 1, 2, 2, 3])
            for at in range(count):
                is_first = number < 2 and at == 0
                lines += self.statements.driver() if is_first else self.statements.statement()
            if self.rng.random() < 0.15:
                lines.append(self._require(self.statements.condition(1)))
            lines = [line if line.dsl != "REQUIRE" else self._require(Form(*line.plain.split("\0"))) for line in lines]
            declared = "".join(f", {name}: {kind}" for name, (_, kind, _) in parameters.items())
            taken = "".join(f", {name}" for name in parameters)
            name = f"act_{number}"
            dsl = [f"@p.action()\ndef {name}(s: State{declared}) -> None:", *(f"    {line.dsl}" for line in lines)]
            twin = [f"def {name}(s{taken}):", *(f"    {line.plain}" for line in lines), "    return True"]
            values = ", ".join(f"{name!r}: {values}" for name, (_, _, values) in parameters.items())
            made.append((f"Act{number}", "\n".join(dsl), "\n".join(twin), f"{{{values}}}"))
        return made

    def _require(self, condition: Form) -> Form:
        self._labels += 1
        return Form(f'require("clause {self._labels}", {condition.dsl})', f"if not ({condition.plain}): return False")

    def _parameters(self) -> dict[str, tuple[str, str, str]]:
        """By name: kind, annotation, and the twin's values."""
        choices: list[tuple[str, tuple[str, str, str]]] = [
            ("a", ("id", "Node", "list(range(nodes))")), ("k", ("number", "Number", "list(range(LEAST, MOST + 1))")),
            ("e", ("later", "Later", "list(range(1, last + 1))")), ("g", ("ghost", "Ghost", "list(range(ghosts))")),
            ("p", ("spot", "Spot", "[-1, 0, 1]")),
        ]  # fmt: skip
        kinds = {item.use for item in self.fields.values()}
        wanted = {"a"} if self.is_symmetric else set(self.rng.sample("aak", 1))
        if kinds & {"ghosts"} and self.rng.random() < 0.5:
            wanted.add("g")
        if kinds & {"opt later"} and self.rng.random() < 0.5:
            wanted.add("e")
        if kinds & {"spots"}:
            wanted.add("p")
        if self.is_symmetric and self.rng.random() < 0.3:
            choices.insert(1, ("b", ("id", "Node", "list(range(nodes))")))
            wanted.add("b")
        if self.theme == "exchange":
            choices.append(("m", ("mark", self.scope.mark, "list(range(nodes))")))
            wanted.add("m")
        return dict(item for item in choices if item[0] in wanted)

    # -- the texts ----------------------------------------------------------------------------------------------------

    def drawn(self) -> Drawn:
        """The protocol, its spec, its twin, and what must be refused."""
        actions = self._actions()
        initial = self.statements.initial()
        constants = dict(self.sizes)
        shared = next((name for name in ("box", "case", "log") if name in self.fields), None)
        more = ""
        if shared is not None and self.rng.random() < 0.5:
            # In predicates the name alone is the constant, and with a part the field.
            more, constants[shared] = shared, self.rng.choice([0, 1, 2])
        first = self._twin([], initial, {}, constants)
        predicates = Predicates(self.scope, constants, more, _judge(first)).drawn(self.rng.choice([2, 3]))
        source = self._source([item[1] for item in actions], initial, [more] if more else [])
        twin = self._twin(actions, initial, predicates, constants)
        spec = self._spec({name: form.dsl for name, form in predicates.items()}, constants)
        made = Drawn(self.seed, self.theme, source, spec, twin, self.sizes["nodes"], self.is_symmetric,
                     {name: form.dsl for name, form in predicates.items()}, self.scope.traps)  # fmt: skip
        if self.sizes["room"] == 0 and {"log", "copy"} & set(self.fields):
            made.traps.add(T.NO_ROOM)
        self._mutate(made, [item[1] for item in actions], initial, predicates, constants)
        return made

    def _classes(self) -> str:
        lines = [f"class Number(Int, lo={self.least}, hi={self.most}):\n    pass\n\n"]
        if self.theme == "exchange":
            lines.append("class Kind(Int, lo=0, hi=nodes - 1):\n    pass\n\n")
        for name, parts in self.structs.items():
            inner = "".join(f"    {part} = field({item.dsl})\n" for part, item in parts.items())
            lines.append(f"class {name}(Struct):\n{inner}\n")
        state = "".join(f"    {name} = field({item.dsl})\n" for name, item in self.fields.items())
        return "\n".join([*lines, f"class State(Struct):\n{state}\n"])

    def _source(self, actions: list[str], initial: list[Form], more: list[str], extra: str = "") -> str:
        begin = "".join(f"    {line.dsl}\n" for line in initial) or "    pass\n"
        names = "".join(f', Constant("{name}", 0, 9, "a further one", default=1)' for name in more)
        sorts = ", symmetric=(Node,)" if self.is_symmetric else ""
        made = (
            f'p = Protocol("drawn", State, title="drawn", source="a seed", constants=(nodes, ghosts, last, room{names}), '
            f"initial=initial{sorts})\n\n\n"
        )
        classes = self._classes()
        if extra:
            classes = classes.replace("class State(Struct):\n", f"class State(Struct):\n{extra}")
        return f"{HEAD}{classes}\ndef initial(s):\n{begin}\n\n{made}" + "\n\n\n".join(actions) + "\n"

    def _spec(self, predicates: dict[str, str], constants: dict[str, int]) -> str:
        lines = ['title = "drawn"', f'protocol = "drawn_{self.seed}.py:p"', "[constants]"]
        lines += [f"{name} = {value}" for name, value in constants.items()]
        names = ", ".join(f'"{name}"' for name in predicates if name.startswith("P"))
        for name, text in predicates.items():
            if name.startswith("P"):
                lines += [f"[invariants.{name}]", f'holds = """{text}"""']
        if sought := [name for name in predicates if name.startswith("R")]:
            lines += ["[reach]", *(f'{name} = """{predicates[name]}"""' for name in sought)]
        return "\n".join([*lines, "[check]", f"invariants = [{names}]", ""])

    def _twin(
        self,
        actions: list[tuple[str, str, str, str]],
        initial: list[Form],
        predicates: dict[str, Form],
        constants: dict[str, int],
    ) -> str:
        values = "".join(f"{name} = {value}\n" for name, value in self.sizes.items())
        kinds = "".join(f"    {name!r}: {item.kind!r},\n" for name, item in self.fields.items())
        begin = "".join(f"    {line.plain}\n" for line in initial) or "    pass\n"
        entry = {name: item.kind for name, item in self.structs["Entry"].items()}
        named = "".join(f"const_{name} = {value}\n" for name, value in constants.items())
        asked = "".join(f"    {name!r}: lambda d: {form.plain},\n" for name, form in predicates.items())
        acts = "".join(f"    Act({name!r}, {taken}, act_{at}),\n" for at, (name, _, _, taken) in enumerate(actions))
        texts = [
            TWIN_HEAD, values, named, f"LEAST, MOST = {self.least}, {self.most}\n", f"BLANK = blank_record({entry!r})\n",
            f"FIELDS = {{\n{kinds}}}\n\n\n", f"def initial(s):\n{begin}\n\n", "\n\n\n".join(item[2] for item in actions),
            f"\n\n\nPREDICATES = {{\n{asked}}}\nACTIONS = [\n{acts}]\nTWIN = Twin(FIELDS, initial, ACTIONS, PREDICATES)\n",
        ]  # fmt: skip
        return "".join(texts)

    # -- what must be refused -------------------------------------------------------------------------------------------

    def _mutate(
        self, made: Drawn, actions: list[str], initial: list[Form], predicates: dict[str, Form], constants: dict[str, int]
    ) -> None:
        texts = made.predicates
        parted = ("struct", "array", "log", "spots", "marked")
        single = next((name for name, item in self.fields.items() if not item.use.startswith(parted)), None)
        more = [name for name in constants if name not in self.sizes]
        name, text = next(iter(texts.items()))

        def spec(changed: str) -> str:
            return self._spec({**texts, name: changed}, constants)

        def source(action: str = "", extra: str = "", names: list[str] = more) -> str:
            return self._source([*actions, action] if action else actions, initial, names, extra)

        if single is not None:
            refusal = f"'{single}' is a constant and a field of the state"
            made.mutants[T.CONSTANT_LIKE_FIELD] = (source(names=[*more, single]), made.spec, refusal)
        made.mutants[T.UNBALANCED] = (made.source, spec(f"{text}) or ({text}"), "cannot be read")
        made.mutants[T.COMMENT] = (made.source, spec(f"{text} # and\n{text}"), "a predicate has no comments")
        empty = "    nothing = field(Between(Number, 3, 0))\n"
        made.mutants[T.EMPTY_FIELD] = (source(extra=empty), made.spec, "field nothing has no possible value")
        lower = '@p.action()\ndef lower(s: State) -> None:\n    require("x", greatest(Later, lambda e: e > 0) > 0)\n'
        if not self.sizes["last"]:
            made.mutants[T.EMPTY_EXTREME] = (source(lower), made.spec, "pass otherwise=… as the result")
        if "members" in self.fields:
            drop = "@p.action()\ndef drop(s: State, a: Node) -> None:\n    s.members.add(a)\n"
            made.mutants[T.DROPPED_SET] = (source(drop), made.spec, "returns a new set and does not change this one")
        for trap in self.rng.sample([trap for trap in FORMS if trap is not T.KEPT or single is not None], 2):
            action, refusal = self.rng.choice(FORMS[trap])
            made.mutants[trap] = (source(action.replace("{field}", single or "")), made.spec, refusal)
        if "box" in self.fields:
            lines = ["    old = s.box\n", "    s.box.seen = None\n", '    require("x", old.seen.is_none)\n']
            stale = f"@p.action()\ndef stale(s: State) -> None:\n{''.join(lines)}"
            made.mutants[T.CHANGED_ELSEWHERE] = (source(stale), made.spec, "box.seen was assigned through another variable")


_ACTION = "@p.action()\ndef trap(s: State) -> None:\n"
_RUN = "so its body would not run when called"
_DROPPED = "which would be dropped; assign to the fields of the state"
_AGAIN = "is not the same when the action is traced again"

FORMS: dict[plain.Trap, list[tuple[str, str]]] = {
    T.NOT_RUN: [
        (f"{_ACTION}    yield\n", _RUN),
        (_ACTION.replace("def", "async def") + "    pass\n", _RUN),
        (_ACTION.replace("def", "async def") + "    yield\n", _RUN),
    ],
    T.RETURNED: [
        (f"{_ACTION}    return 1\n", f"returns an int, {_DROPPED}"),
        (f"{_ACTION}    return {{'x': 1}}\n", f"returns a dict, {_DROPPED}"),
        (f"{_ACTION}    return s\n", f"returns a State, {_DROPPED}"),
    ],
    T.SWALLOWED: [
        (f"{_ACTION}    try:\n        x = s.nowhere\n    except Exception:\n        pass\n", "State has no field 'nowhere'"),
        (f"{_ACTION}    try:\n        s.nowhere = 1\n    finally:\n        return\n", "State has no field 'nowhere'"),
        (f"{_ACTION}    try:\n        if every(Node, lambda a: a == a): return\n    except BaseException:\n        pass\n",
         "a symbolic Bool has no truth value"),
    ],
    T.KEPT: [
        ("HELD = []\n" + _ACTION + "    HELD.append(s)\n\n" + _ACTION.replace("trap", "later") + "    x = HELD[0].{field}\n",
         "this state was kept from a function that is over"),
    ],
    T.UNSTEADY: [
        (f"import random\n{_ACTION}    if random.random() < 0.5: require('coin', True)\n", "a random number is drawn once"),
        (f"import time\n{_ACTION}    if time.time() < 1: require('late', True)\n", "the clock is asked once"),
        (f"import os\n{_ACTION}    if os.getpid() == 1: require('first', True)\n", "what getpid(…) answers is asked once"),
        (f"SEEN = []\n{_ACTION}    SEEN.append(1)\n    require(f'{{len(SEEN)}} times', True)\n", _AGAIN),
        (f"{_ACTION}    for word in {{'a', 'b'}}: require(word, True)\n", "a set has no certain order"),
    ],
}
"""What an author may write, by the trap that it is, with what is said of it."""


def _judge(twin: str) -> Callable[[str], bool]:
    """Whether a predicate in plain Python is true in the initial state of a twin."""
    names: dict[str, Any] = {}
    exec(twin, names)
    state = plain.blank(names["TWIN"].kind)
    names["initial"](state)
    first = plain.decoded(state, names["TWIN"].kind)
    return lambda text: bool(eval(f"lambda d: {text}", names)(first))


MOST_STATES = 600
@dataclass
class Case:
    """A drawn protocol with its twin, what the twin does, and the traps met on the way."""

    drawn: Drawn
    twin: spaces.Twin
    space: spaces.Space
    attempt: int
    traps: set[plain.Trap]


def case_of(seed: int, attempt: int, exchanged: bool = False) -> Case:
    """The protocol of a seed, and its twin searched; predicates are asked in every state."""
    plain.HITS.clear()
    drawn = Drawing(seed, attempt, exchanged).drawn()
    names: dict[str, Any] = {}
    exec(compile(drawn.twin, f"<twin of seed {seed}>", "exec"), names)
    twin: spaces.Twin = names["TWIN"]
    space = spaces.explore(twin, MOST_STATES)
    for predicate in twin.predicates.values():
        space.first(lambda state, holds=predicate: not holds(state))
    return Case(drawn, twin, space, attempt, {*plain.HITS, *drawn.traps})


def is_error(seed: int) -> bool:
    """Whether the protocol of a seed leaves the range of a field somewhere, which must be told: one in seven does."""
    return seed % 7 == 3


def wanted_of(seed: int) -> plain.Trap | None:
    """The trap that the protocol of a seed must meet, if it must meet any."""
    theme = list(THEMES)[seed % len(THEMES)]
    if is_error(seed):
        return ERRORS.get(theme)
    return THEMES[theme][seed // len(THEMES) % len(THEMES[theme])] if THEMES[theme] else None


def cases(seed: int) -> Iterator[Case]:
    """Protocols of a seed, one after the other, those left out that are too small or do not meet what they must."""
    wanted = wanted_of(seed)
    least = 4 if is_error(seed) or wanted is T.NO_ROOM or list(THEMES)[seed % len(THEMES)] == "empty" else 12
    for attempt in count():
        case = case_of(seed, attempt)
        is_fit = len(case.space.states) >= least and any(case.space.overflows) == is_error(seed)
        if is_fit and (wanted is None or wanted in case.traps):
            yield case
