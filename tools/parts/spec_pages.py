"""The pages that are made from specs: the bug gallery and the claims, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from acked.checker.question.result import Verdict
from acked.checker.spec.remarks import Claim, GalleryEntry
from acked.checker.spec.spec import Spec
from acked.invariants.property import Kind
from acked.reports.table import Column, ColumnKind, table, table_markdown
from acked.reports.units import plural

OPEN = "open"
"""What stands for a release where none has fixed a bug."""


def markdown_table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a table in Markdown whose cells are Markdown already."""
    return table_markdown(table([Column(head, ColumnKind.MARKDOWN) for head in heads], rows))


@dataclass(frozen=True)
class AnsweredSpec:
    """A spec, what it says of versions and constants, and the sentences of its shortest violating run, one a step."""

    spec: Spec
    settings: str
    steps: tuple[str, ...] = ()

    @property
    def states(self) -> str:
        """How many states the complete search sees, as the spec has pinned it; marked if brokers are interchangeable."""
        expect = self.spec.expect
        if expect is None or expect.distinct_states is None:
            return ""
        return f"{expect.distinct_states:,}" + ("\\*" if self.spec.symmetry else "")

    @property
    def length(self) -> str:
        """How many steps the shortest violating run has, as the spec has pinned it; of one that holds, none."""
        expect = self.spec.expect
        return plural(0 if expect is None or expect.trace_length is None else expect.trace_length - 1, "step")

    @property
    def promises(self) -> str:
        """What is asked."""
        return ", ".join(item.name for item in self.spec.properties)

    @property
    def holds(self) -> bool:
        """Whether the spec says that its promises hold."""
        return self.spec.expect is not None and self.spec.expect.verdict is Verdict.HOLDS


@dataclass(frozen=True)
class NotReproduced:
    """A row that the model cannot tell, with what was tried."""

    number: int
    id: str
    tried: str


@dataclass(frozen=True)
class OnBrokers:
    """What real brokers did with a row: a few words for the table, and whole sentences."""

    words: str
    told: str


NOT_SEEN = OnBrokers("", "")


@dataclass
class _Row:
    """The specs of one row by role."""

    number: int
    entry: GalleryEntry
    on_brokers: OnBrokers
    parts: dict[str, AnsweredSpec] = field(default_factory=dict)

    @property
    def is_shown(self) -> bool:
        """Whether there are specs of bug, fix and latest release, and the bug is a known one."""
        return {"bug", "fix", "latest"} <= self.parts.keys() and self.entry.fixed != OPEN


# -- the gallery -------------------------------------------------------------------------------------------------------


def gallery_markdown(
    answers: Iterable[AnsweredSpec],
    standstills: Iterable[AnsweredSpec],
    untold: Iterable[NotReproduced],
    on_brokers: Mapping[int, OnBrokers],
) -> list[str]:
    """The gallery, line by line; `standstills` are bugs after which a partition cannot recover.

    `on_brokers` says by row what real brokers did.
    """
    rows = _rows(answers, on_brokers)
    shown = [row for row in rows if row.is_shown]
    lines = [*markdown_table(_HEADS, (_summary(row) for row in shown)), ""]
    for row in shown:
        lines += _shown(row)
    lines += [
        "## Standstills",
        "",
        "Bugs that bring a partition to a standstill. The property is a condition that must stay reachable from every",
        "state ([recovery](liveness.md)); the shortest trace leads to a state from which it is not. Specs:",
        "`specs/recoverable`.",
        "",
    ]
    for row in _rows(standstills, on_brokers):
        lines += _standstill(row)
    lines += [
        "## Unresolved",
        "",
        "Bugs that the model found and that no release is known to fix, bugs that it was asked for and did not find,",
        "and bugs that it cannot express.",
        "",
    ]
    for row in rows:
        if not row.is_shown:
            lines += _open(row)
    for item in sorted(untold, key=lambda item: item.number):
        lines += [f"### {item.number}. {item.id}", "", f"Not in the model. {item.tried}", ""]
    return lines[:-1]


def gallery_table(answers: Iterable[AnsweredSpec], standstills: Iterable[AnsweredSpec]) -> list[str]:
    """Every row of the gallery in a line, for readers without its page; nothing is searched for it."""
    heads = ("row", "bug", "spec", "fixed in", "violated property", "shortest trace")
    rows = [*_rows(answers, {}), *_rows(standstills, {})]
    return markdown_table(heads, (_line(row) for row in sorted(rows, key=lambda row: row.number)))


def _line(row: _Row) -> tuple[str, ...]:
    told = row.parts.get("bug") or row.parts["attempt"]
    asked = "recovery" if any(item.kind is Kind.RECOVERABLE for item in told.spec.properties) else told.promises
    length = "not found" if told.holds else told.length
    return str(row.number), row.entry.id, f"`{told.spec.name}`", row.entry.fixed, asked, length


def _rows(answers: Iterable[AnsweredSpec], on_brokers: Mapping[int, OnBrokers]) -> list[_Row]:
    rows: dict[int, _Row] = {}
    for told in answers:
        entry = told.spec.gallery
        if entry is not None:
            row = _Row(entry.row, entry, on_brokers.get(entry.row, NOT_SEEN))
            rows.setdefault(entry.row, row).parts[entry.role] = told
    return [rows[number] for number in sorted(rows)]


def _entry(told: AnsweredSpec) -> GalleryEntry:
    assert told.spec.gallery is not None
    return told.spec.gallery


_HEADS = ("row", "bug", "fixed in", "violated property", "shortest trace", "states with the fix", "states, latest",
          "real brokers")  # fmt: skip


