"""A login by SCRAM (RFC 5802; KIP-84), as what a client says and what it makes of a broker's answers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

_MAX_ITERATIONS = 1 << 20
"""Rounds of hashing that a broker may ask for; Kafka's own default is 4,096."""

_CHALLENGE = re.compile(r"r=([!-+\--~]{1,4096}),s=([A-Za-z0-9/+=]{1,4096}),i=([0-9]{1,7})(?:,.*)?", re.DOTALL)
"""The broker's nonce, salt and rounds. An extension before them (m=) must be refused (RFC 5802, 5.1)."""


class Unavailable(Exception):
    """Why a login, or a connection, cannot be had."""


class Scram:
    """One login: `first`, then `proof` of the broker's challenge, then `confirm`. `kind` is a hash of `HASHES`."""

    def __init__(self, kind: str, user: str, password: str) -> None:
        self._kind, self._password = kind, password.encode()
        self.nonce = secrets.token_hex(16)
        self._first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={self.nonce}"
        self._expected = b""

    @property
    def first(self) -> bytes:
        """What the client begins with."""
        return f"n,,{self._first}".encode()

    def proof(self, challenge: bytes) -> bytes:
        """What shows that the client knows the password; `Unavailable` if the challenge is not SCRAM's."""
        nonce, salt, rounds = self._parts(challenge)
        salted = hashlib.pbkdf2_hmac(self._kind, self._password, salt, rounds)
        last = f"c={base64.b64encode(b'n,,').decode()},r={nonce}"
        whole = b",".join((self._first.encode(), challenge, last.encode()))
        key = hmac.digest(salted, b"Client Key", self._kind)
        signature = hmac.digest(hashlib.new(self._kind, key).digest(), whole, self._kind)
        self._expected = base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", self._kind), whole, self._kind))
        shown = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        return f"{last},p={shown}".encode()

    def confirm(self, final: bytes) -> None:
        """`Unavailable` unless the broker's last answer shows that it knows the password too."""
        if not hmac.compare_digest(final, b"v=" + self._expected):
            raise Unavailable("the broker does not know the password that it asks for")

    def _parts(self, challenge: bytes) -> tuple[str, bytes, int]:
        try:
            found = _CHALLENGE.fullmatch(challenge.decode("utf-8"))
            if found is not None and found[1].startswith(self.nonce) and 0 < int(found[3]) <= _MAX_ITERATIONS:
                return found[1], base64.b64decode(found[2], validate=True), int(found[3])
        except (UnicodeDecodeError, binascii.Error):
            pass
        raise Unavailable("the broker's answer is not SCRAM's")
