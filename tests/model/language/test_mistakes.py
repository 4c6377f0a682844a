"""What authors write by mistake, a line each, and what is said of it: never an answer, always the place and the advice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from acked import ModelError, Protocol
from acked.base.errors import ConfigurationError
from acked.checker.spec.user_protocol import load_protocol
from acked.model.formulas.functions import words_of
from acked.model.language.action import action

DECLARED = """
from acked import *

brokers = Constant("brokers", 1, 5, "brokers")
records = Constant("records", 1, 8, "records")
fast = switch("fast", "whether it is fast", default=True)

class Broker(Id, size=brokers): "A broker."
class Count(Int, lo=0, hi=records): "A number of records."
class Epoch(Int, lo=0, hi=2): "Another unit."
class Phase(Enum, names=("working", "prepared")): "Names."

class Pair(Struct):
    a = field(Count)
    b = field(Count)

class State(Struct):
    end = field(Array(Broker, Count))
    acked = field(Count)
    isr = field(SetOf(Broker))
    flag = field(Bool)
    pair = field(Pair)
    log = field(Log(Pair, Count, 2))
    leader = field(Broker)
    holder = field(Optional(Broker))
    epoch = field(Epoch)
    phase = field(Phase)
    queue = field(Queue(Pair, 2))
    sent = field(SetOf(Pair))

def initial(s: State) -> None:
    "Zero."
