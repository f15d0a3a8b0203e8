"""Test how a session's state is made of its reports and of what the user settled."""

from __future__ import annotations

import pytest

from claude_mem_lite.distill.state import state_of
from claude_mem_lite.distill.statements import statements
from claude_mem_lite.distill.thread import decisions
from claude_mem_lite.storage.models import Observation

REPORT = """\
The cache was stale, and every reader
saw the old rate.

## Root cause
- The list is copied before the lock
  - `refresh` was never called from the timer

Remaining:
1. Tests for the parser
2. `rates.py`:
   - the fallback has no timeout

Nothing else is affected by that.
- An item after a paragraph has no head
"""


def rows(*told: tuple[str, str]) -> list[Observation]:
    """Return observations of a session, each by its tool's name and what it says."""
    return [
        Observation(
            id=str(at), tool_name=tool, title="", summary=says, files_touched=[], written_by="local",
            created_at=f"2026-05-0{at + 1}T00:00:00Z",
        )
        for at, (tool, says) in enumerate(told)
    ]  # fmt: skip


def test_an_item_is_told_under_what_stands_above_its_list() -> None:
    """Headings, lines with a colon and items with a colon are heads; a paragraph ends them."""
    assert [each.text for each in statements(REPORT)] == [
        "The cache was stale, and every reader saw the old rate.",
        "Root cause: The list is copied before the lock",
        "Root cause: `refresh` was never called from the timer",
        "Remaining: Tests for the parser",
        "`rates.py`: the fallback has no timeout",
        "Nothing else is affected by that.",
        "An item after a paragraph has no head",
    ]


def test_a_row_of_a_table_is_told_like_an_item() -> None:
    """The head of a table and empty cells say nothing by themselves."""
    report = (
        "What was renamed:\n\n| What | Old | New |\n|---|:---:|---|\n"
        "| **Metadata field** | `checkpoints` | `steps`, always |\n| Log key | | `steps_condensed` |\n\n"
        "| File | Change |\n| --- | --- |\n| ** |\n| `a.go` | reads both names \\| writes the new one |\n"
    )

    assert [each.text for each in statements(report)] == [
        "What was renamed: Metadata field: `checkpoints`; `steps`, always",
        "What was renamed: Log key: `steps_condensed`",
        "What was renamed: `a.go`: reads both names | writes the new one",
    ]


def test_a_sentence_is_told_with_what_it_refers_to() -> None:
    """A sentence or an item that begins with "it" or "this" says nothing by itself."""
    report = (
        "The cache was stale. It was never emptied. This is mended now.\n\n- These are two\n- It's `a` and b"
    )

    assert [each.text for each in statements(report)] == [
        "The cache was stale. It was never emptied. This is mended now."
    ]


def test_what_is_left_open_is_told_by_the_heading_above_it() -> None:
    """The items of "Remaining:" say by themselves nothing of being open."""
    state = state_of(rows(("UserPromptSubmit", "Repair the rates"), ("Stop", REPORT)))

    opened = [said.says for said in state.thread if said.label == "Said to be open"]

    assert opened == ["Remaining: Tests for the parser"]


def test_a_decision_in_a_few_words_is_told_with_its_question() -> None:
    """A go-ahead, a question back and a request after a report without a question settle nothing."""
    told = rows(
        ("UserPromptSubmit", "Keep the rates"),
        ("Stop", "Both would work. Which one do you prefer?\n- A) a column\n- B) a table"),
        ("UserPromptSubmit", "a table, the column is gone on purpose"),
        ("Stop", "It is done. Shall I commit it?"),
        ("UserPromptSubmit", "yes"),
        ("Stop", "Shall I remove the flag as well?"),
        ("UserPromptSubmit", "who else is using that flag?"),
        ("Stop", "Nobody uses it."),
        ("UserPromptSubmit", "then write the release notes please"),
    )

    assert decisions(told) == ["“Which one do you prefer?” a table, the column is gone on purpose"]


