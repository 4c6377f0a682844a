"""Changed inputs given to a reader, and what fell: an error that nobody foresaw, or an answer that took too long."""

from __future__ import annotations

import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzzing.mutating import Mutator
from tests.fuzzing.readers import FORESEEN, Input, Reader

SECONDS_A_MEGABYTE = 2.0
_AT_LEAST = 0.5
"""Seconds that a small input may take: half of them may be the collector's, or another process's."""
_OF_A_SEARCH = 15.0
"""Seconds that the bounded search for a behaviour may take, which tries ten times as much the second time."""
_HANGS = 30.0
"""Seconds of processor time after which a try is ended."""


class _Hangs(Exception):
    """A try that was ended."""


@dataclass
class Tried:
    """How many inputs were read, how they ended, s of processor time in all and the most for one, and what fell by kind."""

    inputs: int = 0
    bytes: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    ended: Counter[str] = field(default_factory=Counter)
    fell: dict[str, bytes] = field(default_factory=dict)


def try_reader(reader: Reader, corpus: Mapping[str, bytes], inputs: int, seed: int) -> Tried:
    """Reads so many changed inputs of the reader's corpus; the same seed gives the same ones."""
    mutator, tried = Mutator(list(corpus.values()), seed), Tried()
    before = signal.signal(signal.SIGVTALRM, _hangs)
    try:
        with tempfile.TemporaryDirectory(prefix="acked-fuzzing-") as folder:
            for _ in range(inputs):
                one = reader.make(corpus, mutator, Path(folder))
                tried.inputs, tried.bytes = tried.inputs + 1, tried.bytes + one.size
                began = time.process_time()
                signal.setitimer(signal.ITIMER_VIRTUAL, _HANGS)
                try:
                    one.read()
                    ended = "read"
                except FORESEEN as error:
                    ended = type(error).__name__
                except Exception as error:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    ended = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:80]}"
                    tried.fell.setdefault(f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}", one.shown)
                finally:
                    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                took = time.process_time() - began
                if _is_slow(took, one):
                    took = min(took, _again(one.read))  # What is imported at first use is not the input's doing.
                tried.ended[ended] += 1
                tried.seconds += took
                tried.slowest = max(tried.slowest, took)
                if _is_slow(took, one):
                    tried.fell.setdefault(f"{took:.1f} s for {one.size:,} bytes ({ended})", one.shown)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return tried


def _is_slow(took: float, one: Input) -> bool:
    return took > max(_OF_A_SEARCH if one.searches else _AT_LEAST, SECONDS_A_MEGABYTE * one.size / 1e6)


def _again(read: Callable[[], object]) -> float:
    began = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, _HANGS)
    with suppress(*FORESEEN, Exception):
        read()
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - began


def _hangs(number: int, frame: FrameType | None) -> None:
    raise _Hangs("no answer")