def _summary(row: _Row) -> tuple[str, ...]:
    bug, fix, latest = (row.parts[role] for role in ("bug", "fix", "latest"))
    return (
        str(row.number),
        f"[{row.entry.id}](#{_anchor(_heading(row))})",
        row.entry.fixed,
        bug.promises,
        bug.length,
        fix.states,
        latest.states,
        row.on_brokers.words,
    )


def _heading(row: _Row) -> str:
    return f"{row.number}. {row.entry.id}"


def _anchor(heading: str) -> str:
    """The name that renderers of Markdown give a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _shown(row: _Row) -> Iterator[str]:
    bug, fix, latest = (row.parts[role] for role in ("bug", "fix", "latest"))
    yield from (f"## {_heading(row)}", "")
    yield from _violation(bug)
    yield from _fixed(fix, row.entry.fixed)
    yield from (f"In the latest release, `{latest.spec.name}`: holds, {latest.states} states.", "")
    if "open" in row.parts:
        yield from _not_mended(row.parts["open"])
    yield from _on_brokers(row)


def _not_mended(still: AnsweredSpec) -> Iterator[str]:
    """What a fix leaves as it was: a question of its own, violated in the latest release."""
    yield "**What stays open.**"
    yield from _violation(still)


def _on_brokers(row: _Row) -> Iterator[str]:
    if row.on_brokers.told:
        yield from (f"**On real brokers.** {row.on_brokers.told}", "")


def _standstill(row: _Row) -> Iterator[str]:
    bug, fix = row.parts["bug"], row.parts["fix"]
    yield from (f"### Row {row.number}: {row.entry.id}", "")
    yield from (_entry(bug).mechanism, "")
    yield from (f"Checked with {bug.settings}: {_wanted(bug)}", "")
    yield from (f"The shortest trace of `{bug.spec.name}` into a dead end has {bug.length}:", "")
    yield from _numbered(bug.steps)
    yield from _fixed(fix, row.entry.fixed)
    if "latest" in row.parts:
        latest = row.parts["latest"]
        yield from (f"In the latest release, `{latest.spec.name}`: holds, {latest.states} states.", "")
    yield from _on_brokers(row)


def _wanted(told: AnsweredSpec) -> str:
    """`controller.isr == {0, 1}` is always within reach, and what does not count as help."""
    (item,) = told.spec.properties
    predicate = item.name.partition(": ")[2]
    left_out = f", without `{'`, `'.join(item.without)}` as help" if item.without else ""
    dropped = "; ".join(f"`{action}: {label}`" for action, label in sorted(told.spec.drop))
    return f"`{predicate}` is always within reach{left_out}" + (f"; the clause {dropped} is left out." if dropped else ".")


def _violation(told: AnsweredSpec) -> Iterator[str]:
    entry = _entry(told)
    yield from (entry.mechanism, "")
    yield from (f"Checked with {told.settings}.", "")
    if entry.also:
        yield from (f"*{entry.also}*", "")
    if told.holds:
        yield from (f"`{told.spec.name}`, {told.promises}: holds, {told.states} states.", "")
        return
    yield from (f"The shortest trace of `{told.spec.name}` that violates {told.promises} has {told.length}:", "")
    yield from _numbered(told.steps)


def _numbered(steps: Iterable[str]) -> Iterator[str]:
    for number, sentence in enumerate(steps, start=1):
        yield f"{number}. {sentence}"
    yield ""


def _fixed(fix: AnsweredSpec, fixed: str) -> Iterator[str]:
    entry = _entry(fix)
    release = "" if fixed == OPEN else f" ({fixed})"
    yield from (f"**The fix{release}.** {entry.rule} `{fix.spec.name}`: holds, {fix.states} states.", "")


def _open(row: _Row) -> Iterator[str]:
    yield from (f"### {_heading(row)}", "")
    for role in ("bug", "attempt"):
        if role in row.parts:
            yield from _violation(row.parts[role])
    if "fix" in row.parts:
        yield from _fixed(row.parts["fix"], row.entry.fixed)
    if "latest" in row.parts:
        latest = row.parts["latest"]
        yield from (f"With every rule that this model knows, `{latest.spec.name}`: holds, {latest.states} states.", "")
    if "open" in row.parts:
        still = row.parts["open"]
        yield from (f"In the latest release, `{still.spec.name}`: still violated, in {still.length}.", "")
    yield from _on_brokers(row)


# -- the claims --------------------------------------------------------------------------------------------------------


def claims_markdown(answers: Iterable[AnsweredSpec]) -> list[str]:
    """The claims, line by line."""
    claims = [(item, claim) for item in answers if (claim := item.spec.claim) is not None]
    lines = [
        *markdown_table(
            ("sentence", "true?", "what is true instead", "how it is known", "spec"),
            (_claim_row(item, claim) for item, claim in claims),
        ),
        "",
        "## The shortest traces",
        "",
    ]
    for item, claim in claims:
        if item.steps:
            so = "True" if claim.true else "False"
            lines += [f"### {item.spec.name}", "", f"“{item.spec.title}.” {so}: {item.promises} is violated.", ""]
            lines += [f"Checked with {item.settings}.", ""]
            lines += _numbered(item.steps)
    return lines[:-1]


def _claim_row(item: AnsweredSpec, claim: Claim) -> tuple[str, ...]:
    run = f"[a trace of {item.length}](#{item.spec.name})"
    return (
        f"{item.spec.title}. ({claim.source})",
        "true" if claim.true else "**false**",
        " ".join(claim.corrected.split()),
        f"all {item.states} states" if item.holds else run,
        f"`{item.spec.name}`",
    )
