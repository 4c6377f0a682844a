"""What can go wrong outside the protocols, each error one sentence with its fix, and the exit codes.

The exit codes, of which those from 10 to 13 are TLC's, and the exceptions that carry them.
"""

from __future__ import annotations

from enum import IntEnum, unique


@unique
class ExitCode(IntEnum):
    """How the command ends.

    >>> check(ask(toylog, nobody_lags, brokers=2, records=1)).exit_code
    <ExitCode.INVARIANT: 12>
    """

    HOLDS = 0
    UNMET_EXPECTATION = 1
    ASSUMPTION = 10
    DEADLOCK = 11
    INVARIANT = 12
    STEP_OR_LIVENESS = 13
    NOT_SHOWN = 14
    INTERRUPTED = 130
    SPEC_UNREADABLE = 150
    CONFIGURATION = 151
    TOO_LARGE = 152
    SYSTEM = 153
    OTHER = 255


class AckedError(Exception):
    """Base of the errors that end a command with one sentence.

    >>> try:
    ...     load_spec("kip321")
    ... except AckedError as error:
    ...     print(type(error).__name__, int(error.exit_code))
    SpecUnreadable 150
    """

    exit_code = ExitCode.OTHER
    line: int | None = None
    """The line of the file that the sentence is about, from 1, where it is known."""


class SpecUnreadable(AckedError):
    """A spec or trace file cannot be read as what it should be.

    >>> try:
    ...     load_spec("nowhere.toml")
    ... except SpecUnreadable as error:
    ...     print("nowhere.toml" in str(error))
    True
    """

    exit_code = ExitCode.SPEC_UNREADABLE


class ConfigurationError(AckedError):
    """A name, constant or option is unknown, out of range or contradicts another.

    `key` is the key of a spec file that is at fault (`check.symmetry`): a caller that knows the file can add the line.

    >>> try:
    ...     ask(toylog, "NothingLost", brokers=2, records=1)
    ... except ConfigurationError as error:
    ...     print("NothingLost" in str(error))
    True
    """

    exit_code = ExitCode.CONFIGURATION

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class SystemFailure(AckedError):
    """The machine refuses: a path, a disk, memory, a runtime.

    >>> try:
    ...     Trace.of(check(ask(toylog, nobody_lags, brokers=2, records=1))).write("/nowhere/trace.json")
    ... except SystemFailure as error:
    ...     print(int(error.exit_code))
    153
    """

    exit_code = ExitCode.SYSTEM
