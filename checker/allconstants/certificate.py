"""A proof for all constants as files that others can check: its obligations as SMT-LIB texts, and a manifest of them.

`write_certificate` and `read_certificate`; `Derivation`, what a certificate must consist of, made again from the protocol's
own text. Nothing here needs a solver.

A certificate is believed in nothing but which switches it is about and which of the lemmas that it may use each obligation
does use: every text is made again and compared, byte for byte. Whether a text is unsatisfiable, a second solver says
(`verification`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acked.base.errors import SpecUnreadable, SystemFailure
from acked.base.files import read_bytes, read_text, write_text
from acked.base.frozen import frozen
from acked.base.plain import from_plain, to_plain
from acked.base.version import __version__
from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.proof import AllConstantsProof, covering_argument
from acked.checker.allconstants.texts import obligation_text, text_name
from acked.checker.allconstants.ways import WAYS
from acked.checker.solver.lemma_sets import Core
from acked.invariants.proofs import Argument, argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol

FORMAT = "acked-certificate/1"
MANIFEST = "manifest.json"
_WHAT = "certificate's manifest"


@frozen
class Certified:
    """One obligation: the lemmas and the way in which it was proved, its file with the SHA-256 of that, and z3's answer."""

    subject: str
    clause: str
    lemmas: tuple[str, ...]
    way: int
    file: str
    sha256: str
    answer: str
    seconds: float

    @property
    def core(self) -> Core:
        """The lemmas and the way."""
        return Core(self.lemmas, self.way)