@pytest.mark.parametrize(
    ("reason", "left"),
    [
        ("We keep the table because old clients read it.", "The import is not done."),
        ("Die Tabelle bleibt, weil alte Clients sie lesen.", "Der Import ist noch nicht fertig."),
        ("La table reste parce que les anciens clients la lisent.", "L'import n'est pas encore fait."),
        ("La tabla queda porque los clientes la leen.", "La importación está pendiente."),
        ("Таблица остаётся, потому что её читают клиенты.", "Импорт ещё не готов."),
        ("保留这张表,因为旧客户端还在读取它。", "导入功能尚未完成,需要补测试。"),
        ("列ではなく代わりにテーブルを使う方針です。", "インポートはまだ終わっていません。"),
    ],
)
def test_reasons_and_open_ends_are_told_in_many_languages(reason: str, left: str) -> None:
    """Each by its own label, and neither under the other's."""
    state = state_of(rows(("UserPromptSubmit", "Go on"), ("Stop", f"{reason}\n\n{left}")))

    told = {said.label: said.says for said in state.thread}

    assert (told["Decided"], told["Said to be open"]) == (reason, left)


def test_a_report_without_an_edit_is_overtaken_by_one_on_edits() -> None:
    """What was proposed before the work is not told; what came after it, and what was settled, is."""
    told = rows(
        ("UserPromptSubmit", "Why is the rate old?"),
        ("Stop", "`refresh` should empty the cache because it is stale. Shall I do that?"),
        ("UserPromptSubmit", "yes, and drop the timer too"),
        ("Edit", "Edited rates.py"),
        ("Stop", "`refresh` empties the cache."),
        ("UserPromptSubmit", "Is the timer still used?"),
        ("Stop", "`Timer` is used by the tests because they wait."),
    )

    state = state_of(told)

    assert [said.says for said in state.statements if not said.is_deed] == [
        "`Timer` is used by the tests because they wait.",
        "`refresh` empties the cache.",
        "“Shall I do that?” yes, and drop the timer too",
    ]
    assert [said.says for said in state.thread if said.label == "Decided"] == [
        "`Timer` is used by the tests because they wait."
    ]


@pytest.mark.parametrize(
    ("verdict", "after", "expected"),
    [
        ("2 passed", [], ["Tests: `make && make test` passed"]),
        (
            "2 passed",
            [("Edit", "Edited a.py"), ("Bash", "Run pytest: 1 passed. Ran `pytest tests/test_a.py`.")],
            ["Tests: `make && make test` passed, 1 edit since"],
        ),
        (
            "1 failed, 2 passed; failing: test_a",
            [],
            ["Failing: 1 failed, 2 passed; failing: test_a. Ran `make && make test`."],
        ),
    ],
)
def test_the_last_run_of_the_tests_is_told(
    verdict: str, after: list[tuple[str, str]], expected: list[str]
) -> None:
    """By the command for all of them, and whether what it said is older than the code; no counts."""
    told = rows(
        ("Edit", "Edited rates.py"), ("Bash", f"Run make: {verdict}. Ran `make && make test`."), *after
    )

    assert [said.text for said in state_of(told).thread if "passed" in said.says] == expected


def test_a_thread_tells_what_its_last_turn_came_to() -> None:
    """How its report begins, but for what says nothing and what another line tells."""
    report = (
        "All tests pass.\n\n`load` reads CSV.\n\nIt stores cents because floats round.\n\nNext is the help."
    )
    state = state_of(rows(("UserPromptSubmit", "Add CSV"), ("Edit", "Edited a.py"), ("Stop", report)))

    assert [said.text for said in state.thread if said.label == "Came to"] == ["Came to: `load` reads CSV."]


def test_an_answer_stands_under_its_question() -> None:
    """Of a short prompt that asks; what says nothing is left out, and what follows stands by itself."""
    told = rows(
        ("UserPromptSubmit", "does `load` lock the book?"),
        ("Stop", "All tests pass.\n\nNo, only `save` takes the lock.\n\n`load` reads a copy."),
        ("UserPromptSubmit", "Make `load` wait for the lock."),
        ("Stop", "`load` waits for the lock now."),
    )

    assert [said.text for said in state_of(told).statements] == [
        "`load` waits for the lock now.",
        "“does `load` lock the book?”: No, only `save` takes the lock.",
        "`load` reads a copy.",
    ]


