"""What the tools share that ask acked many questions: a process for each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from acked.base.errors import ExitCode  # noqa: E402

REFUSED, TIME_OUT = "refused", "time-out"


def ask(command: Sequence[str], seconds: float) -> dict[str, Any]:
    """The document that `acked COMMAND --quiet --format json` prints.

    `verdict` is REFUSED where the command refuses the question, with its sentence as `why`, and TIME_OUT where its process
    was ended after so many seconds; `took` is how many it took.
    """
    line = [sys.executable, "-m", "acked", *command, "--quiet", "--format", "json"]
    started = time.perf_counter()
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"verdict": TIME_OUT, "took": round(seconds, 1)}
    took = round(time.perf_counter() - started, 1)
    if process.returncode == ExitCode.CONFIGURATION:
        return {"verdict": REFUSED, "took": took, "why": err.strip()}
    try:
        return {**json.loads(out), "took": took}
    except ValueError:
        raise SystemExit(f"{' '.join(line[2:])} ended with {process.returncode} and no answer: {err}") from None
