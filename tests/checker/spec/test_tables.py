"""What editors are told of a spec file is what the reader takes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from acked.audit.clusters.policy import policy_schema
from acked.base.errors import ConfigurationError
from acked.checker.spec.spec import parse_spec
from acked.checker.spec.tables import spec_schema
from acked.checker.spec.variants import specs_in
from acked.commands.new import new
from acked.reports.shell.bundled import bundled_specs
from tests.checker.spec.test_spec import TEXT

VALIDATOR = Draft202012Validator(spec_schema())
MORE = """
[invariants.Mine]
holds = "true"

[reach]
Somewhere = "true"

[liveness.Soon]
eventually = "true"

[gallery]
row = 3
id = "KAFKA-1"
fixed = "0.9"
role = "bug"
mechanism = "so"
"""
VARIANTS = TEXT.partition("[expect]")[0].replace("\n\n", '\nvariants = ["small", "large"]\n\n', 1) + """
[small.expect]
verdict = "violated"
violates = "Deadlock"

[large.constants]
replicas = 3
"""


def errors(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(tomllib.loads(text))]


@pytest.mark.slow
def test_every_spec_that_ships_is_what_editors_are_told() -> None:
    Draft202012Validator.check_schema(spec_schema())
    files = [path for path in bundled_specs().rglob("*.toml") if specs_in(path)]
    assert len(files) > 300
    wrong = {path.name: errors(path.read_text("utf-8")) for path in files}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_files_with_tables_of_names_and_with_variants_are_taken() -> None:
    assert errors(TEXT + MORE) == []
    assert errors(VARIANTS) == []


@pytest.mark.parametrize(("old", "new"), [
    ("title =", "titel ="), ('title = "small"\n', ""), ('title = "small"', "title = 3"), ("[check]", "[chekc]"),
    ("invariants =", "invariant ="), ("deadlock = true", 'deadlock = "true"'), ("deadlock = true", "deadlok = true"),
    ('verdict = "violated"', 'verdict = "violatd"'), ('verdict = "violated"\n', ""), ('"Deadlock"', "7"),
    ('violates = "Deadlock"', "trace_length = 0"), ('violates = "Deadlock"', "violate = 'Deadlock'"),
    ("[expect]", "[claim]\ntrue = 1\nsource = 'x'\n[expect]"), ("[expect]", "[fairness]\nstrog = 'x'\n[expect]"),
    ("[expect]", "[invariants.Mine]\ndoc = 'x'\n[expect]"), ("[expect]", "[liveness.Mine]\nevetually = 'x'\n[expect]"),
    ("[expect]", "[gallery]\nrow = 0\nid = 'x'\nfixed = 'x'\nrole = 'bug'\nmechanism = 'x'\n[expect]"),
    ("[expect]", "[gallery]\nrow = 1\nid = 'x'\nfixed = 'x'\nrole = 'bugs'\nmechanism = 'x'\n[expect]"),
    ("[expect]", "[weaken]\ndrop = 7\n[expect]"),
])  # fmt: skip
def test_what_the_reader_refuses_by_a_key_or_a_type_is_marked_by_editors(old: str, new: str) -> None:
    assert old in TEXT
    text = TEXT.replace(old, new)
    with pytest.raises(ConfigurationError):
        parse_spec(text, Path("x.toml"))
    assert errors(text)


@pytest.mark.parametrize(("old", "new"), [
    ("[small.expect]", "[small.expct]"), ("[small.expect]", "[expect]"),
    ("[large.constants]", "[large]\nprotocol = 'kip101'"), ('verdict = "violated"', 'verdict = "broken"'),
])  # fmt: skip
def test_what_is_wrong_in_a_variant_is_marked_too(old: str, new: str) -> None:
    assert old in VARIANTS
    text = VARIANTS.replace(old, new)
    with pytest.raises(ConfigurationError):
        [parse_spec(text, Path(f"x.toml#{name}")) for name in ("small", "large")]
    assert errors(text)


def test_the_schemas_are_written_for_editors_and_never_over_a_file(tmp_path: Path) -> None:
    written = CliRunner().invoke(new, ["schema", "--out", str(tmp_path / "schemas")], standalone_mode=False)
    assert written.exception is None
    for name, schema in (("spec", spec_schema()), ("acked", policy_schema())):
        assert json.loads((tmp_path / "schemas" / f"{name}.schema.json").read_text("utf-8")) == schema
    again = CliRunner().invoke(new, ["schema", "--out", str(tmp_path / "schemas")], standalone_mode=False)
    assert "already exists" in str(again.exception)
