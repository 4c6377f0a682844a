"""Every mistake an author of a protocol can make is one sentence that names the action, the line and the fix."""

# A type checker finds most of these mistakes as well, which is as it should be.
# mypy: ignore-errors

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import every, ite
from acked.model.language.state import Array, Log, Optional, SetOf, Struct, field
from acked.model.language.values import Bool, Id, Int

HERE = Path(__file__).name
brokers = Constant("brokers", 1, 5, "how many brokers there are")
last = Constant("last", 1, 5, "the last epoch and offset")


class Replica(Id, size=brokers):
    """A sort of ids."""


class Epoch(Int, lo=0, hi=last):
    """A unit."""


class Offset(Int, lo=0, hi=last):
    """Another unit."""


class Record(Struct):
    """What the log holds."""

    by = field(Replica)
    epoch = field(Epoch)


class Other(Struct):
    """A struct that the log does not hold."""

    by = field(Replica)


class State(Struct):
    """A field of every kind."""

    epoch = field(Epoch)
    offset = field(Offset)
    owner = field(Replica)
    leader = field(Optional(Replica))
    isr = field(SetOf(Replica))
    flag = field(Bool)
    epochs = field(Array(Replica, Epoch))
    records = field(Array(Replica, Record))
    log = field(Log(Record, Offset, last))


CONSTANTS = {"brokers": 3, "last": 3}


def protocol_of(*functions: Callable[..., None], initial: Callable[[Any], None] = lambda s: None) -> Protocol:
    """A protocol of these actions."""
    made = Protocol("mistaken", State, title="", source="", constants=(brokers, last), initial=initial)
    for function in functions:
        made.action()(function)
    return made


# Each mistake is one line, the second of its function.


def if_on_a_symbolic_value(s: State) -> None:
    if s.flag:
        s.epoch = 1


def conjunction_by_and(s: State) -> None:
    require("both", s.flag and s.flag)


def negation_by_not(s: State) -> None:
    require("not", not s.flag)


def chained_comparison(s: State) -> None:
    require("between", 0 < s.epoch < 2)


def membership_by_in(s: State) -> None:
    require("member", s.owner in s.isr)


def truth_of_a_log(s: State) -> None:
    require("not empty", bool(s.log))


def truth_of_a_struct(s: State, r: Replica) -> None:
    require("there", bool(s.records[r]))


def unknown_field_read(s: State) -> None:
    s.epoch = s.epcoh


def unknown_field_written(s: State) -> None:
    s.epcoh = 1


def unknown_field_of_an_element(s: State, r: Replica) -> None:
    s.records[r].epcoh = 1


def number_outside_the_domain(s: State) -> None:
    s.epoch = 9


def negative_number(s: State) -> None:
    s.epoch = -1


def replica_that_does_not_exist(s: State) -> None:
    s.owner = 3


def element_that_does_not_exist(s: State) -> None:
    s.epochs[7] = 1


def one_label_twice(s: State) -> None:
    require("same", s.flag), require("same", ~s.flag)


def loop_over_range(s: State) -> None:
    for _ in range(s.epoch):
        pass


def loop_over_a_set(s: State) -> None:
    for _ in s.isr:
        pass


def loop_over_a_number(s: State) -> None:
    for _ in s.epoch:
        pass


def loop_over_an_array(s: State) -> None:
    for _ in s.epochs:
        pass


def loop_over_a_log(s: State) -> None:
    for _ in s.log:
        pass


def length_of_a_log(s: State) -> None:
    require("short", len(s.log) < 2)


def epoch_compared_with_offset(s: State) -> None:
    require("below", s.epoch < s.offset)


def offset_assigned_to_epoch(s: State) -> None:
    s.epoch = s.offset


def epoch_plus_offset(s: State) -> None:
    s.epoch = s.epoch + s.offset


def order_of_ids(s: State) -> None:
    require("before", s.owner < s.owner)


def order_of_ids_in_a_quantifier(s: State) -> None:
    require("before", every(Replica, lambda r: r <= s.owner))


def arithmetic_on_ids(s: State) -> None:
    s.owner = s.owner + 1


def arithmetic_on_truth_values(s: State) -> None:
    s.flag = s.flag + 1


