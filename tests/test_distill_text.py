"""Test how captured text is cleaned, summarized and excerpted."""

import time
from dataclasses import dataclass

import pytest
from support import cases

from claude_mem_lite.context.excerpt import excerpt, reported
from claude_mem_lite.context.recall import LINE_CHARS
from claude_mem_lite.distill.rules.evidence import best_lines, code_worth, telling_lines
from claude_mem_lite.distill.summary import summarize
from claude_mem_lite.text import clean, clip, count, first_sentence, join, one_line, relative, sentences

CASES = cases.load("distill/text")


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
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
    """Cleaning drops escape sequences, overwritten progress, controls and invisible characters, not emoji."""
    assert clean(raw) == cleaned


def test_clean_cuts_a_giant_text_and_says_so() -> None:
    """A giant text loses its middle, replaced by a line with the number of missing characters."""
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
    """A long line is cut after a whole word, if one ends near the limit."""
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
    """Clipping drops the middle, by whole lines where possible, and keeps to the limit."""
    assert clip(text, limit) == clipped
    assert len(clipped) <= limit


@pytest.mark.parametrize(("text", "sentence"), CASES["first_sentence"])
def test_first_sentence_is_the_first_that_says_something(text: str, sentence: str) -> None:
    """The first sentence skips greetings, headings and list marks, and does not end at an abbreviation."""
    assert first_sentence(text) == sentence


def test_sentences_end_with_paragraphs_and_list_items_too() -> None:
    """Paragraphs and list items end a sentence even without a full stop."""
    text = "Two things:\n1. backup.py imports os.path\n2. cli.py prints.\n\nNothing else"

    assert sentences(text) == ["Two things:", "backup.py imports os.path", "cli.py prints.", "Nothing else"]
    assert sentences("It left `1. Shelf` apart. Why?") == ["It left `1. Shelf` apart.", "Why?"]
    told = sentences("bis zum 10. nachgebucht. Then 5. Done.")
    assert told == ["bis zum 10. nachgebucht.", "Then 5.", "Done."]


@pytest.mark.parametrize(
    ("names", "limit", "joined"),
    [
        ([], 3, ""),
        (["a", "b"], 3, "a and b"),
        (["a", "b", "c", "d"], 3, "a, b and 2 more"),
        (["a", "b", "c"], 1, "a and 2 more"),
    ],
)
def test_join_enumerates_in_english(names: list[str], limit: int, joined: str) -> None:
    """At most `limit` names are joined, the last one a count if more are left."""
    assert join(names, limit) == joined


@pytest.mark.parametrize(
    ("number", "noun", "told"),
    [(1, "line", "1 line"), (1_200, "match", "1,200 matches"), (0, "file", "0 files")],
)
def test_count_takes_the_plural(number: int, noun: str, told: str) -> None:
    """A noun takes the plural that its number needs."""
    assert count(number, noun) == told


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/dev/p/src/a.py", "src/a.py"),
        ("/home/dev/p/./src/../a.py", "a.py"),
        ("/home/dev/pq/a.py", "/home/dev/pq/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("", ""),
    ],
)
def test_relative_holds_inside_the_project_only(path: str, shown: str) -> None:
    """A path inside the project becomes relative, others stay absolute."""
    assert relative(path, "/home/dev/p/") == shown


def test_best_lines_are_those_that_tell_most() -> None:
    """Constants and comments rank before bodies, and imports never come; order and limit are kept."""
    lines = ["import os", "", "LIMIT = 10", "x = compute()", "def f():", "    return 1  # the only case", "}"]

    assert best_lines(lines, 1_000, code_worth) == "\n".join(lines[2:6])
    assert best_lines(lines, 35, code_worth) == "LIMIT = 10\ndef f():"
    assert best_lines(lines, 45, code_worth) == "LIMIT = 10\n    return 1  # the only case"


def test_telling_lines_leave_noise_out() -> None:
    """Test dots, listings, timings, frames and the first lines of tracebacks are left out."""
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


@dataclass(frozen=True, slots=True)
class _Noted:
    title: str
    summary: str = ""
    files_touched: tuple[str, ...] = ()
    tool_name: str = "Bash"


def _ran(command: str, outcome: str = "", title: str = "Run it") -> _Noted:
    return _Noted(title, f"Ran `{command}`. {outcome}\nAsked: Do it")


PROMPTS = ["Move the basket to SQLite. JSON is slow.", "yes", "Let the command line use typer."]
MESSAGES = ["The basket is SQLite now.\n- one file", "cli.py is a typer app. All commands work."]
OBSERVATIONS = [
    _Noted("Edit Basket in shop/basket.py", files_touched=("shop/basket.py",), tool_name="Edit"),
    _Noted("Read shop/cli.py", files_touched=("shop/cli.py",), tool_name="Read"),
    _ran("pytest -q", "pytest: 2 failed, 1 passed. Failed with exit code 1: KeyError: 'x'."),
    _Noted("Edit Basket in shop/basket.py", files_touched=("shop/basket.py",), tool_name="Edit"),
    _Noted("Rewrite shop/cli.py", files_touched=("shop/cli.py",), tool_name="Write"),
    _ran(
        "pytest -q && git commit -qm 'Basket in SQLite'",
        "pytest: 3 passed.",
        "Commit 'Basket in SQLite' as 1a2b3c4",
    ),
    _ran("git commit -qm 'Typer'", "", "Commit “Typer” as 2b3c4d5"),
    _ran("git push origin main", "Failed with exit code 128: “fatal: no such remote”."),
]


