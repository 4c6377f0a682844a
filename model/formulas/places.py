"""Errors of an author's functions: what was traced, and which line of theirs was at work."""

from __future__ import annotations

import os
import sys
from pathlib import Path as FilePath
from types import FrameType, TracebackType

from acked.model.formulas.errors import ModelError
from acked.model.formulas.functions import place_of, place_text

_FOLDERS = ("model/formulas", "model/language", "model/firstorder", "checker", "reports")
_CORE = tuple(f"{FilePath(__file__).parents[2] / folder}{os.sep}" for folder in _FOLDERS)
"""The folders of the language, and of what reads its words: a line there is not the one that an author wrote."""


def authors_place() -> tuple[str, int] | None:
    """The file and the line of an author's function that is at work."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_CORE):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


class located:  # noqa: N801
    """Adds to an error raised by an author's function what was traced and which line of it was at work.

    That is the line where the `function` begins, if it is given and an error is about what it is or returns.
    """

    def __init__(self, what: str, function: object = None) -> None:
        self.what = what
        self._begins = place_of(function)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            return
        import traceback

        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(tb)]
        authors = [(file, line) for file, line in frames if not file.startswith(_CORE)]
        told = error.place if isinstance(error, ModelError) else None
        place = told or (authors[-1] if authors else self._begins)
        text = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        raise ModelError(f"{self.what}{place_text(place)}: {text}") from error
