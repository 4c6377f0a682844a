"""Protocols from a user's own Python file: `toylog.py:toylog`.

A protocol file is Python, and reading it runs it, and those beside it that it imports with a dot, as a test runner does with
tests. Whatever goes wrong in them is reported in one sentence with its line.

A file is run only if a person asks for it: by naming the protocol, a spec that names it, or a folder of such specs on the
command line, or with --trust. Data never has a file run: a trace names shipped protocols or is replayed under the rules that
the person named, and traces of other tools, run directories, datasets, lemma sets and the cache name no file at all.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.base.names import choices, is_name, near
from acked.checker.spec.ordering import Loader, wrap_loops
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol

_SEPARATOR = ".py:"

_FORMER = ("model", "checker", "invariants", "reports")
"""Packages that protocol files imported by these names before everything was imported as a part of `acked`."""


_DECLARED = {
    "Enum": 'class Kind(Enum, names=("ask", "tell")): …',
    "Int": "class Count(Int, lo=0, hi=3): …",
    "Id": "class Node(Id, size=3): …",
    "Constant": 'Constant("nodes", 1, 5, "nodes of the cluster")',
    "Protocol": 'Protocol("mine", State, title="…", source="…", constants=(…,), initial=initial)',
}
"""How what is declared wrongly is written."""


def is_reference(name: str) -> bool:
    """Whether a protocol is named by a file: `toylog.py:toylog`."""
    return _SEPARATOR in name or name.endswith(".py")


def load_protocol(reference: str, folder: Path) -> Protocol:
    """The protocol that a file defines under a name; a relative path begins in `folder`.

    `SpecUnreadable` if the file cannot be read, `ConfigurationError` for everything that is wrong in it.
    """
    file, separator, name = reference.rpartition(":")
    if not separator or not file.endswith(".py") or not is_name(name):
        raise ConfigurationError(f"{reference!r} does not name a protocol in a file; use FILE:NAME, e.g. toylog.py:toylog")
    path = (folder / file).resolve()
    module = _run(path)
    made = vars(module).get(name)
    known = [key for key, value in vars(module).items() if isinstance(value, Protocol)]
    if not isinstance(made, Protocol):
        what = f"has no protocol {name!r}" if made is None else f"defines {name!r}, which is not a protocol"
        raise ConfigurationError(f"{path} {what}{near(name, known)}; its protocols are {choices(known) or 'none'}")
    if made.name in PROTOCOLS:
        raise ConfigurationError(f"{path}: {made.name} is the name of a shipped protocol; give yours another one")
    made.reference = f"{path}:{name}"
    made.has_folder = bool(module.__package__)
    return made


def _run(path: Path) -> ModuleType:
    """The module of a file, run once in this process for each of its texts."""
    text = read_text(path, "protocol file")
    tree = _parse(path, text)
    package = _package(path) if _is_part(tree) else None
    digest = hashlib.sha256(f"{path} {text}".encode()).hexdigest()
    name = f"acked_protocol_{digest[:16]}" if package is None else f"{package.__name__}.{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    _refuse_identity(path, tree)
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = None if package is None else package.__name__
    sys.modules[name] = module
    try:
        # What it prints is not part of an answer.
        with contextlib.redirect_stdout(sys.stderr), _without_bytecode():
            exec(compile(wrap_loops(tree), str(path), "exec"), vars(module))
        if package is not None:
            _refuse_identity_beside(package)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        for known in [item for item in sys.modules if item == name or (package and item.startswith(f"{package.__name__}."))]:
            del sys.modules[known]
        if isinstance(error, ConfigurationError):
            raise
        raise _refusal(path, error) from None
    return module


def _parse(path: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text, str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refusal(path, error) from None


# -- protocols of several files -----------------------------------------------------------------------------------------


def _is_part(tree: ast.Module) -> bool:
    """Whether a file imports others from beside it: `from .common import …`."""
    return any(isinstance(node, ast.ImportFrom) and node.level for node in tree.body)


def _package(path: Path) -> ModuleType:
    """The package that a file's folder is, another one for each of its files' texts."""
    digest = hashlib.sha256(str(path.parent).encode())
    for other in sorted(path.parent.glob("*.py")):
        digest.update(f"{other.name}\0{hashlib.sha256(other.read_bytes()).hexdigest()}".encode())
    name = f"acked_protocol_{digest.hexdigest()[:16]}"
    package = ModuleType(name)
    package.__path__ = [str(path.parent)]
    importlib.invalidate_caches()
    Loader.is_used_in(path.parent)
    return sys.modules.setdefault(name, package)


@contextlib.contextmanager
def _without_bytecode() -> Iterator[None]:
    """Without files beside the user's own, by which a text that was edited within a second would be taken for the old one."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _refuse_identity_beside(package: ModuleType) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package.__name__}.") and module.__file__ is not None:
            beside = Path(module.__file__)
            _refuse_identity(beside, _parse(beside, read_text(beside, "protocol file")))


def _refuse_identity(path: Path, tree: ast.Module) -> None:
    """`ConfigurationError` where an action tests whether a field `is None`: in Python it never is, whatever the state."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lines = [line for item in functions if any(map(_is_action, item.decorator_list)) for line in item.body]
    for node in (node for line in lines for node in ast.walk(line) if isinstance(node, ast.Compare)):
        if isinstance(node.left, (ast.Attribute, ast.Subscript)) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            text = ast.unparse(node.left)
            raise ConfigurationError(
                f"{path}:{node.lineno}: `is` compares Python objects, not the state; use {text}.is_none, {text}.is_some or =="
            )


def _is_action(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", "")) == "action"


def _refusal(path: Path, error: BaseException) -> ConfigurationError | SpecUnreadable:
    if isinstance(error, SyntaxError):
        return SpecUnreadable(f"{error.filename or path}:{error.lineno or 1}: this is not valid Python: {error.msg}")
    if isinstance(error, (ValueError, RecursionError, MemoryError)) and error.__traceback__ is None:
        return SpecUnreadable(f"{path}: this is not valid Python: {error}")
    from traceback import walk_tb

    # The last place in the user's own files: this one, or one beside it.
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    lines = [f"{file}:{line}" for file, line in frames if Path(file).parent == path.parent]
    where = lines[-1] if lines else str(path)
    what = str(error).splitlines()[0] if str(error) else "it raises without a message"
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").partition(".")[0]) in _FORMER:
        what += f"; acked's {package} is now acked.{package}: write `from acked import …` or `from acked.{package}… import …`"
    if isinstance(error, ImportError) and (asked := re.match(r"cannot import name '(\w+)' from 'acked'", what)):
        what += near(asked[1], dir(sys.modules["acked"]))
    if isinstance(error, TypeError) and (made := re.match(r"(\w+)\.__init\w*\(\)", what)):
        what += f"; write {_DECLARED[made[1]]}" if made[1] in _DECLARED else ""
    kind = "" if isinstance(error, ModelError) else f"{type(error).__name__}: "
    return ConfigurationError(f"{where}: {kind}{what}")
