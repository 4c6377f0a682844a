"""What a shell completes: names of bundled specs, of protocols, of releases.

What has the names is imported when one is typed: every command has options that name these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def completions(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The names that begin like what was typed."""
    return _items(names, "", incomplete)


def completions_in_list(
    names: Iterable[str], incomplete: str, after: Mapping[str, Iterable[str]] | None = None
) -> list[CompletionItem]:
    """The names for the last part of a list, `loss,du`; behind a separator of `after` its names instead, `loss=one-`."""
    found = dict.fromkeys(",", names) | dict(after or {})
    last = max(map(incomplete.rfind, found))
    chosen = names if last < 0 else found[incomplete[last]]
    return _items(chosen, incomplete[: last + 1], incomplete[last + 1 :])


def _items(names: Iterable[str], before: str, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(before + name) for name in names if name.startswith(begun)]


def bundled_or_file(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Bundled specs by name, with their folder once a folder is typed; and the shell's own files."""
    from click.shell_completion import CompletionItem

    from acked.checker.spec.variants import name_of
    from acked.reports.shell.bundled import all_bundled, full_name

    named = full_name if "/" in incomplete else name_of
    begun = all_bundled(incomplete.rpartition("/")[2])
    return [*completions(map(named, begun), incomplete), CompletionItem(incomplete, type="file")]


def shipped_protocols(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Protocols by name."""
    from acked.model.catalogue import PROTOCOLS

    return completions(PROTOCOLS, incomplete)


def origins(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Protocols and examples by name: what a protocol of one's own can begin with."""
    from acked.model.catalogue import PROTOCOLS
    from acked.reports.shell.bundled import bundled_specs

    examples = sorted(path.stem for path in (bundled_specs() / "examples").glob("*.py"))
    return completions([*PROTOCOLS, *examples], incomplete)


def known_releases(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Releases of Kafka that `partition` tells apart."""
    from acked.model.partition.rules.versions import VERSIONS

    return completions(VERSIONS, incomplete)
