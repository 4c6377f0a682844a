"""What the command line begins with: when it began, and groups of commands, their help and what is said of a wrong name.

Apart from the options, which need specs.
"""

from __future__ import annotations

import time

import click

from acked.base.names import near

STARTED = time.perf_counter()
"""When the process began, as far as its answer's `total_seconds` are concerned."""


class Paragraphs(click.Group):
    """A group whose help keeps the examples as they are written, and which says what command was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}{near(args[0], self.list_commands(ctx))}.")
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"  {line}\n" if line else "\n")
