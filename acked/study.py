"""What else is asked of a protocol: its states as a table, two sets of rules compared, what clauses are for; and pages.

Like `acked.api`, every function is silent and answers with plain data.

Floor 9.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from acked.api import Page, Subject, Trace, asked
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.dataset.searched import searched, temporary_folder
from acked.checker.diagnosis.difference import Comparison, compare
from acked.checker.question.coverage import ClauseCoverage, clause_coverage, clauses_of, coverage_probes
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, StopReason, Verdict
from acked.checker.search.local import search
from acked.checker.wasm.script import explorer_script
from acked.invariants.property import Property
from acked.model.formulas.errors import DomainOverflow
from acked.reports.pages.checking import check_data, kept_page
from acked.reports.pages.exploring import explorer_page
from acked.reports.pages.page import render, trace_data
from acked.reports.runs.answers import subject_in_words

if TYPE_CHECKING:
    import pyarrow as pa


def states(
    subject: Subject,
    out: str | Path | None = None,
    *,
    where: str | None = None,
    levels: Collection[int] | None = None,
    transitions: bool = False,
    observer: Observer | None = None,
) -> pa.Table:
    """The reachable states as an Arrow table: id, level (1: an initial state) and a column per field; see its `to_pandas()`.

    With `where`, a predicate, only states in which it holds; with `levels`, only those. With `out`, a new folder, the states
    are also written there as Parquet, and, if asked to, their `transitions`: what `acked states` writes. A violation does not
    end the search. Raises `ConfigurationError`, and `SystemFailure` where memory has no room for all states.

    >>> table = states(ask(toylog, nothing_lost, brokers=2, records=1), where="acked == 1")
    >>> table.column_names, table.num_rows
    (['id', 'level', 'end', 'leader', 'acked'], 2)
    >>> min(table["level"].to_pylist()), table["end"].to_pylist()[0]
    (4, [1, 1])
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from acked.checker.dataset.parquet import Columns, Condition, write_dataset

    question = replace(asked(subject)[-1].without_graph_properties(), is_symmetric=False)
    condition = None if where is None else Condition(question, where)
    with temporary_folder("acked-states-") as folder, searched(question, observer) as run:
        place = folder / "states" if out is None else Path(out)
        write_dataset(question, run, place, levels, transitions, where=condition)
        if any((place / "states").iterdir()):
            return pq.read_table(place / "states")
    nothing = np.zeros((0, question.instance.schema.words), np.uint64)
    columns = Columns(question)
    return pa.table({"id": columns.ids(nothing), "level": pa.array([], pa.int32()), **columns.fields(nothing)})


def diff(first: Subject, second: Subject, *, bounds: Bounds | None = None, observer: Observer | None = None) -> Comparison:
    """Two sets of rules over the same fields: what one allows and the other forbids, and every property checked on both.

    Of a side, `run` is the shortest trace whose last step the other rules do not have, and `Trace.of` shows it. Raises
    `ConfigurationError` where states have nothing in common.

    >>> found = diff("two_phase_commit-holds", "two_phase_commit-bug")
    >>> found.differs, found.verdicts
    (True, {'Consistent': (None, 6)})
    >>> Trace.of(found.sides[1]).steps[-1].sentence
    'the coordinator decides to commit'
    """
    return compare(asked(first)[-1], asked(second)[-1], bounds, observer)


