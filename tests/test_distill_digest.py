"""What Claude is sent of one capture: short, each thing once, cut by content when it is long."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import cases
from support.strategies import CAPTURES, EVENTS, GIANTS, TOOLS

from claude_mem_lite.distill.digest import DIGEST_CHARS, digest, selection
from claude_mem_lite.distill.observation import Capture

BEFORE = '''\
"""Prices."""
import faraway

LIMIT = 10


def net(gross: int) -> int:
    """Without tax."""
    rate = 19
    first = gross
    second = first
    return second
'''
HUNK = {
    "oldStart": 8,
    "oldLines": 5,
    "newStart": 8,
    "newLines": 5,
    "lines": [
        '     """Without tax."""',
        "     rate = 19",
        "     first = gross",
        "-    second = first",
        "+    second = first * 100 // (100 + rate)",
        "     return second",
    ],
}


def _tool(tool_name: str, arguments: object, response: object = None) -> Capture:
    return Capture("PostToolUse", tool_name, {"tool_input": arguments, "tool_response": response}, "/shop")


def _failed(tool_name: str, arguments: object, error: str, **more: Any) -> Capture:
    payload = {"tool_input": arguments, "error": error, **more}
    return Capture("PostToolUseFailure", tool_name, payload, "/shop")


def _bash(command: str, stdout: str, description: str = "", **response: Any) -> Capture:
    arguments = {"command": command, "description": description}
    return _tool("Bash", arguments, {"stdout": stdout, "stderr": "", **response})


def test_an_edit_is_its_hunks_with_one_line_of_context() -> None:
    """The client's patch is sent, neither the old file nor the strings beside it, nor wide context."""
    arguments = {
        "file_path": "/shop/net.py",
        "old_string": "    second = first",
        "new_string": "    second = …",
    }
    capture = _tool("Edit", arguments, {"originalFile": BEFORE, "structuredPatch": [HUNK]})

    assert digest(capture) == (
        "Edit net.py\n"
        "@@ -10,3 +10,3 @@\n"
        "     first = gross\n"
        "-    second = first\n"
        "+    second = first * 100 // (100 + rate)\n"
        "     return second"
    )


def test_changes_far_apart_in_one_hunk_get_headers_of_their_own() -> None:
    """Where context is left out inside a hunk, the rest is numbered anew."""
    lines = ["-a", "+A", " b", " c", " d", " e", "-f", "+F"]
    hunk = {"oldStart": 1, "oldLines": 6, "newStart": 1, "newLines": 6, "lines": lines}

    text = digest(_tool("Edit", {"file_path": "/shop/x.txt"}, {"structuredPatch": [hunk]}))

    assert text == "Edit x.txt\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -5,2 +5,2 @@\n e\n-f\n+F"


def test_an_edit_without_a_patch_is_compared() -> None:
    """Old and new strings give a diff; what they have in common is told once."""
    same = [f"line {number}" for number in range(9)]
    arguments = {
        "file_path": "/shop/x.py",
        "old_string": "\n".join([*same, "old"]),
        "new_string": "\n".join([*same, "new"]),
        "replace_all": True,
    }

    text = digest(_tool("Edit", arguments, {}))

    assert text == "Edit x.py, all occurrences\n@@ -9,2 +9,2 @@\n line 8\n-old\n+new"


def test_a_multi_edit_without_a_patch_is_compared_pair_by_pair() -> None:
    """Each replacement of a MultiEdit is a hunk."""
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]

    text = digest(_tool("MultiEdit", {"file_path": "/shop/x.py", "edits": edits}))

    assert text == "MultiEdit x.py\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-c\n+d"


def test_a_new_file_is_its_content_once() -> None:
    """The answer repeats the content; the digest does not."""
    response = {"type": "create", "content": BEFORE, "originalFile": None, "structuredPatch": []}

    text = digest(_tool("Write", {"file_path": "/shop/net.py", "content": BEFORE}, response))

    assert text == f"Write net.py (new file, 12 lines)\n{BEFORE.strip()}"


