"""What a spec asks of a proof, held against what can be proved: for all constants, what the protocol's argument is about.

And what a proof for all constants says, against what the spec expects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acked.base.errors import ConfigurationError
from acked.checker.allconstants.proof import covering_argument
from acked.checker.question.result import Verdict
from acked.checker.spec.spec import Spec

if TYPE_CHECKING:
    from acked.checker.allconstants.certificate import Certificate


def refuse_unasked(spec: Spec) -> None:
    """`ConfigurationError` for a spec that asks for nothing to prove."""
    if not spec.properties:
        raise ConfigurationError(f"{spec.where('check')}the spec asks for nothing to prove; name invariants in [check]")


def passed_over(spec: Spec) -> tuple[str, ...]:
    """What the spec asks and no proof decides, as a note for people."""
    names = ", ".join(item.name for item in spec.reach)
    return (
        (f"a proof looks for no states, so whether {names} can be reached is not decided; ask acked check",) if names else ()
    )


def refuse_unprovable(spec: Spec, provable: Collection[str], least: Mapping[str, int]) -> None:
    """`ConfigurationError` unless everything that the spec asks, at its own sizes, is what can be proved for all constants.

    `provable` are the names of properties; `least` the sizes from which on it is proved.
    """
    refuse_unasked(spec)
    where = spec.where("check.invariants")
    if others := [item.name for item in spec.properties if item.name not in provable]:
        raise ConfigurationError(
            f"{where}there is no proof for all constants of {', '.join(others)}; of {spec.protocol.name} there is one of "
            f"{', '.join(provable)}, so ask these, or `acked prove induction`"
        )
    # Of what is a bound and no size 0 says that there is none: epochs are kept by rank.
    if small := [name for name, number in least.items() if name in spec.protocol.sizes and spec.constants[name] < number]:
        bounds = " and ".join(f"{name} of at least {least[name]}" for name in small)
        given = ", ".join(f"{name} = {spec.constants[name]}" for name in small)
        raise ConfigurationError(f"{where}the proof for all constants is about {bounds}, and {spec.name} has {given}")


def refuse_unmade(spec: Spec, folder: Path, certificate: Certificate) -> None:
    """`ConfigurationError` unless a certificate is about what the spec asks, under its switches and at its sizes."""
    the_certificate = f"the certificate in {folder}"
    if certificate.protocol != spec.protocol.name:
        raise ConfigurationError(
            f"{the_certificate} is about {certificate.protocol}, and {spec.name} about {spec.protocol.name}"
        )
    if set(certificate.drop) != spec.drop:
        raise ConfigurationError(f"{the_certificate} leaves out other guard clauses than {spec.name}")
    argument = covering_argument(spec.protocol, spec.switches)
    mine, theirs = spec.switches, certificate.constants
    constants = [item for item in spec.protocol.constants if item.name in mine and item.name not in argument.least]
    if differing := [item for item in constants if theirs.get(item.name) != mine[item.name]]:
        rules = ", ".join(f"{item.name} ({item.show(mine[item.name])} in {spec.name})" for item in differing)
        raise ConfigurationError(f"{the_certificate} is about other switches than {spec.name}: {rules}")
    refuse_unprovable(spec, [item.name for item in argument.provable], argument.least)
    if missing := [item.name for item in spec.properties if item.name not in certificate.promises]:
        raise ConfigurationError(
            f"{the_certificate} is about {', '.join(certificate.promises)}, and {spec.name} asks for {', '.join(missing)} too"
        )


def unmet(spec: Spec, found: Verdict) -> list[str] | None:
    """How the verdict differs from what the spec expects, a sentence each; None if it expects nothing."""
    if spec.expect is None:
        return None
    return [] if found is spec.expect.verdict else [f"verdict is {found.value}, expected {spec.expect.verdict.value}"]


def expectation(differing: list[str] | None) -> dict[str, Any] | None:
    """The same for JSON."""
    return None if differing is None else {"met": not differing, "differences": differing}
