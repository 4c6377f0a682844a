"""Where the command `acked` and `python -m acked` begin.

What lives here: the order of the first two steps. What does not: the command line itself (`acked/cli.py`), which
imports our other packages and so may only be imported once `acked.rooms` has claimed their names.
"""

import gc
import sys

from acked import rooms

rooms.claim()


def main() -> int:
    """Runs the command and returns its exit code."""
    if stranger := rooms.stranger():
        print(f"acked: {stranger}", file=sys.stderr)
        return 153
    try:
        gc.disable()
        from acked.cli import main as run

        # What the imports made stays, and so do most of the expressions that a protocol is made of: looking for garbage among
        # them takes a tenth of the time to the first state.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()
        return run()
    except KeyboardInterrupt:  # while the imports are under way; afterwards the command line sees to it
        print("acked: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