def order_of_optional_ids(s: State) -> None:
    require("before", s.leader < s.owner)


def exclusive_or(s: State) -> None:
    require("either", s.flag ^ s.flag)


def none_into_a_number(s: State) -> None:
    s.epoch = None


def none_into_an_id(s: State) -> None:
    s.owner = None


def truth_value_into_a_number(s: State) -> None:
    s.epoch = True


def number_into_a_truth_value(s: State) -> None:
    s.flag = 1


def fraction_into_a_number(s: State) -> None:
    s.epoch = 1.5


def list_into_a_set(s: State) -> None:
    s.isr = [0]


def member_of_another_type(s: State) -> None:
    s.isr = s.isr.add(s.epoch)


def index_of_another_type(s: State) -> None:
    s.epochs[s.epoch] = 1


def record_of_another_type(s: State) -> None:
    s.log.append(Other(by=s.owner))


def record_without_a_field(s: State) -> None:
    s.log.append(Record(by=s.owner))


def struct_of_another_type(s: State, r: Replica) -> None:
    s.records[r] = Other(by=s.owner)


def whole_array_assigned(s: State) -> None:
    s.epochs = 0


def guard_that_is_no_condition(s: State) -> None:
    require("epoch", s.epoch)


def choice_between_types(s: State) -> None:
    s.epoch = ite(s.flag, s.epoch, s.offset)


def choice_by_a_number(s: State) -> None:
    s.epoch = ite(s.epoch, 1, 2)


def division_by_zero(s: State) -> None:
    s.epoch = s.epoch // 0


def symbolic_dictionary_key(s: State) -> None:
    require("known", {s.epoch: True}[s.epoch])


MISTAKES: dict[Callable[..., None], str] = {
    if_on_a_symbolic_value: "a symbolic Bool has no truth value; write `&`",
    conjunction_by_and: "a symbolic Bool has no truth value; write `&`",
    negation_by_not: "a symbolic Bool has no truth value; write `&`, `|`, `~`",
    chained_comparison: "instead of `and`, `or`, `not`, `if` or a chained comparison",
    membership_by_in: "a set of replicas has no `in`",
    truth_of_a_log: "a log has no truth value; use `.is_empty`",
    truth_of_a_struct: "a Record has no truth value; compare its fields",
    unknown_field_read: "State has no field 'epcoh'; its fields are epoch, offset",
    unknown_field_written: "State has no field 'epcoh'; its fields are epoch, offset",
    unknown_field_of_an_element: "Record has no field 'epcoh'; its fields are by, epoch",
    number_outside_the_domain: "assignment outside the domain: epoch holds 0..3, and this is 9",
    negative_number: "assignment outside the domain: epoch holds 0..3, and this is -1",
    replica_that_does_not_exist: "replica 3 does not exist: there are 3, from 0",
    element_that_does_not_exist: "replica 7 does not exist: there are 3, from 0",
    one_label_twice: "two clauses are labelled 'same'; give each require its own label",
    loop_over_range: "a symbolic epoch cannot bound a loop",
    loop_over_a_set: "a symbolic set of replicas cannot be looped over; use every(…) or some(…)",
    loop_over_a_number: "a symbolic epoch cannot be looped over",
    loop_over_an_array: "an array cannot be looped over; quantify over its index type",
    loop_over_a_log: "a log cannot be looped over; quantify over its offsets",
    length_of_a_log: "a log has no len(…); use its `.end`",
    epoch_compared_with_offset: "expected an epoch, got an offset",
    offset_assigned_to_epoch: "expected an epoch, got an offset",
    epoch_plus_offset: "expected an epoch, got an offset",
    order_of_ids: "a replica has no `<`; ids have neither order nor arithmetic: compare with == or !=",
    order_of_ids_in_a_quantifier: "a replica has no `<=`; ids have neither order nor arithmetic",
    arithmetic_on_ids: "a replica has no `+`; ids have neither order nor arithmetic",
    arithmetic_on_truth_values: "a Bool has no `+`; combine truth values with",
    order_of_optional_ids: "a replica has no order; compare with == or !=",
    exclusive_or: "a Bool has no `^`; combine truth values with",
    none_into_a_number: "expected an epoch, got None",
    none_into_an_id: "expected a replica, got None",
    truth_value_into_a_number: "expected an epoch, got a bool",
    number_into_a_truth_value: "expected a Bool, got an int",
    fraction_into_a_number: "expected an epoch, got a float",
    list_into_a_set: "expected a set of replicas, got a list",
    member_of_another_type: "expected a replica, got an epoch",
    index_of_another_type: "expected a replica, got an epoch",
    record_of_another_type: "expected a Record, got an Other",
    record_without_a_field: "Record needs exactly the fields by, epoch",
    struct_of_another_type: "expected a Record, got an Other",
    whole_array_assigned: "arrays and logs are changed by element, append or truncate, not assigned whole",
    guard_that_is_no_condition: "expected a Bool, got an epoch",
    choice_between_types: "expected an epoch, got an offset",
    choice_by_a_number: "expected a Bool, got an epoch",
    division_by_zero: "the divisor of // must be at least 1 in every state",
    symbolic_dictionary_key: "a symbolic epoch cannot be a dictionary key",
}


