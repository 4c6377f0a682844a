"""What executors need of acked: brought along in an archive, or found there; and how a task calls it.

`environment_archive`, which is built once and kept in the cache, and `remote`. A task needs acked and llvmlite, of the
driver's Python and machine; it compiles for its own processor.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from acked.base.cache import cache_folder
from acked.base.errors import SystemFailure
from acked.base.files import PACKAGE

SHIPPED = "acked-environment"
"""The archive's folder on executors."""
NEEDED = "llvmlite"
_LEFT_OUT = ("__pycache__", "specs", "tests")


def environment_archive(otherwise: Path) -> str:
    """The archive's path and, as Spark writes it, the folder into which executors unpack it; without a cache in a folder."""
    places = [("acked", PACKAGE)]
    for name in (NEEDED,):
        found = find_spec(name)
        assert found is not None
        assert found.submodule_search_locations is not None
        places.append((name, Path(found.submodule_search_locations[0])))
    files = [(f"{name}/{path.relative_to(top)}", path) for name, top in places for path in _files(top)]
    facts = [(name, path.stat().st_size, path.stat().st_mtime_ns) for name, path in files]
    digest = hashlib.sha256(repr((version(NEEDED), sys.version_info[:2], platform.machine(), facts)).encode()).hexdigest()
    path = (cache_folder("spark") or otherwise) / f"{SHIPPED}-{digest[:16]}.tar.gz"
    if not path.exists():
        _write(path, files)
    return f"{path}#{SHIPPED}"


def _files(top: Path) -> list[Path]:
    """What is in a package, behind links, too, without what no task reads."""
    found = []
    for folder, names, files in os.walk(top, followlinks=True):
        names[:] = sorted(name for name in names if name not in _LEFT_OUT)
        found += [Path(folder, name) for name in sorted(files)]
    return found


def _write(path: Path, files: list[tuple[str, Path]]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with tarfile.open(temporary, "w:gz", compresslevel=1, dereference=True) as archive:
            for name, source in files:
                archive.add(source, name)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise SystemFailure(f"cannot write {path}, for executors: {error.strerror}; make room, or use --no-ship") from None


def remote(entry: str, payload: bytes) -> Callable[..., object]:
    """A function for executors that calls `entry`, "module:function", with the payload and what Spark gives it.

    It travels by value and imports acked only there, where compiled code is kept between tasks: what was brought along, else
    from where the driver has it, else what is installed there, and never what lies about in the executor's folder.
    """
    package, shipped, needed = str(PACKAGE), SHIPPED, NEEDED
    own = platform.machine()

    def call(*arguments: object) -> object:
        import importlib
        import importlib.util
        import os
        import platform
        import socket
        import sys

        def enter(package: str) -> None:
            start = os.path.join(package, "__init__.py")
            spec = importlib.util.spec_from_file_location("acked", start, submodule_search_locations=[package])
            assert spec is not None
            assert spec.loader is not None
            sys.modules["acked"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules["acked"])

        if "acked" not in sys.modules:
            from pyspark import SparkFiles

            host = os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()
            brought = SparkFiles.get(shipped)
            if os.path.isdir(brought):
                if platform.machine() != own:
                    raise RuntimeError(
                        f"the executor on {host} is of another kind ({platform.machine()}) than the driver ({own}); "
                        "install acked there, and use --no-ship"
                    )
                sys.path.insert(0, brought)
                package_here = os.path.join(brought, "acked")
            else:
                package_here = package
            if os.path.exists(os.path.join(package_here, "__init__.py")):
                enter(package_here)
            elif importlib.util.find_spec("acked") is None:
                raise RuntimeError(
                    f"acked is neither at {package} nor installed in {sys.executable} on the executor on {host}; "
                    "use --ship to bring it along"
                )
            if importlib.util.find_spec(needed) is None:
                raise RuntimeError(
                    f"{needed} is not installed in {sys.executable} on the executor on {host}; use --ship to bring it along"
                )
        module, _, function = entry.partition(":")
        return getattr(importlib.import_module(module), function)(payload, *arguments)

    return call
