"""Files in the formats that people have are read to the line, and what is changed in them never counts as safer unnoticed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion, AuditVerdict, read_faults
from acked.audit.decision.gather import Given
from acked.audit.decision.settings import configure
from acked.audit.formats import foreign
from acked.audit.formats.parts.reader import Source
from acked.audit.formats.reading import READERS, format_of, read_all
from acked.base.errors import AckedError, ConfigurationError
from acked.base.release import release
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.names import DECIDING
from acked.cluster.vocabulary.note import Read, settings_of
from tests.audit.decision.kept import KEPT
from tests.audit.formats.corpus import CORPUS, FILES, TRAPS, expected, name_of, reading, understood
from tests.audit.reading import gather

SEVERAL = ("mirror-maker.properties", "strimzi-connect.yaml")
READ = [path for path in FILES if not expected(path).startswith("refused")
        and path.parent.name != "clusters" and path.name not in SEVERAL]  # fmt: skip
"""Those of several clusters or topics count as several: `test_units.py` asks about them."""


def test_the_corpus_is_as_large_as_it_should_be_and_every_file_says_what_it_is_read_as() -> None:
    assert len(FILES) >= 60
    assert len(TRAPS) >= 15
    assert {path.name for path in CORPUS.rglob("*.expected")} == {f"{path.name}.expected" for path in FILES}


def test_every_format_has_a_file_of_its_own_which_fuzzing_and_the_changes_below_begin_with() -> None:
    had = {format_of(Source(str(path), path.read_text("utf-8", "replace"))) for path in FILES}
    without = [reader.name for reader in READERS if reader not in had and reader is not foreign.READER]
    assert not without, f"put a file into tests/data/audit/corpus of {', '.join(without)}, and one beside it as corpus.py says"


@pytest.mark.slow
@pytest.mark.parametrize("tail", ["---\n[1]\n", "---\nx\n", "[1]\n", "x\n", "}\n"])
def test_a_file_that_goes_on_in_another_shape_is_read_or_refused_in_a_sentence(tail: str, tmp_path: Path) -> None:
    refused = 0
    for path in FILES:
        (tmp_path / path.name).write_text(f"{path.read_text('utf-8').rstrip()}\n{tail}", "utf-8")
        refused += reading(tmp_path / path.name).startswith("refused ")
    assert refused > len(FILES) / 3


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_setting_of_a_file_is_read_with_its_line_or_the_file_is_refused(path: Path) -> None:
    assert reading(path) == expected(path)


@pytest.mark.parametrize("path", READ, ids=name_of)
def test_a_file_counts_like_the_same_settings_as_plain_properties(path: Path, tmp_path: Path) -> None:
    """The answers follow from what counts, so they are the same too."""
    found = understood(path)
    assert found is not None
    lines = re.findall(r"^\d+ \S+ \S+ (.+) = (.*)$", expected(path), re.MULTILINE)
    assert all(path.read_text("utf-8").splitlines()[int(line) - 1].strip() for line in re.findall(r"^\d+", expected(path)))
    plain = dict(lines)
    if any("topic" in line.split()[1] for line in expected(path).splitlines()):  # A topic's setting counts before a broker's.
        plain |= dict(re.findall(r"^\d+ topic \S+ (.+) = (.*)$", expected(path), re.MULTILINE))
    notes = {"is described", "is listed", "brokers", "controllers", "imported file", "replicas in sync now", "replicas now",
             "image without release"}
    written = [SettingEntry(key, value, "plain.properties", at)
               for at, (key, value) in enumerate(plain.items(), 1) if key not in notes]  # fmt: skip
    same = gather(written)
    values = {key: entry.value for key, entry in found.entries.items()}
    assert values.pop(keys.ROLES, "") != "" or keys.ROLES not in plain  # Of the roles only counts that there are some.
    assert values == {key: entry.value for key, entry in same.entries.items() if key != keys.ROLES}


# -- answers ------------------------------------------------------------------------------------------------------------


@cache
def values_of(text: str, name: str, folder: Path) -> Mapping[str, str] | None:
    """The deciding settings in effect with 3.9; None if the audit would not begin."""
    path = folder / name
    path.write_text(text, "utf-8")
    found = understood(path)
    return None if found is None else in_effect(found)


def in_effect(found: Given) -> Mapping[str, str] | None:
    """The same of what was read; where nothing says how many replicas there are, one, so that a client's file counts, too."""
    entries = found.entries
    if not entries.keys() & {REPLICATION_FACTOR, keys.DEFAULT_FACTOR}:
        entries = {**entries, REPLICATION_FACTOR: SettingEntry(REPLICATION_FACTOR, "1", "assumed", 0)}
    try:
        configuration = configure(replace(found, entries=entries), release("3.9"))
    except ConfigurationError:
        return None
    return {key: configuration.values[key].value for key in _SAFER if key in configuration.values}


