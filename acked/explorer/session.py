"""What the explorer's page asks its server, without HTTP: searches from the end of a path.

A path is a list of numbers of action instances, taken one after the other from the initial state; it is checked step by step.
Everything else the page does itself (`reports/web/walk.js`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from acked.base.errors import AckedError
from acked.checker.explore.depths import Depths
from acked.checker.explore.nearest import Nearest, nearest, nearest_violation
from acked.checker.question.marks import false_guards
from acked.checker.question.question import Question
from acked.checker.question.result import Words
from acked.model.formulas.errors import ModelError
from acked.reports.units import count, plural

MAX_STEPS = 5_000
"""Steps of one path; nobody looks at more."""

MAX_PREDICATE_PARTS = 20_000
"""Terms and conditions of a predicate, quantified ones counted each time: these are compiled and searched for in seconds."""

ActionPath = tuple[int, ...]
Message = dict[str, object]
"""A request's body or its answer: what JSON has."""


class RequestRefused(Exception):
    """A request that is not answered: an HTTP status and one sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Walk:
    """A walk through the states of one question; safe to use from several threads."""

    def __init__(self, title: str, question: Question, spec: str = "") -> None:
        self.title = title
        self.spec = spec
        self.question = question
        self._depths = Depths(question.instance)
        self._finding = threading.Lock()

    @property
    def requests(self) -> dict[str, Callable[[Message], Message]]:
        """The requests by name."""
        return {"depth": self._depth, "find": self._find}

    def answer(self, what: str, body: object) -> Message:
        """Answers one request; `RequestRefused` if our page never makes it.

        A predicate of the user's that is not valid is an answer, too: `refused` has the sentence.
        """
        if what not in self.requests:
            raise RequestRefused(404, f"there is no request {what!r}")
        if not isinstance(body, dict):
            raise RequestRefused(400, "the request is not a JSON object")
        try:
            return self.requests[what](body)
        except (AckedError, ModelError) as error:
            return {"refused": str(error)}

    # -- requests -------------------------------------------------------------------------------------------------

    def _depth(self, body: Message) -> Message:
        """The depth of the last state of a path in steps: exact, or a lower bound and the length of the path."""
        path = self._path(body)
        depth = self._depths.depth_of(self._end(path))
        most = depth.least if depth.is_exact else len(path)
        return {"least": depth.least, "most": most, "states": self._depths.states}

    def _find(self, body: Message) -> Message:
        """The nearest state in which a predicate holds, or that breaks a promise (one, or any); one search at a time."""
        path = self._path(body)
        with self._finding:
            found = self._found(self._end(path), body)
        if found.run is None:
            seen = plural(found.states, "state")
            whole, some = (
                ("satisfies it", "not found") if "predicate" in body else ("breaks it", "no step or state that breaks it")
            )
            says = f"unreachable from here: none of the {seen} that can follow {whole}" if found.is_complete else (
                f"{some} among the nearest {seen}; there are more"
            )
            return {"path": None, "says": says}
        longer = (*path, *(self._number(step.label) for step in found.run.actions))
        if len(longer) > MAX_STEPS:
            raise RequestRefused(422, f"that path would have more than {count(MAX_STEPS)} steps")
        steps = len(found.run.actions)
        where = f"found {plural(steps, 'step')} away" if steps else "it holds in this state"
        says = f"{found.broken} is broken {plural(steps, 'step')} from here" if found.broken else where
        return {"path": list(longer), "says": says}

    def _found(self, state: Words, body: Message) -> Nearest:
        predicate, promise = body.get("predicate"), body.get("promise")
        if isinstance(predicate, str):
            return nearest(self.question.instance, state, predicate, most_parts=MAX_PREDICATE_PARTS)
        chosen = [item for item in self.question.properties if promise in (None, item.name)]
        if predicate is not None or not chosen:
            raise RequestRefused(400, "“predicate” must be a string, or “promise” the name of one that is asked")
        return nearest_violation(self.question.instance, state, tuple(chosen))

    # -- paths ----------------------------------------------------------------------------------------------------

    def _path(self, body: Message) -> ActionPath:
        given = body.get("path")
        if not isinstance(given, list) or len(given) > MAX_STEPS:
            raise RequestRefused(400, f"“path” must be a list of at most {count(MAX_STEPS)} numbers")
        last = len(self.question.instance.actions) - 1
        for number in given:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= last:
                raise RequestRefused(400, f"there is no action {number!r}; they are numbered 0 to {last}")
        return tuple(given)

    def _number(self, label: str) -> int:
        return next(at for at, step in enumerate(self.question.instance.actions) if step.label == label)

    def _end(self, path: ActionPath) -> Words:
        """The last state of a path; `RequestRefused` if one of its actions is not enabled."""
        instance = self.question.instance
        codes = instance.schema.unpack(instance.initial[0])
        for length, number in enumerate(path, start=1):
            action = instance.actions[number]
            if false := false_guards(action, codes):
                labels = " and ".join(f"“{guard.label}” does not hold" for guard in false)
                raise RequestRefused(409, f"step {length}: {action.label} is not enabled, {labels}")
            codes = instance.fire(action, codes)
        return instance.schema.pack(codes)
