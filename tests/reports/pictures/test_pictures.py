"""Any protocol can be drawn: badges, legend and names come from its provider, actors and messages from its actions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run
from acked.checker.search.local import search
from acked.invariants.catalogue import properties_of
from acked.model.compaction.protocol import compaction
from acked.model.formulas.errors import ModelError
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.state import Array, Struct, field
from acked.model.language.telling import CLIENT, Role, Tells, Those
from acked.model.language.values import Bool, Id
from acked.model.share.protocol import share
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.subject import Exported
from acked.reports.pages.page import trace_data
from acked.reports.pictures.picture import Moment, Tone
from acked.reports.pictures.providers import provider_of
from acked.reports.runs.lanes import fate_in_words, lanes_of
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import TraceView, steps_of, view_of
from tests.places import SPECS
from tests.reports.pictures.locks import LABELS, run_of
from tests.shipped import shipped_of

LOGS = ("high watermark", "log end", "record 0", "offset", "e-", "e–", "HW", "LEO")


@pytest.fixture
def view() -> TraceView:
    question, run = run_of(*LABELS)
    return view_of(Counterexample("who has the lock", question, run))


@pytest.fixture
def exported(view: TraceView) -> Exported:
    question, run = run_of(*LABELS)
    return Exported(view, Counterexample("who has the lock", question, run), len(LABELS))


def test_the_terminal_draws_rows_without_logs_and_explains_the_providers_own_badges(
    drawn: Callable[..., Any], view: TraceView
) -> None:
    text = drawn(print_trace, view).text
    assert not [word for word in LOGS if word in text]
    assert "holds has heard that it may go on   * changed by the step" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("    client")]
    assert rows[-2:] == [["client", "0", "idle"], ["client", "1", "*holds"]]
    assert ["client", "0", "*waits"] in rows
    assert "lock server *the lock is client 1's" in text
    assert "initially nobody asks" in text


def test_the_terminal_draws_them_on_narrow_screens_too(drawn: Callable[..., Any], view: TraceView) -> None:
    assert max(map(len, drawn(print_trace, view, width=40).lines)) <= 40


def test_lanes_are_the_roles_and_ids_that_the_actions_speak_of(view: TraceView) -> None:
    lanes = lanes_of(view.steps)
    assert lanes.actors == ("lock server", "client 0", "client 1")
    assert lanes.acting == (None, "client 0", "client 1", "lock server", "client 0", "client 1")
    told = [(item.sender, item.receiver, item.text, fate_in_words(item)) for item in lanes.messages]
    assert told == [
        ("client 0", "lock server", "may I?", "sent in step 1, never acted upon: dropped in step 4"),
        ("client 1", "lock server", "may I?", "sent in step 2, received in step 3"),
        ("lock server", "client 1", "it is yours", "sent in step 3, received in step 5, late"),
    ]


def test_the_still_picture_has_rows_badges_and_messages_and_no_log(exported: Exported) -> None:
    root = ET.fromstring(FORMATS["svg"](exported))
    texts = ["".join(item.itertext()) for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"client 0", "client 1", "idle", "holds", "lock server"} <= set(texts)
    assert "lock server → client 1: it is yours (sent in step 3, received in step 5, late)" in texts
    assert not {"HW", "LEO", "0", "e–"} & set(texts)


@pytest.mark.parametrize("form", list(FORMATS))
def test_every_export_takes_a_protocol_without_logs(exported: Exported, form: str) -> None:
    assert FORMATS[form](exported)


def test_a_page_has_the_look_of_the_provider_and_the_lanes_of_the_actions() -> None:
    question, run = run_of(*LABELS)
    (trace,) = trace_data(Counterexample("locks", question, run))["traces"]
    legend = [["badge", "has heard that it may go on", "holds", "strong"]]
    assert trace["head"]["look"] == {"row": "client", "epoch": "", "legend": legend}
    assert trace["packet"]["lanes"]["actors"] == ["lock server", "client 0", "client 1"]
    assert ["lock", "holds", "strong"] in [badge for row in trace["packet"]["rows"] for badge in row["badges"]]


def test_clocks_of_a_late_answer_include_where_it_departed(exported: Exported) -> None:
    _, _, *events = FORMATS["shiviz"](exported).splitlines()
    clocks = {event.partition("} ")[2]: json.loads(event.partition(" ")[2].partition("}")[0] + "}") for event in events}
    departed = clocks["the server gives client 1 the lock"]
    assert departed == {"lock-server": 1, "client-1": 1}
    assert clocks["client 1 hears that it has the lock"] == {**departed, "client-1": 2}
    assert "client-0" not in departed, "what never arrived was not heard"


class Thing(Id, size=Constant("things", 1, 3, "how many")):
    """Anything."""


class Things(Struct):
    """Which of them are on."""

    on = field(Array(Thing, Bool), "")


def protocol(**how: Any) -> Protocol:
    return Protocol("things", Things, title="", source="", constants=(Thing.size,), initial=lambda s: None, **how)  # type: ignore[list-item]


def switched(made: Protocol) -> tuple[Question, Run]:
    instance = made.instantiate({"things": 2})
    codes = instance.schema.unpack(instance.initial[0])
    step = instance.enabled_actions(codes)[-1]
    after = instance.schema.pack(instance.fire(step, codes))
    return Question(instance, ()), Run((instance.initial[0], after), (step,))


def switch(s: Things, thing: Thing) -> None:
    require("off", ~s.on[thing])
    s.on[thing] = True


def test_a_protocol_that_declares_nothing_has_lanes_of_its_ids_and_a_card_for_each(drawn: Callable[..., Any]) -> None:
    made = protocol()
    made.action()(switch)
    question, run = switched(made)
    view = view_of(Counterexample("things", question, run))
    lanes = lanes_of(view.steps)
    assert (lanes.actors, lanes.acting, lanes.messages) == (("thing 0", "thing 1"), (None, "thing 1"), ())
    packet = trace_data(Counterexample("t", question, run))["traces"][0]["packet"]
    boxes = [packet["boxes"][number] for number in packet["steps"][1]["picture"][1]]
    facts = {box["name"]: box["facts"] for box in boxes}
    assert facts == {"thing 0": [["on", "not on", "absent"]], "thing 1": [["on", "on"]]}
    assert [line.strip() for line in drawn(print_trace, view).lines][-2:] == ["thing 0  not on", "thing 1 *on"]


def test_nobody_acts_in_a_step_that_names_nobody() -> None:
    def first(s: Things) -> None:
        require("off", ~s.on[0])
        s.on[0] = True

    made = protocol()
    made.action()(first)
    question, run = switched(made)
    picture = steps_of(question, run)[1].picture
    assert picture is not None
    assert (picture.actor, picture.actors) == (None, ())


def test_those_whom_only_the_states_know_act_and_are_told() -> None:
    made = protocol()
    who = Those(Thing, lambda t: [at for at, on in enumerate(t.after.on) if on])
    made.action(actor=who, messages=(Tells(who, CLIENT, lambda t: ["on", "still on"]),))(switch)
    question, run = switched(made)
    picture = steps_of(question, run)[1].picture
    assert picture is not None
    assert picture.actor == "thing 1"
    assert [(item.sender, item.receiver, item.text) for item in picture.messages] == [
        ("thing 1", "client", "on"),
        ("thing 1", "client", "still on"),
    ]


@pytest.mark.parametrize("how", [{"actor": "thnig"}, {"messages": (Tells("thing", "nobody", "hello"),)}])
def test_a_declaration_that_names_no_parameter_is_refused_with_those_there_are(how: dict[str, Any]) -> None:
    made = protocol()
    made.action(**how)(switch)
    names_it = r"action Switch \(test_pictures.py:\d+\): .*which is not a parameter that holds ids or numbers; it has thing$"
    with pytest.raises(ModelError, match=names_it):
        made.instantiate({"things": 2})


def test_what_goes_wrong_in_a_declaration_is_one_sentence_with_its_line() -> None:
    made = protocol()
    made.action(messages=(Tells("thing", Role("x"), lambda t: t.before.off),))(switch)
    with pytest.raises(ModelError) as refused:
        steps_of(*switched(made))
    said = r"things: the words of action Switch \(test_pictures\.py:\d+\): there is no field 'off' here; the fields are on"
    assert re.fullmatch(said, str(refused.value))


def test_what_is_not_a_provider_of_pictures_is_refused() -> None:
    with pytest.raises(ModelError, match="things: pictures is not a provider"):
        provider_of(protocol(pictures=3).instantiate({"things": 1}))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("answers/transactions-torn", {"partition 0": {"torn: r0 readable"}, "partition 1": {"torn: r0 aborted"}}),
        ("gallery/kip890-late-end-bug", {"partition 0": set(), "partition 1": {"r1 wrongly aborted"}}),
        ("gallery/kip890-late-produce-bug", {"partition 0": {"r0 wrongly readable"}, "partition 1": set()}),
    ],
)
def test_a_torn_transaction_is_named_in_both_of_its_partitions(name: str, said: dict[str, set[str]]) -> None:
    (found,) = search(load_spec(name).question(), Bounds(workers=1)).violations
    instance = load_spec(name).question().instance
    state = instance.schema.decode(instance.schema.unpack(found.run.states[-1]))
    picture, _ = provider_of(instance).picture(instance, Moment(0, None, None, state, None))
    wrong = {row.name: {badge.text for badge in row.badges if badge.tone is Tone.WRONG} for row in picture.rows}
    assert wrong == said


def test_a_partition_with_two_owners_is_drawn_as_that_of_both() -> None:
    question = load_spec(SPECS / "claims" / "delivery-one-owner-3-7.toml").question()
    (found,) = search(question, Bounds(workers=1)).violations
    state = question.instance.schema.decode(question.instance.schema.unpack(found.run.states[-1]))
    picture, _ = provider_of(question.instance).picture(question.instance, Moment(0, None, None, state, None))
    facts = {box.name: [fact.text for fact in box.facts] for box in picture.boxes}
    assert "the partition is member 1's and member 0's" in facts["group coordinator"]
    assert all("has the partition" in facts[f"member {m}"] for m in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [share, compaction], ids=lambda item: item.name)
def test_what_breaks_each_promise_is_pointed_at(protocol: Protocol) -> None:
    told: dict[str, list[str]] = {}
    for spec in shipped_of(protocol):
        for name in spec.expect.violates if spec.expect else ():
            if name in told or name not in properties_of(protocol):
                continue
            question = spec.question()
            result = search(question, Bounds(workers=1), StopPolicy.EVERY_PROPERTY)
            found = next(one for one in result.violations if one.property.name == name)
            last = steps_of(question, found.run)[-1]
            told[name] = list(provider_of(question.instance).disagreements(name, None, last.told))
    assert set(told) == set(properties_of(protocol))
    assert [name for name, texts in told.items() if not texts] == []
