"""A login by SCRAM: the exchange of RFC 7677, and challenges of brokers that are none."""

from __future__ import annotations

import pytest

from acked.audit.commands.connection import HASHES, Scram, Unavailable

SALT = b"W22ZaJ0SNY7soEsUEjb6gQ=="


def login(nonce: str = "rOprNGfwEbeRWgbNEkqO") -> Scram:
    scram = Scram("sha256", "user", "pencil")
    scram.nonce = nonce
    scram._first = f"n=user,r={nonce}"
    return scram


def test_the_exchange_of_rfc_7677_is_made_as_it_stands_there() -> None:
    scram = login()
    assert scram.first == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=" + SALT + b",i=4096"
    assert scram.proof(challenge) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    scram.confirm(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(Unavailable, match="does not know the password"):
        scram.confirm(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=")


@pytest.mark.parametrize("challenge", [
    b"", b"r=%N", b"r=%N,i=4096", b"r=%N,s=,i=4096", b"r=%N,s=a,i=4096", b"r=%N,s=!!,i=4096", b"r=%N,s=YQ==,i=x",
    b"r=%N,s=YQ==,i=-1", b"r=%N,s=YQ==,i=0", b"r=%N,s=YQ==,i=9999999", b"r=%N,s=YQ==,i=" + b"9" * 5_000,
    b"r=other,s=YQ==,i=1", b"r=%N\xff,s=YQ==,i=1", b"m=x,r=%N,s=YQ==,i=1", b"r=%N,s=YQ==,i=\xd9\xa3", b"e=other-error",
])  # fmt: skip
def test_a_challenge_that_is_not_scram_s_is_unavailable(challenge: bytes) -> None:
    for kind in HASHES.values():
        scram = Scram(kind, "user", "password")
        with pytest.raises(Unavailable, match="not SCRAM's"):
            scram.proof(challenge.replace(b"%N", scram.nonce.encode()))
