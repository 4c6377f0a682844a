"""The explorer's server: one page and a few requests, for one person on this machine.

It refuses other hosts and origins, requests without the token and bodies that are too large. No path leads to a file.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from acked.base.errors import SystemFailure
from acked.explorer.session import RequestRefused, Walk
from acked.reports.pages.exploring import explorer_page

LOOPBACK = "127.0.0.1"
MAX_BODY_BYTES = 4 << 20
"""The largest body of a request; a trace of thousands of steps fits."""

_SECONDS = 20
"""Seconds after which a silent connection is closed."""

_MAX_DIGITS = len(str(MAX_BODY_BYTES))

_SECONDS_TO_OPEN = 120
"""Seconds for which an invitation is valid; a browser may have to be started first."""


class ExplorerServer(ThreadingHTTPServer):
    """Listens on the loopback address only; `address` is what to open, with the random token that every request needs."""

    daemon_threads = True
    allow_reuse_address = False

    def __init__(self, port: int, walk: Walk, page: Callable[[str], str]) -> None:
        self.token = secrets.token_urlsafe(24)
        self.walk = walk
        self.page = page
        self._invitation: tuple[str, float] | None = None
        self._inviting = threading.Lock()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise SystemFailure(f"cannot listen on port {port}: {error}; choose another with --port, or 0 for any") from None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names that a browser may use for this server; any other could be a foreign page's (DNS rebinding)."""
        return tuple(f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost"))

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{self.hosts[0]}/?token={self.token}"

    def invite(self) -> str:
        """An address that leads to `address` once, for the command line of a browser, which other users can read.

        It is valid for two minutes and, where the system reports the user of a connection, for this user only.
        """
        with self._inviting:
            self._invitation = (secrets.token_urlsafe(24), time.monotonic() + _SECONDS_TO_OPEN)
            return f"http://{self.hosts[0]}/?once={self._invitation[0]}"

    def accept(self, code: str, peer: tuple[str, int]) -> bool:
        """Whether a code is that of the invitation, which is then used up."""
        with self._inviting:
            if self._invitation is None:
                return False
            expected, end = self._invitation
            if not secrets.compare_digest(code.encode(), expected.encode()) or time.monotonic() > end:
                return False
            user = user_behind(peer, (LOOPBACK, self.server_port))
            if user is not None and user not in (os.getuid(), 0):
                return False
            self._invitation = None
            return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may hang up; everything else is a defect of ours and is reported."""
        error = sys.exception()
        if not isinstance(error, (ConnectionError, TimeoutError)):
            print(f"acked: internal error ({type(error).__name__}: {error}); please report it", file=sys.stderr)


def page_of(walk: Walk, token: str) -> str:
    """The page, which asks this server for what only the process can do."""
    return explorer_page(walk.title, walk.spec, walk.question, {"token": token})


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version = "acked"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    headers_of_every_answer: ClassVar[dict[str, str]] = {
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }

    def do_GET(self) -> None:
        """The page."""
        try:
            self._check_host()
            address = urlsplit(self.path)
            if address.path != "/":
                raise RequestRefused(404, "there is only one page here, /")
            asked = parse_qs(address.query)
            if "once" in asked:
                self._redirect(asked["once"][0])
                return
            self._check_token(asked.get("token", [""])[0])
            self._send(200, "text/html; charset=utf-8", self.server.page(self.server.token))
        except RequestRefused as refused:
            self._refuse(refused)

    def do_POST(self) -> None:
        """A request of the page."""
        try:
            self._check_host()
            self._check_origin()
            self._check_token(self._header("X-Acked-Token"))
            path = urlsplit(self.path).path
            if not path.startswith("/api/"):
                raise RequestRefused(404, "requests go to /api/…")
            answer = self.server.walk.answer(path.removeprefix("/api/"), self._body())
            self._send(200, "application/json", json.dumps(answer, ensure_ascii=False))
        except RequestRefused as refused:
            self._refuse(refused)

    # -- what is refused --------------------------------------------------------------------------------------------

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the base class refuses, such as other methods and malformed requests, with our form and headers."""
        self._refuse(RequestRefused(code, (message or HTTPStatus(code).phrase).replace("\n", " ")))

    def _header(self, name: str, default: str = "") -> str:
        """A header that may be sent once."""
        given = self.headers.get_all(name, [])
        if len(given) > 1:
            raise RequestRefused(400, f"the header {name} is sent {len(given)} times")
        return given[0] if given else default

    def _check_host(self) -> None:
        if self._header("Host") not in self.server.hosts:
            raise RequestRefused(421, "this server answers only to its own address on this machine")

    def _check_origin(self) -> None:
        ours = [f"http://{host}" for host in self.server.hosts]
        origin, site = self._header("Origin", ours[0]), self._header("Sec-Fetch-Site", "none")
        if origin not in ours or site not in ("same-origin", "none"):
            raise RequestRefused(403, "requests from other pages are not answered")

    def _check_token(self, token: str) -> None:
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise RequestRefused(403, "the token is missing or wrong; open the address that `acked explore` printed")

    def _body(self) -> object:
        self._header("Content-Type")
        if self.headers.get_content_type() != "application/json":
            raise RequestRefused(415, "the body of a request must be application/json")
        length = self._header("Content-Length")
        if not length.isascii() or not length.isdigit() or self._header("Transfer-Encoding"):
            raise RequestRefused(411, "a request needs a Content-Length")
        if len(length) > _MAX_DIGITS or int(length) > MAX_BODY_BYTES:
            raise RequestRefused(413, f"the body is larger than {MAX_BODY_BYTES >> 20} MiB")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RequestRefused(400, "the body is not valid JSON") from None

    # -- answers ----------------------------------------------------------------------------------------------------

    def _redirect(self, code: str) -> None:
        """Redirects from an invitation to the page's address, which thus never was on a command line."""
        if not self.server.accept(code, self.client_address[:2]):
            raise RequestRefused(403, "this address was valid once; open the one that `acked explore` printed")
        self._send(303, "text/plain; charset=utf-8", "", Location=self.server.address)

    def _refuse(self, refused: RequestRefused) -> None:
        self.close_connection = True  # The body of the request, if any, was not read.
        self._send(refused.status, "application/json", json.dumps({"error": refused.message}, ensure_ascii=False))

    def _send(self, status: int, kind: str, text: str, **more: str) -> None:
        body = text.encode("utf-8", "surrogateescape")
        self.request_version = self.protocol_version  # A malformed request has none, and there would be no headers.
        self.send_response(status)
        for name, value in {**self.headers_of_every_answer, **more}.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: the address holds the token."""


# -- whose the other end of a connection is, as Linux reports it --------------------------------------------------------


_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

_ESTABLISHED = "01"
"""The state of an open connection; one that its process has closed is listed as root's."""

UNKNOWN = -1
"""The user of a connection that the system does not list; it must not be trusted."""


def user_behind(peer: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """The user id that holds the other end of a TCP connection, or `UNKNOWN`; None where the system does not report it.

    Both are (IPv4 address, port).
    """
    theirs, our_end, known = _as_listed(peer), _as_listed(ours), False
    for table in _TABLES:
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        known = True
        for line in lines:
            # Their end of it, which has its own address first: `sl local remote state queues timer retransmits uid …`
            fields = line.split()
            if fields[1] in theirs and fields[2] in our_end and fields[3] == _ESTABLISHED:
                return int(fields[7])
    return UNKNOWN if known else None


def _as_listed(end: tuple[str, int]) -> list[str]:
    """An end as the two tables write it: words in the machine's byte order, in the second as an IPv6 address."""
    address = socket.inet_aton(end[0])
    words = [struct.unpack(f"={len(item) // 4}I", item) for item in (address, bytes(10) + b"\xff\xff" + address)]
    return [f"{''.join(f'{word:08X}' for word in item)}:{end[1]:04X}" for item in words]
