"""The user whose process is at the other end of a connection on this machine, as Linux reports it."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")

_ESTABLISHED = "01"
"""The state of an open connection; one that its process has closed is listed as root's."""

UNKNOWN = -1
"""The user of a connection that the system does not list; it must not be trusted."""


def user_behind(peer: tuple[str, int], ours: tuple[str, int]) -> int | None:
    """The user id that holds the other end of a TCP connection, or `UNKNOWN`; None where the system does not report it.

    Both are (IPv4 address, port).
    """
    theirs, our_end, known = _written(peer), _written(ours), False
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


def _written(end: tuple[str, int]) -> list[str]:
    """An end as the two tables write it: words in the machine's byte order, in the second as an IPv6 address."""
    address = socket.inet_aton(end[0])
    words = [struct.unpack(f"={len(item) // 4}I", item) for item in (address, bytes(10) + b"\xff\xff" + address)]
    return [f"{''.join(f'{word:08X}' for word in item)}:{end[1]:04X}" for item in words]
