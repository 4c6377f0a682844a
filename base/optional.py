"""What a slim installation leaves out (`constraints/slim.txt`), and the sentence for what then cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from acked.base.errors import SystemFailure

_NEEDED_FOR = {
    "cvc5": "checking certificates with a second solver",
    "hcl2": "Terraform's files",
    "confluent_kafka": "asking a running cluster",
    "kazoo": "real brokers",
    "kio": "real brokers",
    "lark": "Terraform's files",
    "mcp": "serving agents",
    "py4j": "Spark",
    "pyarrow": "tables of states and Parquet files",
    "pyspark": "Spark, which searches over several machines and answers SQL",
    "sqlglot": "counting states with SQL",
    "scipy": "liveness, which looks for strongly connected components",
}
"""By top-level module."""
_DISTRIBUTIONS = {"confluent_kafka": "confluent-kafka", "hcl2": "python-hcl2"}
"""Distributions that are not called as their module is."""

_EXTRAS = {
    "cvc5": "'acked[certificates]'",
    "mcp": "'acked[mcp]'",
    **dict.fromkeys(("confluent-kafka", "kazoo", "kio"), "'acked[cluster]'"),
}
"""What installs a distribution together with what else is needed for the same."""


@contextmanager
def optional_packages() -> Iterator[None]:
    """Around imports of packages that a slim installation lacks: `SystemFailure` with the command that installs it.

    Other modules that are not found stay the errors that they are.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _NEEDED_FOR:
            raise
        package = _DISTRIBUTIONS.get(name, name)
        what = _EXTRAS.get(name, package)
        raise SystemFailure(f"{package} is needed for {_NEEDED_FOR[name]}; install it with `pip install {what}`") from None
