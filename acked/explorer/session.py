"""Walking through a protocol's states on demand: the answers of the explorer's server, without HTTP.

A path is a list of numbers of action instances, taken one after the other from the initial state; it is checked step by step.
"""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Callable

from acked.base.errors import AckedError
from acked.checker.explore.depths import Depths
from acked.checker.explore.nearest import nearest
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run
from acked.checker.replay.explain import Explainer
from acked.checker.replay.trace_file import run_in, trace_document
from acked.model.formulas.errors import ModelError
from acked.reports.runs.lanes import lanes_of
from acked.reports.runs.packet import Json, Packer
from acked.reports.runs.refusals import clause_in_words
from acked.reports.runs.view import Past, StepView
from acked.reports.units import count, plural

MAX_STEPS = 5_000
"""Steps of one path; nobody looks at more."""

MAX_PREDICATE_PARTS = 20_000
"""Terms and conditions of a predicate, quantified ones counted each time: these are compiled and searched for in seconds."""

_CACHED_PATHS = 20_000
"""Paths whose last states are kept, so that a further step does not replay the whole path."""

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

    def __init__(self, title: str, question: Question) -> None:
        self.title = title
        self.question = question
        self._packer = Packer(question)
        self._explainer = Explainer(question.instance)
        self._depths = Depths(question.instance)
        self._lock = threading.Lock()
        self._finding = threading.Lock()
        self._known: OrderedDict[ActionPath, tuple[StepView, Past]] = OrderedDict()

    @property
    def requests(self) -> dict[str, Callable[[Message], Message]]:
        """The requests by name."""
        return {
            "steps": self._steps,
            "depth": self._depth,
            "random": self._random,
            "find": self._find,
            "save": self._save,
            "load": self._load,
        }

    def answer(self, what: str, body: object) -> Message:
        """Answers one request; `RequestRefused` if our page never makes it.

        A predicate or trace of the user's that is not valid is an answer, too: `refused` has the sentence.
        """
        if what not in self.requests:
            raise RequestRefused(404, f"there is no request {what!r}")
        if not isinstance(body, dict):
            raise RequestRefused(400, "the request is not a JSON object")
        try:
            if what in ("depth", "find"):  # They may search for seconds; other requests must not wait for them.
                return self.requests[what](body)
            with self._lock:
                return self.requests[what](body)
        except (AckedError, ModelError) as error:
            return {"refused": str(error)}

    def beginning(self) -> Message:
        """The packet of the initial state."""
        with self._lock:
            return self._packet((), 0)

    def head(self) -> Message:
        """What holds for all steps; see `Packer.head`."""
        return self._packer.head()

    # -- requests -------------------------------------------------------------------------------------------------

    def _steps(self, body: Message) -> Message:
        path = self._path(body)
        first = body.get("from", 0)
        if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first <= len(path) + 1:
            raise RequestRefused(400, f"“from” must be a number from 0 to {len(path) + 1}")
        return {"packet": self._packet(path, first)}

    def _depth(self, body: Message) -> Message:
        """The depth of the last state of a path in steps: exact, or a lower bound and the length of the path."""
        with self._lock:
            path = self._path(body)
            state = self.question.instance.schema.pack(self._end(path)[1].codes)
        depth = self._depths.depth_of(state)
        most = depth.least if depth.is_exact else len(path)
        return {"least": depth.least, "most": most, "states": self._depths.states}

    def _random(self, body: Message) -> Message:
        path, steps, seed = self._path(body), body.get("steps"), body.get("seed")
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= 1000:
            raise RequestRefused(400, "“steps” must be a number from 1 to 1000")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise RequestRefused(400, "“seed” must be a number")
        rng = random.Random(seed)
        for _ in range(min(steps, MAX_STEPS - len(path))):
            enabled = self.question.instance.enabled_actions(self._end(path)[1].codes)
            if not enabled:
                return {"path": list(path), "says": "no action is enabled there"}
            path = (*path, self._number(rng.choice(enabled).label))
        return {"path": list(path)}

    def _find(self, body: Message) -> Message:
        """The nearest state in which a predicate holds; one search at a time, on an instance of its own."""
        instance, predicate = self.question.instance, body.get("predicate")
        if not isinstance(predicate, str):
            raise RequestRefused(400, "“predicate” must be a string")
        with self._lock:
            path = self._path(body)
            state = instance.schema.pack(self._end(path)[1].codes)
        with self._finding:
            found = nearest(instance, state, predicate, most_parts=MAX_PREDICATE_PARTS)
        if found.run is None:
            seen = plural(found.states, "state")
            says = f"unreachable from here: none of the {seen} that can follow satisfies it" if found.is_complete else (
                f"not found among the nearest {seen}; there are more"
            )
            return {"path": None, "says": says}
        longer = (*path, *(self._number(step.label) for step in found.run.actions))
        if len(longer) > MAX_STEPS:
            raise RequestRefused(422, f"that path would have more than {count(MAX_STEPS)} steps")
        steps = len(found.run.actions)
        says = f"found {plural(steps, 'step')} away" if steps else "it holds in this state"
        return {"path": list(longer), "says": says}

    def _save(self, body: Message) -> Message:
        path = self._path(body)
        run = self._run_along(path)
        # A question of its own: the fingerprint is that of one in which nothing else was traced before.
        instance = self.question.instance
        fresh = instance.protocol.instantiate(instance.constants, instance.dropped)
        by_label = {step.label: step for step in fresh.actions}
        same = Run(run.states, tuple(by_label[step.label] for step in run.actions))
        return {"trace": trace_document(Counterexample(self.title, Question(fresh, self.question.properties), same))}

    def _load(self, body: Message) -> Message:
        trace = body.get("trace")
        steps = trace.get("steps") if isinstance(trace, dict) else None
        if isinstance(steps, list) and len(steps) > MAX_STEPS + 1:
            raise RequestRefused(422, f"the trace has more than {count(MAX_STEPS)} steps")
        run = run_in(trace, self.question.instance)
        return {"path": [self._number(step.label) for step in run.actions]}

    # -- paths ----------------------------------------------------------------------------------------------------

    def _path(self, body: Message) -> ActionPath:
        given = body.get("path")
        if not isinstance(given, list) or len(given) > MAX_STEPS:
            raise RequestRefused(400, f"“path” must be a list of at most {count(MAX_STEPS)} numbers")
        last = len(self.question.instance.actions) - 1
        for number in given:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= last:
                raise RequestRefused(400, f"there is no action {number!r}; they are numbered 0 to {last}")
        path = tuple(given)
        self._end(path)
        return path

    def _number(self, label: str) -> int:
        return next(at for at, step in enumerate(self.question.instance.actions) if step.label == label)

    def _end(self, path: ActionPath) -> tuple[StepView, Past]:
        """The last step of a path; `RequestRefused` if one of its actions is not enabled."""
        known = len(path)
        while known and path[:known] not in self._known:
            known -= 1
        if not known and () not in self._known:
            instance = self.question.instance
            (_, view), past = self._packer.first(instance.schema.unpack(instance.initial[0]))
            self._keep((), view, past)
        for length in range(known, len(path)):
            self._step(path[: length + 1])
        return self._known[path]

    def _step(self, path: ActionPath) -> Json:
        """Takes the last step of a path whose other steps are cached; returns it packed."""
        instance = self.question.instance
        past, action = self._known[path[:-1]][1], instance.actions[path[-1]]
        false = self._explainer.refusal(action, past.codes).clauses
        if false:
            why = " and ".join(map(clause_in_words, false))
            raise RequestRefused(409, f"step {len(path)}: {action.label} is not enabled, {why}")
        (packed, view), now = self._packer.next(past, action, instance.fire(action, past.codes))
        self._keep(path, view, now)
        return packed

    def _keep(self, path: ActionPath, view: StepView, past: Past) -> None:
        self._known[path] = (view, past)
        while len(self._known) > _CACHED_PATHS:
            self._known.popitem(last=False)

    def _packet(self, path: ActionPath, first: int) -> Message:
        views = [self._end(path[:length])[0] for length in range(len(path) + 1)]
        # What was packed on the way is in no packet; the steps of this one are packed again, together.
        self._packer.packet([], lanes_of([]))
        instance, steps = self.question.instance, []
        for length in range(first, len(path) + 1):
            if length:
                steps.append(self._step(path[:length]))
            else:
                steps.append(self._packer.first(instance.schema.unpack(instance.initial[0]))[0][0])
        return self._packer.packet(steps, lanes_of(views))

    def _run_along(self, path: ActionPath) -> Run:
        instance = self.question.instance
        states = [instance.schema.pack(self._end(path[:length])[1].codes) for length in range(len(path) + 1)]
        return Run(tuple(states), tuple(instance.actions[number] for number in path))
