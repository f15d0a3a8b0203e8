"""Test that a digest for Claude is short, says each thing once, and keeps the facts."""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import cases, events
from support.recorded import DATA, restore
from support.strategies import CAPTURES, EVENTS, GIANTS, TOOLS

from claude_mem_lite.capture import priority
from claude_mem_lite.cli import demo
from claude_mem_lite.distill.digest import DIGEST_CHARS, digest, selection
from claude_mem_lite.distill.observation import Capture, Skip
from claude_mem_lite.distill.rules import observe
from claude_mem_lite.redaction.events import scrub

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
from lengthen import lengthened


def _tool(tool_name: str, arguments: dict[str, Any], response: object = None) -> Capture:
    return cases.of_event(events.tool(tool_name, arguments, response))


def _bash(command: str, stdout: str, description: str = "", **response: Any) -> Capture:
    arguments = {"command": command, "description": description}
    return _tool("Bash", arguments, {"stdout": stdout, "stderr": "", **response})


@pytest.mark.parametrize("case", cases.load("distill/sent")["case"], ids=cases.promise)
def test_each_kind_of_tool(case: dict[str, Any]) -> None:
    """A digest has the call and its outcome, each once, without the client's bookkeeping."""
    assert digest(cases.capture(case)).strip() == case["sent"].strip()


def test_a_long_diff_keeps_hunks_and_definitions() -> None:
    """A cut diff keeps every hunk header and, in order, definitions, comments and errors."""
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
    assert "removed_9" not in text
    assert "context" not in text
    assert "[… 8 lines left out …]" in lines


def test_a_long_output_keeps_errors_and_verdicts() -> None:
    """A cut output keeps its first lines, the error with its neighbours, and the verdict at the end."""
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


def test_a_long_table_is_its_first_rows_and_its_last() -> None:
    """Of many rows that differ only in numbers the first and the last are kept."""
    rows = "\n".join(f"2026-01-01  Rent {number}  {number}.00" for number in range(2_000))

    text = digest(_bash("report", rows))

    assert "Rent 0 " in text
    assert "Rent 1999 " in text
    assert len(text) < 500
    assert "[… 1,994 lines left out …]" in text


def test_a_long_file_keeps_signatures_docstrings_comments_and_constants() -> None:
    """A cut source keeps signatures, docstrings, comments and constants."""
    body = "\n".join(f"    value_{index} = compute(value_{index - 1}, {index})" for index in range(1, 400))
    end = "    # NFS has no locks"
    head = (
        'TAX = 19\n\n\ndef net(\n    gross: int,\n    rate: int,\n) -> int:\n    """Without\n    any tax."""'
    )
    content = f"{head}\n{body}\n{end}\n"

    given = {"file_path": "/shop/a.py", "content": content}
    text = digest(_tool("Write", given, {"type": "create"}), limit=900)

    assert {*filter(None, head.split("\n")), end} <= set(text.split("\n"))


def test_long_prose_keeps_headings_and_first_sentences() -> None:
    """Cut prose keeps every heading and each paragraph's first sentence."""
    section = f"## Part {{0}}\n\nPart {{0}} begins here. {'It goes on and on in many words. ' * 20}"
    sections = "\n\n".join(section.format(number) for number in range(10))

    text = digest(_tool("WebFetch", {"url": "https://x.test"}, {"result": sections}), limit=1_600)

    for number in range(10):
        assert f"## Part {number}\n" in text
        assert f"Part {number} begins here.\n" in text


def test_a_long_json_answer_keeps_its_shape() -> None:
    """A cut JSON answer keeps keys and first items, and counts the rest."""
    answer = json.dumps({"total": 300, "rows": [{"id": number, "text": "x" * 300} for number in range(300)]})

    text = digest(_tool("mcp__db__query", {"sql": "select"}, answer), limit=1_500)

    assert text.startswith('mcp__db__query\nsql: select\n{"total": 300, "rows": [{"id": 0, "text": "xxx')
    assert " more" in text


def test_a_huge_line_is_clipped() -> None:
    """A cut line keeps its beginning, its end and its length."""
    content = "a" * 50_000 + "THE END"

    text = digest(_tool("Write", {"file_path": "/shop/a.min.js", "content": content}), limit=1_000)

    assert 900 < len(text) <= 1_000
    assert " [… 50,007 characters …] " in text
    assert text.endswith("THE END")


def test_what_the_queue_cut_stays_marked() -> None:
    """The mark of an earlier cut survives a later one."""
    cut = "[… 12,345 characters cut …]"
    words = [f"plain {'words ' * (number % 7)}{chr(97 + number % 26)}" for number in range(600)]

    assert cut in digest(_bash("make", "\n".join([*words[:300], cut, *words[300:]])), limit=600)


def test_an_equal_line_gives_way_to_a_new_one() -> None:
    """When there is no room for all, repeated lines are kept once."""
    lines = [*(["# the same comment as before"] * 20), "# another comment"]

    says = "# the same comment as before\n[… 19 lines left out …]\n# another comment"
    assert selection.select(lines, selection.code_worths, 100) == says


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(capture=CAPTURES, limit=st.one_of(st.just(DIGEST_CHARS), st.integers(0, 400)))
def test_digest_takes_any_payload(capture: Capture, limit: int) -> None:
    """A payload with missing keys, wrong types or odd texts gives a valid text within the limit."""
    text = digest(capture, limit=limit)

    assert len(text) <= limit
    assert not set(text) & {"\0", "\x1b", "\r", "\x07", "\u202e", "\u2028"}
    text.encode()
    assert text == digest(capture, limit=limit)


