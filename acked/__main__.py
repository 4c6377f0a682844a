"""The entry point of `acked` and `python -m acked`, which decides when garbage is collected, as `serve` does for processes.

Floor 11.
"""

import gc
import sys


def main() -> int:
    """Runs the command and returns its exit code."""
    try:
        gc.disable()
        from acked.cli import main as run

        # What imports make stays (each command has its own), and so do most of the expressions that a protocol is made of:
        # looking for garbage among them takes a tenth of the time to the first state.
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)
        gc.enable()
        return run()
    except KeyboardInterrupt:  # while the imports are under way; afterwards the command line sees to it
        print("acked: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