def action_name(function: Callable[..., None]) -> str:
    """`if_on_a_symbolic_value` as the protocol names it."""
    return "".join(part.capitalize() for part in function.__name__.split("_"))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda function: function.__name__)
def test_a_mistake_in_an_action_names_action_line_and_fix(mistake: Callable[..., None]) -> None:
    with pytest.raises(ModelError) as caught:
        protocol_of(mistake).instantiate(CONSTANTS)
    line = mistake.__code__.co_firstlineno + 1
    text = str(caught.value)
    assert text.startswith(f"mistaken: action {action_name(mistake)} ({HERE}:{line}): ")
    assert MISTAKES[mistake] in text
    assert "TypeError" not in text
    assert "\n" not in text


def untyped_parameter(s: State, r) -> None:
    pass


def parameter_of_a_plain_type(s: State, r: int) -> None:
    pass


class Logs(Struct):
    """What is no parameter: it has an array."""

    ends = field(Array(Replica, Epoch))


def parameter_with_an_array(s: State, r: Logs) -> None:
    pass


def parameter_of_an_unknown_type(s: State, r: Repilca) -> None:  # noqa: F821
    pass


def action_without_a_state() -> None:
    pass


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (untyped_parameter, "parameter 'r' needs a type, such as `leader: Replica`"),
        (parameter_of_a_plain_type, "parameter 'r' has a type that cannot be enumerated"),
        (parameter_with_an_array, "parameter 'r' has a type that cannot be enumerated"),
        (parameter_of_an_unknown_type, "a parameter's type is unknown here (name 'Repilca' is not defined); import it"),
        (action_without_a_state, "the first parameter is the state, such as `s: State`"),
    ],
)
def test_a_mistake_in_a_signature_names_action_and_line(mistake: Callable[..., None], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        protocol_of(mistake).instantiate(CONSTANTS)
    place = f"({HERE}:{mistake.__code__.co_firstlineno})"
    assert str(caught.value).startswith(f"mistaken: action {action_name(mistake)} {place}: {message}")


# -- outside actions -----------------------------------------------------------------------------------------------------


def test_require_outside_an_action_is_refused() -> None:
    with pytest.raises(ModelError, match="works only while an action or a property is traced"):
        require("too early", True)


def test_clauses_that_leave_no_initial_state_are_refused() -> None:
    def initial(s: State) -> None:
        require("never so at first", s.flag)

    with pytest.raises(ModelError, match="mistaken: there is no initial state: its clauses rule out every choice"):
        protocol_of(initial=initial).instantiate(CONSTANTS)


def test_a_mistake_in_a_property_names_property_and_line() -> None:
    def order(s: Any) -> Bool:
        return Bool.lift(s.owner < s.owner)

    with pytest.raises(ModelError, match=rf"mistaken: property Order \({HERE}:\d+\): a replica has no `<`"):
        protocol_of().instantiate(CONSTANTS).state_predicate("Order", order)


def test_two_actions_of_one_name_are_refused_with_both_lines() -> None:
    def twin(s: State) -> None:
        s.epoch = 1

    first = protocol_of(twin)

    def twin(s: State) -> None:
        s.epoch = 2

    first.action()(twin)
    with pytest.raises(ModelError, match=rf"two actions are named Twin \({HERE}:\d+ and {HERE}:\d+\); rename one"):
        first.instantiate(CONSTANTS)


def test_an_assignment_that_only_some_states_make_wrong_is_an_error_where_it_fires() -> None:
    def grow(s: State) -> None:
        s.epoch = s.epoch + 1

    instance = protocol_of(grow).instantiate(CONSTANTS)
    step = instance.actions[0]
    codes = instance.schema.unpack(instance.initial[0])
    for _ in range(3):
        codes = instance.fire(step, codes)
    message = "mistaken: Grow() assigns epoch a value outside its domain: 4, and it holds 0..3; the state is {"
    with pytest.raises(DomainOverflow, match=re.escape(message)):
        instance.fire(step, codes)


def test_assignments_outside_a_domain_are_told_in_the_fields_own_values() -> None:
    class Shifted(Int, lo=5, hi=7):
        """A unit that begins at 5."""

    state = type("State", (Struct,), {"x": field(Shifted), "y": field(Optional(Shifted))})
    for name in ("x", "y"):
        made = Protocol("p", state, title="", source="", constants=(), initial=lambda s, at=name: setattr(s, at, 9))
        with pytest.raises(ModelError, match=f"{name} holds 5..7, and this is 9"):
            made.instantiate({})


@pytest.mark.parametrize("name", ["at", "fields", "domains", "type_name", "_store"])
def test_a_field_that_would_hide_what_every_struct_needs_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"State cannot have a field named '{name}'"):
        type("State", (Struct,), {name: field(Epoch)})