@pytest.mark.parametrize("payload", [None, [], "text", 3])
def test_digest_takes_a_payload_that_is_no_object(payload: Any) -> None:
    """A payload that is no object gives the tool's name alone."""
    for event_name, tool_name in itertools.product(EVENTS, TOOLS):
        assert len(digest(Capture(event_name, tool_name, payload, "/p"))) < 100


def test_digest_takes_deep_nesting() -> None:
    """Ten thousand nested lists and objects give a text within the limit."""
    nested: Any = "the core"
    for _ in range(10_000):
        nested = {"a": [nested]}

    for tool_name in TOOLS:
        for arguments in (nested, {"x": nested, "todos": nested, "edits": nested}):
            assert len(digest(_tool(tool_name, arguments, [nested]))) <= DIGEST_CHARS


@pytest.mark.parametrize("giant", [*GIANTS, "word " * 2_000_000], ids=lambda giant: repr(giant[:6]))
def test_giant_fields_are_cut_down(giant: str) -> None:
    """Megabytes in every field give a text within the limit, for every tool."""
    names = ("file_path", "command", "content", "old_string", "pattern", "query", "prompt", "plan", "url")
    response = {"stdout": giant, "originalFile": giant, "file": {"content": giant}, "result": giant}
    response["structuredPatch"] = [{"lines": [f"+{giant}", "-x"]}]
    payload = {"tool_input": dict.fromkeys(names, giant), "tool_response": response, "error": giant}

    for event_name in EVENTS:
        for tool_name in ("Write", "Edit", "Bash", "Read", "Grep", "WebFetch", "Agent", "mcp__a__b"):
            assert len(digest(Capture(event_name, tool_name, payload, "/p"))) <= DIGEST_CHARS


FACTS: dict[str, Any] = json.loads(restore((DATA / "ledger" / "facts.json").read_text()))


@pytest.fixture(scope="module", params=[1, 10])
def history(request: pytest.FixtureRequest) -> tuple[int, list[Capture]]:
    """Return the recorded history as it is stored, once as it was and once ten times as long."""
    events = list(demo.recorded_events())
    events = lengthened(events, request.param) if request.param > 1 else events
    stored = (json.loads(scrub(json.dumps(event))) for event in events)
    return request.param, [cases.of_event(event, demo.PROJECT) for event in stored]


@pytest.fixture(scope="module")
def digests(history: tuple[int, list[Capture]]) -> dict[str, str]:
    """Return the digests of the captures that Claude is asked about, by tool_use_id."""
    _, captures = history
    return {
        capture.payload["tool_use_id"]: digest(capture)
        for capture in captures
        if capture.event_name in {"PostToolUse", "PostToolUseFailure"}
        and priority.priority(capture.tool_name, capture.payload["tool_input"].get("command", "")) != "low"
        and not isinstance(observe(capture), Skip)
    }


def _holds(text: str, question: dict[str, Any]) -> bool:
    return all(answer.lower() in text.lower() for answer in question["answer_contains"])


def test_the_digests_hold_the_facts(history: tuple[int, list[Capture]], digests: dict[str, str]) -> None:
    """The digests, prompts and reports together answer every question about the recorded history."""
    _, captures = history
    said = [
        capture.payload.get("prompt") or capture.payload.get("last_assistant_message") or ""
        for capture in captures
        if capture.event_name in {"UserPromptSubmit", "Stop", "SubagentStop"}
    ]
    text = "\n".join([*digests.values(), *said])

    asked = [question for question in FACTS["questions"] if question["kind"] != "transcript_only"]

    assert [question["id"] for question in asked if not _holds(text, question)] == []


def test_a_fact_stands_in_the_digest_of_its_own_capture(
    history: tuple[int, list[Capture]], digests: dict[str, str]
) -> None:
    """A digest keeps the answers that its capture holds, all but three where texts are ten times as long."""
    factor, captures = history
    whole = {
        capture.payload["tool_use_id"]: json.dumps(capture.payload, ensure_ascii=False)
        for capture in captures
        if capture.payload.get("tool_use_id") in digests
    }

    evidence = [
        (question, tool_use_id)
        for question in FACTS["questions"]
        for tool_use_id in question["evidence"]
        if tool_use_id in digests and _holds(whole[tool_use_id], question)
    ]
    lost = [
        question["id"] for question, tool_use_id in evidence if not _holds(digests[tool_use_id], question)
    ]

    assert len(evidence) >= 43
    assert len(lost) <= (0 if factor == 1 else 3), lost


def test_the_digests_are_short(history: tuple[int, list[Capture]], digests: dict[str, str]) -> None:
    """Digests have at most 1,300 characters on average, and 6,000 where texts are ten times as long."""
    factor, _ = history
    lengths = [len(text) for text in digests.values()]

    assert len(lengths) > 110
    assert max(lengths) <= DIGEST_CHARS
    assert sum(lengths) / len(lengths) < (1_300 if factor == 1 else 6_000)
