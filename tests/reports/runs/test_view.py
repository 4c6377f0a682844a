"""The view model says in plain data what happened in every step."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Counterexample, Result, Run
from acked.checker.search.local import Bounds, search
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import specs_under
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Protocol
from acked.model.language.state import Array, Optional, SetOf, Struct, field, none_of
from acked.model.language.values import Id, Int
from acked.reports.pictures.picture import Edit, MarkerKind, Tone
from acked.reports.pictures.protocols.replication import REPLICATION
from acked.reports.runs.view import steps_of, view_of
from tests.places import CHECKOUT

seats = Constant("seats", 1, 4, "chairs in the room")


class Seat(Id, size=seats):
    """A chair."""


class Rounds(Int, lo=0, hi=3):
    """How often someone sat down."""


class Room(Struct):
    """A protocol that has nothing to do with logs."""

    taken = field(SetOf(Seat), "chairs in use")
    last = field(Optional(Seat), "the chair taken last")
    rounds = field(Array(Seat, Rounds), "by chair")


def nobody(s: Room) -> None:
    s.taken = none_of(Seat)


room = Protocol("room", Room, title="chairs", source="none", constants=(seats,), initial=nobody)


@room.action()
def sit_down(s: Room, seat: Seat) -> None:
    """Someone takes a free chair."""
    require("free", ~s.taken.contains(seat))
    s.taken = s.taken.add(seat)
    s.last = seat
    s.rounds[seat] = s.rounds[seat] + 1


def room_result(*properties: Property) -> Result:
    return search(Question(room.instantiate({"seats": 2}), properties), Bounds(workers=1))


def test_step_zero_is_the_initial_state_in_words_and_has_no_action(violated: Result) -> None:
    first = steps_of(violated.question, violated.violations[0].run)[0]
    assert (first.index, first.action, first.arguments, first.changes) == (0, None, (), ())
    assert first.sentence == "initially every log is empty, no broker leads, and the ISR is {0, 1}"


def test_every_other_step_names_its_action_and_speaks_the_protocols_own_sentence(violated: Result) -> None:
    steps = steps_of(violated.question, violated.violations[0].run)
    assert [step.index for step in steps] == list(range(9))
    assert steps[4].label == "LeaderWrite(leader=0)"
    assert steps[4].sentence == "broker 0 appends record 0 at offset 0 in leader epoch 0"


def test_a_record_of_code_zero_counts_as_changed_because_it_was_not_there_before(violated: Result) -> None:
    step = steps_of(violated.question, violated.violations[0].run)[4]
    changed = {change.field: (change.before, change.after) for change in step.changes}
    assert changed["log[0].end"] == ("0", "1")
    assert changed["log[0].records[0].id"] == ("nothing", "0")


def test_invariants_are_marked_at_every_step_and_step_properties_from_the_first_action_on(violated: Result) -> None:
    steps = steps_of(violated.question, violated.violations[0].run)
    marks = [{mark.property: mark.holds for mark in step.marks} for step in steps]
    assert marks[0] == {"WeakIsr": True, "CommittedRecordsStay": None}
    assert [mark["WeakIsr"] for mark in marks] == [True] * 8 + [False]
    assert [mark["CommittedRecordsStay"] for mark in marks[1:]] == [True] * 8
    assert steps[-1].violated == ("WeakIsr",)


def test_the_picture_shows_cells_high_watermark_and_what_was_removed(violated: Result) -> None:
    last = steps_of(violated.question, violated.violations[0].run)[-1]
    assert last.picture is not None
    assert last.differs is not None
    leader, follower = last.picture.rows
    record = leader.cells[0]
    assert (record.record, record.epoch, record.committed, record.acked, record.lost) == ("r0", 0, True, True, None)
    assert (leader.offset_of(MarkerKind.HIGH_WATERMARK), leader.offset_of(MarkerKind.LOG_END)) == (1, 1)
    assert last.differs.rows["0"].markers == frozenset()
    assert follower.cells[0].record is None
    change = last.differs.rows["1"]
    assert change.edits == {0: Edit.REMOVED}
    assert (change.epoch, change.markers) == (True, {"log end"})
    assert last.untold == ()


def test_an_acknowledged_record_that_a_broker_dropped_is_marked_as_lost_there_from_then_on(violated: Result) -> None:
    steps = steps_of(violated.question, violated.violations[0].run)
    lost = [[row.cells[0].lost for row in step.picture.rows] for step in steps if step.picture]
    assert lost == [[None, None]] * 8 + [[None, "r0·e0"]]


def test_requests_are_told_where_they_are_sent_and_again_where_they_arrive(violated: Result) -> None:
    steps = steps_of(violated.question, violated.violations[0].run)
    messages = [message for step in steps if step.picture for message in step.picture.messages]
    last = messages[-1]
    assert (last.sender, last.receiver, last.received) == ("controller", "broker 1", 8)
    sent = next(message for message in messages if message.key == last.key)
    assert (sent.sent, sent.received) == (last.sent, None)
    assert [message.sender for message in messages if message.text == "r0·e0"] == ["producer"]


def test_a_leader_of_an_old_epoch_is_told_from_the_elected_one(violated: Result) -> None:
    last = steps_of(violated.question, violated.violations[0].run)[-1]
    assert last.picture is not None
    leader, follower = last.picture.rows
    assert [(badge.kind, badge.tone) for badge in leader.badges] == [
        ("isr", Tone.PLAIN),
        ("leader", Tone.WRONG),
        ("elected", Tone.PENDING),
        ("own isr", Tone.ASIDE),
    ]
    assert [badge.text for badge in follower.badges] == ["out of ISR", "follows broker 0"]


def test_the_story_says_which_brokers_and_offsets_disagree(violated: Result) -> None:
    found = violated.violations[0]
    story = view_of(Counterexample.of("title", violated.question, found)).story
    assert story is not None
    assert story.happened == (
        "Step 8 of 8 breaks it: broker 0, which considers itself leader in epoch 0 with high watermark 1, holds "
        "record 0 of epoch 0 at offset 0, but broker 1, which it counts as in sync, holds nothing there."
    )
    assert found.property.promise in story.promised
    assert "Kept by: kip320" in story.source


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "name", "says"),
    [
        ("truncate-to-hw", "StrongIsr", "which is in the ISR, holds nothing there"),
        ("truncate-to-hw", "HwWithinOwnIsr", "is beyond the log end of broker"),
        ("truncate-to-hw", "HwWithinQuorumIsr", "is beyond the log end of broker"),
        ("truncate-to-hw", "LogEpochsAscend", "falls from epoch 2 at offset 0 to epoch 1 at offset 1"),
        ("kip101", "CommittedRecordsStay", "and after this step holds"),
    ],
)
def test_whatever_search_finds_violated_is_explained(searched, protocol: str, name: str, says: str) -> None:
    result = searched(protocol, (3, 2, 2, 2), name)
    found = result.violations[0]
    story = view_of(Counterexample.of("title", result.question, found)).story
    assert story is not None
    assert says in story.happened


def _state() -> dict:
    instance = PROTOCOLS["kip320"].instantiate({"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1})
    return instance.schema.decode(instance.schema.unpack(instance.initial[0]))


def test_properties_that_no_shipped_protocol_breaks_are_explained_as_well() -> None:
    def explained(name: str, before: dict | None = None, **replica: object) -> str:
        state = _state()
        state["replica"][1].update(replica)
        return "; ".join(REPLICATION.disagreements(name, before, state))

    state = _state()
    state["quorum"].update(leader=0, isr=[1])
    assert REPLICATION.disagreements("LeaderInIsr", None, state) == [
        "the elected leader is broker 0 and the ISR is {1}"
    ]
    assert explained("HwWithinLog", hw=1) == "the high watermark 1 of broker 1 is beyond its log end 0"
    assert "has not used" in explained("KnownEpochs", leader_epoch=1)
    before = _state()
    before["replica"][1]["leader_epoch"] = 1
    assert explained("LeaderEpochsOnlyGrow", before, leader_epoch=0) == "broker 1 falls from leader epoch 1 to 0"
    state = _state()
    for broker in (0, 1):
        state["replica"][broker].update(leader=broker, leader_epoch=1)
    assert "brokers 0 and 1 both take" in REPLICATION.disagreements("OneLeaderPerEpoch", None, state)[0]
    assert REPLICATION.disagreements("Unheard", None, state) == []


def test_a_protocol_of_another_family_has_its_changed_fields_by_name_and_all_of_them_in_its_picture() -> None:
    never_full = Property(
        "NeverFull", Kind.STATE, lambda s: ~(s.rounds[0] + s.rounds[1] == 2), "room is left", "x", "y"
    )
    result = room_result(never_full)
    found = result.violations[0]
    view = view_of(Counterexample.of("chairs", result.question, found))
    first, second, last = view.steps
    assert first.sentence == "the initial state"
    assert first.picture is not None
    assert [box.name for box in first.picture.boxes] == ["seat 0", "seat 1", "taken", "last"]
    assert second.sentence == "SitDown(seat=1)"
    assert {change.field: change.after for change in second.changes} == {
        "taken": "{1}",
        "last": "1",
        "rounds[1]": "1",
    }
    assert {change.field: change.before for change in last.changes}["last"] == "1"
    assert not second.untold
    assert view.story is not None
    assert view.story.happened == "Step 2 of 2 breaks it."


def test_a_deadlock_is_told_as_one() -> None:
    result = room_result(DEADLOCK)
    found = result.violations[0]
    story = view_of(Counterexample.of("chairs", result.question, found)).story
    assert story is not None
    assert story.happened == "Step 2 of 2 breaks it: no action is enabled."


def test_a_run_that_violates_nothing_has_steps_and_no_story(violated: Result) -> None:
    run = violated.violations[0].run
    view = view_of(Counterexample("title", violated.question, Run(run.states[:3], run.actions[:2])))
    assert view.story is None
    assert len(view.steps) == 3


CONTROLS = specs_under(CHECKOUT / "specs" / "controls")
DIFFERENT = (
    "commit-older-term", "elect-outside-isr", "empty-disk-comes-back-clean", "expand-unfenced", "fetch-past-the-end",
    "hw-without-leadership", "unsent-request",
)  # fmt: skip
"""Of every protocol one at least, and of the variants one for what brokers and controllers do in turn."""


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "control",
    [pytest.param(path, id=path.stem, marks=() if path.stem in DIFFERENT else pytest.mark.long) for path in CONTROLS],
)
def test_a_weakened_protocol_is_pictured_as_well(control: Path) -> None:
    """Its runs do what the whole rules never do, such as taking up a request that nobody sent."""
    question = load_spec(control).question()
    found = search(question, Bounds(workers=1)).violations[0]
    view = view_of(Counterexample.of("weakened", question, found))
    assert all(step.picture is not None for step in view.steps)
    assert view.story is not None
    assert view.story.prevented is not None
    assert "the clause that was dropped here" in view.story.prevented


def test_a_state_that_no_run_reaches_is_told_as_the_search_numbers_it() -> None:
    constants = {"replicas": 3, "log_size": 2, "records": 2, "max_term": 0, "votes": 0, "crashes": 1, "lossy_crashes": 0}
    instance = PROTOCOLS["majority"].instantiate({**constants, "lost_logs_vote": 0, "failures": 1})
    codes = list(instance.schema.unpack(instance.initial[0]))
    leaf = next(number for number, item in enumerate(instance.schema.leaves) if item.name == "replica[2].term")
    greatest = codes[leaf] = instance.schema.leaves[leaf].cardinality - 1
    shown = instance.shown_instance.schema.leaves[leaf]
    assert greatest >= shown.cardinality, "a counterexample to induction may have this rank"
    (step,) = steps_of(Question(instance, ()), Run((instance.schema.pack(codes),), ()))
    assert step.state["replica"][2]["term"] == greatest
