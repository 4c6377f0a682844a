"""Several specs in one file: each variant is the spec that a file of its own would be."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.base.files import PACKAGE
from acked.checker.question.result import Verdict
from acked.checker.spec.spec import Spec, load_spec, parse_spec, protocol_in
from acked.checker.spec.variants import file_and_variant, name_of, specs_in, specs_under
from acked.reports.shell.bundled import all_bundled, full_name
from acked.reports.shell.specs import bundled_spec, find_spec

ROW = """\
title = "the bug"
protocol = "kip320"
variants = ["bug", "fix"]

[gallery]
row = 1
id = "KAFKA-1"
fixed = "0.9"
also = "of both"

[constants]
replicas = 2
log_size = 1
max_records = 1
max_leader_epoch = 1

[check]
invariants = ["WeakIsr", "Mine"]

[invariants.Mine]
holds = "log[0].end == 0"
doc = "of both"

[bug]
gallery.mechanism = "it breaks"

[bug.expect]
verdict = "violated"
violates = "Mine"
trace_length = 3
distinct_states = 1

[fix]
title = "the fix"
gallery.rule = "it is mended"
gallery.also = "of the fix"
constants.log_size = 2
constants.max_records = 2
check.invariants = ["Mine"]
invariants.Mine.holds = "log[0].end <= 2"

[fix.expect]
verdict = "holds"
distinct_states = 2
"""

FIX = """\
title = "the fix"
protocol = "kip320"

[gallery]
row = 1
id = "KAFKA-1"
fixed = "0.9"
also = "of the fix"
role = "fix"
rule = "it is mended"

[constants]
replicas = 2
log_size = 2
max_records = 2
max_leader_epoch = 1

[check]
invariants = ["Mine"]

[invariants.Mine]
holds = "log[0].end <= 2"
doc = "of both"

