"""Small protocols with a trap each, and what must be said of them.

The state counts up to 5, and what is asked is whether it is never 5, which is false of the protocol as its author means it:
who takes a trap for a protocol answers "holds".
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = '''"""A counter."""
import functools, os, random, time
from acked import *
n = Constant("n", 1, 4, "unused", default=2)
late = switch("late", "whether Late is there", default=False)


class Num(Int, lo=0, hi=6):
    "A number."


class Node(Id, size=n):
    "A node."


class Pair(Struct):
    a = field(Num, "a")
    b = field(Num, "b")


class Server(Struct):
    up = field(Bool, "whether it runs")
    log = field(Log(Pair, Num, 2), "a log")


class State(Struct):
    x = field(Num, "counts")
    flag = field(Bool, "a flag")
    ends = field(Array(Node, Num), "an array")
    up = field(SetOf(Node), "a set")
    pair = field(Pair, "a pair")
    log = field(Log(Pair, Num, 2), "a log")


KEPT = {}
SEEN = []


def one_node():
    return each(Node)[0]
'''

MADE = """
p = Protocol("trap", State, title="a counter", source="a trap", constants=(n, late), initial=initial)
"""

INITIAL = """
def initial(s):
    pass
"""

UP = """
@p.action()
def up(s: State) -> None:
    require("room", s.x < 5)
    s.x = s.x + 1
"""

SPEC = """title = "x is never 5: false as it is meant"
protocol = "trap.py:p"
[invariants.P]
holds = "x != 5"
[check]
invariants = ["P"]
"""


@dataclass(frozen=True)
class Trap:
    """The text of a protocol's file, of a spec that asks about it, and what has to be in the answer.

    There `HERE` stands for the line of the file that ends with `# here`, the last one if there are several.
    """

    source: str
    says: str
    code: int = 151
    spec: str = SPEC

    @property
    def said(self) -> str:
        """What has to be in the answer."""
        lines = self.source.splitlines()
        marked = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
        return self.says.replace("HERE", f"trap.py:{marked[-1]}") if marked else self.says


def action(*lines: str, decorator: str = "@p.action()  # here", define: str = "def go(s: State) -> None:") -> str:
    """The text of a file with one action more."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{INITIAL}{MADE}\n{decorator}\n{define}\n{body}{UP}"


def begins(*lines: str) -> str:
    """The text of a file with another initial state."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}\ndef initial(s):  # here\n{body}{MADE}{UP}"


COUNTED = ('require("room", s.x < 5)', "s.x = s.x + 1")

NOT_RUN = {
    "a generator": Trap(action(*COUNTED, "yield"), "action go (HERE) has a `yield`, so its body would not run"),
    "a coroutine": Trap(
        action(*COUNTED, define="async def go(s: State) -> None:"), "action go (HERE) is an `async def`, so its body"
    ),
    "an asynchronous generator": Trap(
        action(*COUNTED, "yield", define="async def go(s: State) -> None:"), "action go (HERE) is an `async def`"
    ),
    "a state that is returned": Trap(
        action("return Pair(a=s.x + 1, b=0)"),
        "action Go (HERE): the function returns a Pair, which would be dropped; assign to the fields of the state",
    ),
    "a number that is returned": Trap(action("return s.x + 1"), "the function returns a num, which would be dropped"),
    "a number of Python that is returned": Trap(action("return 1"), "the function returns an int, which would be dropped"),
    "a generator that is returned": Trap(action("return (1 for _ in [1])"), "the function returns a generator, which"),
    "an initial state that is returned": Trap(
        begins('return {"x": 5}'), "trap: the initial state (HERE): initial returns a dict, which would be dropped"
    ),
    "an initial generator": Trap(begins("yield", "s.x = 5"), "trap: initial (HERE) has a `yield`, so its body"),
    "an initial coroutine": Trap(
        begins("s.x = 5").replace("def initial", "async def initial"), "trap: initial (HERE) is an `async def`"
    ),
    "a partial": Trap(
        action("pass") + "\np.action()(functools.partial(lambda s, k: None, k=1))\n",
        "an action is a partial, which has neither a name nor a line of its own; write a function with def",
    ),
    "a condition that is no truth value": Trap(
        action("s.x = 5", decorator='@p.action(when=lambda: "no")'), "when= answers 'no', and must say True or False"
    ),
}
"""An action or an initial state whose body never runs, or whose result is dropped."""

SWALLOWED = {
    "a refusal that is caught": Trap(
        action("try:", "    if s.x < 5: s.x = s.x + 1  # here", "except Exception:", "    pass"),
        "trap: action Go (HERE): a symbolic Bool has no truth value",
    ),
    "a refusal whose handler is the action": Trap(
        action("try:", "    if s.x < 4: s.x = s.x + 1  # here", "except BaseException:", "    s.x = 6"),
        "trap: action Go (HERE): a symbolic Bool has no truth value",
    ),
    "a refusal that a return in finally drops": Trap(
        action("try:", "    s.x = s.nothing  # here", "finally:", "    return"),
        "action Go (HERE): State has no field 'nothing'",
    ),
    "an initial refusal that is caught": Trap(
        begins("try:", "    if s.x == 0: s.x = 5  # here", "except Exception:", "    pass"),
        "trap: the initial state (HERE): a symbolic Bool has no truth value",
    ),
}
"""A refusal that the author's own code catches."""

