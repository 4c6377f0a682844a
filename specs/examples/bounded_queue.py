"""A bounded queue between threads that wait and notify: one notify too few, and all sleep for ever.

The program is Java's textbook one; tlaplus/Examples' BlockingQueue tells that it ends in a deadlock if and only if there
are more threads than twice the places of the queue.
"""

from acked import Constant, Id, Optional, Protocol, Queue, SetOf, Struct
from acked import choose, field, none_of, require, switch

producers = Constant("producers", 1, 4, "threads that put")
consumers = Constant("consumers", 1, 4, "threads that take")
places = Constant("places", 1, 4, "places of the queue")
wakes_all = switch("wakes_all", "whether notify wakes all who wait, and not just one of them", default=True)

class Producer(Id, size=producers):
    """A thread that puts."""

class Consumer(Id, size=consumers):
    """A thread that takes."""

class State(Struct):
    queue = field(Queue(Producer, places), "whose items it holds")
    full = field(SetOf(Producer), "producers that wait for a place")
    empty = field(SetOf(Consumer), "consumers that wait for an item")

bounded_queue = Protocol("bounded_queue", State, title="a bounded queue", source="tlaplus/Examples, BlockingQueue",
                         constants=(producers, consumers, places, wakes_all), initial=lambda s: None)  # fmt: skip

def notify(s: State) -> None:
    """Wakes one of those who wait, whoever it is, or all."""
    if wakes_all.on:
        s.full, s.empty = none_of(Producer), none_of(Consumer)
        return
    producer = choose("producer_woken", Optional(Producer))
    consumer = choose("consumer_woken", Optional(Consumer))
    require("a producer that is woken waits", s.full.contains(producer) | producer.is_none)
    require("a consumer that is woken waits", s.empty.contains(consumer) | consumer.is_none)
    nobody_waits = s.full.is_empty & s.empty.is_empty
    require("one is woken, if any waits", (producer.is_some != consumer.is_some) | nobody_waits)
    s.full, s.empty = s.full.remove(producer), s.empty.remove(consumer)

@bounded_queue.action(says=lambda t: f"producer {t.who} puts an item into the queue")
def put(s: State, who: Producer) -> None:
    require("it is awake", ~s.full.contains(who))
    require("there is a place", ~s.queue.is_full)
    s.queue.send(who)
    notify(s)

@bounded_queue.action(says=lambda t: f"producer {t.who} finds the queue full, and waits")
def wait_for_place(s: State, who: Producer) -> None:
    require("it is awake", ~s.full.contains(who))
    require("there is no place", s.queue.is_full)
    s.full = s.full.add(who)

@bounded_queue.action(says=lambda t: f"consumer {t.who} takes an item from the queue")
def take(s: State, who: Consumer) -> None:
    require("it is awake", ~s.empty.contains(who))
    require("there is an item", ~s.queue.is_empty)
    s.queue.receive()
    notify(s)

@bounded_queue.action(says=lambda t: f"consumer {t.who} finds the queue empty, and waits")
def wait_for_item(s: State, who: Consumer) -> None:
    require("it is awake", ~s.empty.contains(who))
    require("there is no item", s.queue.is_empty)
    s.empty = s.empty.add(who)
