"""What the command line begins with: when it began, groups of commands, and a command with others below its name.

Apart from the options, which need specs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from acked.base.names import near
from acked.base.optional import Imported

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

STARTED = time.perf_counter()
"""When the process began, as far as its answer's `total_seconds` are concerned."""


class Epilogue(click.Command):
    """A command whose help ends with its epilogue as that is written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"  {line}\n" if line else "\n")


class Paragraphs(Epilogue, click.Group):
    """A group whose help keeps the examples as they are written, and which says what command was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}{near(args[0], self.list_commands(ctx))}.")
        return super().resolve_command(ctx, args)


class Branching(click.Command):
    """A command below whose name there are others: `acked audit FILE...` and `acked audit plan`.

    A first word that is none of them is the command's own argument. `moved` are options that a release before had here, each
    with what is typed now.
    """

    def __init__(
        self, *given: Any, branches: Mapping[str, str], moved: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(*given, **more)
        self.branches = Imported(branches, click.Command)
        self._moved = moved or {}
        first = next(item for item in self.params if isinstance(item, click.Argument))
        others = first.shell_complete

        def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
            from click.shell_completion import CompletionItem

            names = [name for name in self.branches if name.startswith(incomplete) and not ctx.params.get(first.name or "")]
            return [*map(CompletionItem, names), *others(ctx, incomplete)]

        first.shell_complete = complete  # type: ignore[method-assign]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] in self.branches:
            return self.branches[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        given = [arg.partition("=")[0] for arg in args]
        if (option := next((name for name in self._moved if name in given), None)) and not extra.get("resilient_parsing"):
            raise click.UsageError(f"{option} is no option of `acked {info_name}` any more; use `{self._moved[option]}`")
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(name, branch.get_short_help_str(100)) for name, branch in self.branches.items()])
