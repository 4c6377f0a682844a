"""The entry point of `acked` and `python -m acked`, which decides when garbage is collected, as `serve` does for processes.

Floor 11.
"""

import atexit
import contextlib
import gc
import os
import sys


def main() -> int:
    """Runs the command and ends with its exit code; returns that where threads or who called it have still to end."""
    # Not below a profiler, a debugger or what measures coverage: they write when the command is over.
    is_whole = sys.orig_argv[1:] in (sys.argv, ["-m", "acked", *sys.argv[1:]]) and not sys.flags.inspect
    code = run()
    is_watched = sys.gettrace() is not None or sys.getprofile() is not None
    if is_whole and not is_watched and not _is_waited_for():
        # All objects, taken apart one by one, would take a sixth of a short command; the system frees them at once.
        atexit._run_exitfuncs()
        with contextlib.suppress(AttributeError, OSError, ValueError):  # Of a stream that is closed Python tells as ever.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return code


def _is_waited_for() -> bool:
    """Whether another thread than this one has still something to end."""
    threads = sys.modules.get("threading")
    if threads is None or threads.active_count() == 1:
        return False
    from acked.base.bounds import DISPENSABLE

    others = [thread for thread in threads.enumerate() if thread is not threads.current_thread()]
    return not all(thread.name.startswith(DISPENSABLE) for thread in others)


def run() -> int:
    """Runs the command and returns its exit code."""
    try:
        gc.disable()
        from acked.cli import main as command

        # What imports make stays (each command has its own), and so do most of the expressions that a protocol is made of:
        # looking for garbage among them takes a tenth of the time to the first state.
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)
        gc.enable()
        return command()
    except KeyboardInterrupt:  # while the imports are under way; afterwards the command line sees to it
        print("acked: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
