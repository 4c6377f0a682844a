"""What a question about liveness is refused for: specs, options, comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.base.errors import ConfigurationError
from acked.checker.spec.spec import parse_spec
from acked.cli import main
from tests.places import SPECS

SPECS = SPECS / "liveness"


# -- what is refused --------------------------------------------------------------------------------------------------

WELL = '[liveness.Led]\neventually = "controller.leader == 0"\n'


@pytest.mark.parametrize(
    ("lines", "said_of_it"),
    [
        ('[liveness.Led]\nleads_to = ["controller.leeder == 0", "True"]', "x.toml:6: Led: column 1: .*did you mean leader"),
        ('[liveness.Led]\neventually = "controller.leader"', "x.toml:6: Led: column 1: this is not a condition"),
        ('[liveness.Led]\nleads_to = ["True"]', "must be two predicates"),
        ('[liveness.Led]\nleads_to = "True"', "must be two predicates"),
        ('[liveness.Led]\neventually = ["True"]', "must be text in quotes"),
        ('[liveness.Led]\nalways = "True"', "unknown key 'always'"),
        ("[liveness.Led]\ndoc = \"x\"", "must have either eventually"),
        ('[liveness.Led]\neventually = "True"\nleads_to = ["True", "True"]', "must have either eventually"),
        ('[liveness]\nLed = "True"', "liveness.Led must be a table"),
        ('[liveness.OneLeader]\neventually = "True"', "there is a property OneLeader already"),
        ('[liveness."a b"]\neventually = "True"', "cannot be the name"),
        ('[reach]\nLed = "True"\n' + WELL, "there is a property Led already"),
        ('[fairness]\nweak = ["Crash"]', "goes with \\[liveness.NAME\\] properties"),
        (WELL + '[fairness]\nweak = ["Krash"]', "x.toml:8: partition has no action 'Krash' .did you mean Crash"),
        (WELL + '[fairness]\nstrong = ["Crash(brocker)"]', "Crash has no parameter 'brocker' .did you mean broker"),
        (WELL + '[fairness]\nweak = ["Crash", "Crash"]', "names 'Crash' twice"),
        (WELL + '[fairness]\nweak = ["Crash(broker)"]\nstrong = ["Crash( broker )"]', "twice"),
        (WELL + '[fairness]\nweak = ["Crash(broker"]', "names no action to be fair to"),
        (WELL + "[fairness]\nweak = [1]", "must be a name in quotes or a list"),
        (WELL + '[fairness]\nfair = ["Crash"]', "unknown key 'fair'"),
        (WELL + "[check]\nsymmetry = true", "about infinite traces.*leave symmetry out"),
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(lines: str, said_of_it: str) -> None:
    text = f'title = "x"\nprotocol = "partition"\n[constants]\nreplicas = 2\n{lines}\n'
    with pytest.raises(ConfigurationError, match=said_of_it):
        parse_spec(text, Path("x.toml")).question()


@pytest.mark.parametrize(
    ("options", "said_of_it"),
    [
        (["--engine", "spark"], "not over Spark; use --engine local"),
        (["--run-dir", "run"], "leave --run-dir, --resume, --disk and --master out"),
        (["--disk", "run"], "leave --run-dir, --resume, --disk and --master out"),
        (["--symmetry"], "leave symmetry out"),
    ],
)
def test_options_that_it_does_not_go_with_are_refused(
    options: list[str], said_of_it: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", str(SPECS / "record-settles-unfetched.toml"), "--quiet", *options]) == 151
    assert said_of_it in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--easiest", "--explain"])
def test_what_cannot_be_explained_is_shown_all_the_same(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(SPECS / "record-settles-unfetched.toml"), "--quiet", option]) == 13
    shown = capsys.readouterr()
    assert "Settles" in shown.out
    assert f"note: {option} is for invariants" in shown.err


def test_specs_in_which_a_name_means_different_things_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(SPECS / f"{name}.toml") for name in ("record-settles", "record-settles-unfetched")]
    assert main(["diff", *names, "--quiet"]) == 151
    assert "Settles does not mean the same in both specs" in capsys.readouterr().err


@pytest.mark.slow
def test_fairness_to_an_action_that_the_constants_leave_out_demands_nothing() -> None:
    text = f'title = "x"\nprotocol = "partition"\n[constants]\nreplicas = 2\n{WELL}'
    fair = [parse_spec(text + more, Path("x.toml")).question() for more in ("", '[fairness]\nweak = ["LoseSession"]\n')]
    assert "LoseSession" not in [item.name for item in fair[1].instance.action_rules]
    assert fair[0].fingerprint == fair[1].fingerprint