HELD = {
    "a state that another action writes": Trap(
        action('KEPT.setdefault("s", s)', "s.x = s.x + 0")
        + '\n@p.action()\ndef leap(s: State) -> None:\n    KEPT["s"].x = 5  # here\n',
        "trap: action Leap (HERE): this state was kept from a function that is over",
    ),
    "a state that another action reads": Trap(
        action('KEPT.setdefault("s", s)', "s.x = s.x + 0")
        + '\n@p.action()\ndef leap(s: State) -> None:\n    s.x = KEPT["s"].x  # here\n',
        "trap: action Leap (HERE): this state was kept from a function that is over",
    ),
    "an initial state that an action writes": Trap(
        f'{HEAD}\ndef initial(s):\n    KEPT["s"] = s\n{MADE}\n@p.action()\n'
        'def go(s: State) -> None:\n    KEPT["s"].x = 5  # here\n',
        "trap: action Go (HERE): this state was kept from a function that is over",
    ),
    "a log that another action appends to": Trap(
        action('KEPT.setdefault("log", s.log)', "s.x = s.x + 0")
        + '\n@p.action()\ndef leap(s: State) -> None:\n    KEPT["log"].append(Pair(a=1, b=1))  # here\n',
        "trap: action Leap (HERE): this state was kept from a function that is over",
    ),
}
"""A state that is kept beyond the function that it was given to."""

_ONCE = "once, when the protocol is traced, and not once per step"

