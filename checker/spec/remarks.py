"""What a spec says beside its question and the answer: that its title is said about Kafka, or which known bug it is about."""

from __future__ import annotations

from dataclasses import field

from acked.base.frozen import frozen
from acked.checker.spec.reader import Reader


@frozen
class Claim:
    """A sentence that documentation or articles say, which is the spec's title: whether it is true, and who says it.

    A sentence about what always is so is true if the property holds; one about what can happen, if it is violated. So `true`
    stands beside the expected verdict. `corrected` is what would be true instead; only a false sentence has it.
    """

    true: bool
    source: str
    corrected: str = ""


@frozen
class GalleryEntry:
    """What a spec shows of a known bug: a row of the gallery, of which it is one part.

    `role`: "bug" violates a property (`mechanism` says how), "fix" keeps it at the same constants with the fixing rule on
    (`rule`), "latest" keeps it with every known rule, "open" is violated still, "attempt" did not find what was sought.
    `row` numbers the bug, `id` names it in the field's own terms, `fixed` is the release that fixed it. `also` says which
    other rules are on, and why.
    """

    row: int = field(metadata={"least": 1})
    id: str
    fixed: str
    role: str = field(metadata={"allowed": ("bug", "fix", "latest", "attempt", "open")})
    mechanism: str = ""
    rule: str = ""
    also: str = ""


def claim_in(reader: Reader) -> Claim:
    """What a spec says of its title."""
    said = reader.read("claim", Claim)
    if said.true and said.corrected:
        reader.refuse("claim.corrected", "corrected is given but the sentence is true; remove the line")
    if not said.true and not said.corrected:
        reader.refuse("claim", "claim.corrected is missing: say what would be true instead")
    return said


def gallery_entry_in(reader: Reader) -> GalleryEntry:
    """A spec's part in the gallery; a variant's role is its name, unless it says another."""
    if reader.variant is not None:
        reader.table("gallery").setdefault("role", reader.variant)
    said = reader.read("gallery", GalleryEntry)
    for key, text, roles in (
        ("mechanism", said.mechanism, ("bug", "open", "attempt")), ("rule", said.rule, ("fix",))
    ):  # fmt: skip
        if bool(text) != (said.role in roles):
            reader.refuse(
                f"gallery.{key}" if text else "gallery",
                f"{key} belongs to a spec with role {' or '.join(roles)}, and every one of these has it",
            )
    return said
