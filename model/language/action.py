"""Actions: transition rules that are ordinary functions of the state and of finite-domain parameters, with their words."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path as FilePath
from types import ModuleType

from acked.base.frozen import frozen
from acked.model.formulas.errors import ModelError, UnknownName, raise_refusals
from acked.model.formulas.functions import (
    name_with_article,
    refuse_deferred,
    refuse_nameless,
    refuse_result,
    refuse_uncallable,
)
from acked.model.formulas.places import located
from acked.model.language.choices import declared, given, leaves
from acked.model.language.domain import Domain, LeafDomain
from acked.model.language.semantics import Chooser, Guard, tracing
from acked.model.language.telling import Fault, Message, Party, Telling, Words, functions_of, named_parameters, party_of
from acked.model.language.values import Bool, type_name_of


def require(label: str, condition: Bool | bool = ...) -> None:  # type: ignore[assignment]
    """States that the action is enabled only where `condition` holds; the label names the clause everywhere.

    >>> @action()
    ... def append(s: State) -> None:
    ...     require("records are left", s.end[s.leader] < records.value)
    ...     s.end[s.leader] = s.end[s.leader] + 1
    >>> [guard.label for guard in toylog.instantiate({"brokers": 2, "records": 1}).actions[0].guards]
    ['records are left']
    """
    guards = tracing().guards
    if not isinstance(label, str):
        kind = name_with_article(type_name_of(label))
        raise ModelError(f'a clause has a label before its condition, require("room is left", …), and this is {kind}')
    if guards is None:
        raise ModelError("require(…) states a guard and belongs in an action, or in the initial state")
    if any(guard.label == label for guard in guards):
        raise ModelError(f"two clauses are labelled {label!r}; give each require its own label")
    caller = sys._getframe(1)
    guards.append(Guard(label, Bool.lift(condition), caller.f_code.co_filename, caller.f_lineno))


@frozen
class Action:
    """A transition rule: an ordinary function of the state and of finite-domain parameters, with its words.

    `actor`, `fault` and `messages` are what its author declares for pictures (see `telling.py`): who takes the step (None:
    not declared), what goes wrong in it, if anything, and which messages are sent.
    """

    name: str
    function: Callable[..., None]
    says: Words | None
    doc: str
    file: str
    line: int
    when: Callable[[], bool] | None = None
    actor: Party | None = None
    fault: Fault | None = None
    messages: tuple[Message, ...] = ()

    def is_present(self) -> bool:
        """Whether the constants of the current trace leave the action in the protocol."""
        if self.when is None:
            return True
        present = self.when()
        if not isinstance(present, (bool, int)):
            raise ModelError(f"{self._where}: when= answers {present!r}, and must say True or False of the constants")
        return bool(present)

    def apply(self, state: object, chooser: Chooser) -> None:
        """States the guards and makes the assignments; a refusal is one, although the function may have caught it."""
        with raise_refusals():
            values = {name: given(name, domain, chooser) for name, domain in self._declared.items()}
            result: object = self.function(state, **values)  # type: ignore[func-returns-value]
            refuse_result(result, "the function", "assign to the fields of the state, e.g. s.end[b] = s.end[b] + 1")

    def parameters(self) -> dict[str, LeafDomain]:
        """The domain of every parameter after the state, from the annotations; of a struct those of its fields."""
        return dict(part for name, domain in self._declared.items() for part in leaves(name, domain))

    @cached_property
    def _declared(self) -> dict[str, Domain]:
        domains = declared(self.function, self._where)
        ids = [name for name, domain in domains.items() if isinstance(domain, LeafDomain) and party_of(domain) is not None]
        for name in named_parameters(self.actor, self.messages):
            if name not in ids:
                known = f"it has {', '.join(ids)}" if ids else "it has none; name a Role, or ids with Those(…)"
                raise ModelError(
                    f"{self._where}: actor and messages name {name!r}, which is not a parameter that holds ids or numbers; "
                    f"{known}"
                )
        return domains

    @property
    def _where(self) -> str:
        return f"action {self.name} ({FilePath(self.file).name}:{self.line})"


def action(
    *,
    says: Words | None = None,
    when: Callable[[], bool] | None = None,
    actor: Party | None = None,
    fault: Fault | None = None,
    messages: Iterable[Message] = (),
) -> Callable[[Callable[..., None]], Action]:
    """Makes an action of a function; `says` writes one plain sentence about a step (see `Telling`).

    The function assigns to the state and returns nothing. It runs when a protocol is traced, once for every value of its
    parameters, so it may ask its state and the constants, and nothing else: a choice is a parameter. A function of your own
    is traced twice, and refused where that makes a difference, or where it asks for a random number, the time, a file, the
    environment, or (in a protocol file) the order of a set of texts. What an extension module does by itself is not seen.

    `when` decides from the constants whether a configuration has the action at all. `actor`, `fault` and `messages` say for
    pictures who takes the step, what goes wrong in it, and which messages are sent (see `telling.py`).

    >>> @action(says=lambda t: f"broker {t.broker} loses its log")
    ... def lose_log(s: State, broker: Broker) -> None:
    ...     s.end[broker] = 0
    >>> lose_log.name, list(lose_log.parameters())
    ('LoseLog', ['broker'])
    """
    declared = tuple(messages)

    def decorate(function: Callable[..., None]) -> Action:
        refuse_nameless(function, "an action")
        refuse_deferred(function, f"action {function.__name__}")
        refuse_uncallable(says, f"action {function.__name__}", function, 'says=lambda t: "…"')
        refuse_uncallable(when, f"action {function.__name__}", function, "when=lambda: fast.on")
        name = "".join(part.capitalize() for part in function.__name__.split("_"))
        code = function.__code__
        doc = inspect.getdoc(function) or ""
        return Action(name, function, says, doc, code.co_filename, code.co_firstlineno, when, actor, fault, declared)

    return decorate


def unknown_clause(protocol: str, known: Mapping[str, Iterable[str]], name: str, label: str) -> str:
    """What is wrong with a guard clause to drop that is not among the `known`: the labels of every action, by its name."""
    if name not in known:
        return f"{protocol} has no action {name!r} to drop a clause of; it has {', '.join(known)}"
    labels = ", ".join(map(repr, dict.fromkeys(known[name])))
    return f"{protocol}: action {name} has no clause {label!r}; it has {labels}"


def actions_by_name(protocol: str, actions: Iterable[Action]) -> dict[str, Action]:
    """The actions of a protocol by their names; `ModelError` if two have the same."""
    found: dict[str, Action] = {}
    for item in actions:
        known = found.setdefault(item.name, item)
        if known is not item:
            places = " and ".join(f"{FilePath(twin.file).name}:{twin.line}" for twin in (known, item))
            raise ModelError(f"{protocol}: two actions are named {item.name} ({places}); rename one")
    return found


def actions_of(*modules: ModuleType) -> tuple[Action, ...]:
    """The actions that modules define, in the order in which they stand there; what a module imports is not its own."""
    defined = [(module, item) for module in modules for item in vars(module).values() if isinstance(item, Action)]
    return tuple(item for module, item in defined if item.function.__module__ == module.__name__)


def refuse_unknown_names(protocol: str, item: Action, steps: Iterable[Telling]) -> None:
    """`ModelError` if an action's words ask for what no step has; of steps that are none, they may fail in other ways."""
    for step in steps:
        for function in functions_of(item.says, item.actor, item.messages):
            with located(f"{protocol}: the words of action {item.name}", function):
                try:
                    function(step)
                except UnknownName:
                    raise
                except Exception:
                    continue