def _less(value: str) -> int:
    return -int(value)


_SAFER = {
    keys.ACKS: ["0", "1", "all"].index,
    keys.IDEMPOTENCE: ["false", "true"].index,
    keys.IN_FLIGHT: _less,
    keys.MIN_ISR: int,
    keys.UNCLEAN: ["true", "false"].index,
    keys.FLUSH_MESSAGES: _less,
    REPLICATION_FACTOR: int,
}
"""For each setting what grows with safety."""


def loses(values: Mapping[str, str]) -> bool:
    """The memo: whether an acknowledged record can be lost in Kafka 4.1, with clean crashes or a machine that dies."""
    if values[keys.FLUSH_MESSAGES] == "1" and values[REPLICATION_FACTOR] == "1":
        return False
    return (
        values[REPLICATION_FACTOR] == "1"
        or values[keys.ACKS] != "all"
        or values[keys.UNCLEAN] == "true"
        or values[keys.MIN_ISR] == "1"
    )


MEMO = [
    {keys.ACKS: acks, keys.MIN_ISR: least, keys.UNCLEAN: unclean, REPLICATION_FACTOR: factor}
    for acks, least, unclean, factor in (
        ("all", "2", "false", "2"), ("all", "1", "false", "2"), ("1", "2", "false", "2"), ("all", "1", "false", "1"),
        ("0", "2", "false", "2"), ("all", "2", "true", "2"), ("all", "2", "false", "3"), ("1", "2", "true", "3"),
    )
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        pytest.param(values, id="-".join(values.values()), marks=[pytest.mark.long] if at > 3 else [])
        for at, values in enumerate(MEMO)
    ],
)
def test_the_memo_of_answers_is_what_a_search_finds(values: dict[str, str]) -> None:
    found = gather([SettingEntry(key, value, "f", 1) for key, value in values.items()])
    auditor = Auditor(found, release("4.1"), "kraft", Assumptions(faults=(read_faults("clean"), read_faults("one-machine")),
                      of_loss=()), KEPT)  # fmt: skip
    worst = auditor.run((AuditQuestion.LOSS,), advise=False).worst((AuditQuestion.LOSS,))
    assert worst is (AuditVerdict.YES if loses({keys.FLUSH_MESSAGES: "9", **values}) else AuditVerdict.NO)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "plain"), [
    ("environment/exports", "zookeeper.connect=z\nunclean.leader.election.enable=true\ndefault.replication.factor=2\n"),
    ("spring/application.properties", "acks=1\nretries=0\nenable.idempotence=false\n"
                                      "max.in.flight.requests.per.connection=10\n"),
])  # fmt: skip
def test_a_file_has_the_answers_of_the_same_settings_as_plain_properties(name: str, plain: str, tmp_path: Path) -> None:
    (tmp_path / "plain.properties").write_text(plain)
    answers = []
    for path in (CORPUS / name, tmp_path / "plain.properties"):
        factor = [] if "factor" in plain else [SettingEntry(REPLICATION_FACTOR, "2", "--set", 0)]
        auditor = Auditor(gather(read_all([path]), overrides=factor), release("3.9"), runner=KEPT)
        audit = auditor.run((AuditQuestion.LOSS, AuditQuestion.WRITES), advise=False)
        replies = [(one.faults, one.reply, one.story and one.story.trace_length) for one in audit.answers]
        answers.append(replies)
    assert answers[0] == answers[1]
    assert AuditVerdict.YES in [reply for _, reply, _ in answers[0]]


# -- mutations ----------------------------------------------------------------------------------------------------------

