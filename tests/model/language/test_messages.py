"""Queues, and sets and bags of structs: what they do, and that their states are those of an enumeration in plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from acked import (
    Array,
    Bag,
    Bool,
    Bounds,
    Constant,
    DomainOverflow,
    Enum,
    Id,
    Int,
    Log,
    ModelError,
    Optional,
    Protocol,
    Queue,
    SetOf,
    Struct,
    Verdict,
    ask,
    check,
    choose,
    every,
    field,
    implies,
    invariant,
    require,
    some,
)
from acked.checker.predicate.parse import PredicateError, parse_predicate
from acked.checker.question.result import Run
from acked.checker.replay.steps import steps_of_run
from acked.model.formulas.evaluate import evaluate
from acked.model.language.protocol import Instance
from tests.oracle import plain_states

nodes = Constant("nodes", 1, 4, "nodes")
room = Constant("room", 1, 3, "places in a queue", default=2)


class Node(Id, size=nodes):
    """A node."""


class Number(Int, lo=0, hi=2):
    """A small number."""


class Letter(Struct):
    """A message."""

    source = field(Node)
    about = field(Optional(Node))
    kind = field(Enum("ask", "tell"))


ALWAYS = invariant("Always", "0 == 0")


def made(state: type[Struct], *actions: Callable[..., None], **more: Any) -> Protocol:
    protocol = Protocol("toy", state, title="a toy", source="a test", constants=(nodes, room), initial=lambda s: None, **more)
    for function in actions:
        protocol.action()(function)
    return protocol


def states_of(instance: Instance) -> list[dict[str, Any]]:
    """Every reachable state, by the plain evaluator."""
    return [instance.schema.decode(codes) for codes in plain_states(instance)]


def reachable(first: Any, steps: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """What plain Python reaches."""
    seen, front = {first}, [first]
    while front:
        for after in steps(front.pop()):
            if after not in seen:
                seen.add(after)
                front.append(after)
    return seen


def counts(protocol: Protocol, nodes: int) -> set[int]:
    """How many states there are, by every way to ask."""
    question = ask(protocol, ALWAYS, nodes=nodes)
    found = {check(question, bounds=Bounds(workers=workers)).distinct_states for workers in (1, 2)}
    return found | {len(states_of(question.instance))}


# -- queues ----------------------------------------------------------------------------------------------------------------


class Channels(Struct):
    """A queue for each node, and what each heard last."""

    inbox = field(Array(Node, Queue(Letter, room)))
    numbers = field(Queue(Number, 3))
    heard = field(Array(Node, Optional(Node)))
    last = field(Number)


def send(s: Channels, source: Node, to: Node) -> None:
    require("room", ~s.inbox[to].is_full)
    s.inbox[to].send(Letter(source=source, about=None, kind=choose("kind", Enum("ask", "tell"))))


def receive(s: Channels, to: Node) -> None:
    require("something has come", ~s.inbox[to].is_empty)
    first = s.inbox[to].first
    require("of the first kind", (first.kind == "ask") | (first.kind == "tell"))
    s.heard[to] = s.inbox[to].receive().source


@pytest.mark.slow
def test_what_was_sent_first_is_received_first() -> None:
    def steps(now: Any) -> Iterable[Any]:
        inboxes, heard = now
        for to in range(2):
            queue = inboxes[to]
            if len(queue) < 2:
                for source in range(2):
                    for kind in ("ask", "tell"):
                        longer = (*queue, (source, kind))
                        yield tuple(longer if at == to else inboxes[at] for at in range(2)), heard
            if queue:
                shorter = tuple(queue[1:] if at == to else inboxes[at] for at in range(2))
                yield shorter, tuple(queue[0][0] if at == to else heard[at] for at in range(2))

    expected = reachable((((), ()), (None, None)), steps)
    protocol = made(Channels, send, receive)
    assert counts(protocol, nodes=2) == {len(expected)}
    seen = {
        (
            tuple(tuple((item["source"], item["kind"]) for item in queue["records"]) for queue in state["inbox"]),
            tuple(state["heard"]),
        )
        for state in states_of(protocol.instantiate({"nodes": 2}))
    }
    assert seen == expected


def put(s: Channels, number: Number) -> None:
    require("room", ~s.numbers.is_full)
    s.numbers.send(number)


def take(s: Channels) -> None:
    require("something is there", s.numbers.end > 0)
    s.last = s.numbers.receive()


def test_single_values_are_queued_as_they_are() -> None:
    def steps(now: Any) -> Iterable[Any]:
        queue, last = now
        if len(queue) < 3:
            yield from (((*queue, number), last) for number in range(3))
        if queue:
            yield queue[1:], queue[0]

    assert counts(made(Channels, put, take), nodes=1) == {len(reachable(((), 0), steps))}


def take_blindly(s: Channels) -> None:
    s.last = s.numbers.receive()


def put_blindly(s: Channels) -> None:
    s.numbers.send(1)


@pytest.mark.parametrize("function", [take_blindly, put_blindly])
def test_an_empty_queue_gives_nothing_and_a_full_one_takes_nothing(function: Callable[..., None]) -> None:
    with pytest.raises(DomainOverflow, match=r"numbers\.end"):
        check(ask(made(Channels, function), ALWAYS, nodes=1))


def test_a_queue_says_what_it_has_instead_of_a_list() -> None:
    def pop(s: Any) -> None:
        s.numbers.pop()

    with pytest.raises(ModelError, match=r"a queue has no 'pop'; it has .*first.*receive, .*send"):
        made(Channels, pop).instantiate({"nodes": 1})


# -- sets and bags -----------------------------------------------------------------------------------------------------


class Network(Struct):
    """Messages on their way."""

    sent = field(SetOf(Letter))
    copies = field(Bag(Letter, 2))
    heard = field(Array(Node, Bool))


def broadcast(s: Network, letter: Letter) -> None:
    require("an answer", letter.kind == "tell")
    require("about another", letter.about != letter.source)
    s.sent.add(letter)


def forget(s: Network, letter: Letter) -> None:
    require("sent", s.sent.contains(letter))
    require("heard", s.heard[letter.source])
    s.sent.remove(letter)


def hear(s: Network, letter: Letter) -> None:
    require("sent", s.sent.contains(letter))
    s.heard[letter.source] = True


def test_a_set_of_structs_has_each_once() -> None:
    letters = [(source, about) for source in range(2) for about in (None, 0, 1) if about != source]

    def steps(now: Any) -> Iterable[Any]:
        sent, heard = now
        for letter in letters:
            yield sent | {letter}, heard
            if letter in sent:
                yield sent, heard | {letter[0]}
                if letter[0] in heard:
                    yield sent - {letter}, heard

    protocol = made(Network, broadcast, forget, hear)
    expected = reachable((frozenset[Any](), frozenset[int]()), steps)
    assert counts(protocol, nodes=2) == {len(expected)}
    seen = {
        (
            frozenset((item["source"], item["about"]) for item in state["sent"]),
            frozenset(at for at, is_heard in enumerate(state["heard"]) if is_heard),
        )
        for state in states_of(protocol.instantiate({"nodes": 2}))
    }
    assert seen == expected


def duplicate(s: Network, letter: Letter) -> None:
    require("an answer about nobody", (letter.kind == "tell") & letter.about.is_none)
    require("room", s.copies.count(letter) < 2)
    s.copies.add(letter)


def lose(s: Network, letter: Letter) -> None:
    require("there", s.copies.contains(letter))
    s.copies.remove(letter)


def test_a_bag_counts_and_its_states_are_told_as_lists() -> None:
    protocol = made(Network, duplicate, lose)
    assert counts(protocol, nodes=2) == {9}
    instance = protocol.instantiate({"nodes": 2})
    told = [state["copies"] for state in states_of(instance)]
    tell = [{"source": source, "about": None, "kind": "tell"} for source in range(2)]
    assert sorted(map(str, told)) == sorted(str([tell[0]] * a + [tell[1]] * b) for a in range(3) for b in range(3))
    for state in states_of(instance):
        assert instance.schema.decode(instance.schema.encode(state)) == state


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ([{"source": 0, "about": None, "kind": "tell"}] * 3, "3 times"),
        ([{"source": 7, "about": None, "kind": "tell"}], "which is no Letter"),
        ("none", "must be a list of Letters"),
    ],
)
def test_a_plain_state_has_structs_that_there_are(copies: Any, message: str) -> None:
    instance = made(Network, duplicate).instantiate({"nodes": 2})
    state = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    with pytest.raises(ModelError, match=message):
        instance.schema.encode({**state, "copies": copies})


@invariant
def heard_was_sent(s: Network) -> Bool:
    """Nobody hears what nobody sent."""
    return every(Letter, lambda m: implies(s.heard[m.source] & (m.kind == "ask"), ~s.sent.contains(m)))


@invariant
def nothing_is_sent(s: Network) -> Bool:
    """Nothing is ever on its way."""
    return s.sent.is_empty & ~some(Letter, s.copies.contains)


def test_one_quantifies_over_the_values_of_a_struct() -> None:
    assert check(ask(made(Network, broadcast, hear), heard_was_sent, nodes=2)).verdict is Verdict.HOLDS
    found = check(ask(made(Network, broadcast, hear), nothing_is_sent, nodes=2))
    assert (found.verdict, len(found.violations[0].run.actions)) == (Verdict.VIOLATED, 1)


def test_states_that_differ_in_names_alone_are_one() -> None:
    question = ask(made(Network, broadcast, hear, symmetric=(Node,)), ALWAYS, symmetric=True, nodes=2)
    turn = {0: 1, 1: 0, None: None}
    orbits = set()
    for state in states_of(question.instance):
        sent = [(item["source"], item["about"], item["kind"]) for item in state["sent"]]
        turned = [(turn[source], turn[about], kind) for source, about, kind in sent]
        orbits.add(frozenset({(frozenset(sent), *state["heard"]), (frozenset(turned), *state["heard"][::-1])}))
    assert check(question).distinct_states == len(orbits) < len(states_of(question.instance))


# -- structs made anew ---------------------------------------------------------------------------------------------------


class Entry(Struct):
    """A record."""

    source = field(Node)
    number = field(Number, default=2)


class Server(Struct):
    """What a server has."""

    is_up = field(Bool, default=True)
    log = field(Log(Entry, Number, 2))
    match = field(Array(Node, Number))
    inbox = field(Queue(Number, 1))
    seen = field(SetOf(Entry))


class Servers(Struct):
    """All of them."""

    server = field(Array(Node, Server))


def fill(s: Servers, node: Node) -> None:
    mine = s.server[node]
    require("room", ~mine.log.is_full & mine.inbox.is_empty)
    mine.log.append(Entry(source=node))
    mine.match[node] = mine.log.end
    mine.inbox.send(1)
    mine.seen.add(Entry(source=node, number=1))


def replace(s: Servers, node: Node) -> None:
    s.server[node] = Server(is_up=choose("is_up", Bool))


def restart(s: Servers, node: Node) -> None:
    s.server[node] = Server()


def test_a_struct_with_a_log_is_made_anew_with_an_empty_one() -> None:
    instance = made(Servers, fill, replace, restart).instantiate({"nodes": 2})
    empty = {"is_up": True, "log": {"end": 0, "records": []}, "match": [0, 0], "inbox": {"end": 0, "records": []}, "seen": []}
    codes = instance.schema.unpack(instance.initial[0])
    full = instance.fire(instance.action_instance("Fill", {"node": 1}), codes)
    held = instance.schema.decode(full)["server"][1]
    assert (held["log"]["records"], held["seen"]) == ([{"source": 1, "number": 2}], [{"source": 1, "number": 1}])
    for label, is_up in (("Replace", False), ("Replace", True), ("Restart", True)):
        arguments = {"node": 1} if label == "Restart" else {"node": 1, "is_up": is_up}
        after = instance.schema.decode(instance.fire(instance.action_instance(label, arguments), full))
        assert after["server"][1] == {**empty, "is_up": is_up}
        assert after["server"][0] == instance.schema.decode(codes)["server"][0]


def test_steps_tell_which_structs_came_and_went() -> None:
    question = ask(made(Network, duplicate, lose), ALWAYS, nodes=2)
    instance = question.instance
    tell = {"source": 1, "about": None, "kind": "tell"}
    run = Run(instance.initial[:1], ())
    for name in ("Duplicate", "Duplicate", "Lose"):
        arguments = {"letter.source": 1, "letter.about": None, "letter.kind": "tell"}
        run = run.then(instance, instance.action_instance(name, arguments))
    steps = steps_of_run(question, run)
    assert [step.state["copies"] for step in steps] == [[], [tell], [tell, tell], [tell]]
    assert [len(step.changed) for step in steps] == [0, 1, 1, 1]


# -- queues of single values ---------------------------------------------------------------------------------------------


class Numbers(Struct):
    """A queue of numbers."""

    numbers = field(Queue(Number, 2))
    sum = field(Number)


def put_two(s: Numbers, m: Letter) -> None:
    require("room", ~s.numbers.is_full)
    s.numbers.send(1)
    s.numbers.send(0)


def look(s: Numbers) -> None:
    require("there is one", s.numbers.end > 0)
    s.sum = s.numbers.at(0) + s.numbers.last + s.numbers.first


def test_a_queue_of_numbers_holds_numbers_in_actions_states_words_and_names() -> None:
    words = {
        put_two: lambda t: f"{t.after.numbers.records[0] + 1} {t.after.numbers} {t.m.source} {t.m} {t['m.source']} {t!r}",
        look: lambda t: f"{t.before.numbers.records} {t.before} {t.after.sum}",
    }
    protocol = Protocol("toy", Numbers, title="a toy", source="a test", constants=(nodes,), initial=lambda s: None)
    for function, says in words.items():
        protocol.action(says=says)(function)
    instance = protocol.instantiate({"nodes": 1})
    assert [leaf.name for leaf in instance.schema.leaves][:3] == ["numbers.end", "numbers.records[0]", "numbers.records[1]"]
    first, second = instance.schema.unpack(instance.initial[0]), instance.actions[0]
    after = instance.fire(second, first)
    assert instance.schema.decode(after) == {"numbers": {"end": 2, "records": [1, 0]}, "sum": 0}
    assert instance.schema.encode(instance.schema.decode(after)) == after
    told = instance.tell(second, first, after)
    assert told == "2 end 2, records [1, 0] 0 source 0, about none, kind ask 0 m.source=0, m.about=None, m.kind=ask"
    last = instance.actions[-1]
    assert instance.tell(last, after, instance.fire(last, after)) == "[1, 0] numbers end 2, records [1, 0], sum 0 2"
    for text in ("numbers.first == 1", "numbers[1] == 0", "numbers.records[0] == 1", "len(numbers) == 2"):
        assert evaluate(parse_predicate(text, instance), after)
    with pytest.raises(PredicateError, match=re.escape("one of its parts: numbers.end, numbers.first, numbers.records[0]")):
        parse_predicate("numbers == 1", instance)


@pytest.mark.parametrize("value", [lambda s: s, lambda s: s.numbers, lambda s: s.sum])
def test_nothing_of_the_state_has_a_text_while_it_is_traced_and_none_has_an_address(value: Callable[[Any], Any]) -> None:
    def act(s: Numbers) -> None:
        assert "0x" not in repr(value(s))
        require(f"label {value(s)}", s.sum == 0)

    with pytest.raises(ModelError, match="has no text: it has no value while a protocol is traced"):
        made(Numbers, act).instantiate({"nodes": 1})


class Ticket(Struct):
    """A message with a number that a step may miscalculate."""

    number = field(Number, "which")


class Office(Struct):
    """Tickets on their way."""

    turn = field(Number, "whose turn it is")
    given = field(SetOf(Ticket), "tickets that are out")
    copies = field(Bag(Ticket, 1), "copies of them")
    is_called = field(Bool, "whether one was called")


def advance(s: Office) -> None:
    require("not the last", s.turn < 2)
    s.turn = s.turn + 1


def give(s: Office) -> None:
    require("not the last", s.turn < 2)
    s.given.add(Ticket(number=s.turn + 1))


def call_next(s: Office) -> None:
    require("the last", s.turn == 2)
    is_there = s.given.contains(Ticket(number=s.turn + 1)) | (s.copies.count(Ticket(number=s.turn + 1)) > 0)
    require("the next is out", is_there | s.given.contains(Ticket(number=nodes.value + 2)))
    s.is_called = True


def take_back(s: Office) -> None:
    s.given.remove(Ticket(number=s.turn + 1))


def test_a_struct_with_a_number_beyond_its_range_is_in_no_set() -> None:
    def steps(now: Any) -> Iterable[Any]:
        turn, given = now
        if turn < 2:
            yield turn + 1, given
            yield turn, given | {turn + 1}
        yield turn, given - {turn + 1}

    protocol = made(Office, advance, give, call_next, take_back)
    assert counts(protocol, nodes=1) == {len(reachable((0, frozenset[int]()), steps))}
    assert not any(state["is_called"] for state in states_of(protocol.instantiate({"nodes": 1})))


@pytest.mark.parametrize(("where", "how"), [("given", "add"), ("copies", "add"), ("copies", "remove")])
def test_a_struct_with_a_number_beyond_its_range_is_put_into_no_set_and_taken_out_of_no_bag(where: str, how: str) -> None:
    def change(s: Office) -> None:
        require("the last", s.turn == 2)
        getattr(getattr(s, where), how)(Ticket(number=s.turn + 1))

    with pytest.raises(DomainOverflow, match=rf"{where}\["):
        counts(made(Office, advance, change), nodes=1)
