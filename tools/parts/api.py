"""What docs/api.md is made of: the docstrings of the public API; `tools/made.py` puts it there."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".import"))

import acked  # noqa: E402

CONSTANTS = ("CLIENT", "CONSUMER", "CONTROLLER", "PRODUCER")
"""Public names that are neither classes nor functions."""

CHAPTERS = {
    "Ask and answer": (
        "load_spec", "ask", "check", "prove", "simulate", "find", "states", "diff", "ablate", "coverage", "view", "explore",
    ),
    "Answers": (
        "Result", "Verdict", "StopReason", "Violation", "ProofResult", "Simulation", "Trace", "Step", "Page",
        "Comparison", "Side", "ClauseCoverage",
    ),
    "Properties": ("invariant", "step_property", "liveness", "recoverable", "Property", "Kind"),
    "Questions": ("Spec", "Question", "Bounds", "StopPolicy", "Observer"),
    "Protocols": ("Protocol", "action", "require", "choose", "Constant", "switch", "choice"),
    "States": (
        "Struct", "field", "Bool", "Int", "Id", "Enum", "Between", "Optional", "SetOf", "Bag", "Array", "Log", "Queue",
        "Present",
    ),
    "Values": (
        "every", "some", "each", "for_each", "count", "those", "one_of", "some_of", "greatest", "least", "smaller", "implies",
        "ite", "literal", "SetValue", "all_of", "none_of",
    ),
    "What pictures show of a step": ("Role", "Those", "Tells", "asks", "Course", "Fault"),
    "Errors": (
        "AckedError", "ConfigurationError", "SpecUnreadable", "SystemFailure", "ModelError", "DomainOverflow", "ExitCode",
    ),
}


CONSTRUCTED = ("Bounds", "Protocol", "Constant", "Role", "Those", "Tells")
"""Classes that users make objects of by their names alone: the page shows how they are called."""

READ = (*CHAPTERS["Answers"], "Bounds", "Observer")
"""Classes whose parts the page lists."""


def reference() -> list[str]:
    """Every public name in its chapter, as the site has it."""
    _every_name_has_a_chapter()
    parts = [_markdown(inspect.getdoc(acked) or "")]
    for chapter, names in CHAPTERS.items():
        parts += [f"## {chapter}", *(_entry(name) for name in names)]
        if "Role" in names:
            parts.append(f"The roles that are there already: {', '.join(f'`{name}`' for name in CONSTANTS)}.")
    return "\n\n".join(parts).split("\n")


def _every_name_has_a_chapter() -> None:
    named = sorted([*CONSTANTS, *(name for names in CHAPTERS.values() for name in names)])
    if named != sorted(acked.__all__):
        raise SystemExit(f"put into a chapter, or out of it: {', '.join(sorted(set(named) ^ set(acked.__all__)))}")


def _entry(name: str) -> str:
    found = getattr(acked, name)
    parts = [f"### `{name}`"]
    if inspect.isfunction(found) or name in CONSTRUCTED:
        parts.append(f"```python\n{_signature(found)}\n```")
    parts.append(_markdown(inspect.getdoc(found) or ""))
    if inspect.isclass(found) and issubclass(found, Enum):
        parts.append("\n".join(f"- `{name}.{member.name}`: {member.value}" for member in found))
    elif name in READ:
        parts.append("\n".join(f"- `{head}`: {words}" for head, words in members(found)))
    return "\n\n".join(part for part in parts if part)


def members(found: type) -> Iterator[tuple[str, str]]:
    """Fields, then what is computed and methods, each as it is written, with the first line of its words."""
    for node, after in zip(body := _body(found), [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and str(after.value.value)
            yield f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}", _first_line(described or "")
    for key, item in vars(found).items():
        function = getattr(item, "__func__", getattr(item, "fget", item))
        if not key.startswith("_") and inspect.isfunction(function):
            is_computed = isinstance(item, property)
            head = f"{key}: {inspect.signature(function).return_annotation}" if is_computed else _signature(function)
            yield head, _first_line(inspect.getdoc(function) or "")


def _body(found: type) -> list[ast.stmt]:
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    assert isinstance(tree, ast.ClassDef)
    return tree.body


def _first_line(doc: str) -> str:
    return doc.partition("\n")[0]


def _signature(function: Any) -> str:
    """The head of a function, or of a class as it is called, with a parameter to a line if it is long."""
    signature = inspect.signature(function)
    result = ")" if inspect.isclass(function) else f") -> {signature.return_annotation}"
    parameters = list(_parameters(signature))
    line = f"{function.__name__}({', '.join(parameters)}{result}"
    if len(line) <= 110:
        return line
    return "\n".join([f"{function.__name__}(", *(f"    {text}," for text in parameters), result])


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    """As they are written."""
    has_star = False
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            has_star = True
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        if parameter.name in ("self", "cls"):
            continue
        default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
        yield f"{str(parameter).partition(':')[0]}: {parameter.annotation}{default}"


def _default(value: object) -> str:
    """A default as one would write it; one that is computed is not shown."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return "…" if "<factory>" in repr(value) else repr(value)


def _markdown(doc: str) -> str:
    """A docstring with its examples as blocks of code."""
    lines: list[str] = []
    inside = False
    for line in doc.split("\n"):
        begins, ends = line.lstrip().startswith(">>>"), inside and not line.strip()
        if begins and not inside:
            lines += [*([] if not lines or not lines[-1] else [""]), "```pycon"]
            inside = True
        elif ends:
            lines.append("```")
            inside = False
        lines.append(line.removeprefix("    ") if inside and line.startswith("    ") else line)
    return "\n".join([*lines, "```"] if inside else lines)