def test_a_rewritten_file_is_its_patch() -> None:
    """A Write over an old file sends what changed; without the client's patch it is compared."""
    after = BEFORE.replace("LIMIT = 10", "LIMIT = 12")
    arguments = {"file_path": "/shop/net.py", "content": after}
    hunk = {"oldStart": 3, "newStart": 3, "lines": [" ", "-LIMIT = 10", "+LIMIT = 12", " "]}
    expected = "Write net.py (over the old file)\n@@ -3,3 +3,3 @@\n \n-LIMIT = 10\n+LIMIT = 12"
    response = {"type": "update", "content": after, "originalFile": BEFORE}

    assert digest(_tool("Write", arguments, {**response, "structuredPatch": [hunk]})).strip() == expected
    assert digest(_tool("Write", arguments, response)).strip() == expected


def test_a_notebook_cell_is_compared() -> None:
    """The cell's old and new source are told apart, the notebook itself is not sent."""
    arguments = {"notebook_path": "/shop/a.ipynb", "cell_id": "c7", "new_source": "import json\nx = 2"}
    response = {
        "old_source": "import json\nx = 1",
        "cell_type": "code",
        "edit_mode": "replace",
        "original_file": '{"cells": "whole"}',
    }

    text = digest(_tool("NotebookEdit", {**arguments, "edit_mode": "replace"}, response))

    assert text == "NotebookEdit a.ipynb replace code cell c7\n@@ -1,2 +1,2 @@\n import json\n-x = 1\n+x = 2"


def test_a_command_is_sent_with_its_output_without_noise() -> None:
    """Progress, dots and listings go, equal lines become one with their number."""
    stdout = (
        "......F.  [100%]\n\n 10%\r 50%\rDone building\nretrying in 5 s\nretrying in 5 s\nretrying in 5 s\n"
        "drwxr-xr-x 2 dev dev 4096 Nov 21 03:00 .\n1 failed, 7 passed in 0.02s"
    )

    text = digest(_bash("python3 -m pytest -q", stdout, "Run the tests"))

    assert text == (
        "Bash: Run the tests\n$ python3 -m pytest -q\nDone building\nretrying in 5 s × 3\n"
        "1 failed, 7 passed in 0.02s"
    )


def test_a_command_tells_its_circumstances() -> None:
    """What the client says beside the output is told in a line."""
    text = digest(_bash("make all", "", backgroundTaskId="b1", timedOutAfterMs=120_000))

    assert text == "Bash\n$ make all\nIt goes on in the background. Timed out after 120 s."


def test_a_failed_command_is_its_error_once() -> None:
    """The exit code is told; an output that an old client sent twice stands there once."""
    error = "Traceback (most recent call last):\nKeyError: 'rent'"

    text = digest(_failed("Bash", {"command": "python3 a.py"}, f"Exit code 1\n{error}\n\n{error}"))

    assert text == "Bash\n$ python3 a.py\nFailed with exit code 1\nKeyError: 'rent'"


def test_a_failure_of_another_tool_is_its_inputs_and_its_error() -> None:
    """Whatever failed, on what and why is told."""
    missing = _failed("Read", {"file_path": "/shop/a.md"}, "File does not exist.", is_interrupt=True)
    refused = _failed("mcp__db__query", {"sql": "select 1"}, "connection refused")

    assert digest(missing) == "Read a.md\nFailed, interrupted by the user\nFile does not exist."
    assert digest(refused) == "mcp__db__query\nsql: select 1\nFailed\nconnection refused"


@pytest.mark.parametrize("case", cases.load("distill/sent")["case"], ids=lambda case: case.get("tool", ""))
def test_each_kind_of_tool(case: dict[str, Any]) -> None:
    """What the call was, then what came of it, and nothing of the client's book-keeping."""
    assert digest(cases.capture(case)) == case["sent"]


