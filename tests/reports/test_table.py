"""Tables in the terminal, as Markdown and as CSV; and that no text becomes more than text in any of them."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from acked.reports.console import open_console
from acked.reports.escaping import csv_text, md_block, md_code, md_text
from acked.reports.table import (
    Column,
    ColumnKind,
    Mark,
    Table,
    TableCell,
    numbers,
    print_table,
    table,
    table_csv,
    table_markdown,
)

HOSTILE = [
    "=cmd|'/c calc'!A1",
    "<img src=x onerror=alert(1)>",
    "@team please look",
    "ops@example.com",
    "[x](https://evil.example/y)",
    "![x](//evil.example/y.png)",
    "https://evil.example and www.evil.example",
    "a | b",
    "`code` and ``more``",
    "# heading",
    "- item",
    "1. item",
    "**bold** _it_ ~~gone~~",
    "&lt;b&gt; &amp;",
    "back\\slash\\",
    "<!-- hidden -->",
    "+1",
    "-2+3",
]
"""What a broker's name, a title or a predicate may hold."""

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def seen(rendered: str) -> str:
    """What a reader of the HTML reads, without the blank of no width."""
    return html.unescape(re.sub(r"<[^>]*>", "", rendered)).replace("\u200b", "").strip()


def three(text: str) -> Table:
    return table(("name", Column("code", ColumnKind.CODE), numbers("n")), [(text, text, "1")])


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("before", ["", "### ", "- ", "1. "])
def test_markdown_shows_a_hostile_text_as_it_is(text: str, before: str) -> None:
    rendered = PARSER.render(before + md_text(text))
    tags = set(re.findall(r"</?(\w+)", rendered))
    assert tags <= {"p", "h3", "ul", "ol", "li"}
    assert seen(rendered) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_a_cell_of_a_markdown_table_keeps_a_hostile_text_in_its_place(text: str) -> None:
    rendered = PARSER.render("\n".join(table_markdown(three(text))))
    assert set(re.findall(r"</?(\w+)", rendered)) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}
    cells = re.findall(r"<td[^>]*>(.*?)</td>", rendered)
    assert [seen(cell) for cell in cells] == [text, text, "1"]


def test_nobody_is_mentioned_and_no_address_becomes_a_link() -> None:
    assert not re.search(r"@\w", md_text("@team, ask ops@example.com"))
    assert "://" not in md_text("https://evil.example")
    assert "www." not in md_text("www.evil.example")


def test_line_ends_and_reordering_characters_are_shown_as_escapes() -> None:
    assert md_text("a\n\n# b") == "a\\\\n\\\\n\\# b"
    assert "\u202e" not in md_text("a\u202eb")
    assert "\n" not in md_code("a\n```")


@pytest.mark.parametrize("text", ["plain", "`", "``", "a`b``c", " x "])
def test_code_is_shown_with_its_own_backticks(text: str) -> None:
    assert seen(PARSER.render(md_code(text))) == text.strip()


def test_a_block_of_code_ends_where_its_text_does() -> None:
    rendered = PARSER.render("\n".join(["before", "", *md_block(["```", "<b>", "````"]), "", "after"]))
    assert rendered.count("<pre>") == 1
    assert "<b>" not in rendered
    assert "<p>after</p>" in rendered


@pytest.mark.parametrize("text", [*HOSTILE, "\t=1", " =1", "＝1", "@SUM(A1)"])
def test_no_cell_of_csv_is_a_formula(text: str) -> None:
    for name, value in csv.reader(io.StringIO(csv_text(["name", text], [["x", text]]))):
        assert name in ("name", "x")
        assert not re.match(r"\s*[=+@＝]", value)
        assert re.match(r"-(?!\d)", value) is None
        assert value.lstrip("'").strip() == (text.replace("\t", "\\t").strip())


def test_csv_keeps_numbers_lines_and_nulls_and_ends_every_line_alike() -> None:
    text = csv_text(["n", "x", "story", "list"], [[-3, -1.5, "one\ntwo", [1, None]], [None, "-3", True, {"a": 1}]])
    rows = list(csv.reader(io.StringIO(text)))
    assert "\r" not in text
    assert rows[1:] == [["-3", "-1.5", "one\ntwo", "[1, null]"], ["", "-3", "true", '{"a": 1}']]


def test_the_terminal_aligns_numbers_and_draws_marks_with_the_characters_it_has(drawn: Callable[..., object]) -> None:
    shown = table(
        ("spec", "answer", numbers("states")),
        [("a", TableCell("holds", "green", Mark.GOOD), "7"), ("b", TableCell("violated", "red", Mark.BAD), "1,234")],
        "Answers",
    )
    lines = drawn(print_table, shown).lines  # type: ignore[attr-defined]
    assert lines == [
        "Answers",
        "  spec   answer       states",
        "  a      ✓ holds           7",
        "  b      ✗ violated    1,234",
    ]
    assert drawn(print_table, shown, encoding="ascii").lines[2] == "  a      + holds           7"  # type: ignore[attr-defined]


def test_the_terminal_shows_control_characters_as_escapes(drawn: Callable[..., object]) -> None:
    text = drawn(print_table, three("\x1b[2J\u202ex")).text  # type: ignore[attr-defined]
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_csv_of_a_table_has_values_and_neither_marks_nor_grouping() -> None:
    shown = table(("answer", numbers("states")), [(TableCell("holds", mark=Mark.GOOD), TableCell("1,234", value=1234))])
    assert table_csv(shown) == "answer,states\nholds,1234\n"


def test_a_long_last_column_folds_before_the_first_one_is_a_few_letters_wide() -> None:
    stream = io.StringIO()
    text = "AtomicTransactions in 7 steps, NoTornTransaction in 8 steps, NoAbortedRead in 9 steps"
    shown = table(("clause", "violated"), [("Produce: in a transaction", text), ("x", "no")])
    print_table(open_console(stream, width=80), shown)
    lines = stream.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith("  Produce: in a")
    assert " ".join(" ".join(line[29:].split()) for line in lines[1:-1]).strip() == text
    assert lines[-1].split() == ["x", "no"]


@pytest.mark.parametrize("width", [80, 90, 100])
def test_no_word_is_broken_where_columns_between_can_fold(width: int) -> None:
    lost = ("last-known-leader", "AckedRecordsSurvive and 3 more", "crashes=lossy, lossy_crashes, kills", "11", "reproduced")
    shown = table(("known as", "promise", "what goes wrong", numbers("steps"), "played"), [lost])
    screen = io.StringIO()

    print_table(open_console(screen, width), shown)

    words = re.split(r"\s+", screen.getvalue())
    assert {"AckedRecordsSurvive", "lossy_crashes,", "11", "reproduced"} <= set(words)
    assert "last-known-leader" in words or {"last-known-", "leader"} <= set(words)
    assert max(map(len, screen.getvalue().splitlines())) <= width