"""

LINE = len(DECLARED.splitlines()) + 2
"""The line of the mistake."""

MISTAKES = [
    ("for x in Broker: s.end[x] = 0", "Broker cannot be looped over; write each(Broker), every(…) or some(…)"),
    ('require("in", b in s.isr)', "a set of brokers has no `in`; use |, &, -, contains(…), issubset(…), `.size`,"),
    ("s.acked = min(s.acked, s.end[b])", "a symbolic Bool has no truth value, which a function of Python's own asks for;"),
    (
        "s.acked = max(s.end[b] for b in range(2))",
        "a symbolic Bool has no truth value, which a function of Python's own asks for;",
    ),
    (
        'require("any", any(s.end[x] > 0 for x in each(Broker)))',
        "a symbolic Bool has no truth value, which a function of Python's own asks for;",
    ),
    (
        'require("all", all(s.end[x] > 0 for x in each(Broker)))',
        "a symbolic Bool has no truth value, which a function of Python's own asks for;",
    ),
    (
        'require("sorted", sorted([s.acked, s.end[b]])[0] > 0)',
        "a symbolic Bool has no truth value, which a function of Python's own asks for;",
    ),
    ('require("bool", bool(s.flag))', "a symbolic Bool has no truth value, which a function of Python's own asks for;"),
    ('require("len", len(s.isr) > 1)', "a set of brokers has no `len(…)`; use |, &, -, contains(…), issubset(…),"),
    ('require("len", len(s.log) > 1)', "a log has no len(…); use its `.end`"),
    ('require("index", s.log[0].a == 0)', "a log has no […]; write .at(offset) or .last, and .has(offset) for whether"),
    ('require("slice", s.log[:1] == 0)', "a log has no […]; write .at(offset) or .last, and .has(offset) for whether"),
    ("s.log.pop()", "a log has no 'pop'; it has append, at, copy, end, has, is_empty, is_full, last,"),
    ("s.log.insert(0, Pair(a=0, b=0))", "a log has no 'insert'; it has append, at, copy, end, has, is_empty, is_full,"),
    ("s.log.append(1)", "expected a Pair, got an int"),
    ("s.log.append(Pair(a=0))", "Pair needs exactly the fields a, b"),
    ("s.log.append(a=0, b=0)", "TypeError: LogView.append() got an unexpected keyword argument 'a'"),
    ("s.log = s.log", "arrays and logs are changed by element, append or truncate, not assigned whole"),
    ("s.log.end = 0", "AttributeError: property 'end' of 'LogView' object has no setter"),
    ("s.end = s.end", "arrays and logs are changed by element, append or truncate, not assigned whole"),
    ("s.end.append(1)", "an array has no 'append'; it has its elements alone"),
    ("del s.end[b]", "nothing can be deleted from an array; assign what it is to hold"),
    ("del s.acked", "field acked cannot be deleted; assign what it is to hold"),
    (
        'require("set", s.isr == SetOf(Broker)([b]))',
        "this declares a field and makes no value; a set is none_of(…).add(…), no value",
    ),
    ("s.isr = {b}", "a symbolic broker cannot be a dictionary key or a member of a Python set; a set"),
    ("s.isr = [b]", "expected a set of brokers, got a list"),
    ("s.isr = set()", "expected a set of brokers, got a set"),
    ("s.isr = s.isr + b", "a set of brokers has no `+`; use |, &, -, contains(…), issubset(…), `.size`, =="),
    ("s.isr.add(b)", "add(…) returns a new set and does not change this one; assign it, e.g. s.isr ="),
    ("s.isr |= b", "expected a set of brokers, got a broker"),
    ("s.isr = s.isr | b", "expected a set of brokers, got a broker"),
    ("s.isr = s.isr.union(all_of(Broker))", "a set of brokers has no 'union'; it has add, as_many_as, contains, is_empty,"),
    ("s.isr = s.isr.difference(s.isr)", "a set of brokers has no 'difference'; it has add, as_many_as, contains,"),
    ("s.isr = all_of(b)", "all_of(…) and none_of(…) are of a subclass of Id, not broker"),
    ("s.isr = all_of(Count)", "all_of(…) and none_of(…) are of a subclass of Id, not Count"),
    ('require("positional", Pair(s.acked, s.acked) == s.pair)', "Pair takes its fields by name: Pair(a=…, b=…)"),
    ("s.pair = Pair(a=s.acked)", "Pair needs exactly the fields a, b"),
    ("s.pair = Pair(a=s.acked, b=0, c=1)", "Pair needs exactly the fields a, b"),
    ("s.pair = (0, 0)", "expected a Pair, got a tuple"),
    ('s.pair = {"a": 0, "b": 0}', "expected a Pair, got a dict"),
    ("s.pair.c = 1", "Pair has no field 'c'; its fields are a, b"),
    ("s.pari = 1", "State has no field 'pari'; its fields are end, acked, isr, flag, pair, log,"),
    ('require("nofield", s.pari.a == 0)', "State has no field 'pari'; its fields are end, acked, isr, flag, pair, log,"),
    ("require(s.flag)", 'a clause has a label before its condition, require("room is left", …), and this'),
    ('require(s.flag, "flag")', 'a clause has a label before its condition, require("room is left", …), and this'),
    ('require("flag", s.acked)', "expected a Bool, got a count"),
    ('require("flag", 1)', "expected a Bool, got an int"),
    ('require("flag", None)', "expected a Bool, got None"),
    ('require("flag", "flag")', "expected a Bool, got a str"),
    ('require("same", s.flag); require("same", s.flag)', "two clauses are labelled 'same'; give each require its own label"),
    (
        'require("and", s.flag and s.acked > 0)',
        "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)",
    ),
    ('require("or", s.flag or s.acked > 0)', "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ('require("not", not s.flag)', "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ('require("chained", 0 < s.acked < 2)', "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ("if s.flag: s.acked = 0", "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ("while s.flag: s.acked = 0", "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ("s.acked = 1 if s.flag else 0", "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ("assert s.flag", "a symbolic Bool has no truth value; write `&`, `|`, `~`, implies(…) or ite(…)"),
    ('require("is", s.holder is None)', "`is` compares Python's objects, which are no values; write == None, or .is_none"),
    (
        'require("is", s.holder is not None) or None',
        "`is` compares Python's objects, which are no values; write == None, or .is_none",
    ),
    (
        'require("range", every(range(2), lambda i: s.end[i] > 0))',
        "range is not a domain; use a subclass of Int, Id, Enum or Struct, Bool, or",
    ),
    (
        'require("every", every(Broker, s.flag))',
        "every(…) asks a function of each value, every(Broker, lambda b: …), and this is",
    ),
    (
        'require("every", every(lambda x: s.end[x] > 0, Broker))',
        "every(…) asks a function of each value, every(Broker, lambda b: …), and this is",
    ),
    (
        'require("every", every(Broker, lambda: s.flag))',
        "TypeError: go.<locals>.<lambda>() takes 0 positional arguments but 1 was given",
    ),
    ('require("every", every(Broker, lambda x: x))', "expected a Bool, got a broker"),
    (
        'require("some", some(s.end, lambda x: x > 0))',
        "array is not a domain; use a subclass of Int, Id, Enum or Struct, Bool, or",
    ),
    (
        'require("some", some([0, 1], lambda x: s.end[x] > 0))',
        "list is not a domain; use a subclass of Int, Id, Enum or Struct, Bool, or",
    ),
    ('require("const", brokers > 1)', "constant brokers stands before or after `>` and has no value yet; write .value"),
    ('require("const", brokers == 2)', "constant brokers is compared with 2 before it has a value; write .value == 2"),
    ('require("switch", fast)', "expected a Bool, got a constant; write .value, or .on of a switch"),
    ('require("switch", fast & s.flag)', "expected a Bool, got a constant; write .value, or .on of a switch"),
    ('require("switch", fast.value & s.flag)', "expected a Bool, got an int"),
    ("if fast: s.acked = 0", "constant fast is always true to Python, whatever its value; write .value, or"),
    ("s.acked = s.acked + 1.5", "expected a count, got a float"),
    ("s.acked = s.acked / 2", "a count has no `/`; use +, -, *, //, % or a comparison with its own unit or a"),
    ("s.acked = 0.5", "expected a count, got a float"),
    ('s.acked = "0"', "expected a count, got a str"),
    ("s.acked = None", "expected a count, got None"),
    ("s.acked = True", "expected a count, got a bool"),
    ("s.flag = 1", "expected a Bool, got an int"),
    ("s.flag = None", "expected a Bool, got None"),
    ('s.flag = "true"', "expected a Bool, got a str"),
    ("s.flag = s.acked", "expected a Bool, got a count"),
    ("s.leader = s.acked", "expected a broker, got a count"),
    ("s.leader = None", "expected a broker, got None"),
    ("s.leader = 7", "broker 7 does not exist: there are 2, from 0"),
    ("s.leader = -1", "broker -1 does not exist: there are 2, from 0"),
    ("s.leader = s.leader + 1", "a broker has no `+`; ids have neither order nor arithmetic: compare with == or"),
    ('require("order", s.leader < b)', "a broker has no `<`; ids have neither order nor arithmetic: compare with == or"),
    ('require("unit", s.acked < s.epoch)', "expected a count, got an epoch"),
    ("s.acked = s.epoch", "expected a count, got an epoch"),
    ("s.acked = s.acked + s.epoch", "expected a count, got an epoch"),
    ("s.holder = s.acked", "expected a broker, got a count"),
    ('require("holder", s.holder > b)', "a broker has no order; compare with == or !="),
    ("s.leader = s.holder", "expected a broker, got an optional broker"),
    ("s.acked = Count(1)", "Count(1) makes no count; write the value alone, or Count(literal(…))"),
    ("s.acked = Count", "expected a count, got the type Count; write a value of it"),
    ("s.acked = Count(s.epoch)", "Count(epoch) makes no count; write the value alone, or Count(literal(…))"),
    ("s.end[s.acked] = 0", "expected a broker, got a count"),
    ("s.end[0] = 0; s.end[5] = 0", "broker 5 does not exist: there are 2, from 0"),
    ('s.end["a"] = 0', "expected a broker, got a str"),
    ('require("eq", s.end == s.end)', "arrays have no ==; compare their elements with every(…)"),
    ('require("eq", s.log == s.log)', "logs have no ==; compare their ends, and their records with same_record_at(…)"),
    ('require("eq", s.pair == 0)', "expected a Pair, got an int"),
    ('require("truth", s.end)', "expected a Bool, got an array"),
    ("return s", "the function returns a State, which would be dropped; assign to the fields of"),
    ("return 1", "the function returns an int, which would be dropped; assign to the fields of"),
    ("s.acked += s.end", "expected a count, got an array"),
    ("s.acked++1", "this line computes something and drops it; assign it with =, or state it with"),
    ('s.phase = "prepard"', "phase is never 'prepard' (did you mean prepared?); it is working or prepared"),
    ("s.phase = 1", "expected a phase, got an int"),
    ('require("phase", s.phase < "prepared")', "a phase has no `<`; compare it with == or !=, with one of its names"),
    ("s.phase = s.acked", "expected a phase, got a count"),
    ("choose(Bool)", "TypeError: choose() missing 1 required positional argument: 'over'"),
    ('choose("x", int)', "int is Python's own and no domain; write a subclass of Int with its bounds,"),
    ('choose("two words", Bool)', 'a choice has a name before its type, choose("is_lost", Bool), and this is \'two'),
    ('s.flag = choose("b", Bool)', "two choices or parameters are named 'b'; give each its own name"),
    ("s.queue.pop()", "a queue has no 'pop'; it has append, at, copy, end, first, has, is_empty,"),
    ("s.queue.append", "this line computes something and drops it; assign it with =, or state it with"),
    ('s.queue.send("x")', "expected a Pair, got a str"),
    ("s.queue[0]", "a queue has no […]; write .at(place) or .first, and .has(place) for whether"),
    ('require("q", len(s.queue) > 0)', "a queue has no len(…); use its `.end`"),
    ("s.sent.add(1)", "expected a Pair, got an int"),
    ("s.sent = none_of(Pair)", "all_of(…) and none_of(…) are of a subclass of Id, not Pair"),
    ("for m in s.sent: pass", "a set of structs cannot be looped over; write every(s.sent, lambda m:"),
    ('require("m", Pair(a=0, b=0) in s.sent)', "a set of structs has neither […] nor `in`; write .contains(…)"),
    ("s.sent |= {1}", "a set of structs has no |, & or -; write s.sent.add(m) or s.sent.remove(m), a line each"),
    ("print(s.acked)", "a count has no text: it has no value while a protocol is traced"),
    ('x = f"{s.acked}"; require("x", x == "1")', "a count has no text: it has no value while a protocol is traced"),
    ('require("x", str(s.acked) == "1")', "a count has no text: it has no value while a protocol is traced"),
    ('require("x", int(s.acked) == 1)', "a symbolic count cannot bound a loop or index a Python list; use every(…),"),
    ('require("x", s.acked.bit_count() == 1)', "a count has no 'bit_count'; it has only its comparisons"),
    ('require("x", hash(s.acked) == 1)', "a symbolic count cannot be a dictionary key or a member of a Python set"),
    ('require("x", {s.acked: 1}[s.acked] == 1)', "a symbolic count cannot be a dictionary key or a member of a Python set"),
    ('require("x", [1, 2, 3][s.acked] == 1)', "a symbolic count cannot bound a loop or index a Python list; use every(…),"),
    ('require("x", list(s.isr) == [])', "a symbolic set of brokers cannot be looped over; use every(…) or some(…)"),
    ('require("x", abs(s.acked) > 0)', "a count has no `abs(…)`; use +, -, *, //, % or a comparison with its own unit"),
    ('require("x", s.acked ** 2 > 1)', "a count has no `**`; use +, -, *, //, % or a comparison with its own unit or a"),
    ('require("x", s.acked << 1 > 1)', "a count has no `<<`; use +, -, *, //, % or a comparison with its own unit or a"),
    ('require("x", -s.acked < 0)', "a count has no `-`; use +, -, *, //, % or a comparison with its own unit or a"),
    ('require("x", ~s.acked > 0)', "a count has no `~`; use +, -, *, //, % or a comparison with its own unit or a"),
    ('require("x", s.acked & 1)', "a count has no `&`; use +, -, *, //, % or a comparison with its own unit or a"),
    ('require("x", s.flag + s.flag > 0)', "a Bool has no `+`; combine truth values with `&`, `|`, `~`, implies(…), ite(…),"),
    ('require("x", s.flag > s.flag)', "a Bool has no `>`; combine truth values with `&`, `|`, `~`, implies(…), ite(…),"),
    ('require("x", implies(s.flag))', "TypeError: implies() missing 1 required positional argument: 'consequent'"),
    ('require("x", ite(s.flag, 1, 2) == 1)', "ite(…) needs a symbolic value, got int and int"),
    ('require("x", ite(s.flag, s.acked, s.epoch) == 1)', "expected a count, got an epoch"),
    ('require("x", ite(s.acked, s.acked, 0) == 1)', "expected a Bool, got a count"),
    (
        'require("x", greatest(Broker, lambda x: s.end[x] > 0) == b)',
        "greatest(…) and least(…) are of a subclass of Int, not Broker",
    ),
    ('require("x", smaller(1, 2) == 1)', "ite(…) needs a symbolic value, got int and int"),
    ('require("x", smaller(s.acked) == 1)', "TypeError: smaller() missing 1 required positional argument: 'b'"),
    ('require("x", smaller(s.acked, s.epoch) == 1)', "expected a count, got an epoch"),
    ('require("x", literal(1) == s.acked)', "expected a count, got an Expr"),
    ('require("x", every(Broker, lambda x: s.isr.contains(s.acked)))', "expected a broker, got a count"),
    ('require("x", s.log.at(s.epoch).a == 0)', "expected a count, got an epoch"),
    ('require("x", s.log.has(b))', "a broker has no `>=`; ids have neither order nor arithmetic: compare with == or"),
    ('require("x", s.log.last() == s.pair)', "a Pair is no function; write it without (…)"),
    ('require("x", s.log.is_empty())', "a Bool is no function; write it without (…)"),
    ('require("x", s.isr.size() > 1)', "a count is no function; write it without (…)"),
    ('require("x", s.holder.is_none())', "a Bool is no function; write it without (…)"),
    ('require("x", s.holder.value() == b)', "a broker is no function; write it without (…)"),
    ('require("x", s.isr.contains(b, b))', "TypeError: SetValue.contains() takes 2 positional arguments but 3 were given"),
    ('require("x", s.isr.issubset([0]))', "expected a set of brokers, got a list"),
    ('require("x", s.isr.reaches("two"))', "expected a count, got a str"),
    ("s.acked == 1", "this line computes something and drops it; assign it with =, or state it with"),
    ("s.acked - 1", "this line computes something and drops it; assign it with =, or state it with"),
    ("s.flag", "this line computes something and drops it; assign it with =, or state it with"),
    ("s.flag & (s.acked == 0)", "this line computes something and drops it; assign it with =, or state it with"),
    ("s.isr <= all_of(Broker)", "this line computes something and drops it; assign it with =, or state it with"),
    (
        "if s.holder is not None: s.acked = 0",
        "`is` compares Python's objects, which are no values; write == None, or .is_none",
    ),
    ("s.end[b] += None", "expected a count, got None"),
    ("for i in range(s.acked): s.end[i] = 0", "a symbolic count cannot bound a loop or index a Python list; use every(…),"),
    ("s.isr.remove(b)", "remove(…) returns a new set and does not change this one; assign it, e.g. s.isr"),
    ("s.queue.receive().c", "this line computes something and drops it; assign it with =, or state it with"),
    ("s.log.truncate(b)", "expected a count, got a broker"),
    ("s.log.truncate()", "TypeError: LogView.truncate() missing 1 required positional argument: 'offset'"),
    ("s.log.copy(s.log)", "TypeError: LogView.copy() missing 1 required positional argument: 'until'"),
    ("s.queue = s.queue", "arrays and logs are changed by element, append or truncate, not assigned whole"),
    (
        "for_each(Broker, lambda b: s.end[b] == 0)",
        "the function of for_each(…) returns a Bool, which would be dropped; assign to",
    ),
    ("those(Broker, lambda x: s.end[x])", "expected a Bool, got a count"),
    ("s.sent = s.sent.add(s.pair)", "a set of structs is changed where it is, s.sent.add(m) or s.sent.remove(m), and not"),
    ("s.sent |= {Pair(a=0, b=0)}", "a symbolic Pair cannot be a dictionary key or a member of a Python set; of a field"),
    ("s.sent = s.sent | s.pair", "a set of structs has no |, & or -; write s.sent.add(m) or s.sent.remove(m), a line each"),
    ("s.pair = Pair(a=0)", "Pair needs exactly the fields a, b: b is missing, and has no default: field(…, default=…)"),
    ("s.pair = Pair(aa=0, b=0)", "Pair needs exactly the fields a, b: 'aa' is none of them (did you mean a?)"),
    ('require("all", s.isr == Broker)', "expected a set of brokers, got the type; all of them are all_of(Broker)"),
    ("s.isr = Broker", "expected a set of brokers, got the type; all of them are all_of(Broker)"),
    ("s.acked = 2 * records", "constant records stands before or after `*` and has no value yet; write .value * … in an"),
    ("count(s.isr.size, lambda x: x)", "count is not a domain; use a subclass of Int, Id, Enum or Struct, Bool, or"),
    ('require("x", one_of(Count) == 0)', "one_of(…) is of a subclass of Id, not Count"),
]
"""What is written in an action, and how the answer begins."""


def protocol_with(line: str) -> Protocol:
    """The protocol with an action of that line."""
    names: dict[str, Any] = {"__name__": "toy"}
    exec(compile(f"{DECLARED}def go(s: State, b: Broker) -> None:\n    {line}\n", "toy.py", "exec"), names)
    constants = (names["brokers"], names["records"], names["fast"])
    made = Protocol("toy", names["State"], title="a toy", source="a test", constants=constants, initial=names["initial"])
    made.action()(names["go"])
    return made


DECLARATIONS = [
    ("class Kind(Enum): 'A kind.'", "argument: 'names'; write class Kind(Enum, names=(\"ask\", \"tell\")"),
    ("class Kind(Enum):\n    A = 1", "argument: 'names'; write class Kind(Enum, names=(\"ask\", \"tell\")"),
    ("class Size(Int): 'A size.'", "required keyword-only argument: 'hi'; write class Count(Int, lo=0, hi=3): …"),
    ("class Rack(Id): 'A rack.'", "required keyword-only argument: 'size'; write class Node(Id, size=3): …"),
    ('more = Constant("more")', "'lo', 'hi', and 'doc'; write Constant(\"nodes\", 1, 5, \"nodes of the cluster\")"),
    ("class Size(Int, hi=2 * records): 'A size.'", "and a bound as a sum or a difference of constants and numbers"),
    ("from acked import Switch", "cannot import name 'Switch' from 'acked'"),
    ("from acked import Switch", "(did you mean switch?)"),
    ("class More(Struct):\n    x: Count", "More.x is declared as a type alone; write x = field(Count)"),
    ("class More(Struct):\n    x = field(SetOf(Phase))", "are ids or structs, not Phase; Array(Phase, Bool) says which"),
    ("class More(Struct):\n    x = field(set)\nMore.domains()", "set is Python's own and no domain; write SetOf(Node)"),
    ("class More(Struct):\n    x = field(int)\nMore.domains()", "int is Python's own and no domain; write a subclass of Int"),
    ("class More(Struct):\n    x = field(Array(brokers, Bool))", "a type, class Node(Id, size=brokers)"),
    ("class More(Struct):\n    x = field(Array(3, Bool))", "3 is a number and no domain; that many things are a type"),
]
"""What is declared, and what the answer says of it."""


@pytest.mark.parametrize(("text", "said"), DECLARATIONS)
def test_a_wrong_declaration_is_answered_with_its_line_and_advice(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(f"{DECLARED}\n{text}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_protocol("toy.py:toy", tmp_path)
    assert re.search(r"toy\.py:\d+: ", str(caught.value))
    assert said in str(caught.value)


def test_there_are_many() -> None:
    assert len({line for line, _ in MISTAKES}) == len(MISTAKES) > 150


def test_a_bound_is_a_sum_of_constants_and_a_parameter_a_set_or_an_optional_value() -> None:
    names: dict[str, Any] = {"__name__": "toy"}
    exec(
        DECLARED + "class Size(Int, hi=records + brokers - 1): 'A size.'\nclass One(Struct): x = field(Size)\n"
        "def go(s: One, q: SetOf(Broker), b: Optional(Broker)) -> None:\n    s.x = 1 + records + brokers - 2\n", names
    )
    constants = (names["brokers"], names["records"])
    made = Protocol("toy", names["One"], title="a toy", source="a test", constants=constants, initial=lambda s: None)
    made.action()(names["go"])
    instance = made.instantiate({"brokers": 2, "records": 3})
    assert (instance.schema.leaves[0].cardinality, len(instance.actions)) == (5, 4 * 3)
    assert {step.updated([0])[0] for step in instance.actions} == {4}


def test_what_is_in_capitals_stays_so_in_words() -> None:
    said = {"RM": "RM", "RMState": "RM state", "LeaderEpoch": "leader epoch", "N": "n"}
    assert {name: words_of(name) for name in said} == said


@pytest.mark.parametrize(("line", "said"), MISTAKES)
def test_a_mistake_is_answered_with_its_place_and_advice(line: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        protocol_with(line).instantiate({"brokers": 2, "records": 2})
    where, _, answer = str(caught.value).partition("): ")
    # What a function returns is said of the function, which begins a line before.
    assert where in (f"toy: action Go (toy.py:{LINE}", f"toy: action Go (toy.py:{LINE - 1}")
    assert answer.startswith(said)
    assert "object at 0x" not in answer


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"says": "it goes on"}, 'says=lambda t: "…" is a function, and this is a str'),
        ({"when": True}, "when=lambda: fast.on is a function, and this is a bool"),
    ],
    ids=("says", "when"),
)
def test_words_and_conditions_that_are_no_functions_are_refused_where_they_are_declared(
    declared: dict[str, Any], said: str
) -> None:
    def go(s: object) -> None:
        """Nothing."""

    with pytest.raises(ModelError, match=r"^action go \(test_mistakes\.py:\d+\): ") as caught:
        action(**declared)(go)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    "line",
    [
        'require("sum", sum(s.end[x] for x in each(Broker)) > 0)',
        "s.acked = records",
        "s.acked = brokers.value",
        "s.phase = Phase.prepared",
        'choose("member", s.isr)',
        "return",
    ],
)
def test_what_means_something_is_no_mistake(line: str) -> None:
    assert protocol_with(line).instantiate({"brokers": 2, "records": 2}).actions
