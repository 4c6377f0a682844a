"""What an author's functions must be: functions of Python, whose body runs when they are called and returns what is asked."""

from __future__ import annotations

import inspect
from pathlib import Path as FilePath
from types import CodeType
from typing import TypeVar

from acked.model.formulas.errors import ModelError

T = TypeVar("T")


def place_of(function: object) -> tuple[str, int] | None:
    """The file and the line where a function begins, if it is one of Python's."""
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None


def named(place: tuple[str, int] | None) -> str:
    """A place as errors say it after what they are about: ` (toylog.py:12)`, or nothing."""
    return "" if place is None else f" ({FilePath(place[0]).name}:{place[1]})"


def refuse_deferred(function: object, what: str) -> None:
    """`ModelError` for a generator or a coroutine, whose body does not run when it is called."""
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if not is_async and not inspect.isgeneratorfunction(function):
        return
    sign = "is an `async def`" if is_async else "has a `yield`"
    raise ModelError(f"{what}{named(place_of(function))} {sign}, so its body would not run when called; write it without")


def refuse_nameless(function: object, what: str) -> None:
    """`ModelError` for what can be called and is no function, such as a partial: it has neither a name nor a line."""
    if place_of(function) is None or not hasattr(function, "__name__"):
        kind = type(function).__name__
        raise ModelError(f"{what} is a {kind}, which has neither a name nor a line of its own; write a function with def")


def refuse_result(result: object, what: str, instead: str) -> None:
    """`ModelError` if a function whose result nobody takes returned one; a coroutine among them is ended."""
    if result is None:
        return
    if inspect.iscoroutine(result):
        result.close()
    returned = getattr(type(result), "type_name", None) or type(result).__name__
    if isinstance(returned, property):
        returned = type(result).__name__
    article = "an" if returned[:1] in "aeiou" else "a"
    raise ModelError(f"{what} returns {article} {returned}, which would be dropped; {instead}")


def of_type(kind: type[T], result: object, what: str) -> T:
    """The result of a function of which another kind of result is a mistake."""
    if not isinstance(result, kind):
        raise ModelError(f"{what} returns {result!r}, and must return a {kind.__name__}")
    return result
