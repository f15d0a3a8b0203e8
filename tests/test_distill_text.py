"""How captured text is made fit to be kept."""

import pytest
from support import cases

from claude_mem_lite.distill.local.evidence import best_lines, code_worth, telling_lines
from claude_mem_lite.text import clean, clip, count, first_sentence, join, one_line, relative, sentences

CASES = cases.load("distill/text")


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07after", "after"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\x00b\x07c\x08", "abc"),
        ("safe\u202etxt.exe\u2066 \U000e0041", "safetxt.exe "),
        ("lone \ud800 surrogate", "lone  surrogate"),
        ("family 👩\u200d👩\u200d👧", "family 👩\u200d👩\u200d👧"),
    ],
)
def test_clean_leaves_what_a_reader_would_see(raw: str, cleaned: str) -> None:
    """Escape sequences, overwritten progress, controls and invisible characters go; joined emoji stay."""
    assert clean(raw) == cleaned


def test_clean_cuts_a_giant_text_and_says_so() -> None:
    """A giant field loses its middle for a line with the number of characters that are gone."""
    cleaned = clean("a" * 150_000 + "b" * 150_000)

    assert cleaned == "a" * 100_000 + "\n[… 100,000 characters cut …]\n" + "b" * 100_000


@pytest.mark.parametrize(
    ("text", "limit", "line"),
    [
        ("  a\n\tb  ", 10, "a b"),
        ("one two three four", 12, "one two…"),
        ("one two three four", 18, "one two three four"),
        ("abcdefghijklmnop", 8, "abcdefg…"),
        ("one two (three) four", 9, "one two…"),
    ],
)
def test_one_line_cuts_after_a_word(text: str, limit: int, line: str) -> None:
    """A line too long ends after a whole word where one ends near enough."""
    assert one_line(text, limit) == line


@pytest.mark.parametrize(
    ("text", "limit", "clipped"),
    [
        ("short", 10, "short"),
        ("\n\nkept whole\n", 10, "kept whole"),
        ("line one\nline two\nline three\nline four\nline five", 40, "line one\nline two\n[…]\nline five"),
        ("x" * 50, 20, "x" * 10 + "\n[…]\n" + "x" * 5),
    ],
)
def test_clip_keeps_head_and_tail(text: str, limit: int, clipped: str) -> None:
    """The middle goes, by whole lines where there are any; never more than the limit."""
    assert clip(text, limit) == clipped
    assert len(clipped) <= limit


@pytest.mark.parametrize(("text", "sentence"), CASES["first_sentence"])
def test_first_sentence_is_the_first_that_says_something(text: str, sentence: str) -> None:
    """Greetings, headings and list marks are passed over; abbreviations and versions end no sentence."""
    assert first_sentence(text) == sentence


def test_sentences_end_with_paragraphs_and_list_items_too() -> None:
    """A list without full stops is still told apart."""
    text = "Two things:\n1. backup.py imports os.path\n2. cli.py prints.\n\nNothing else"

    assert sentences(text) == ["Two things:", "backup.py imports os.path", "cli.py prints.", "Nothing else"]


@pytest.mark.parametrize(
    ("names", "limit", "joined"),
    [
        ([], 3, ""),
        (["a"], 3, "a"),
        (["a", "b"], 3, "a and b"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b", "c", "d"], 3, "a, b and 2 more"),
        (["a", "b", "c"], 1, "a and 2 more"),
    ],
)
def test_join_enumerates_in_english(names: list[str], limit: int, joined: str) -> None:
    """At most `limit` entries are shown, the last of them a count where there are more."""
    assert join(names, limit) == joined


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [(1, "line", "1 line"), (1_200, "match", "1,200 matches"), (0, "file", "0 files")],
)
def test_count_takes_the_plural(number: int, noun: str, told: str) -> None:
    """A number and its noun agree."""
    assert count(number, noun) == told


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/dev/p/src/a.py", "src/a.py"),
        ("/home/dev/p/./src/../a.py", "a.py"),
        ("/home/dev/pq/a.py", "/home/dev/pq/a.py"),
        ("src/a.py", "src/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("", ""),
    ],
)
def test_relative_holds_inside_the_project_only(path: str, shown: str) -> None:
    """A path outside the project, or beside it, stays absolute."""
    assert relative(path, "/home/dev/p/") == shown


def test_best_lines_are_those_that_tell_most() -> None:
    """Constants and comments come before bodies, imports never; in the file's order, within the limit."""
    lines = ["import os", "", "LIMIT = 10", "x = compute()", "def f():", "    return 1  # the only case", "}"]

    assert best_lines(lines, 1_000, code_worth) == "\n".join(lines[2:6])
    assert best_lines(lines, 35, code_worth) == "LIMIT = 10\ndef f():"
    assert best_lines(lines, 45, code_worth) == "LIMIT = 10\n    return 1  # the only case"


def test_telling_lines_leave_noise_out() -> None:
    """Dots of tests, listings, timings, frames and tracebacks' first lines say nothing."""
    output = """\
..F.                                  [100%]
total 8
-rw-r--r-- 1 dev dev 41 Nov 21 03:00 a.txt
real\t0m0.1s
╭─ Options ──╮
│ --book  The book.
╰────╯
Traceback (most recent call last):
KeyError: 'x'
"""

    assert telling_lines(output) == ["Options", "--book  The book.", "KeyError: 'x'"]
