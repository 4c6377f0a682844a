"""`python -m tests.fuzzing logs --inputs 100000 --seed 1`: one reader in this process, with a bound of memory; its figures as
JSON. Inputs that fell are left in a folder."""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
from pathlib import Path

from tests.fuzzing.readers import READERS
from tests.fuzzing.trying import try_reader

_MEMORY = 2 << 30
"""Bytes of address space beyond what this process has when its corpus is made."""


def main() -> int:
    """0 if nothing fell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", choices=list(READERS))
    parser.add_argument("--inputs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="The folder for inputs that fell.")
    asked = parser.parse_args()
    reader = READERS[asked.reader]
    corpus = reader.corpus()
    used = int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024  # type: ignore[index]
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, resource.RLIM_INFINITY))
    tried = try_reader(reader, corpus, asked.inputs, asked.seed)
    for number, (why, shown) in enumerate(tried.fell.items()):
        print(why, repr(shown[:200]), file=sys.stderr)
        if asked.keep is not None:
            asked.keep.mkdir(parents=True, exist_ok=True)
            (asked.keep / f"{asked.reader}-{number}").write_bytes(shown)
    said = {
        "reader": asked.reader, "inputs": tried.inputs, "bytes": tried.bytes, "cpu_seconds": round(tried.seconds, 1),
        "slowest_seconds": round(tried.slowest, 3), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "ended": dict(tried.ended.most_common(30)), "fell": list(tried.fell),
    }  # fmt: skip
    print(json.dumps(said))
    return min(1, len(tried.fell))


if __name__ == "__main__":
    sys.exit(main())