def test_a_list_of_commands_says_nothing() -> None:
    """They were run, and were well; one alone may be what the sentence is about."""
    told = rows(
        ("Bash", "Run make. Ran `make lint && make test`."),
        (
            "Stop",
            "`make lint` - fine ✅ `make test` - all pass ✅\n\nUse `make test` alone, it lints as well.",
        ),
    )

    assert [said.says for said in state_of(told).statements] == ["Use `make test` alone, it lints as well."]


def test_a_list_stands_under_the_end_of_the_line_above_it() -> None:
    """What else that line says is told by itself, once."""
    told = rows(
        ("Stop", "Version 0.3.0 is tagged.\n\nIt has two parts. Since 0.1.0:\n\n- a backup with checksums")
    )

    assert "Since 0.1.0: a backup with checksums" in [said.text for said in state_of(told).statements]


def test_items_keep_their_lead_in_and_rows_lose_their_numbers() -> None:
    """Without them nobody knows what is spoken of; a ticked box says nothing, an empty one what is open."""
    report = (
        "I added tests of the counting logic to “`count_test.go`:”\n\n"
        "Done. Auto-commit sets the count of steps to one for both kinds:\n"
        "- Regular checkpoints (line 235)\n\n## Fixes\n\n"
        "| # | File | Change |\n|---|---|---|\n| 1 | `resume.go` | Pass the root of the repository |\n\n"
        "- [x] Run all of the tests again\n- [ ] Try it on a Mac by hand\n"
    )

    told = [each.text for each in statements(report)]

    assert told == [
        "Auto-commit sets the count of steps to one for both kinds: Regular checkpoints",
        "Fixes: `resume.go`: Pass the root of the repository",
        "Fixes: [ ] Try it on a Mac by hand",
    ]


def test_an_empty_box_is_open() -> None:
    """Whatever words stand behind it."""
    report = "It runs.\n\nTest plan:\n- [x] Run all of the tests\n- [ ] Try it on a Mac by hand"
    thread = state_of(rows(("UserPromptSubmit", "Make it run."), ("Stop", report))).thread

    told = [said.says for said in thread if said.label == "Said to be open"]
    assert told == ["Test plan: [ ] Try it on a Mac by hand"]


def test_what_passed_is_not_what_a_session_came_to() -> None:
    """It holds for a moment; what comes after it is told."""
    report = "It's working now. All unit tests pass.\n\n`load` reads the book in parts of 4 kB."
    thread = state_of(rows(("UserPromptSubmit", "Make it run."), ("Stop", report))).thread

    assert [said.says for said in thread if said.label == "Came to"] == [
        "`load` reads the book in parts of 4 kB."
    ]


@pytest.mark.parametrize(
    "report", ["The flag is still read by `main`.", "Linting is clean: no issues remain."]
)
def test_what_still_holds_is_not_open(report: str) -> None:
    """Words like "still" alone leave nothing to do."""
    thread = state_of(rows(("UserPromptSubmit", "Make it run."), ("Stop", report))).thread

    assert [said for said in thread if said.label == "Said to be open"] == []


def test_edits_under_way_are_one_line() -> None:
    """Each file of the project with what became of its functions, the newest first, for all of the edits."""
    edited = rows(("Edit", "Edit a.py"), ("Write", "Create a plan"), ("Edit", "Edit b.py"))
    for row, path in zip(edited, ("a.py", "/home/dev/.claude/plans/a.md", "b.py"), strict=True):
        row.files_touched = [path]

    thread = state_of(edited, changes={"a.py": "new load"}).thread

    assert [(said.label, said.says, len(said.stands_for)) for said in thread] == [
        ("Changed, not committed", "b.py, a.py (new load)", 3)
    ]


def test_what_was_before_is_told_with_what_came_after() -> None:
    """Alone it is not so any more; line numbers, which move, are left out."""
    report = (
        "Changes:\n- **Before:** `load` read it whole.\n- **After:** `load` reads `b.py:12-30` in parts.\n"
        "- Vorher: der Cache war nie leer (line 7)\n\nThe cache is cleared (lines 4-9) at each start."
    )

    assert [each.text for each in statements(report)] == [
        "Changes: Before: `load` read it whole → After: `load` reads `b.py` in parts.",
        "The cache is cleared at each start.",
    ]