def test_a_long_diff_keeps_hunks_and_definitions() -> None:
    """Every header stays, then definitions, comments and errors, added before removed; order is kept."""
    hunks = [
        {
            "oldStart": 100 * number,
            "newStart": 100 * number,
            "lines": [
                f" context = {number}",
                *(f"-    removed_{number}_{index} = call({index})" for index in range(8)),
                f"+def added_{number}(gross: int) -> int:",
                f'+    """Add {number}."""',
                *(f"+    plain_{number}_{index} = call({index})" for index in range(8)),
                f'+    raise ValueError("error {number}")',
            ],
        }
        for number in range(1, 11)
    ]

    text = digest(_tool("Edit", {"file_path": "/shop/a.py"}, {"structuredPatch": hunks}), limit=2_400)

    lines = text.split("\n")
    for number in range(1, 11):
        places = [
            lines.index(line)
            for line in (
                f"@@ -{100 * number},9 +{100 * number},12 @@",
                f"+def added_{number}(gross: int) -> int:",
                f'+    """Add {number}."""',
                f'+    raise ValueError("error {number}")',
            )
        ]
        assert places == sorted(places)
    assert len(text) <= 2_400
    assert "removed_9" not in text
    assert "context" not in text
    assert "[… 8 lines left out …]" in lines


def test_a_long_output_keeps_errors_and_verdicts() -> None:
    """The error in the middle with its neighbours, the first lines and the verdict at the end stay."""
    words = ("checking", "linking", "copying", "signing", "packing")
    noise = [f"{words[index % 5]} module {chr(97 + index % 26) * (index % 9 + 1)}" for index in range(3_000)]
    noise[1_500] = "sqlite3.OperationalError: no such table: posting"
    stdout = "\n".join(["build 4711 begins", *noise, "2 failed, 1,398 passed in 9.12s"])

    text = digest(_bash("make", stdout), limit=1_000)

    lines = text.split("\n")
    assert lines[:4] == ["Bash", "$ make", "build 4711 begins", noise[0]]
    error = lines.index("sqlite3.OperationalError: no such table: posting")
    assert (lines[error - 1], lines[error + 1]) == (noise[1_499], noise[1_501])
    assert lines[-1] == "2 failed, 1,398 passed in 9.12s"
    assert len(text) <= 1_000


def test_a_long_table_is_its_first_rows_and_its_last() -> None:
    """Rows that differ in numbers only are worth a few of them."""
    rows = "\n".join(f"2026-01-01  Rent {number}  {number}.00" for number in range(2_000))

    text = digest(_bash("report", rows))

    assert "Rent 0 " in text
    assert "Rent 1999 " in text
    assert len(text) < 500
    assert "[… 1,994 lines left out …]" in text


def test_a_long_file_keeps_signatures_docstrings_comments_and_constants() -> None:
    """A source is cut to what tells most to somebody who does not have it."""
    body = "\n".join(f"    value_{index} = compute(value_{index - 1}, {index})" for index in range(1, 400))
    end = "    # NFS has no locks"
    head = (
        'TAX = 19\n\n\ndef net(\n    gross: int,\n    rate: int,\n) -> int:\n    """Without\n    any tax."""'
    )
    content = f"{head}\n{body}\n{end}\n"

    text = digest(
        _tool("Write", {"file_path": "/shop/a.py", "content": content}, {"type": "create"}), limit=900
    )

    for line in (
        "TAX = 19",
        "def net(",
        "    gross: int,",
        "    rate: int,",
        '    """Without',
        '    any tax."""',
        "    # NFS has no locks",
    ):
        assert line in text.split("\n")
    assert len(text) <= 900


def test_long_prose_keeps_headings_and_first_sentences() -> None:
    """Of a paragraph its beginning stays, of a text every heading."""
    sections = "\n\n".join(
        f"## Part {number}\n\nPart {number} begins here. {'It goes on and on in many words. ' * 20}"
        for number in range(10)
    )

    text = digest(_tool("WebFetch", {"url": "https://x.test"}, {"result": sections}), limit=1_600)

    for number in range(10):
        assert f"## Part {number}\n" in text
        assert f"Part {number} begins here.\n" in text
    assert len(text) <= 1_600


