"""Bytes over sockets."""

from __future__ import annotations

import socket


def read_exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes; ConnectionError if the other side closes before."""
    data = bytearray(size)
    left = memoryview(data)
    while len(left):
        count = connection.recv_into(left)
        if count == 0:
            raise ConnectionError("it closed the connection")
        left = left[count:]
    return bytes(data)