[expect]
verdict = "holds"
distinct_states = 2
"""


def variant(name: str, old: str = "", new: str = "") -> Spec:
    assert old in ROW
    return parse_spec(ROW.replace(old, new) if old else ROW, Path(f"folder/row.toml#{name}"))


def test_a_variant_is_the_spec_that_a_file_of_its_own_would_be() -> None:
    """Tables are merged key by key, those within tables too; texts, numbers and lists replace what is shared."""
    alone = parse_spec(FIX, Path("folder/row-fix.toml"))
    found = variant("fix")
    kept = [item.name for item in fields(Spec) if item.name not in ("path", "line_of")]
    assert {name: getattr(found, name) for name in kept} == {name: getattr(alone, name) for name in kept}
    assert found.question().fingerprint == alone.question().fingerprint
    assert (found.name, found.path) == ("row-fix", Path("folder/row.toml#fix"))


def test_what_a_variant_does_not_say_is_shared_and_nothing_of_another_one_is() -> None:
    bug = variant("bug")
    assert (bug.name, bug.title, bug.constants["log_size"]) == ("row-bug", "the bug", 1)
    assert bug.asked.properties == ("WeakIsr", "Mine")
    assert bug.expect is not None
    assert (bug.expect.verdict, bug.expect.trace_length) == (Verdict.VIOLATED, 3)
    assert bug.gallery is not None
    assert (bug.gallery.role, bug.gallery.rule, bug.gallery.also) == ("bug", "", "of both")


def test_a_variant_without_an_answer_expects_nothing() -> None:
    assert variant("bug", ROW[ROW.index("[bug.expect]") : ROW.index("[fix]")], "").expect is None


def test_a_role_that_is_not_the_variant_s_name_can_be_said() -> None:
    found = variant("bug", 'gallery.mechanism = "it breaks"', 'gallery.mechanism = "it breaks"\ngallery.role = "open"')
    assert found.gallery is not None
    assert found.gallery.role == "open"


def test_a_message_names_the_file_the_variant_and_the_line_where_the_key_stands() -> None:
    fix = variant("fix")
    assert fix.where("constants.replicas") == "folder/row.toml:12: fix: "
    assert fix.where("constants.log_size") == "folder/row.toml:37: fix: "
    assert fix.where("expect.verdict") == "folder/row.toml:43: fix: "
    assert fix.where() == "folder/row.toml:33: fix: "
    assert fix.where("nothing") == "folder/row.toml: fix: "
    assert replace(fix, path=None).where("check") == ""


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("", "", "", r"row\.toml:3: the file asks a question for each variant; name the one that is meant: row\.toml#bug, "
                     r"row\.toml#fix"),
        ("#bgu", "", "", r"row\.toml:3: bgu: the file has no such variant \(did you mean bug\?\); it has bug, fix"),
        ("#fix", 'variants = ["bug", "fix"]', "", r"row\.toml: fix: the file has no variants, but one question"),
        ("#fix", '["bug", "fix"]', "[]", r"row\.toml:3: fix: variants must be a list of different names, of"),
        ("#fix", '["bug", "fix"]', '"fix"', r"row\.toml:3: fix: variants must be a list of different names"),
        ("#fix", '["bug", "fix"]', '["bug", "fix", 3]', r"row\.toml:3: fix: variants must be a list of different names"),
        ("#fix", '["bug", "fix"]', '["bug", "fix", "fix"]', r"row\.toml:3: fix: variants must be a list of different"),
        ("#fix", '["bug", "fix"]', '["bug", "fix", "new"]', r"row\.toml:3: fix: variant new has no section; write \[new\]"),
        ("#fix", '["bug", "fix"]', '["fix"]', r"row\.toml:24: fix: unknown key 'bug' in the top of the file or \[fix\]"),
        ("#fix", '["bug", "fix"]', '["bug", "fix", "check"]', r"row\.toml:3: fix: variants must be .* none of them a key"),
        ("#fix", '["bug", "fix"]', '["bug", "fix", "a-b"]', r"row\.toml:3: fix: variants must be a list of different names"),
        ("#fix", "[check]", '[expect]\nverdict = "holds"\n[check]', r"row\.toml:17: fix: each variant has its own answer: "
                                                                     r"write \[bug\.expect\]"),
        ("#bug", "constants.log_size = 2", 'protocol = "kip101"', r"row\.toml:37: bug: variants of one file are about one"),
        ("#fix", "constants.log_size", "constants.log_sice", r"row\.toml:37: fix: kip320 has no constant 'log_sice' \(did"),
        ("#fix", "constants.log_size = 2", "colour = 2", r"row\.toml:37: fix: unknown key 'colour' in the top of the file"),
        ("#fix", "check.invariants", "check.invariant", r"row\.toml:39: fix: unknown key 'invariant' in \[check\] \(did you"),
        ("#fix", "replicas = 2", "replicas = 99", r"row\.toml:12: fix: .*replicas is 99"),
        ("#fix", "constants.log_size = 2\nconstants.max_records = 2", "constants = 3",
         r"row\.toml:37: fix: constants must be a table"),
        ("#fix", "constants.log_size = 2", "variants = []", r"row\.toml:37: fix: unknown key 'variants' in the top"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_of_the_variant_that_is_asked(name: str, old: str, new: str, sentence: str) -> None:
    text = ROW.replace(old, new, 1) if old else ROW
    assert old in ROW
    with pytest.raises(ConfigurationError, match=f"^{sentence}"):
        parse_spec(text, Path(f"row.toml{name}"))


def test_what_is_wrong_in_a_variant_is_no_fault_of_another() -> None:
    assert variant("bug", "constants.log_size = 2", "constants.log_size = 99").constants["log_size"] == 1


def test_tables_deeper_than_a_spec_has_are_replaced_and_refused() -> None:
    deep = ".".join(["gallery", *["a"] * 1200])
    text = ROW.replace('also = "of both"', "[gallery.a]").replace("[bug]", f"[bug]\n{deep} = 1")
    text = text.replace("[gallery.a]", deep.removeprefix("gallery.") + " = 1")
    with pytest.raises(ConfigurationError, match=r"unknown key 'a' in \[gallery\]"):
        parse_spec(text, Path("row.toml#bug"))


# -- paths and names -----------------------------------------------------------------------------------------------------


def test_a_variant_has_a_path_and_a_name_and_only_files_of_specs_have_variants() -> None:
    assert file_and_variant(Path("a/row.toml#fix")) == (Path("a/row.toml"), "fix")
    assert name_of(Path("a/row.toml#fix")) == "row-fix"
    for plain in ("a/row.toml", "a#b/row.toml", "a/row#fix", "a/row.toml#", "a/row#1.toml", "a/row.toml#b-c"):
        assert file_and_variant(Path(plain)) == (Path(plain), None)


def test_a_folder_has_every_variant_in_the_order_that_files_of_their_own_would_have(tmp_path: Path) -> None:
    (tmp_path / "row.toml").write_text(ROW)
    (tmp_path / "row-a.toml").write_text(FIX)
    (tmp_path / "row-c.toml").write_text(FIX)
    (tmp_path / "broken.toml").write_text("variants = [")
    (tmp_path / "misnamed.toml").write_text('variants = ["a-b"]')
    found = ["broken.toml", "misnamed.toml", "row-a.toml", "row.toml#bug", "row-c.toml", "row.toml#fix"]
    assert [path.name for path in specs_under(tmp_path)] == found
    assert specs_in(tmp_path / "missing.toml") == [tmp_path / "missing.toml"]
    assert load_spec(tmp_path / "row.toml#fix").name == "row-fix"
    assert protocol_in(tmp_path / "row.toml#fix") == protocol_in(tmp_path / "row.toml") == "kip320"


@pytest.mark.slow
def test_a_bundled_variant_is_found_by_its_name_whatever_else_is_called_like_its_file() -> None:
    row = PACKAGE / "specs" / "gallery" / "kip320.toml"
    assert bundled_spec("kip320-bug") == bundled_spec("gallery/kip320-bug") == row.with_name("kip320.toml#bug")
    assert bundled_spec("kip320") == PACKAGE / "specs" / "kip320.toml"
    assert bundled_spec("gallery/kip320") == row
    assert bundled_spec("claims/kip320-bug") is None
    assert full_name(row.with_name("kip320.toml#bug")) == "gallery/kip320-bug"
    assert {bundled_spec(full_name(path)) for path in all_bundled()} == set(all_bundled())


def test_the_name_of_a_row_alone_is_refused_with_its_variants() -> None:
    with pytest.raises(ConfigurationError, match=r"kip966\.toml:4: .* kip966\.toml#bug, kip966\.toml#fix, "):
        find_spec("kip966")


@pytest.mark.parametrize("begun", ["kip9", "kip966-", "kip966-b", "acks-1-l", "none-begins-so"])
def test_all_specs_whose_names_begin_so_are_found_without_reading_all_files(begun: str) -> None:
    wanted = {path for path in all_bundled() if name_of(path).startswith(begun)}
    found = {path for path in all_bundled(begun) if name_of(path).startswith(begun)}
    assert found == wanted
    assert bool(wanted) == (begun != "none-begins-so")
