"""What people read first: 25 lines at most for any cluster and any width, the worst first, and last the verdict."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from acked.audit.clusters.live import LiveBroker, LiveCluster, LivePartition, LiveTopic, LiveValue, live_entries
from acked.audit.clusters.units import groups_of_units, units_of
from acked.audit.commands.answering import since_in_words
from acked.audit.commands.options import Shown
from acked.audit.commands.summary import MOST_LINES, difference_lines, print_summary
from acked.audit.decision.faults import AuditQuestion
from acked.audit.decision.gather import recognise
from acked.audit.reports.baseline import cells_of, since
from acked.audit.reports.terminal import few_of_each, legend, overview, print_audit
from acked.audit.reports.topics import print_topics
from acked.audit.reports.view import AuditView, CauseView, PolicyLineView, PolicyView, TopicsView, View
from acked.reports.console import open_console
from tests.audit.made import NO, UNDECIDED, YES, answer, audit, finding, group, groups

NAMES = ("loss", "duplicates", "reordering", "vanishing", "writes")
CAUSE = CauseView("min.insync.replicas", "1", "server.properties:4", "server.properties", 4, "2",
                  "min.insync.replicas=1 (server.properties:4)")  # fmt: skip


def lines(view: View, width: int = 80) -> list[str]:
    drawn = io.StringIO()
    print_summary(open_console(drawn, width), view)
    return drawn.getvalue().splitlines()


def one(reply: str) -> AuditView:
    answers = [answer(name, "clean", reply if name == "loss" else "no", causes=(CAUSE,) if reply == "yes" else None)
               for name in NAMES]  # fmt: skip
    verdict = {"yes": YES, "no": NO, "undecided": UNDECIDED}[reply]
    return audit(*answers, verdict=verdict, verdict_in_words=f"verdict {reply}: records can be lost (faults: process dies)")


def many(count: int, per_group: int, **others: object) -> TopicsView:
    found = []
    for at in range(count):
        reply = "yes" if at < count // 2 else "undecided" if at < count - 1 else "no"
        found.append((tuple(f"a-topic-with-a-long-name-{at}-{number}" for number in range(per_group)), one(reply)))
    return groups(*found, verdict=YES, verdict_in_words="FAIL: " + ", ".join(f"group {at}" for at in range(count)), **others)


def test_by_a_policy_what_is_not_kept_has_its_cause_too() -> None:
    told = tuple(PolicyLineView(verdict, text, (text.partition(":")[0],), AuditQuestion.LOSS, "clean") for verdict, text in
                 ((YES, "orders: loss (clean) is yes"), (NO, "clicks: loss (clean) is yes, accepted")))  # fmt: skip
    policy = PolicyView("acked.toml", YES, "FAIL: by it", told)
    shown = lines(groups((("clicks",), one("yes")), (("orders",), one("yes")), policy=policy))
    at = shown.index("✗ orders: loss (clean) is yes")
    assert shown[at + 1 : at + 3] == [
        "    cause: min.insync.replicas=1 (server.properties:4)", "✓ clicks: loss (clean) is yes, accepted"
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 50, 80, 120, 200])
@pytest.mark.parametrize("count", [1, 2, 10, 50, 500])
def test_a_summary_has_25_lines_at_most_and_none_is_too_wide(count: int, width: int) -> None:
    view = many(count, 20) if count > 1 else one("yes")
    shown = lines(view, width)
    assert len(shown) <= MOST_LINES
    assert max(map(len, shown)) <= width
    assert any("FAIL" in line or "verdict yes" in line for line in shown[-3:])


def test_the_worst_is_told_first_with_its_cause_and_what_is_left_out_is_counted() -> None:
    shown = lines(many(20, 10))
    assert shown[0].endswith("200 topics in 20 groups")
    assert any("lost (clean): yes" in line for line in shown)
    assert any("cause: min.insync.replicas=1 (server.properties:4)" in line for line in shown)
    assert any(line.startswith("  and ") and "groups more" in line and "undecided" in line for line in shown)
    assert any("more that --full tells" in line for line in shown)
    assert any("--full" in line for line in shown)


def test_what_is_not_asked_about_is_told_with_its_reason() -> None:
    view = groups((("orders",), None), (("pay",), one("no")), verdict=UNDECIDED, verdict_in_words="UNDECIDED: orders")
    assert any("orders: not asked: it may not be read" in line for line in lines(view))


def test_a_broker_that_is_down_is_one_line_and_no_change() -> None:
    names = tuple(f"t{at}" for at in range(200))
    reason = "the settings of broker 2 are not known: it does not run"
    down = replace(group(2, names, None), brokers=("2",), refusal=reason, unread=True)
    before = groups((names, one("no")))
    now = replace(before, groups=(*before.groups, down), verdict=UNDECIDED, verdict_in_words="UNDECIDED: 200 topics")
    told = since(now, cells_of(before), Path("yesterday.json"))
    assert told.differences == ()
    assert told.verdict is NO
    others = "200 topics are judged by the other brokers' settings"
    assert told.notes == (f"{reason}; {others}; what one failure more would cost now, acked roll says",)
    assert sum("does not run" in line for line in lines(now, 120)) == 1
    read = replace(now, groups=(*before.groups, replace(down, unread=False)))
    assert len(since(read, cells_of(before), Path("yesterday.json")).differences) == 200, "it runs, and cannot be asked about"
    assert any(f"not asked: {reason}" in line for line in lines(read, 120))
    alone = replace(now, groups=(down,))
    assert any(f"not asked: {reason}" in line for line in lines(alone, 120))
    assert not any("judged by" in line for line in lines(alone, 120))
    assert len(since(alone, cells_of(before), Path("yesterday.json")).differences) == 200, "nobody else answers for them"


def test_remarks_of_one_rule_are_told_three_times_and_then_counted() -> None:
    told = few_of_each([finding(f"topic {at} shares a rack") for at in range(183)])
    assert [one.text for one in told[:3]] == [f"topic {at} shares a rack" for at in range(3)]
    assert [one.text for one in told[3:]] == ["and 180 more like it (rule; --format json has all)"]
    assert few_of_each(told[:3]) == told[:3]


def test_the_legend_counts_the_steps_that_the_table_shows_and_the_verdict_is_the_last_line() -> None:
    assert "yes (1): it can happen, in 1 step at least; the steps are below" in legend(one("yes"))
    refusing = audit(answer("loss", "clean", "no", nothing_accepted=True))
    assert overview(refusing).rows[0][1].text == "no (nothing written)"
    assert any(line.startswith("no (nothing written): ") for line in legend(refusing))
    for view in (one("yes"), many(3, 2)):
        drawn = io.StringIO()
        console = open_console(drawn, 80)
        print_audit(console, view) if isinstance(view, AuditView) else print_topics(console, view)
        assert drawn.getvalue().splitlines()[-1].startswith(("✗ verdict yes", "✗ FAIL"))


@pytest.mark.parametrize("width", [50, 80])
def test_tables_of_a_narrow_terminal_break_no_word(width: int) -> None:
    drawn = io.StringIO()
    view = many(3, 2)
    long = tuple(replace(item, heading=f"{item.heading} elsewhere") for item in one("yes").columns)
    found = tuple(replace(item, audit=replace(item.audit, columns=long)) for item in view.groups if item.audit)
    print_topics(open_console(drawn, width), replace(view, groups=found))
    table = drawn.getvalue().split("\n\n")
    assert max(len(line) for part in table[:4] for line in part.splitlines()) <= width
    for word in ("duplicated", "reordered", "vanished", "writes stop"):
        assert word in drawn.getvalue()


@pytest.mark.parametrize(("name", "form", "expected"), [
    ("x.html", "text", "html"), ("x.json", "text", "json"), ("x.json", "sarif", "sarif"), ("x.sarif", "text", "sarif"),
    ("x.xml", "junit", "junit"), ("x.md", "text", "markdown"), ("x.txt", "text", "text"), ("x", "html", "html"),
    ("x.log", "json", "json"), ("a=b.json", "text", "json"),
])  # fmt: skip
def test_a_file_is_written_in_the_form_that_its_suffix_names(name: str, form: str, expected: str) -> None:
    assert Shown(form).places([Path(name)]) == [(expected, Path(name))]


def test_of_several_files_each_has_the_form_before_it_or_of_its_suffix() -> None:
    outs = [Path("a.sarif"), Path("markdown=/x/summary"), Path("sarif=b.json"), Path("text=c.xml")]
    assert Shown().places(outs) == [
        ("sarif", Path("a.sarif")), ("markdown", Path("/x/summary")), ("sarif", Path("b.json")), ("text", Path("c.xml"))
    ]  # fmt: skip


def test_a_form_that_contradicts_the_suffix_of_the_file_is_refused_in_a_sentence() -> None:
    with pytest.raises(click.UsageError, match=r"--format says json, and x\.html has the suffix of html; leave one out"):
        Shown("json").places([Path("x.html")])
    assert Shown("json").places([]) == [("json", None)]


def live(topics: int) -> LiveCluster:
    """A cluster of topics in ten groups, as it describes itself; every partition has replicas that share a rack."""
    values = (LiveValue("min.insync.replicas", "1", "static"), LiveValue("process.roles", "broker,controller", "static"))
    brokers = tuple(LiveBroker(number, "a", values, newest_level=21) for number in (1, 2, 3))
    found = []
    for at in range(topics):
        least, factor = at % 5 // 2 + 1, 3 if at % 10 < 5 else 2
        own = LiveValue("min.insync.replicas", str(least), "dynamic")
        own = own if at % 5 % 2 else LiveValue("unclean.leader.election.enable", "true", "dynamic")
        replicas = (1, 2, 3)[:factor]
        found.append(LiveTopic(f"topic-{at}", (LivePartition(0, replicas, replicas),), (own,)))
    return LiveCluster("kafka:9092", brokers, tuple(found), {"metadata.version": 21})


def test_a_running_cluster_is_one_unit_whose_topics_are_grouped() -> None:
    (unit,) = units_of(recognise(live_entries(live(200))))
    found = groups_of_units([unit])
    assert 4 <= len(found) <= 10
    assert sum(len(item.topics) for item in found) == 200
    assert {item.unit for item in found} == {""}
    assert json.dumps([item.refusal for item in found]) == json.dumps([""] * len(found))


def test_what_is_required_of_no_topic_is_a_slip_and_has_no_good_sign() -> None:
    slip = PolicyLineView(NO, "no topic is called nope*", line=1)
    shown = lines(groups((("orders",), one("no")), policy=PolicyView("acked.toml", NO, "PASS: by it", (slip,))))
    assert "- no topic is called nope*" in shown


def test_what_is_worst_is_said_in_the_words_of_its_column() -> None:
    columns = tuple(replace(column, heading=f"{column.name} in words") for column in one("yes").columns)
    assert any("lost (clean in words): yes" in line for line in lines(replace(one("yes"), columns=columns)))


def test_groups_that_are_compared_are_said_to_decide_nothing() -> None:
    view = groups((("orders",), one("yes")), (("orders",), one("yes")))
    compared = replace(view, groups=(view.groups[0], replace(view.groups[1], decides=False, acks="1")))
    assert "1 group with acks=1 is for comparison: no producer was named" in lines(compared)
    assert not any("comparison" in line for line in lines(view))


def test_below_what_is_worse_than_before_stand_its_cause_and_change_once() -> None:
    good, bad = (groups((("orders",), one(reply))) for reply in ("no", "yes"))

    def told(before: TopicsView, now: TopicsView) -> list[str]:
        return list(difference_lines(now, since(now, cells_of(before), Path("yesterday.json")).differences))

    worse = told(good, bad)
    assert worse[0] == "worse: orders, lost (clean): no before, yes now"
    assert worse[1].startswith("    cause: min.insync.replicas=1 (server.properties:4)")
    assert told(bad, good) == ["better: orders, lost (clean): yes before, no now"]


def test_topics_that_get_worse_alike_are_one_line_and_a_difference_is_no_longer_than_a_summary() -> None:
    names = tuple(f"t{at}" for at in range(200))

    def told(before: TopicsView, now: TopicsView, is_full: bool = False) -> list[str]:
        changed = since(now, cells_of(before), Path("yesterday.json"))
        return since_in_words(replace(now, baseline=changed), changed, is_full).splitlines()

    good, bad = (groups((names, one(reply))) for reply in ("no", "yes"))
    lines = told(good, bad)
    assert lines[0] == "worse: t0, t1, t2 and 197 more, lost (clean): no before, yes now"
    assert [line.startswith("    ") for line in lines[1:]] == [True] * len(lines[1:])
    assert sum(line.startswith("worse: ") for line in told(good, bad, is_full=True)) == 200
    causes = [replace(CAUSE, in_words=f"min.insync.replicas=1 (t.properties:{at})") for at in range(60)]
    each = [one("yes") for _ in causes]
    of_each = [replace(view, answers=(replace(view.answers[0], causes=(cause,)), *view.answers[1:]))
               for view, cause in zip(each, causes, strict=True)]  # fmt: skip
    apart = groups(*(((name,), view) for name, view in zip(names, of_each, strict=False)))
    lines = told(groups(*(((name,), one("no")) for name in names[:60])), apart)
    assert len(lines) <= MOST_LINES
    assert lines[-1] == f"and {2 * 60 - len(lines) + 1} lines more that --full tells"
