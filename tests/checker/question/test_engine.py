"""What engines say that they support is what they refuse, before they begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.proof.result import PROOF
from acked.checker.question.engine import Storage
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.search.local import LOCAL
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import specs_under
from acked.checker.store.run_directory import RunDirectory
from acked.reports.shell.engines import AUTO, ENGINE_CHOICES, ENGINES, EngineOptions
from tests.checker.toys import always, ask, counters
from tests.oracle import Space, assert_same_answer, explore
from tests.places import SPECS


def recoverable() -> Question:
    return load_spec(next(iter(specs_under(SPECS / "recoverable")))).question()


def test_every_engine_goes_by_its_own_name() -> None:
    assert [ENGINES[name](EngineOptions("spec", name)).capabilities.name for name in ENGINES] == list(ENGINES)
    assert list(ENGINE_CHOICES) == [AUTO, *ENGINES]


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_what_an_engine_does_not_support_it_refuses_by_itself(name: str, tmp_path: Path) -> None:
    engine = ENGINES[name](EngineOptions("spec", name))
    question = recoverable()
    with (
        RunDirectory.create(tmp_path / "run", question) as stored,
        pytest.raises(ConfigurationError, match="is decided where all states are in one memory, not"),
    ):
        engine.search(question, Bounds(1, 1 << 26), StopPolicy.FIRST_VIOLATION, Observer(), stored)


@pytest.mark.slow
def test_a_proof_and_spark_decide_no_property_of_the_whole_graph_and_the_local_search_does() -> None:
    asked = recoverable()
    for capabilities in (PROOF, ENGINES["spark"](EngineOptions("spec", "spark")).capabilities):
        with pytest.raises(ConfigurationError, match=capabilities.no_graph_properties.where):  # type: ignore[union-attr]
            capabilities.check(asked)
    LOCAL.check(asked)
    PROOF.check(ask(counters(2, 2), always("Any", lambda s: s.n0 >= 0)))


def test_the_local_engine_needs_no_run_directory_and_spark_does() -> None:
    storage = {name: ENGINES[name](EngineOptions("spec", name)).capabilities.storage for name in ENGINES}
    assert storage == {"local": Storage.OPTIONAL, "spark": Storage.REQUIRED}


@pytest.mark.parametrize(
    "name", [name if name == "local" else pytest.param(name, marks=[pytest.mark.spark, pytest.mark.long]) for name in ENGINES]
)
def test_every_engine_has_the_plain_evaluators_answer(name: str, tmp_path: Path) -> None:
    """Spark is held against the local search, spec by spec, in tests/checker/spark; this holds engines yet to come, too."""
    for spec in ("truncate-to-hw", "counts/kip320-2111"):
        question = load_spec(SPECS / f"{spec}.toml").question()
        with RunDirectory.create(tmp_path / question.instance.protocol.name, question) as stored:
            engine = ENGINES[name](EngineOptions("spec", name))
            result = engine.search(question, Bounds(1, 1 << 26), StopPolicy.FIRST_VIOLATION, Observer(), stored)
        assert_same_answer(result, explore(Space(question), StopPolicy.FIRST_VIOLATION))
