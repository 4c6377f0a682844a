"""Which promises a proof establishes in which some obligations are not proved, and what is asked for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from acked.checker.allconstants.closure import is_proved, kept_clauses, missing_for
from acked.checker.allconstants.obligations import INITIAL, PROMISES, TERMS
from acked.checker.allconstants.proof import AllConstantsProof, ObligationResult, SolverVerdict, decide_cones

LEMMAS = {"Low": (), "Middle": ("Low",), "Odd": ("Odd", "Low"), "High": ("Middle", "Odd'")}
"""The clauses of a small argument, with those that the step's obligation of each uses."""

PROMISED = {"Sure": ("Middle",), "Vain": ("High",)}


def result(subject: str, clause: str, lemmas: tuple[str, ...]) -> ObligationResult:
    return ObligationResult(subject, clause, SolverVerdict.UNSAT, 0.0, lemmas)


def results(*broken: tuple[str, str]) -> list[ObligationResult]:
    made = [result(INITIAL, name, ()) for name in LEMMAS]
    made += [result(step, name, lemmas) for step in ("Go", "Stop") for name, lemmas in LEMMAS.items()]
    made += [result(PROMISES, name, lemmas) for name, lemmas in PROMISED.items()]
    made.append(result(TERMS, "greatest", ()))
    return [
        replace(item, verdict=SolverVerdict.REFUTED, lemmas=()) if (item.subject, item.clause) in broken else item
        for item in made
    ]


def proof(obligations: Sequence[ObligationResult], vacuous: tuple[str, ...] = ()) -> AllConstantsProof:
    return AllConstantsProof("toy", tuple(PROMISED), {}, (), "", tuple(obligations), vacuous, (), "z3", 0.0)


def test_a_promise_stands_though_a_lemma_that_it_does_not_rest_on_is_broken() -> None:
    found = proof(results(("Go", "Odd")))
    assert kept_clauses(found) == {"Low", "Middle"}  # High uses Odd as it is after the step.
    assert is_proved(found, ["Sure"])
    assert not is_proved(found, ["Vain"])
    assert [item.key for item in missing_for(found, ["Vain"])] == ["Go|Odd"]
    assert missing_for(found, ["Sure"]) == ()


def test_what_rests_on_a_broken_lemma_through_others_falls_with_it() -> None:
    found = proof(results(("Stop", "Low")))
    assert kept_clauses(found) == frozenset()
    assert not is_proved(found, ["Sure"])


def test_nothing_is_proved_with_an_open_term_or_an_action_that_cannot_happen() -> None:
    assert not is_proved(proof(results((TERMS, "greatest"))), ["Sure"])
    assert not is_proved(proof(results(), ("Stop",)), ["Sure"])
    assert not is_proved(proof([]), ["Sure"])


def test_a_lemma_is_not_kept_as_long_as_an_action_was_not_asked() -> None:
    found = proof([item for item in results() if item.key != "Stop|Low"])
    assert "Low" not in kept_clauses(found)
    assert not is_proved(found, ["Sure"])


@dataclass
class Asked:
    """What `decide_cones` reads of obligations."""

    all: list[ObligationResult]

    @property
    def clauses(self) -> dict[str, object]:
        return dict.fromkeys(LEMMAS)


def demanded(wanted: tuple[str, ...], *broken: tuple[str, str]) -> list[ObligationResult]:
    known = results(*broken)

    def decide(numbers: Sequence[int]) -> Iterator[tuple[int, ObligationResult]]:
        return ((number, known[number]) for number in numbers)

    return [item for _, item in decide_cones(Asked(known), wanted, decide)]  # type: ignore[arg-type]


def test_only_what_a_promise_rests_on_is_asked() -> None:
    asked = demanded(("Sure",))
    assert {item.clause for item in asked} == {"greatest", "Sure", "Low", "Middle"}
    assert len(asked) == len({item.key for item in asked}) == 2 + 2 * 3
    assert is_proved(proof(asked), ["Sure"])


def test_a_promise_is_given_up_with_the_first_clause_that_is_not_kept() -> None:
    asked = demanded(("Vain",), ("Go", "Low"))
    assert {item.clause for item in asked} == {"greatest", "Vain", "High", "Middle", "Low"}  # not Odd
    assert not is_proved(proof(asked), ["Vain"])


def test_another_promise_goes_on_where_one_was_given_up() -> None:
    asked = demanded(("Vain", "Sure"), ("Go", "Odd"))
    assert is_proved(proof(asked), ["Sure"])
    assert not is_proved(proof(asked), ["Vain"])
