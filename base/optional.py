"""Imports that wait until something is asked for, and what an installation may lack (the slim one, or an extra), with the
sentence for what then cannot be done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen

T = TypeVar("T")

_NEEDED_FOR = {
    "cvc5": "checking certificates with a second solver",
    "hcl2": "Terraform's files",
    "confluent_kafka": "asking a running cluster",
    "kazoo": "real brokers",
    "kio": "real brokers",
    "lark": "Terraform's files",
    "mcp": "serving agents",
    "networkx": "graphs of states",
    "prometheus_client": "metrics of running clusters",
    "py4j": "Spark",
    "pyarrow": "tables of states and Parquet files",
    "pyspark": "Spark, which searches over several machines and answers SQL",
    "scipy": "liveness, which looks for strongly connected components",
    "sqlglot": "counting states with SQL",
    "z3": "proofs",
}
"""By top-level module."""

_INSTALLS = {
    "confluent_kafka": "confluent-kafka kio", "hcl2": "python-hcl2", "prometheus_client": "prometheus-client",
    "z3": "z3-solver", **dict.fromkeys(("kazoo", "kio"), "confluent-kafka kazoo kio"),
}  # fmt: skip
"""What is to be installed, where it is not called as the module is, or is of use only together with others."""


@contextmanager
def optional_packages() -> Iterator[None]:
    """Around imports of packages that an installation may lack: `SystemFailure` with the command that installs it.

    Other modules that are not found stay the errors that they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _NEEDED_FOR:
            raise
        what = _INSTALLS.get(name, name)
        package = name.replace("_", "-") if " " in what else what
        raise SystemFailure(f"{package} is needed for {_NEEDED_FOR[name]}; install it with `pip install {what}`") from None


@frozen
class Imported(Mapping[str, T]):
    """Things of a kind by name, in the order of `places` (`module:name`); a module is imported when its thing is wanted."""

    places: Mapping[str, str]
    kind: type[T]

    def __getitem__(self, name: str) -> T:
        module, _, called = self.places[name].partition(":")
        found = getattr(import_module(f"acked.{module}"), called)
        assert isinstance(found, self.kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.places  # The inherited way would import it.

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