def test_a_session_is_told_by_request_result_and_what_is_left() -> None:
    """A summary has request, commits, test verdict, open failures and key files."""
    summary = summarize(prompts=PROMPTS, observations=OBSERVATIONS, last_messages=MESSAGES)

    assert summary == (
        "Asked: Move the basket to SQLite. Committed: “Basket in SQLite”; “Typer”. Tests: 3 passed. "
        "Ended with: cli.py is a typer app. Left open: git push: “fatal: no such remote”. "
        "Files: shop/basket.py; shop/cli.py. Commits: 2b3c4d5 “Typer”; 1a2b3c4 “Basket in SQLite”. "
        "Also asked: Let the command line use typer. Before that: The basket is SQLite now."
    )


def test_without_a_commit_the_last_message_says_how_it_ended() -> None:
    """Without a commit the last message is the outcome in the summary's first line."""
    summary = summarize(
        prompts=["Why is the import slow?"],
        observations=[_Noted("Read shop/importer.py", tool_name="Read")],
        last_messages=["It parses every line twice. I changed nothing."],
    )

    assert summary == "Asked: Why is the import slow? Ended: It parses every line twice."


def test_failing_tests_stand_in_the_first_line() -> None:
    """Failing tests are in the summary's first line, which the index shows."""
    summary = summarize(prompts=["Fix the basket. " * 9], observations=OBSERVATIONS[:3], last_messages=[])

    assert summary.startswith("Asked: Fix the basket. Ended: Run it. Tests: 2 failed, 1 passed.")
    assert "Left open: pytest: “KeyError: 'x'”." in summary


@pytest.mark.parametrize(
    ("observations", "open_failures"),
    [
        ([_ran("git push", "Failed with exit code 1: fatal: x."), _ran("git fetch")], 1),
        ([_ran("grep -n x a", "Failed with exit code 1.")], 0),
        ([_ran("./deploy", "Failed with exit code 1.")], 1),
        ([_ran("./deploy", "Failed with exit code 1: error: x."), _ran("./deploy --now && ls")], 0),
    ],
)
def test_a_failure_is_open_until_the_same_command_succeeds(
    observations: list[_Noted], open_failures: int
) -> None:
    """A failure stays open until the same program succeeds; a search without hits is no failure."""
    summary = summarize(prompts=["Do it now please."], observations=observations, last_messages=[])

    assert summary.count("Left open") == open_failures


def test_a_long_session_keeps_to_its_length() -> None:
    """A summary has at most 900 characters, and its first 200 are complete by themselves."""
    says = "Please change the number {} of the many things that are wrong with it today"
    prompts = [says.format(number) for number in range(30)]
    title = "Commit “A subject of some length {0}” as 1a2b3c{0}"
    commits = [_ran("git commit", "", title.format(number)) for number in range(9)]

    said = [f"Changed {prompt}." for prompt in prompts]
    summary = summarize(prompts=prompts, observations=commits, last_messages=said)

    assert 600 < len(summary) <= 900
    assert "Committed: “A subject" in summary[:200]
    assert summary.index("Ended with") <= 201


def test_nothing_gives_nothing() -> None:
    """A session that was empty or only gave consent has no summary."""
    assert summarize(prompts=[], observations=[], last_messages=[]) == ""
    assert summarize(prompts=["ok"], observations=[], last_messages=[""]) == ""


def test_of_a_report_the_items_that_name_code_go_before_filler() -> None:
    """A report's excerpt drops sentences with neither a prompt word nor a name, and repeats no heading."""
    report = (
        "I see what happens there now.\n\nThe otter warns when all of this holds:\n"
        "- Two pumps stand in one shed\n- The valve of `Shed.open` is old\n\nGreat, that was well seen."
    )

    told = reported("Report", report, {"otter": 3.0}, chars=130)

    head = "The otter warns when all of this holds"
    assert told == f"{head}: Two pumps stand in one shed; The valve of `Shed.open` is old"


def test_an_excerpt_is_made_of_whole_sentences() -> None:
    """An excerpt has the whole sentences that match the prompt best, added lines first; one alone is cut."""
    weights = {"otter": 5.0, "pump": 3.0}
    filler = "Nothing of note happened on this day either. "

    told = excerpt("Day 1", filler * 9 + "The otter bit the pump. " + "We left.", "", weights, chars=80)
    long = f"{filler[:-2]} {'and ' * 90}then the otter came {'again ' * 90}"
    cut = excerpt("Day 2", long, "", weights, chars=80)
    code = excerpt("Edit pump", "", "- pump = 1\n- old()\n+ pump = 2\n+ new()", weights, chars=35)

    assert told == "Day 1: The otter bit the pump. We left."
    assert "the otter came" in cut
    assert len(cut) <= 80
    assert code == "Edit pump: “+ pump = 2 / + new()”"


def test_a_long_sentence_is_told_from_its_beginning() -> None:
    """A long sentence is excerpted from its beginning unless the match is far back."""
    early = "The shed that stands beside the pond has otters, " + "and more of them come each day, " * 20
    late = "The shed stands there, " * 20 + "and it has otters."

    assert excerpt("", early, "", {"otter": 1.0}, chars=180).startswith("The shed that stands")
    assert excerpt("", late, "", {"otter": 1.0}, chars=180).startswith("…")


def test_an_excerpt_of_a_hostile_row_is_quick() -> None:
    """An excerpt of a very long row takes bounded time."""
    started = time.process_time()
    for text in ("a\n" * 50_000, "; ".join(map(str, range(20_000))), "Read (" * 20_000, "x" * 100_000):
        assert len(excerpt(text, text, text, {"a": 1.0, "3": 1.0}, chars=LINE_CHARS)) <= LINE_CHARS

    assert time.process_time() - started < 5
