"""`acked new protocol --from`: a working copy of a shipped protocol answers as the original until a rule is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from acked.base.bounds import Bounds
from acked.base.errors import AckedError
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result
from acked.checker.search.local import search
from acked.checker.spec.resolve import protocol_named
from acked.checker.spec.spec import load_spec
from acked.cli import main
from acked.commands.new import protocol
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS

SMALL = {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1, "records": 1, "max_term": 2}


def copied(folder: Path, origin: str) -> Path:
    """The spec of a copy called `mine`."""
    done = CliRunner().invoke(protocol, ["mine", "--from", origin, "--out", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout == f"next: acked check {folder / 'mine'}.toml\n"
    return folder / "mine.toml"


def answer(name: str, folder: Path = Path()) -> Result:
    """All properties of a protocol at the smallest constants."""
    asked = protocol_named(name, folder)
    constants = {item.name: SMALL[item.name] for item in asked.constants if item.name in SMALL}
    instance = asked.instantiate(constants)
    promises = tuple(item for item in properties_of(asked).values() if not item.lacks(instance.constants))
    return search(Question(instance, promises), Bounds(workers=1), StopPolicy.EVERY_PROPERTY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "origin", [pytest.param(name, marks=pytest.mark.long) if name == "transactions" else name for name in sorted(PROTOCOLS)]
)
def test_a_copy_answers_as_the_original_and_has_its_properties_and_its_spec(tmp_path: Path, origin: str) -> None:
    spec = load_spec(copied(tmp_path, origin))
    assert spec.protocol.name == "mine"
    assert spec.expect is not None
    assert [item.name for item in properties_of(spec.protocol).values()] == list(properties_of(PROTOCOLS[origin]))
    mine, theirs = answer(spec.protocol.reference), answer(origin)
    assert (mine.distinct_states, mine.generated_states, mine.violated) == (
        theirs.distinct_states,
        theirs.generated_states,
        theirs.violated,
    )
    assert mine.distinct_states > 1


@pytest.mark.slow
def test_a_rule_that_is_changed_in_one_of_several_files_changes_the_answer(tmp_path: Path) -> None:
    spec = load_spec(copied(tmp_path, "partition"))
    reference = spec.protocol.reference
    before = answer(reference)
    leading = tmp_path / "mine" / "leading.py"
    text = leading.read_text("utf-8")
    rule = next(line for line in text.splitlines() if 'require("caught up to HW and epoch"' in line)
    leading.write_text(text.replace(rule, ""), "utf-8")
    after = answer(reference)
    assert after.distinct_states != before.distinct_states
    leading.write_text(text, "utf-8")
    assert answer(reference).distinct_states == before.distinct_states
    assert sorted(item.name for item in (tmp_path / "mine").iterdir() if item.suffix != ".py") == []


@pytest.mark.slow
def test_a_trace_of_a_copy_of_several_files_is_replayed_with_its_spec_and_runs_no_file_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, trace = str(copied(tmp_path, "majority")), str(tmp_path / "t.json")
    capsys.readouterr()
    assert main(["find", spec, "log[1].end > 0", "-c", "replicas=2", "-q", "--trace-out", trace]) == 0
    assert main(["show", trace, "--spec", spec]) == 0
    capsys.readouterr()
    assert main(["show", trace]) == 150
    assert "mine/protocol.py:mine, and no trace has a file run; name the spec with --spec SPEC\n" in capsys.readouterr().err
    assert main(["show", trace, "--trust"]) == 150


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("def ", "de f ", "leading.py:"),
        ("from acked.model", "import nowhere_at_all\nfrom acked.model", "ModuleNotFoundError"),
        ("@action(", "assert False\n\n\n@action(", "AssertionError"),
    ],
)
def test_what_is_wrong_in_a_file_beside_is_said_with_its_place(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    copied(tmp_path, "partition")
    leading = tmp_path / "mine" / "leading.py"
    leading.write_text(leading.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(AckedError) as refused:
        load_spec(tmp_path / "mine.toml")
    assert "mine/leading.py:" in str(refused.value)
    assert sentence in str(refused.value)


def test_a_copy_overwrites_nothing_and_is_made_of_a_shipped_protocol_only(tmp_path: Path) -> None:
    copied(tmp_path, "kip320")
    for arguments, sentence in [
        (["mine", "--from", "kip320"], "already exists"),
        (["other", "--from", "kip32"], "did you mean kip320?"),
        (["other", "--from", "mine.py:mine"], "name a shipped protocol"),
        (["kip320", "--from", "kip279"], "is a shipped protocol"),
    ]:
        done = CliRunner().invoke(protocol, [*arguments, "--out", str(tmp_path)])
        assert isinstance(done.exception, AckedError)
        assert sentence in str(done.exception)