@frozen
class Certificate:
    """What a manifest says. `spec` is the name of the spec that was proved, `acked` and `solver` are versions.

    `constants` and `drop` are what the proof is about: the rules in force, and guard clauses that were left out.
    """

    acked: str
    spec: str
    protocol: str
    constants: Mapping[str, int]
    drop: tuple[tuple[str, str], ...]
    promises: tuple[str, ...]
    fingerprint: str
    solver: str
    obligations: tuple[Certified, ...]

    def document(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return {"format": FORMAT, **to_plain(self)}


class Derivation:
    """The obligations of a protocol under some switches, and their texts, as this acked has them.

    `ModelError` for switches that the protocol does not have.
    """

    def __init__(
        self, protocol: Protocol, argument: Argument, drop: tuple[tuple[str, str], ...], switches: Mapping[str, int]
    ) -> None:
        self._obligations = Obligations(protocol, argument, drop, switches)
        self._obligations.prepare()
        self.fingerprint = self._obligations.fingerprint
        self.goals = argument.goals
        self.names = [(item.subject, item.clause) for item in self._obligations.all]
        self._texts: dict[tuple[int, Core], str | None] = {}

    def text(self, number: int, core: Core) -> str | None:
        """The text of an obligation with these lemmas; None if it may not use one of them, or there is no such way."""
        asked = (number, core)
        if asked not in self._texts:
            self._texts[asked] = self._make_text(number, core)
        return self._texts[asked]

    def _make_text(self, number: int, core: Core) -> str | None:
        item = self._obligations.all[number]
        if not item.may_name(self._obligations.clauses).keys() >= set(core.lemmas) or not 0 <= core.way < len(WAYS):
            return None
        return obligation_text(self._obligations, item, core)


def derivation_of(certificate: Certificate) -> Derivation:
    """What the certificate should consist of; `SpecUnreadable` where it is about no protocol or switches of this acked."""
    protocol = PROTOCOLS.get(certificate.protocol)
    if protocol is None or argument_of(protocol) is None:
        about = f"the certificate is about {certificate.protocol}"
        raise SpecUnreadable(f"{about}, of which this acked has no proof for all constants")
    switches = {item.name for item in protocol.constants if item.name not in protocol.sizes}
    if (differs := switches ^ set(certificate.constants)) and not _are_open(protocol, certificate.constants, differs):
        differing = ", ".join(sorted(differs))
        raise SpecUnreadable(
            f"the certificate's constants are not the switches of this acked's {protocol.name} ({differing}); "
            f"check it with acked {certificate.acked}, which wrote it"
        )
    try:
        argument = covering_argument(protocol, certificate.constants, certificate.promises)
        return Derivation(protocol, argument, certificate.drop, certificate.constants)
    except ModelError as error:
        raise SpecUnreadable(f"the certificate cannot be of this acked's {protocol.name}: {error}") from None


def _are_open(protocol: Protocol, switches: Mapping[str, int], names: set[str]) -> bool:
    """Whether these constants, which are no sizes, are open in the argument under some switches."""
    argument = argument_of(protocol, switches)
    return argument is not None and names <= set(argument.least) - set(switches)


# -- writing ---------------------------------------------------------------------------------------------------------------


def write_certificate(proof: AllConstantsProof, spec: str, folder: Path) -> Certificate:
    """Writes the obligations of a proof that holds, and at last the manifest; the folder must have no texts yet.

    `SystemFailure` leaves no file behind.
    """
    assert proof.holds
    protocol = PROTOCOLS[proof.protocol]
    argument = covering_argument(protocol, proof.switches, proof.goals)
    derived = Derivation(protocol, argument, proof.drop, proof.switches)
    if derived.fingerprint != proof.fingerprint:
        raise SystemFailure("the obligations were others when they were made again; please report this as a defect of acked")
    written: list[Path] = []
    made = []
    try:
        for number, item in enumerate(proof.obligations):
            core = Core(item.lemmas, item.way)
            text = derived.text(number, core)
            assert text is not None
            path = folder / text_name(number, item.subject, item.clause)
            written.append(path)
            write_text(path, text, "SMT-LIB text")
            digest, seconds = _hash(text.encode()), round(item.seconds, 4)
            made.append(
                Certified(item.subject, item.clause, item.lemmas, item.way, path.name, digest, item.verdict.value, seconds)
            )
        certificate = Certificate(
            __version__,
            spec,
            proof.protocol,
            proof.switches,
            proof.drop,
            proof.goals,
            proof.fingerprint,
            proof.solver,
            tuple(made),
        )
        write_text(folder / MANIFEST, json.dumps(certificate.document(), indent=1) + "\n", _WHAT)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return certificate


# -- reading ---------------------------------------------------------------------------------------------------------------


def read_certificate(folder: Path) -> Certificate:
    """What the folder's manifest says; `SpecUnreadable` if there is none, or it is not one."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise SpecUnreadable(f"{folder} is no folder; name the one that `acked prove all-constants --certificate` wrote")
    text = read_text(path, _WHAT)
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise SpecUnreadable(f"{path} is not of the format {FORMAT}; check it with the acked that wrote it")
        return from_plain(Certificate, document)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise SpecUnreadable(f"{path} is not a {_WHAT}: {reason}") from None


def faults_of(folder: Path, certificate: Certificate, derived: Derivation) -> Iterator[str]:
    """What makes the folder no certificate, a sentence each; none if it is the whole proof, as this acked would write it."""
    if certificate.fingerprint != derived.fingerprint:
        yield (
            f"its rules or lemmas are not those of this acked's {certificate.protocol}; acked {certificate.acked} wrote it, "
            "so check it with that, or write it again"
        )
        return
    if certificate.promises != derived.goals:
        yield f"its manifest promises {', '.join(certificate.promises)}; what is proved is {', '.join(derived.goals)}"
        return
    listed = [(item.subject, item.clause) for item in certificate.obligations]
    if listed != derived.names:
        missing = [f"{subject}: {clause}" for subject, clause in derived.names if (subject, clause) not in set(listed)]
        what = f"; it lacks {', '.join(missing)}" if missing else ""
        yield f"its manifest does not list the {len(derived.names)} obligations of the proof, each once and in order{what}"
        return
    names = {item.file for item in certificate.obligations}
    for path in sorted(folder.glob("*.smt2")):
        if path.name not in names:
            yield f"{path.name} is in the folder and not in the manifest"
    for number, item in enumerate(certificate.obligations):
        if (fault := _fault(folder, number, item, derived)) is not None:
            yield fault


def _fault(folder: Path, number: int, item: Certified, derived: Derivation) -> str | None:
    text = derived.text(number, item.core)
    if text is None:
        return f"{item.subject}: {item.clause} may not assume what the manifest says: {', '.join(item.core.lemmas)}"
    if item.file != (name := text_name(number, item.subject, item.clause)):
        return f"the manifest has not {name} for the file of {item.subject}: {item.clause}"
    try:
        content = read_bytes(folder / item.file, "SMT-LIB text")
    except SpecUnreadable:
        return f"{item.file} is missing, or cannot be read"
    if _hash(content) != item.sha256:
        return f"{item.file} was altered: it has another hash than the manifest says"
    if content != text.encode():
        return f"{item.file} is not the obligation {item.subject}: {item.clause}, as the protocol and the lemmas have it"
    return None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
