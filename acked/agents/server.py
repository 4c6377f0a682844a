"""The server for agents (Model Context Protocol, stdio): a question is answered by its command, in a process of its own.

So an answer is the command's own document, and no question outlives its time. One is under way at a time: a search uses all
processors.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakSet

import anyio
import click
import jsonschema
import mcp.types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from acked.agents.offers import RESOURCES, SPEC_ADDRESS, Offer, Permissions, command_line, resource_text, schema_of
from acked.base.errors import AckedError, ExitCode, SystemFailure
from acked.base.frozen import frozen
from acked.base.version import __version__

_FAILED = frozenset(code for code in ExitCode if code >= ExitCode.INTERRUPTED) - {ExitCode.TOO_LARGE}
"""Exit codes with which there is no answer but a sentence."""

MOST = 1_000_000
"""Characters of an answer; an agent can do nothing with more."""

_EVERY = 2.0
"""Seconds between two notices that a question is still under way."""

_PATIENCE = 15.0
"""Seconds that a command has to end what it started, such as brokers."""

_TELLS = """\
Decides questions about the durability of Kafka on a model of its replication, by exploring every order of events. For
settings use `audit`; for a claim or a known bug look into acked://claims, acked://gallery, acked://found, and `check` or
`explain` its spec. Undecided or incomplete is never a no: say so. A property that holds was tried with the constants of its
spec, named in the answer."""

Tell = Callable[[float], Awaitable[None]]
"""Is told every two seconds for how long a question has been under way."""


@frozen
class Desk:
    """Answers questions with these commands, within what the user allows; `seconds` is the most for one answer."""

    commands: Mapping[str, click.Command]
    allowed: Permissions
    seconds: int

    def tools(self) -> list[types.Tool]:
        """What agents are offered."""
        return [
            types.Tool(
                name=offer.name,
                description=offer.about,
                input_schema=self.schema(offer),
                annotations=types.ToolAnnotations(
                    read_only_hint=not offer.plays, destructive_hint=False, open_world_hint=offer.asks_cluster
                ),
            )
            for offer in self.allowed.offers()
        ]

    def schema(self, offer: Offer) -> dict[str, Any]:
        """The JSON schema of a tool's input."""
        return schema_of(offer, self.commands[offer.command], self.allowed)

    async def answer(self, name: str, given: Mapping[str, Any], tell: Tell) -> types.CallToolResult:
        """The answer of a tool: the command's document or text, with its exit code; an error is one sentence."""
        offer = next((item for item in self.allowed.offers() if item.name == name), None)
        if offer is None:
            return _refusal(f"there is no tool {name}")
        try:
            jsonschema.validate(given, self.schema(offer))
            with command_line(offer, self.commands[offer.command], given, self.allowed) as (line, folder):
                code, said, errors = await _run(line, folder, self.seconds, tell)
        except jsonschema.ValidationError as error:
            return _refusal(f"{error.json_path}: {error.message}")
        except AckedError as error:
            return _refusal(str(error))
        if code in _FAILED or code < 0:
            return _refusal(errors.strip().removeprefix("acked: ") or f"acked {offer.command} ended with code {code}")
        if len(said) > MOST:
            return _refusal(f"the answer has {len(said):,} characters; ask for less, e.g. one topic or one question")
        is_document = "--format=json" in offer.added
        document = {"exit_code": code, "answer": json.loads(said) if is_document else said}
        return types.CallToolResult(content=[_text(json.dumps(document))], structured_content=document)


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _refusal(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(sentence)], is_error=True)


async def _run(line: Sequence[str], folder: Path, seconds: int, tell: Tell) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, whose files in `folder` are named without it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "acked", *line, cwd=folder / "empty", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    started = time.monotonic()
    try:
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as beside:
                beside.start_soon(_keep_telling, started, tell)
                said = await process.communicate()
                beside.cancel_scope.cancel()
            assert process.returncode is not None
            output, errors = (re.sub(rf"{folder}/(\d/)?", "", part.decode("utf-8", "replace")) for part in said)
            return process.returncode, output, errors
        raise SystemFailure(f"there is no answer after {seconds} seconds; ask for less, or see `acked mcp --time-limit`")
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _keep_telling(started: float, tell: Tell) -> None:
    while True:
        await anyio.sleep(_EVERY)
        await tell(time.monotonic() - started)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ends a command that is still running, as Ctrl-C does and then for good, with all that it started."""
    if process.returncode is None:
        process.send_signal(signal.SIGINT)
        with anyio.move_on_after(_PATIENCE):
            await process.wait()
            return
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def serve(desk: Desk) -> None:
    """Answers until the client closes its end."""
    busy, questions = anyio.Lock(), WeakSet[anyio.CancelScope]()

    async def list_tools(context: ServerRequestContext, asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=desk.tools())

    async def call_tool(context: ServerRequestContext, asked: types.CallToolRequestParams) -> types.CallToolResult:
        async def tell(seconds: float) -> None:
            await context.session.report_progress(seconds, desk.seconds, f"{asked.name}: {seconds:.0f} s")

        with anyio.CancelScope() as scope:
            questions.add(scope)
            async with busy:
                return await desk.answer(asked.name, asked.arguments or {}, tell)
        return _refusal("the server was stopped")

    async def list_resources(
        context: ServerRequestContext, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[
            types.Resource(name=uri.rpartition("/")[2], uri=uri, description=about, mime_type="application/json")
            for uri, (about, _) in RESOURCES.items()
        ])  # fmt: skip

    async def list_templates(
        context: ServerRequestContext, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        about = "The text of a bundled spec, to be changed and given to `check`"
        template = types.ResourceTemplate(name="spec", uri_template=f"{SPEC_ADDRESS}{{+name}}", description=about)
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        context: ServerRequestContext, asked: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            text = resource_text(str(asked.uri))
        except AckedError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=str(asked.uri), text=text)])

    server = Server(
        "acked", version=__version__, instructions=_TELLS, on_list_tools=list_tools, on_call_tool=call_tool,
        on_list_resources=list_resources, on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip

    async def stop_on_signal() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            await anext(received)
        for scope in questions:
            scope.cancel()
        async with busy:
            os._exit(ExitCode.INTERRUPTED)  # A thread reads from stdin, and would be waited for.

    async def main() -> None:
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as beside:
            beside.start_soon(stop_on_signal)
            await server.run(incoming, outgoing, server.create_initialization_options())
            beside.cancel_scope.cancel()

    asyncio.run(main())