HCL = [path for path in FILES if path.suffix == ".tf"]
MUTATED = [path for path in FILES if path not in HCL]
"""HCL is parsed slowly, and has names at other places; it has tests of its own."""


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@cache
def reddened(path: Path) -> tuple[str, ...]:
    """The same with settings that are worse than what counts where they are left out: there a slip would mend."""
    lines = lines_of(path)
    for at, line in enumerate(lines):
        worse = re.sub(r"min(.)insync(.)replicas", r"unclean\1leader\2election\2enable", line)
        worse = worse.replace("MIN_INSYNC_REPLICAS", "UNCLEAN_LEADER_ELECTION_ENABLE")
        if worse != line:
            lines[at] = re.sub(r"(unclean\S*(?:\s*[=:])?\s*[\"']?)[12]\b", r"\1true", worse, flags=re.IGNORECASE)
            if at + 1 < len(lines) and lines[at + 1].lstrip().startswith("value:"):
                lines[at + 1] = re.sub("[12]", "true", lines[at + 1])
        lines[at] = re.sub(r"(acks\W+)(all|-1)\b", r"\g<1>1", lines[at], flags=re.IGNORECASE)
        lines[at] = re.sub(r"(idempotence\W+)true\b", r"\1false", lines[at], flags=re.IGNORECASE)
    return tuple(lines)


@pytest.mark.slow
def test_reddened_files_are_read_and_lose_records(tmp_path: Path) -> None:
    worse = [values_of("\n".join(reddened(path)), path.name, tmp_path) for path in MUTATED]
    assert sum(values is not None and values[keys.UNCLEAN] == "true" for values in worse) >= 15
    assert sum(values is not None and values[keys.ACKS] == "1" for values in worse) >= 3


@cache
def deciding_lines(
    path: Path, lines: tuple[str, ...], clients: tuple[str, ...] = ("the Scala producer",)
) -> Mapping[int, frozenset[str]]:
    """The settings that decide, by the line on which they stand; the defaults of clients by the one that shows it."""
    found: dict[int, frozenset[str]] = {}
    for entry in settings_of(read_text(path, "\n".join(lines))):
        if entry.key in DECIDING and entry.default_of in ("", *clients):
            found[entry.line] = found.get(entry.line, frozenset()) | {entry.key}
    return found


def misspelt(line: str, at: int, other: str) -> str:
    """The name before the first sign, or the last name of a list's variable, with one character changed or left out."""
    found = re.match(r"(?P<before>[\s\-\"{]*(?:export\s+)?(?:name:\s*)?)(?P<name>[\w.\-]+)", line)
    if found is None:
        return line
    place = found.start("name") + at % len(found["name"])
    return line[:place] + other + line[place + 1 :]


def check(path: Path, whole: tuple[str, ...], lines: list[str], touched: frozenset[str], folder: Path) -> None:
    """What has been made of a file is refused, or no setting of it counts as a safer one that was not touched."""
    before = values_of("\n".join(whole) + "\n", path.name, folder)
    if before is None or (after := values_of("\n".join(lines) + "\n", path.name, folder)) is None:
        return
    producers = {key for key in _SAFER if "producer" in KEYS[key].scopes[0].value}
    for key, rank in _SAFER.items():
        is_touched = key in touched or (key in producers and touched & {*producers, keys.RETRIES, keys.TRANSACTIONAL_ID})
        if key in before and key in after and not is_touched:
            assert rank(after[key]) <= rank(before[key]), (key, before[key], after[key], "\n".join(lines))
    if loses(before) and not touched & {keys.DEFAULT_FACTOR, *_SAFER}:
        assert loses(after), "\n".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


@st.composite
def files(draw: st.DrawFn) -> tuple[Path, tuple[str, ...]]:
    """A file of the corpus, as it is or reddened."""
    path = draw(st.sampled_from(MUTATED))
    return path, reddened(path) if draw(st.booleans()) else tuple(lines_of(path))


often = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.slow
@often
@drawn(files(), st.data())
def test_a_name_with_a_slip_is_never_read_as_safer(
    folder: Path, file: tuple[Path, tuple[str, ...]], data: st.DataObject
) -> None:
    path, whole = file
    lines = list(whole)
    at = data.draw(st.integers(0, len(lines) - 1))
    assume(not lines[at].lstrip().startswith(("#", "//")))
    lines[at] = misspelt(lines[at], data.draw(st.integers(0, 60)), data.draw(st.sampled_from(["", "x", "s", "_", "."])))
    check(path, whole, lines, frozenset(), folder)


def said_on(path: Path, whole: tuple[str, ...], at: int) -> frozenset[str]:
    """The deciding settings of a line, by its place from 0; what shows librdkafka is all of them."""
    try:
        return deciding_lines(path, whole, ("the Scala producer", "librdkafka")).get(at + 1, frozenset())
    except AckedError:
        return frozenset()


