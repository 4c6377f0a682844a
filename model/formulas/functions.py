"""What an author's functions must be: functions of Python, whose body runs when they are called and returns what is asked."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable
from functools import cache
from opcode import opmap, opname
from pathlib import Path as FilePath
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from acked.model.formulas.errors import ModelError

T = TypeVar("T")


def place_of(function: object) -> tuple[str, int] | None:
    """The file and the line where a function begins, if it is one of Python's."""
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None


def place_text(place: tuple[str, int] | None) -> str:
    """A place as errors say it after what they are about: ` (toylog.py:12)`, or nothing."""
    return "" if place is None else f" ({FilePath(place[0]).name}:{place[1]})"


def refuse_deferred(function: object, what: str) -> None:
    """`ModelError` for a generator or a coroutine, whose body does not run when it is called."""
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    if not is_async and not inspect.isgeneratorfunction(function):
        return
    sign = "is an `async def`" if is_async else "has a `yield`"
    where = place_text(place_of(function))
    raise ModelError(f"{what}{where} {sign}, so its body would not run when called; write it without")


_NO_EFFECT = ("COMPARE_OP", "BINARY_OP", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "LOAD_ATTR", "CONTAINS_OP")

_OF_A_STATE = ("LOAD_ATTR", "BINARY_SUBSCR")
"""What a field or an element is read with: what stands in a variable may be Python's own."""


def refuse_unmeant(function: object) -> None:
    """`ModelError` for what Python accepts in a function and no author means.

    That is `is`, which compares Python's objects, of which no symbolic value is None; and an expression whose value nobody
    takes, such as `s.x == 1` for `s.x = 1`.
    """
    found = _unmeant(function.__code__) if place_of(function) is not None else None  # type: ignore[attr-defined]
    if found is not None:
        error = ModelError(found[0])
        error.place = found[1:]
        raise error


@cache
def _unmeant(whole: CodeType) -> tuple[str, str, int] | None:
    """The first of it in a function's code, with the file and the line."""
    codes = [whole]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        before = operand = ""
        for step in dis.get_instructions(code):
            said = ""
            if operand in _OF_A_STATE and (step.opname == "IS_OP" or step.opname.endswith(("_IF_NONE", "_IF_NOT_NONE"))):
                said = "`is` compares Python's objects, which are no values; write == None, or .is_none"
            elif step.opname == "POP_TOP" and before in _NO_EFFECT:
                said = "this line computes something and drops it; assign it with =, or state it with require(…)"
            if said:
                return said, code.co_filename, (step.positions and step.positions.lineno) or code.co_firstlineno
            before = step.opname
            operand = operand if before == "LOAD_CONST" else before
    return None


def refuse_nameless(function: object, what: str) -> None:
    """`ModelError` for what can be called and is no function, such as a partial: it has neither a name nor a line."""
    if place_of(function) is None or not hasattr(function, "__name__"):
        kind = type(function).__name__
        raise ModelError(f"{what} is a {kind}, which has neither a name nor a line of its own; write a function with def")


def refuse_uncallable(declared: object, what: str, beside: object, instead: str) -> None:
    """`ModelError` for what is declared `beside` an author's function, is called later, and is none; None is not declared."""
    if declared is not None and not callable(declared):
        kind = name_with_article(type(declared).__name__)
        raise ModelError(f"{what}{place_text(place_of(beside))}: {instead} is a function, and this is {kind}")


def refuse_result(result: object, what: str, instead: str) -> None:
    """`ModelError` if a function whose result nobody takes returned one; a coroutine among them is ended."""
    if result is None:
        return
    if inspect.iscoroutine(result):
        result.close()
    returned = getattr(type(result), "type_name", None) or type(result).__name__
    if isinstance(returned, property):
        returned = type(result).__name__
    raise ModelError(f"{what} returns {name_with_article(returned)}, which would be dropped; {instead}")


def require_type(kind: type[T], result: object, what: str) -> T:
    """The result of a function of which another kind of result is a mistake."""
    if not isinstance(result, kind):
        raise ModelError(f"{what} returns {result!r}, and must return a {kind.__name__}")
    return result


def must_be_used(method: str, caller: FrameType) -> None:
    """`ModelError` if the caller throws away what the method returns: its next instruction drops it.

    A symbolic set is a value and does not change, unlike Python's own, whose methods have these names.
    """
    code, at = caller.f_code.co_code, caller.f_lasti + 2
    while code[at] == opmap["CACHE"]:
        at += 2
    if code[at] == opmap["POP_TOP"]:
        raise ModelError(
            f"{method}(…) returns a new set and does not change this one; assign it, e.g. s.isr = s.isr.{method}(r)"
        )


def asks_for_truth(caller: FrameType) -> bool:
    """Whether a function that is called there asks for the truth of something, such as min(…), and not the caller itself."""
    return "CALL" in opname[caller.f_code.co_code[caller.f_lasti]]


def name_with_article(name: str) -> str:
    """`a broker`, `an epoch`, `None`."""
    if name == "None":
        return name
    return f"an {name}" if name[:1].lower() in tuple("aeiou") else f"a {name}"


def refusing(symbol: str) -> Callable[..., NoReturn]:
    """A method of values that answers an operator which they do not have."""

    def refuse(self: Any, *_: object) -> NoReturn:
        raise ModelError(f"{name_with_article(self.type_name)} has no `{symbol}`; {self.instead}")

    return refuse


def words_of(name: str) -> str:
    """`LeaderEpoch` as errors say it: "leader epoch"; what is in capitals stays so, `RMState` is "RM state"."""
    words = re.findall(r"[A-Z]{2,}(?![a-z])|[A-Z]?[^A-Z]+|[A-Z]", name)
    return " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)


class Sort(type):
    """What the types of values are: what Python would do with such a type is refused, too."""

    def __new__(cls, called: str, bases: tuple[type, ...], parts: dict[str, object], /, **given: object) -> Sort:
        # Nothing can be assigned to a value.
        return super().__new__(cls, called, bases, {"__slots__": (), **parts}, **given)

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> str:
            """A name of an `Enum`, which stands for its value."""
            if name in cls.__dict__.get("names", ()):
                return name
            raise AttributeError(f"{cls.__name__} has no {name!r}")

        def __iter__(cls) -> NoReturn:
            raise ModelError(f"{cls.__name__} cannot be looped over; write each({cls.__name__}), every(…) or some(…)")
