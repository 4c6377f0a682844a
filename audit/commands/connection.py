"""A connection to one broker for requests that the client library does not know, with the same security: TLS, SASL.

What brokers tell of features, of eligible leaders and of reassignments under way. Whoever asks has been let in by the client
library with the same properties before; what cannot be set up here is `Unavailable`, and then not known.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import socket
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from acked.base.optional import optional_packages
from acked.base.sockets import read_exactly

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_TOPIC_PARTITIONS = 18, 17, 36, 75
LIST_REASSIGNMENTS, DESCRIBE_QUORUM = 46, 55
_VERSIONS = {
    API_VERSIONS: 3, SASL_HANDSHAKE: 1, SASL_AUTHENTICATE: 0, DESCRIBE_TOPIC_PARTITIONS: 0, LIST_REASSIGNMENTS: 0,
    DESCRIBE_QUORUM: 1,
}  # fmt: skip

WHO = {"client_software_name": "acked", "client_software_version": "1"}
"""What is said of the client in a request for versions and features (KIP-511)."""

MAX_ANSWER = 64 << 20
"""Bytes of an answer; a longer one is not read."""


def prepare() -> None:
    """Imports what writes and reads a first request, for which there is time while the client library connects."""
    with optional_packages():
        from acked.cluster.wire.codec import write_request
        from acked.cluster.wire.older import response_schema

    write_request(API_VERSIONS, _VERSIONS[API_VERSIONS], 0, WHO)
    response_schema(API_VERSIONS, _VERSIONS[API_VERSIONS])


class Connection:
    """One connection; not logged in before `log_in`. Every method may raise `Unavailable`."""

    def __init__(self, address: tuple[str, int], properties: Mapping[str, str], seconds: float) -> None:
        self._properties = properties
        protocol = properties.get("security.protocol", "PLAINTEXT").upper()
        self._is_asked_who = protocol.startswith("SASL_")
        self._number = 0
        try:
            plain = socket.create_connection(address, timeout=seconds)
            self._socket = plain
            if protocol.endswith("SSL"):
                self._socket = tls_context(properties).wrap_socket(plain, server_hostname=address[0])
        except (OSError, ValueError) as error:
            raise Unavailable(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()

    def ask(self, api: int, values: Mapping[str, object]) -> Any:
        """A request and its answer's body, in kio's form."""
        with optional_packages():
            from acked.cluster.wire.codec import Unreadable, read_response, response_correlation, write_request

        self._number += 1
        try:
            self._socket.sendall(write_request(api, _VERSIONS[api], self._number, values))
            size = int.from_bytes(read_exactly(self._socket, 4), "big")
            if size > MAX_ANSWER:
                raise Unavailable(f"an answer of {size:,} bytes")
            answer = read_exactly(self._socket, size)
            if response_correlation(answer) != self._number:
                raise Unavailable("the answer to another request")
            return read_response(api, _VERSIONS[api], answer)
        except (OSError, Unreadable) as error:
            raise Unavailable(str(error)) from None

    # -- who asks -------------------------------------------------------------------------------------------------------

    def log_in(self) -> None:
        """Says who asks, where the listener wants to know: PLAIN and SCRAM, no other mechanism."""
        if not self._is_asked_who:
            return
        mechanism = self._properties.get("sasl.mechanisms", "").upper()
        user, password = (self._properties.get(f"sasl.{name}") for name in ("username", "password"))
        if mechanism not in ("PLAIN", *HASHES) or user is None or password is None:
            raise Unavailable(f"nothing here logs in by {mechanism or 'no mechanism'}")
        if self.ask(SASL_HANDSHAKE, {"mechanism": mechanism}).error_code:
            raise Unavailable(f"the broker does not take {mechanism}")
        if mechanism == "PLAIN":
            self._authenticate(f"\0{user}\0{password}".encode())
        else:
            scram = Scram(HASHES[mechanism], user, password)
            scram.confirm(self._authenticate(scram.proof(self._authenticate(scram.first))))

    def _authenticate(self, text: bytes) -> bytes:
        answer = self.ask(SASL_AUTHENTICATE, {"auth_bytes": text})
        if answer.error_code:
            raise Unavailable("the broker refuses user or password")
        return bytes(answer.auth_bytes)


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """TLS as a client's properties want it; certificates and keys of clients from files only. `OSError`, `Unavailable`."""
    place, text = properties.get("ssl.ca.location"), properties.get("ssl.ca.pem")
    context = ssl.create_default_context(cafile=place, cadata=text)
    if properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "https":
        context.check_hostname = False
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "ssl.certificate.pem" in properties or "ssl.key.pem" in properties:
        raise Unavailable("a client's certificate has to be in a file")
    if "ssl.certificate.location" in properties:
        own = properties["ssl.certificate.location"]
        context.load_cert_chain(own, properties.get("ssl.key.location"), properties.get("ssl.key.password"))
    return context


# -- a login by SCRAM (RFC 5802; KIP-84): what a client says, and what it makes of a broker's answers -------------------


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
