"""What files say of the controllers' quorum: every remark that they deserve, in every release, and no slip goes unsaid."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from acked.audit.decision.gather import RefusedByKafka
from acked.audit.decision.remarks import quorum_remarks
from acked.audit.decision.settings import configure
from acked.audit.formats.reading import read_all
from acked.base.errors import AckedError
from acked.base.release import release
from acked.cluster.vocabulary.entry import SettingEntry
from acked.cluster.vocabulary.keys import AUTO_JOIN, QUORUM, QUORUM_VOTERS
from tests.audit.formats.corpus import expected, reading
from tests.audit.reading import gather
from tests.places import DATA

FILES = DATA / "audit" / "quorum"
RULES = {
    "quorum-open", "voters-differ", "voter-twice", "voters-share-address", "one-voter", "even-voters", "voters-and-servers",
    "auto-join", "not-yet", "misspelt",
}  # fmt: skip

EXPECTED: dict[str, set[str] | str] = {
    "three.properties": set(),
    "four.properties": {"even-voters"},
    "two.properties": {"even-voters"},
    "one.properties": {"one-voter"},
    "twice.properties": {"voter-twice"},
    "twice-alike.properties": {"voter-twice", "one-voter"},
    "one-address.properties": {"voters-share-address"},
    "voters-and-servers.properties": {"voters-and-servers"},
    "joins.properties": {"auto-join"},
    "joins-not.properties": set(),
    "broker-joins.properties": "has no controller",
    "joins-perhaps.properties": "'yes' is not true or false",
    "no-port.properties": "'2@b' is not ID@HOST:PORT",
    "port.properties": "'2@b:93093' is not ID@HOST:PORT",
    "server-with-id.properties": "'1@a:9093' is not HOST:PORT",
    "filled-in.properties": {"quorum-open"},
    "slip.properties": {"misspelt"},
    "nodes.yml": {"voters-differ", "even-voters", "auto-join"},
    "confluent.yaml": {"auto-join"},
    "pools.yaml": {"even-voters"},
}
"""By file the remarks of 4.2, or a part of the reason why Kafka does not start with it."""


def remarks(path: Path, version: str = "4.2") -> list[tuple[str, str, int | None]]:
    """Rule, text and line of what is remarked on the quorum."""
    found = configure(gather(read_all([path])), release(version)).findings
    return [(one.rule, one.text, one.entry and one.entry.line) for one in found if one.rule in RULES]


def test_every_file_about_a_quorum_has_its_answer() -> None:
    assert {path.name for path in FILES.iterdir() if path.suffix != ".expected"} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_every_setting_of_a_quorum_is_read_with_its_line(name: str) -> None:
    assert reading(FILES / name) == expected(FILES / name)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_remarks_are_those_that_the_file_deserves_or_kafka_refuses_it(name: str) -> None:
    answer = EXPECTED[name]
    if isinstance(answer, str):
        with pytest.raises(RefusedByKafka, match=re.escape(answer)):
            remarks(FILES / name)
    else:
        assert {rule for rule, _, _ in remarks(FILES / name)} == answer


def test_a_remark_names_what_it_is_about_and_its_line() -> None:
    found = {rule: (text, line) for rule, text, line in remarks(FILES / "twice.properties")}
    text, line = found["voter-twice"]
    assert line == 5
    assert "names voter 2 at b:9093 and d:9093" in text
    assert "3 voters are counted" in text
    text, _ = {rule: (text, line) for rule, text, line in remarks(FILES / "four.properties")}["even-voters"]
    assert "4 voters, of which 3 have to be up: 1 may stop, as of 3" in text


def test_nodes_that_name_other_voters_or_the_same_elsewhere_are_told_with_both_places() -> None:
    texts = [(text, line) for rule, text, line in remarks(FILES / "nodes.yml") if rule == "voters-differ"]
    assert [line for _, line in texts] == [11, 19]
    assert "the voters 1 and 2 here and 1, 2 and 3 at" in texts[0][0]
    assert "voter 3 at controller-9:9093 here and at controller-3:9093" in texts[1][0]
    assert all("nodes.yml:6" in text for text, _ in texts)


def test_what_a_release_does_not_know_it_passes_over_and_the_report_says_so() -> None:
    assert [rule for rule, _, _ in remarks(FILES / "voters-and-servers.properties", "3.8")] == ["not-yet"]
    assert [rule for rule, _, _ in remarks(FILES / "joins.properties", "4.1")] == ["not-yet"]
    assert {rule for rule, _, _ in remarks(FILES / "joins.properties", "3.8")} == {"not-yet"}
    assert [rule for rule, _, _ in remarks(FILES / "voters-and-servers.properties", "3.9")] == ["voters-and-servers"]


# -- mutations ----------------------------------------------------------------------------------------------------------


def rules_or_refusal(path: Path) -> set[str] | None:
    try:
        return {rule for rule, _, _ in remarks(path)}
    except AckedError:
        return None


@pytest.mark.parametrize("name", sorted(name for name in EXPECTED if name.endswith(".properties")))
def test_no_slip_in_a_name_of_the_quorum_goes_unsaid(name: str, tmp_path: Path) -> None:
    """Kafka passes over the name, so that what it was to say is gone: that is remarked, or the file is refused."""
    lines = (FILES / name).read_text("utf-8").splitlines()
    for at, line in enumerate(lines):
        key = line.split("=")[0]
        for sign in range(len(key)) if key in QUORUM else []:
            for other in ("", "x"):
                slip = key[:sign] + other + key[sign + 1 :]
                file = tmp_path / name
                file.write_text("\n".join([*lines[:at], line.replace(key, slip), *lines[at + 1 :]]) + "\n", "utf-8")
                found = rules_or_refusal(file)
                assert found is None or "misspelt" in found, slip


def deserved(value: str) -> set[str] | None:
    """The same by plain steps: what a list of voters deserves; None if Kafka would not take it."""
    ids, addresses = [], {}
    for part in value.split(","):
        voter, at, address = part.strip().partition("@")
        host, colon, port = address.rpartition(":")
        if not (at and colon and voter.isdecimal() and port.isdecimal()) or not set(host) <= {*"abcd:", *"0123456789"}:
            return None
        ids.append(int(voter))
        addresses[int(voter)] = address
    rules = {"voter-twice"} if max(Counter(ids).values()) > 1 else set()
    rules |= {"voters-share-address"} if len({*addresses.values()}) < len(addresses) else set()
    count = len({*ids})
    return rules | ({"one-voter"} if count == 1 else {"even-voters"} if count % 2 == 0 else set())


@pytest.mark.parametrize("name", ["three", "four", "twice", "one-address"])
def test_a_list_of_voters_with_any_sign_changed_has_the_remarks_that_it_deserves(name: str) -> None:
    whole = (FILES / f"{name}.properties").read_text("utf-8").lower()
    value = re.findall(rf"{re.escape(QUORUM_VOTERS)}=(.*)", whole)[0]
    for at in range(len(value)):
        for other in ("", "1", "2", "b", ",", "@", ":"):
            changed = value[:at] + other + value[at + 1 :]
            try:
                entry = SettingEntry(QUORUM_VOTERS, changed, "f", 1)
                found = {one.rule for one in quorum_remarks([entry], release("4.2"))}
            except RefusedByKafka:
                found = None
            assert found == deserved(changed), changed


@pytest.mark.parametrize("value", ["true", "True", " TRUE "])
def test_kafka_reads_true_in_any_case(value: str) -> None:
    assert [one.rule for one in quorum_remarks([SettingEntry(AUTO_JOIN, value, "f", 1)], release("4.4"))] == ["auto-join"]
