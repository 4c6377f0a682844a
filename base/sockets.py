"""Bytes over sockets, and connections of which both ends have shown that they know a secret.

`read_exactly`; `listen`, `receive_calls`, `call` and `answer`; `hang_up`. What is sent is not encrypted.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Container

GREETING = struct.Struct("<I16s")
NONCE_BYTES = 16
HANDSHAKE_SECONDS = 20.0
CONNECT_SECONDS = 5.0

LOST_MILLISECONDS = 8000
"""A network that is cut for so long is lost; what was sent before a shorter cut arrives after it."""


def read_exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; ConnectionError if the other side closes before."""
    pieces: list[bytes] = []
    # At once, where the system waits for all, so that nothing is copied a second time; what is encrypted takes no flags.
    flags = socket.MSG_WAITALL if type(connection) is socket.socket else 0
    while size:
        pieces.append(connection.recv(size, flags))
        if not pieces[-1]:
            raise ConnectionError("it closed the connection")
        size -= len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def listen(host: str, port: int, backlog: int) -> socket.socket:
    """A listener at an address; port 0 is one that the system chooses."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=backlog)


def receive_calls(listener: socket.socket, receive: Callable[[socket.socket], None]) -> None:
    """Has every connection to a listener received, in a thread of its own, until the listener is hung up."""

    def work() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # It is closed.
            threading.Thread(target=receive, args=(connection,), daemon=True).start()

    threading.Thread(target=work, daemon=True).start()


def call(place: tuple[str, int], secret: bytes, caller: int, called: int) -> socket.socket:
    """A connection to who listens at a host and port; OSError if nobody does, or another."""
    connection = socket.create_connection(place, CONNECT_SECONDS)
    try:
        connection.settimeout(HANDSHAKE_SECONDS)
        theirs, mine = read_exactly(connection, NONCE_BYTES), secrets.token_bytes(NONCE_BYTES)
        nonces = theirs + mine
        proof = _proof(secret, b"connects", caller, called, nonces)
        connection.sendall(GREETING.pack(caller, mine) + proof)
        reply = read_exactly(connection, len(proof))
        if not hmac.compare_digest(reply, _proof(secret, b"accepts", caller, called, nonces)):
            raise ConnectionError("another program answers there")
        _steady(connection)
    except OSError:
        connection.close()
        raise
    return connection


def answer(
    connection: socket.socket, secret: bytes, called: int, known: Container[int], says_little: bool = False
) -> int:
    """Who calls at a listener's connection; ValueError if it does not know the secret, to whom nothing is said."""
    connection.settimeout(HANDSHAKE_SECONDS)
    mine = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(mine)
    caller, theirs = GREETING.unpack(read_exactly(connection, GREETING.size))
    expected = _proof(secret, b"connects", caller, called, mine + theirs)
    if not hmac.compare_digest(read_exactly(connection, len(expected)), expected) or caller not in known:
        raise ValueError("a stranger")
    connection.sendall(_proof(secret, b"accepts", caller, called, mine + theirs))
    _steady(connection)
    if says_little and hasattr(socket, "TCP_USER_TIMEOUT"):
        # It ends a connection to who is there and reads slowly, too: not for who sends much.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LOST_MILLISECONDS)
    return int(caller)


def hang_up(connection: socket.socket) -> None:
    """Closes a connection or a listener, in which threads may wait."""
    try:
        # Or a thread that waits in it goes on to wait, in whatever has its number next.
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # The other end was faster.
    connection.close()


def _proof(secret: bytes, role: bytes, caller: int, called: int, nonces: bytes) -> bytes:
    """What only who knows the secret can say in this conversation."""
    return hmac.digest(secret, b"acked %b %d %d " % (role, caller, called) + nonces, hashlib.sha256)


def _steady(connection: socket.socket) -> None:
    """Without delay and without an end, but for a network that is lost."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_NODELAY", 1),
        ("TCP_KEEPIDLE", 3),
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", 5),
    ):
        if hasattr(socket, name):  # Not every system has all of them.
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
