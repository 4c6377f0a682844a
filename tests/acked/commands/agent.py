"""A client of `acked mcp`. The SDK takes seconds to import: only the process that asks imports it."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents


class Agent:
    """A client of one server, which answers one question after the other."""

    def __init__(self, commands: Path, root: Path, *more: str) -> None:
        command = ["mcp", "--root", str(root), *more]
        self._server = StdioServerParameters(command=str(commands / "acked"), args=command, env=dict(os.environ))
        self._portal = start_blocking_portal()

    def __enter__(self) -> Agent:
        self.portal = self._portal.__enter__()
        self._client: AbstractContextManager[Client] = self.portal.wrap_async_context_manager(Client(self._server))
        self.client = self._client.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._client.__exit__(*error)
        self._portal.__exit__(*error)

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool: str, **given: Any) -> CallToolResult:
        return self.portal.call(lambda: self.client.call_tool(tool, given))

    def ask(self, tool: str, **given: Any) -> tuple[int, Any]:
        """The exit code and the answer, which the text has as well."""
        found = self.call(tool, **given)
        assert not found.is_error, found.content
        [part] = found.content
        assert isinstance(part, TextContent)
        assert json.loads(part.text) == found.structured_content
        return found.structured_content["exit_code"], found.structured_content["answer"]

    def refused(self, tool: str, **given: Any) -> str:
        """The sentence with which there is no answer."""
        found = self.call(tool, **given)
        assert found.is_error
        [part] = found.content
        assert isinstance(part, TextContent)
        return part.text

    def read(self, address: str) -> str:
        [part] = self.portal.call(lambda: self.client.read_resource(address)).contents
        assert isinstance(part, TextResourceContents)
        return part.text
