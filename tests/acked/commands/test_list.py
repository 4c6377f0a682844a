"""`acked list` with words, and names alone; names that shells complete, and names in messages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from acked.asking.listing import Filter, release_listing
from acked.base.errors import ConfigurationError
from acked.base.names import choices_or, near
from acked.cli import cli
from acked.model.catalogue import PROTOCOLS
from tests.places import CHECKOUT


def listed(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["list", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.slow
def test_words_choose_the_specs_that_have_all_of_them_somewhere_and_a_pattern_is_about_names() -> None:
    names = listed("specs", "acks", "LOSES", "claims/*", "--names").split()
    assert {"acks-0-loses", "acks-1-loses"} <= set(names)
    assert "kip320" not in names
    assert len(names) < len(listed("specs", "--names").split()) / 20


@pytest.mark.parametrize(
    ("words", "is_listed"),
    [((), True), (("KIP",), True), (("kip", "title"), True), (("kip", "nowhere"), False), (("folder/*",), True),
     (("k*0",), True), (("k*1",), False), (("titl?",), False)],
)  # fmt: skip
def test_an_entry_is_listed_if_every_word_is_in_it(words: tuple[str, ...], is_listed: bool) -> None:
    assert Filter(words).takes(["kip320", "folder/kip320"], "A title") is is_listed


@pytest.mark.parametrize(("what", "word", "name"), [
    ("protocols", "raft", "majority"), ("invariants", "acked", "AckedRecordsSurvive"),
    ("constants", "insync", "min_insync_replicas"), ("partition", "isr", "AskToShrink"),
])  # fmt: skip
def test_everything_that_is_listed_can_be_filtered(what: str, word: str, name: str) -> None:
    names = listed(what, word, "--names").split() if what != "partition" else listed(what, "--names").split()
    assert name in names


def test_a_protocol_is_listed_with_its_properties() -> None:
    assert "WeakIsr, StrongIsr" in " ".join(listed("kip320").split())


def test_json_has_what_the_words_choose() -> None:
    document = json.loads(listed("invariants", "acked", "--format", "json"))
    names = [item["name"] for item in document["invariants"]]
    assert list(dict.fromkeys(names)) == listed("invariants", "acked", "--names").split()


def test_two_protocols_with_a_property_of_one_name_are_both_listed() -> None:
    document = json.loads(listed("properties", "OneLeaderPerEpoch", "--format", "json"))
    promises = {tuple(item["protocols"]): item["promise"] for item in document["invariants"]}
    assert len(promises) == 3
    assert "the epoch identifies the leader" in promises["truncate-to-hw", "kip101", "kip279", "kip320-first-try", "kip320"]
    assert promises["partition",].endswith("never in the same leader epoch")
    assert promises["kraft",].startswith("two controllers may both act as leader")


def test_words_that_nothing_has_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="nothing of protocols has zzz in it"):
        CliRunner().invoke(cli, ["list", "protocols", "zzz"], catch_exceptions=False)


# -- what was listed before -----------------------------------------------------------------------------------------------


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    return tmp_path


def fail_to_list(*_: object) -> None:
    raise AssertionError("listed anew")


def test_what_was_listed_before_is_printed_as_it_was(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (("kip320",), ("invariants", "acked", "--format", "json"), ("constants", "--names"))
    first = [listed(*arguments) for arguments in asked]
    monkeypatch.setattr("acked.commands.list._list", fail_to_list)
    assert [listed(*arguments) for arguments in asked] == first
    with pytest.raises(AssertionError, match="listed anew"):
        listed("kip101")


def test_what_another_version_of_any_file_listed_is_listed_anew(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = listed("constants")
    monkeypatch.setattr("acked.commands.list._list", lambda *_: print("other"))
    monkeypatch.setattr("acked.asking.kept_text.sources_hash", lambda _: "of other files")
    assert listed("constants") == "other\n"
    monkeypatch.undo()
    monkeypatch.setenv("ACKED_CACHE_DIR", str(own_cache))
    assert listed("constants") == first
    assert len([path for path in own_cache.rglob("*.txt") if path.is_file()]) == 1


@pytest.mark.parametrize("change", ["COLUMNS", "damaged"])
def test_what_was_listed_for_another_terminal_or_is_damaged_is_listed_anew(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    first = listed("kip320")
    if change == "COLUMNS":
        monkeypatch.setenv("COLUMNS", "60")
        assert max(map(len, listed("kip320").splitlines())) <= 60 < max(map(len, first.splitlines()))
    else:
        (path,) = own_cache.rglob("*.txt")
        path.write_bytes(path.read_bytes().replace(b"kip320", b"kip321"))
        assert listed("kip320") == first


def test_without_a_cache_that_may_be_used_everything_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o777)
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path))
    assert "kip320" in listed("protocols", "--names").split()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "typed", "names"),
    [
        ([], "pro", {"prove"}),
        (["check"], "kip320", {"kip320", "kip320-large"}),
        (["find"], "claims/acks-1-l", {"claims/acks-1-loses"}),
        (["gate"], "trunc", {"truncate-to-hw"}),
        (["check", "--kafka-version"], "2.8", {"2.8", "2.8.1"}),
        (["new", "protocol", "x", "--from"], "kip3", {"kip320", "kip320-first-try"}),
        (["list"], "part", {"partition"}),
        (["prove"], "b", {"bmc"}),
        (["audit"], "up", {"upgrade"}),
        (["audit", "plan"], "--kafka-v", {"--kafka-version"}),
    ],
)
def test_a_shell_completes_names_of_specs_protocols_and_releases(words: list[str], typed: str, names: set[str]) -> None:
    found = {item.value for item in ShellComplete(cli, {}, "acked", "_ACKED_COMPLETE").get_completions(words, typed)}
    assert names <= found


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("min_isr", "min_insync_replicas"),
        ("min.insync.replicas", "min_insync_replicas"),
        ("strict_min", "strict_min_isr"),
        ("log_sise", "log_size"),
        ("unclean", "unclean_election"),
    ],
)
def test_a_constant_is_found_by_its_abbreviation_and_its_spelling(name: str, meant: str) -> None:
    assert near(name, [item.name for item in PROTOCOLS["partition"].constants]) == f" (did you mean {meant}?)"


def test_a_long_list_of_names_is_led_to_and_a_short_one_is_given() -> None:
    assert choices_or(["a", "b"], "acked list x") == "it has a, b"
    assert choices_or([str(number) for number in range(50)], "acked list x") == "`acked list x` lists its 50"


def test_help_has_the_commands_by_task_and_each_once() -> None:
    assert len(CliRunner().invoke(cli, ["--help"]).output.splitlines()) <= 45
    shown = CliRunner().invoke(cli, ["--help"], max_content_width=200).output
    lines = [line.strip() for line in shown.splitlines()]
    assert lines.index("Begin here:") < lines.index("Look into a protocol:")
    first = next(line for line in lines[lines.index("Begin here:") + 1 :] if line)
    assert first.startswith("audit ")
    for name in cli.list_commands(click.Context(cli, **cli.context_settings)):
        assert sum(line.startswith(f"{name} ") and "  " in line for line in lines) == 1, name
    assert ".md" not in shown


# -- what was found -----------------------------------------------------------------------------------------------------


def test_every_finding_is_listed_with_a_page_that_is_there_and_a_command_that_names_a_bundled_spec() -> None:
    found = json.loads(listed("found", "--format", "json"))["found"]
    specs = listed("specs", "--names").split()
    assert [one["id"] for one in found] == listed("found", "--names").split()
    for one in found:
        assert (CHECKOUT / one["page"]).is_file()
        named = one["command"].split()
        assert (CHECKOUT / named[-1]).is_file() if named[0] == "pytest" else named[2].rpartition("/")[2] in specs
        assert one["title"] in " ".join(listed("found", one["id"]).split())


@pytest.mark.slow
def test_findings_are_no_part_of_everything_that_may_be_asked() -> None:
    assert "found" not in json.loads(listed("all", "stale-ends", "--format", "json"))


def test_no_command_is_imported_to_complete_their_names() -> None:
    asked = {"_ACKED_COMPLETE": "bash_complete", "COMP_WORDS": "acked ", "COMP_CWORD": "1"}
    code = """
import sys
from acked.cli import main
try:
    main()
finally:
    print(*(name for name in sys.modules if ".commands." in name), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "\n")
    assert {line.removeprefix("plain,") for line in done.stdout.split()} >= set(cli.list_commands(click.Context(cli)))


@pytest.mark.parametrize(("version", "listens"), [("4.3.0", "false"), ("4.3.1", "true"), ("4.2.3", "true")])
def test_a_patch_release_has_the_rules_that_the_protocol_tells_apart(version: str, listens: str) -> None:
    document, _ = release_listing("coordinator", version, None)
    rules = {item["name"]: item["value"] for item in document["constants"]}
    assert str(rules["listens_as_leader"]).lower() == listens
