"""What is known of a question that was asked before, so that a search of it begins without tracing its protocol.

Most of what a small check takes is the trace: thousands of calls of an author's functions. A question about a shipped
protocol says the same whenever its text and our own files do. So a search keeps what its question turned out to be: what its
code goes by, how much its kernel decides, and the names and arguments of all action instances. One of the same text begins
with that; of what it is asked beyond, such as the steps of a counterexample, no more is traced than is looked at.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, field, replace
from functools import cached_property

from acked.base.cache import open_cache
from acked.base.frozen import frozen
from acked.base.sources import sources_hash
from acked.checker.question.plan import KernelPlan, StepCheck
from acked.checker.question.question import Question
from acked.model.formulas.expr import Expr
from acked.model.language.domain import Plain

_FORMAT = "acked-question/3"
_MADE_OF = ("base", "model", "invariants", "checker/predicate", "checker/question", "checker/spec", "checker/symmetry")
"""Whatever decides what a question's text means."""


@frozen
class Known:
    """Of a question: the hashes of its plan, whatever the processor, and of the question; the states that a search begins
    with; its action instances, by name and arguments; and how much its kernel decides.

    `properties` and `checks` are as in `Shape`.
    """

    code: str
    fingerprint: str
    initial: tuple[tuple[int, ...], ...]
    actions: tuple[tuple[str, dict[str, Plain]], ...]
    properties: int
    checks: int


class KnownPlan(KernelPlan):
    """The plan of a question of which enough is known; its expressions are made when they are looked at."""

    def __init__(self, question: TextQuestion, known: Known) -> None:
        vars(self).update(instance=question.instance, is_symmetric=question.is_symmetric, code=known.code)
        vars(self).update(_known=known, _traced=replace(question))

    _known: Known
    _traced: Question

    @property
    def properties(self) -> int:
        return self._known.properties

    @property
    def checks(self) -> int:
        return self._known.checks

    @cached_property
    def state_violations(self) -> tuple[Expr, ...]:
        return self._traced.plan.state_violations

    @cached_property
    def step_checks(self) -> tuple[StepCheck, ...]:
        return self._traced.plan.step_checks


@frozen(repr=False)
class TextQuestion(Question):
    """A question that was made of a text: with what is known of it, or the name under which a search keeps that.

    Another question that is made of it (`replace`) has neither.
    """

    name: str = field(default="", init=False, compare=False)
    known: Known | None = field(default=None, init=False, compare=False)

    @classmethod
    def of(cls, question: Question, name: str, known: Known | None) -> TextQuestion:
        """The question under a name."""
        made = cls(question.instance, question.properties, question.probes, question.is_symmetric)
        vars(made).update(name=name, known=known)
        if known is not None:
            vars(made).update(fingerprint=known.fingerprint, initial=known.initial)
        return made

    @cached_property
    def plan(self) -> KernelPlan:
        """What the kernel evaluates for this question."""
        return super().plan if self.known is None else KnownPlan(self, self.known)

    def refuse_asymmetry(self) -> None:
        """What is known was asked, and not refused."""
        if self.known is None:
            super().refuse_asymmetry()

    def remember(self) -> None:
        """Keeps what is known of it by now."""
        store = open_cache() if self.name and self.known is None else None
        if store is not None:
            plan = self.plan
            actions = tuple((one.action.name, one.arguments) for one in self.instance.actions)
            known = Known(plan.code, self.fingerprint, self.initial, actions, plan.properties, plan.checks)
            store.write(self.name, json.dumps(asdict(known), separators=(",", ":")).encode())


def name_of(text: object) -> str:
    """The name in the cache of what is known of a question; of the text whatever is not shipped must be in it."""
    said = f"{_FORMAT} {sources_hash(_MADE_OF)} {text!r}"
    return f"{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()}.question"


def known_as(name: str) -> Known | None:
    """What is known under a name; None if nothing is."""
    store = open_cache()
    content = None if store is None else store.known(name)
    if content is None:
        return None
    said = json.loads(content)
    made = {"initial": tuple(map(tuple, said["initial"])), "actions": tuple(map(tuple, said["actions"]))}
    return Known(**{**said, **made})