UNSTEADY = {
    "a random guard": Trap(
        action('require("room", s.x < random.randint(1, 6))  # here', "s.x = s.x + 1"),
        f"trap: action Go (HERE): a random number is drawn {_ONCE}; a choice is a parameter of the action",
    ),
    "a coin": Trap(
        action("if random.random() < 0.5: s.flag = True  # here", "s.x = 1"),
        "action Go (HERE): a random number is drawn once",
    ),
    "a coin of one's own": Trap(
        action("if random.Random(7).random() < 0.5: s.flag = True  # here"), "action Go (HERE): a random number is drawn once"
    ),
    "a coin of the system": Trap(
        action("if os.urandom(1)[0] < 128: s.flag = True  # here"), "action Go (HERE): a random number is drawn once"
    ),
    "a coin in a helper": Trap(
        action("if flip(): s.flag = True") + "\ndef flip():\n    return random.choice([True, False])  # here\n",
        "action Go (HERE): a random number is drawn once",
    ),
    "a coin that is kept from the first time on": Trap(
        action("if flip(): s.flag = True")
        + "\nimport functools\n@functools.cache\ndef flip():\n    return random.choice([True, False])  # here\n",
        "action Go (HERE): a random number is drawn once",
    ),
    "the clock": Trap(
        action('require("room", s.x < time.time_ns() % 7)  # here', "s.x = s.x + 1"),
        f"action Go (HERE): the clock is asked {_ONCE}",
    ),
    "a date": Trap(
        action("import datetime", "s.flag = datetime.datetime.now().second > 29  # here"),
        f"action Go (HERE): the clock is asked {_ONCE}",
    ),
    "a file": Trap(
        action('with open(os.devnull, "a") as out: out.write("once")  # here', "s.x = s.x + 0"),
        f"action Go (HERE): what open(…) answers is asked {_ONCE}",
    ),
    "the environment": Trap(
        action('s.flag = "HOME" in os.environ  # here'), f"action Go (HERE): the environment is asked {_ONCE}"
    ),
    "a process's number": Trap(
        action("s.flag = os.getpid() > 9  # here"), f"action Go (HERE): what getpid(…) answers is asked {_ONCE}"
    ),
    "a text's hash": Trap(
        action('s.flag = hash("a") % 2 == 0  # here'), "action Go (HERE): hash(…) differs from process to process"
    ),
    "a list outside the state": Trap(
        action("SEEN.append(1)", 'require("room", s.x < len(SEEN))  # here', "s.x = s.x + 1"),
        "action Go (HERE): clause 'room' is not the same when the action is traced again; it depends on something outside",
    ),
    "a count that is assigned": Trap(
        action("SEEN.append(1)", "s.x = len(SEEN)"), "what it assigns to x is not the same when the action is traced again"
    ),
    "a count that decides whether a clause is there": Trap(
        action("SEEN.append(1)", 'if len(SEEN) > 1: require("second", s.x == 0)  # here', "s.x = 5"),
        "action Go (HERE): clause 'second' is not the same when the action is traced again",
    ),
    "an initial coin": Trap(
        begins("s.x = random.randint(0, 3)  # here"), "the initial state (HERE): a random number is drawn once"
    ),
    "an initial list": Trap(
        begins("SEEN.append(1)", "s.x = len(SEEN)"), "trap: the initial state is another one when it is traced again"
    ),
    "the order of a set of texts": Trap(
        action('first = list({"aa", "bb", "cc"})[0]  # here', "s.x = ord(first[0]) - 96"),
        "action Go (HERE): a set has no certain order: it differs from process to process; write sorted(…)",
    ),
    "a loop over a set of texts": Trap(
        action('for name in {"a", "b"}: s.x = ord(name) - 96  # here'), "action Go (HERE): a set has no certain order"
    ),
    "an element of a set of texts": Trap(
        action('s.x = ord({"a", "b"}.pop()) - 96  # here'), "action Go (HERE): a set has no certain order"
    ),
    "a set of texts in a helper": Trap(
        action("s.x = ord(first()) - 96")
        + '\nNAMES = frozenset("ab")\ndef first():\n    one, other = NAMES  # here\n    return one\n',
        "action Go (HERE): a frozenset has no certain order",
    ),
}
"""What is not the same each time: chance, the clock, files, what lies outside the state, the order of a set."""

FINE = {
    "what is printed": action('print("traced")', "s.flag = True"),
    "a set of numbers": action("for k in {1, 2}: s.ends[0] = k"),
    "a set that is sorted": action('for name in sorted({"a", "b"}): s.x = ord(name) - 96'),
    "whether a text is in a set": action('s.flag = "a" in {"a", "b"}'),
    "an import": action("import math", "s.x = math.floor(2.5)"),
    "a line for a log": action("import logging", 'logging.getLogger("trap").warning("traced")', "s.flag = True"),
    "an error of one's own that is caught": action("try:", '    KEPT["none"]', "except KeyError:", "    s.flag = True"),
    "a list that is only written": action("SEEN.append(1)", "s.flag = True"),
}
"""What looks like a trap and is none."""

