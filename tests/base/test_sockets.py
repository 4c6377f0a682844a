"""Bytes are read whole, however they come."""

from __future__ import annotations

import socket
import ssl
from concurrent.futures import ThreadPoolExecutor

import pytest

from acked.base.sockets import read_exactly


def encrypted(end: socket.socket, is_server: bool) -> ssl.SSLSocket:
    """One end of a connection by TLS, in which nobody shows a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("aNULL:@SECLEVEL=0")
    return context.wrap_socket(end, server_side=is_server)


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_what_comes_in_pieces_is_read_whole_and_an_end_before_is_an_error(is_encrypted: bool) -> None:
    ends: list[socket.socket] = list(socket.socketpair())
    if is_encrypted:
        with ThreadPoolExecutor(2) as threads:
            ends = list(threads.map(encrypted, ends, (True, False)))
    sender, receiver = ends
    with sender, receiver:
        for at in range(3):
            sender.sendall(bytes([at]) * 1000)
        assert read_exactly(receiver, 2500) == b"\0" * 1000 + b"\1" * 1000 + b"\2" * 500
        sender.close()
        with pytest.raises(ConnectionError, match="it closed the connection"):
            read_exactly(receiver, 501)