# -- constants and ablation ----------------------------------------------------------------------------------------------

KIP_320 = {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replcias": 2}, "kip320 has no constant 'replcias'; it has replicas, log_size, max_records, max_leader_epoch"),
        ({"replicas": 0}, "constant replicas is 0 and must be an integer from 1 to 12"),
        ({"replicas": 13}, "constant replicas is 13 and must be an integer from 1 to 12"),
        ({"replicas": True}, "constant replicas is True and must be an integer"),
        ({"replicas": "3"}, "constant replicas is '3' and must be an integer"),
        ({"replicas": 2.0}, "constant replicas is 2.0 and must be an integer"),
        ({"replicas": None}, "constant replicas is None and must be an integer"),
    ],
)
def test_a_wrong_constant_is_refused_with_its_name_and_the_choices(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=re.escape(message)):
        PROTOCOLS["kip320"].instantiate(KIP_320 | change)


@pytest.mark.parametrize("missing", KIP_320)
def test_a_missing_constant_is_named_with_its_meaning(missing: str) -> None:
    with pytest.raises(ModelError, match=rf"kip320 needs constant '{missing}' \(.+\), an integer from \d+ to \d+"):
        PROTOCOLS["kip320"].instantiate({name: value for name, value in KIP_320.items() if name != missing})


def test_constants_that_need_too_many_words_are_refused() -> None:
    largest = {item.name: item.hi for item in PROTOCOLS["kip320"].constants}
    with pytest.raises(ModelError, match="words of 64 bits and 16 are supported; choose smaller constants"):
        PROTOCOLS["kip320"].instantiate(largest)


def test_dropping_an_unknown_clause_lists_the_clauses_of_the_action() -> None:
    labels = "'presumes leadership', 'a record is left', 'room in the log'"
    message = f"kip320: action LeaderWrite has no clause 'rom'; it has {labels}"
    with pytest.raises(ModelError, match=re.escape(message)):
        PROTOCOLS["kip320"].instantiate(KIP_320, drop=[("LeaderWrite", "rom")])


def test_dropping_a_clause_of_an_unknown_action_lists_the_actions() -> None:
    message = "kip320 has no action 'LeaderWriet' to drop a clause of; it has ControllerElectLeader, "
    with pytest.raises(ModelError, match=re.escape(message)):
        PROTOCOLS["kip320"].instantiate(KIP_320, drop=[("LeaderWriet", "room in the log")])