SAID = {
    "a loop over a type": (
        "for k in Node: s.x = 1",
        "Node cannot be looped over; write each(Node), every(…) or some(…)",
    ),
    "membership by in": ("s.flag = 0 in s.up", "a set of nodes has no `in`; use |, &, -, contains(…)"),
    "the smaller by min": (
        "s.x = min(s.x, s.ends[0])",
        "which a function of Python's own asks for; write smaller(…) or ite(…)",
    ),
    "whether any": ("s.flag = any(s.ends[k] > 0 for k in each(Node))", "some(…) for any(…), every(…) for all(…)"),
    "an order by sorted": ("s.x = sorted([s.x, s.ends[0]])[0]", "for min(…), max(…) and sorted(…)"),
    "a truth by bool": ("s.flag = bool(s.flag)", "and no bool(…)"),
    "a record by its number": ("s.x = s.log[0].a", "a log has no […]; write .at(offset) or .last"),
    "records by their numbers": ("s.x = s.log[:1].a", "a log has no […]; write .at(offset) or .last"),
    "a record that is taken out": ("s.log.pop()", "a log has no 'pop'; it has append, at, copy, end, has, is_empty"),
    "a number's part": ("s.x = s.x.value", "a num has no 'value'; it has"),
    "a number that is called": ("s.x = Num(1)", "Num(1) makes no num; write the value alone, or Num(literal(…))"),
    "an id that is called": ("s.flag = Node(0) == Node(0)", "Node(0) makes no node; write the value alone"),
    "a set of a list": ("s.up = SetOf(Node)([0])", "this declares a field and makes no value; a set is none_of(…).add(…)"),
    "a set in braces": ("s.up = {one_node()}", "a member of a Python set; a set of them is none_of(Node).add(…)"),
    "a constant that is compared": (
        "s.flag = n > 1",
        "constant n stands before or after `>` and has no value yet; write .value >",
    ),
    "a constant that is multiplied": (
        "s.x = n * 2",
        "constant n stands before or after `*` and has no value yet; write .value *",
    ),
    "a type as a value": ("s.x = Num", "expected a num, got the type Num; write a value of it"),
    "fields by position": ("s.pair = Pair(s.x, s.x)", "Pair takes its fields by name: Pair(a=…, b=…)"),
    "a log that is given in place": ("s.x = Server(up=True, log=0).x", "arrays and logs are changed by element"),
    "a clause without a label": ("require(s.x < 5)", 'a clause has a label before its condition, require("room is left", …)'),
    "a field that is deleted": ("del s.x", "field x cannot be deleted; assign what it is to hold"),
    "an element that is deleted": ("del s.ends[0]", "nothing can be deleted from an array; assign what it is to hold"),
}
"""What Python would say of our objects, and what is said instead; each is one line of an action."""

SIGNATURES = {
    "q: int": "parameter 'q' has a type that cannot be enumerated, int; a parameter is of a subclass of Int, Id or Enum",
    "q: Queue(Num, 2)": "parameter 'q' has a type that cannot be enumerated, Queue(type); a parameter is of a subclass",
}
"""Parameters whose values cannot be enumerated."""

PREDICATES = {
    "implies(x == 1)": "column 1: an implication has two parts, implies(A, B)",
    "sum(ends[k] for k in n) < 9": "column 1: count(… for r in …) counts; a sum is written with +",
    "max(ends[k] for k in n) < 9": "column 1: write all(x <= … for r in …), or a comparison, instead of max(…)",
    "x ** 2 <= 4": "column 1: this is not part of the language of predicates",
    "x == 1 => x == 2": "column 8: write implies(A, B), or not A or B, instead of A => B",
    "x == 1 /\\ x == 2": "column 8: write and instead of /\\",
    "\\A k \\in n : ends[k] == 0": "column 1: write all(… for r in …) instead of \\A",
    "flag implies x == 1": "column 6: write implies(A, B), or not A or B, instead of A implies B",
    "up.size > 1": "column 1: up has no parts; write len(up)",
    "size(up) > 1": "column 1: write len(…) for how many members a set has; the only calls",
    "up.contains(1)": "column 1: write x in … instead of ….contains(x); the only calls",
    "log.at(0) == 1": "column 1: write log[0] instead of log.at(0); the only calls",
    "x == 1 ∧ x == 2": "column 8: write and instead of ∧",
}
"""Predicates as others write them."""