@pytest.mark.slow
@often
@drawn(files(), st.data())
def test_a_line_that_is_left_out_takes_nothing_but_itself(
    folder: Path, file: tuple[Path, tuple[str, ...]], data: st.DataObject
) -> None:
    path, whole = file
    lines = list(whole)
    at = data.draw(st.integers(0, len(lines) - 1))
    touched = said_on(path, whole, at)
    if data.draw(st.booleans()):
        lines[at] = f"# {lines[at]}"
    else:
        del lines[at]
    check(path, whole, lines, touched, folder)


@pytest.mark.slow
@often
@drawn(files(), st.data())
def test_a_line_that_is_moved_is_never_read_as_safer(
    folder: Path, file: tuple[Path, tuple[str, ...]], data: st.DataObject
) -> None:
    path, whole = file
    lines = list(whole)
    moved = lines.pop(data.draw(st.integers(0, len(lines) - 1)))
    lines.insert(data.draw(st.integers(0, len(lines))), moved)
    check(path, whole, lines, frozenset(), folder)


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("path", MUTATED, ids=name_of)
def test_no_slip_in_any_file_is_read_as_safer(folder: Path, path: Path) -> None:
    """Every sign of every name: a prefix that is not one hands on nothing, and its setting would count as left out."""
    for whole in {tuple(lines_of(path)), reddened(path)}:
        for at, line in enumerate(whole):
            for sign in range(0 if line.lstrip().startswith(("#", "//")) else min(len(line), 36)):
                lines = [*whole[:at], misspelt(line, sign, "x" if sign % 2 else ""), *whole[at + 1 :]]
                check(path, whole, lines, frozenset(), folder)


@pytest.mark.sampled(24)
@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_line_of_any_file_can_be_left_out_with_another_taken_as_safer(folder: Path, path: Path) -> None:
    for whole in {tuple(lines_of(path)), reddened(path)}:
        for at in range(len(whole)):
            check(path, whole, [*whole[:at], *whole[at + 1 :]], said_on(path, whole, at), folder)


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "clients/cloud-stream-boot.yml", "clients/confluent-connect.yaml", "compose/three-brokers.yml", "terraform/plan.json",
])  # fmt: skip
def test_no_line_can_be_moved_to_where_it_counts_no_more(folder: Path, name: str) -> None:
    path = CORPUS / name
    for whole in {tuple(lines_of(path)), reddened(path)}:
        for at in range(len(whole)):
            left = [*whole[:at], *whole[at + 1 :]]
            for to in range(len(whole)):
                check(path, whole, [*left[:to], whole[at], *left[to:]], frozenset(), folder)


def test_a_slip_in_a_block_or_setting_of_terraform_is_refused(folder: Path) -> None:
    path = CORPUS / "terraform" / "topic.tf"
    for at in (4, 7, 8):
        lines = lines_of(path)
        lines[at - 1] = misspelt(lines[at - 1], 3, "")
        assert values_of("\n".join(lines) + "\n", path.name, folder) is None


SLIPPED = [path for path in HCL if path.name in ("aiven.tf", "topic.tf")]


def test_what_slips_in_terraform_is_read_without_them(folder: Path) -> None:
    for path in SLIPPED:
        assert values_of(path.read_text("utf-8"), path.name, folder) is not None
    assert len(SLIPPED) == 2


@pytest.mark.slow
@pytest.mark.parametrize("other", ["", pytest.param("x", marks=pytest.mark.landing)], ids=["left out", "another"])
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=() if path in SLIPPED else pytest.mark.long) for path in HCL], ids=name_of
)
def test_no_slip_in_terraform_is_read_as_safer(folder: Path, path: Path, other: str) -> None:
    """Every letter, of blocks and their labels, of names, values and references to variables."""
    for whole in {tuple(lines_of(path)), reddened(path)}:
        for at, line in enumerate(whole):
            for sign in [sign for sign, letter in enumerate(line) if letter.isalpha() and not line.lstrip().startswith("#")]:
                lines = [*whole[:at], line[:sign] + other + line[sign + 1 :], *whole[at + 1 :]]
                check(path, whole, lines, frozenset(), folder)


@pytest.mark.slow
def test_half_of_a_file_is_read_or_refused_in_one_sentence(tmp_path: Path) -> None:
    for path in FILES:
        text = path.read_text("utf-8")
        for half in (text[: len(text) // 2], text[len(text) // 2 :]):
            place = tmp_path / path.name
            place.write_text(half, "utf-8")
            assert "\n" not in reading(place).removesuffix("\n") or not reading(place).startswith("refused")


def read_text(path: Path, text: str) -> list[Read]:
    """A text in the place of a file's own."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / path.name
        place.write_text(text, "utf-8")
        return read_all([place])