def test_a_long_json_answer_keeps_its_shape() -> None:
    """The first items and the keys stay; how many were left out is told."""
    answer = json.dumps({"total": 300, "rows": [{"id": number, "text": "x" * 300} for number in range(300)]})

    text = digest(_tool("mcp__db__query", {"sql": "select"}, answer), limit=1_500)

    assert text.startswith('mcp__db__query\nsql: select\n{"total": 300, "rows": [{"id": 0, "text": "xxx')
    assert " more" in text
    assert len(text) <= 1_500


def test_a_huge_line_is_clipped() -> None:
    """A minified file leaves its beginning and its end, and how long it was."""
    content = "a" * 50_000 + "THE END"

    text = digest(_tool("Write", {"file_path": "/shop/a.min.js", "content": content}), limit=1_000)

    assert 900 < len(text) <= 1_000
    assert " [… 50,007 characters …] " in text
    assert text.endswith("THE END")


def test_what_the_queue_cut_stays_marked() -> None:
    """The mark that an earlier cut left is never lost in ours."""
    cut = "[… 12,345 characters cut …]"
    words = [f"plain {'words ' * (number % 7)}{chr(97 + number % 26)}" for number in range(600)]

    assert cut in digest(_bash("make", "\n".join([*words[:300], cut, *words[300:]])), limit=600)


def test_an_equal_line_gives_way_to_a_new_one() -> None:
    """When there is no room for all, a comment is kept once."""
    lines = [*(["# the same comment as before"] * 20), "# another comment"]

    assert selection.select(lines, selection.code_worths, 100) == (
        "# the same comment as before\n[… 19 lines left out …]\n# another comment"
    )


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(capture=CAPTURES, limit=st.one_of(st.just(DIGEST_CHARS), st.integers(0, 400)))
def test_digest_takes_any_payload(capture: Capture, limit: int) -> None:
    """Missing keys, wrong types and odd texts give a text within the limit that can be sent."""
    text = digest(capture, limit=limit)

    assert len(text) <= limit
    assert not set(text) & {"\0", "\x1b", "\r", "\x07", "\u202e", "\u2028"}
    text.encode()
    assert text == digest(capture, limit=limit)


@pytest.mark.parametrize("payload", [None, [], "text", 3])
@pytest.mark.parametrize("event_name", EVENTS)
def test_digest_takes_a_payload_that_is_no_object(payload: Any, event_name: str) -> None:
    """A payload that isn't even an object leaves the tool's name."""
    for tool_name in TOOLS:
        assert len(digest(Capture(event_name, tool_name, payload, "/p"))) < 100


def test_digest_takes_deep_nesting() -> None:
    """Ten thousand lists and objects inside one another end somewhere."""
    nested: Any = "the core"
    for _ in range(10_000):
        nested = {"a": [nested]}

    for tool_name in TOOLS:
        payload = {"tool_input": nested, "tool_response": nested}
        assert len(digest(Capture("PostToolUse", tool_name, payload, "/p"))) <= DIGEST_CHARS
        payload = {"tool_input": {"x": nested, "todos": nested, "edits": nested}, "tool_response": [nested]}
        assert len(digest(Capture("PostToolUse", tool_name, payload, "/p"))) <= DIGEST_CHARS


@pytest.mark.parametrize("giant", [*GIANTS, "word " * 2_000_000], ids=lambda giant: repr(giant[:6]))
def test_giant_fields_are_cut_down(giant: str) -> None:
    """Megabytes in every field come out within the limit, whatever the tool."""
    names = ("file_path", "command", "content", "old_string", "pattern", "query", "prompt", "plan", "url")
    response = {
        "stdout": giant,
        "originalFile": giant,
        "file": {"content": giant},
        "result": giant,
        "structuredPatch": [{"lines": [f"+{giant}", "-x"]}],
    }
    payload = {"tool_input": dict.fromkeys(names, giant), "tool_response": response, "error": giant}

    for event_name in EVENTS:
        for tool_name in ("Write", "Edit", "Bash", "Read", "Grep", "WebFetch", "Agent", "mcp__a__b"):
            assert len(digest(Capture(event_name, tool_name, payload, "/p"))) <= DIGEST_CHARS
