"""The server of `acked watch`: the page at / and the metrics at /metrics, and nothing that changes anything."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, ClassVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import make_wsgi_app

from acked.base.errors import ConfigurationError, SystemFailure
from acked.watch.clusters import Watch
from acked.watch.metrics import Metrics
from acked.watch.page import watch_page

_HEADERS = [
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
]

StartResponse = Callable[..., Any]


class _Handler(WSGIRequestHandler):
    timeout: ClassVar[int] = 20  # Seconds after which a silent connection is closed.

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes come every few seconds."""


class WatchServer(ThreadingMixIn, WSGIServer):
    """Listens at ADDRESS:PORT. On loopback it answers who calls it so; another name may be a foreign page's (rebinding)."""

    daemon_threads = True

    def __init__(self, place: str, watch: Watch, every: float) -> None:
        host, port = _address_and_port(place)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise SystemFailure(f"cannot listen on {place}: {error}; choose another place with --listen") from None
        self._is_loopback = ipaddress.ip_address(host).is_loopback
        self._host = f"[{host}]" if ":" in host else host
        self._metrics = make_wsgi_app(Metrics(watch.seen).registry)
        self._watch, self._every = watch, max(int(every), 1)
        self.set_app(self._answer)

    def server_bind(self) -> None:
        """Without the look-up of this machine's name, which may take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "acked", int(self.server_address[1])
        self.setup_environ()

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{self._host}:{self.server_port}/"

    def _answer(self, asked: Mapping[str, Any], start: StartResponse) -> Iterable[bytes]:
        def begin(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            return start(status, [*headers, *_HEADERS], *more)

        path = asked.get("PATH_INFO", "")
        if self._is_loopback and not _is_local(asked.get("HTTP_HOST", "")):
            return _text(begin, "421 Misdirected Request", "this server answers only to its own address on this machine\n")
        if asked["REQUEST_METHOD"] != "GET":
            return _text(begin, "405 Method Not Allowed", "this server is read only\n")
        if path == "/metrics":
            return list(self._metrics(asked, begin))
        if path == "/":
            every = 0 if asked.get("QUERY_STRING") == "still" else self._every
            page = watch_page(self._watch.seen(), every, time.time())
            return _text(begin, "200 OK", page, "text/html", [("Refresh", str(every))] if every else [])
        return _text(begin, "404 Not Found", "here are / and /metrics\n")


def _text(
    begin: StartResponse, status: str, text: str, kind: str = "text/plain", more: Sequence[tuple[str, str]] = ()
) -> Iterable[bytes]:
    body = text.encode("utf-8", "replace")
    begin(status, [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))), *more])
    return [body]


def _is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _address_and_port(place: str) -> tuple[str, int]:
    """Of ADDRESS:PORT or localhost:PORT; `ConfigurationError` if it is neither."""
    host, _, port = place.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        ipaddress.ip_address(host)
        if not port.isascii() or not port.isdecimal() or int(port) > 65535:
            raise ValueError
    except ValueError:
        raise ConfigurationError(f"--listen {place} is not ADDRESS:PORT; write e.g. 127.0.0.1:9857 or 0.0.0.0:9857") from None
    return host, int(port)