def ablate(
    subject: Subject, *, bounds: Bounds | None = None, observer: Observer | None = None
) -> dict[str, Result | None]:
    """By guard clause, as `Action: label`, the answer without it: whose violations are what the clause is for.

    Asked are the properties that hold with all clauses. None where the clause keeps a field within its domain: without it
    there is no answer. Raises `ConfigurationError` for a question without properties, or one that `bounds` leave undecided.

    >>> found = ablate(load_spec("two_phase_commit-holds", participants=2))
    >>> found["DecideCommit: enough are prepared"].verdict, found["Prepare: it is working"].verdict
    (<Verdict.VIOLATED: 'violated'>, <Verdict.HOLDS: 'holds'>)
    >>> ablate(ask(toylog, everybody_holds, brokers=2, records=1))["Append: records are left"] is None
    True
    """
    question = asked(subject)[-1]
    if not question.properties:
        raise ConfigurationError("the question has no properties, so no clause can be missed; name some")
    whole = search(question, bounds, StopPolicy.EVERY_PROPERTY, observer)
    if whole.stopped is not StopReason.COMPLETE:
        raise ConfigurationError(f"with all clauses the answer is incomplete: {whole.stopped.value}; give it more room")
    kept = tuple(item for item in question.properties if item.name not in whole.violated)
    found: dict[str, Result | None] = {}
    for clause in clauses_of(question.instance):
        try:
            found[": ".join(clause)] = search(_without(question, clause, kept), bounds, StopPolicy.EVERY_PROPERTY, observer)
        except DomainOverflow:
            found[": ".join(clause)] = None
    return found


def coverage(
    subject: Subject, *, bounds: Bounds | None = None, observer: Observer | None = None
) -> tuple[ClauseCoverage, ...]:
    """Of every guard clause whether it was false in a reachable state, and whether it alone disabled its action in one.

    How often actions happened, `check(…).actions` says. Raises `ConfigurationError` where `bounds` end the search before.

    >>> for clause in coverage(ask(toylog, nothing_lost, brokers=2, records=1)):
    ...     print(clause.name, clause.was_false, clause.was_decisive)
    Append: records are left True True
    Fetch: behind the leader True True
    Acknowledge: every broker holds it True True
    Elect: another one True True
    """
    question = replace(asked(subject)[-1].without_graph_properties(), is_symmetric=False)
    probed = replace(question, probes=coverage_probes(question.instance))
    result = search(probed, bounds, StopPolicy.EVERY_PROPERTY, observer)
    if result.stopped is not StopReason.COMPLETE:
        raise ConfigurationError(f"the search ended before all states were seen: {result.stopped.value}; give it more room")
    return tuple(clause_coverage(result.probes))


def view(shown: Subject | Result | Trace) -> Page:
    """The page of a trace, to step through in a browser or a notebook; of a subject its shortest counterexample is searched.

    Of a subject that holds it is the page of its space of states. Raises `ConfigurationError` where the search is incomplete.

    >>> page = view(ask(toylog, nobody_lags, brokers=2, records=1))
    >>> page.title, page.write("lags.html").name
    ('a toy log', 'lags.html')
    """
    if isinstance(shown, Trace):
        return shown.page
    if isinstance(shown, Result):
        title, result = shown.question.instance.protocol.title, shown
    else:
        title, _, question = asked(shown)
        result = search(question)
    if result.violations:
        found = result.violations[0]
        check = check_data(result, StopPolicy.FIRST_VIOLATION, found)
        data = trace_data(Counterexample.of(title, result.question, found), decides=True)
        return Page(title, render({**data, **check}))
    if result.verdict is not Verdict.HOLDS:
        raise ConfigurationError(f"there is no counterexample to show: the answer is {result.verdict.value}")
    return Page(title, kept_page(title, subject_in_words(result.question.instance), result))


def explore(subject: Subject) -> Page:
    """The page in which one walks through the states, and searches among them; what `acked explore --out` writes.

    Raises `ConfigurationError` where fields are too large for a page.

    >>> explore(ask(toylog, nothing_lost, brokers=2, records=1)).title
    'a toy log'
    """
    title, name, question = asked(subject)
    return Page(title, explorer_page(title, name, question, {"search": explorer_script(question)}))


def _without(question: Question, clause: tuple[str, str], kept: tuple[Property, ...]) -> Question:
    """The question about these properties of the protocol without one more clause."""
    old = question.instance
    return replace(question, instance=old.protocol.instantiate(old.constants, old.dropped | {clause}), properties=kept)
