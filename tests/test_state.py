"""A session's state, drawn from reports and user answers, and which statements a block shows."""

from typing import Any

import pytest
from support import cases

from claude_mem_lite.context.coverage import choose
from claude_mem_lite.distill.state import State, state_of
from claude_mem_lite.distill.statements import statements
from claude_mem_lite.distill.thread import Said, decisions
from claude_mem_lite.storage.models import Observation

KNOWN = cases.load("distill/state")


def rows(*told: tuple[str, str]) -> list[Observation]:
    """Return observations of a session from pairs of tool name and summary."""
    return [
        Observation(
            id=str(at), tool_name=tool, title="", summary=says, files_touched=[], written_by="local",
            created_at=f"2026-05-0{at + 1}T00:00:00Z",
        )
        for at, (tool, says) in enumerate(told)
    ]  # fmt: skip


@pytest.mark.parametrize("case", KNOWN["statements"], ids=cases.promise)
def test_a_report_is_told_in_statements_that_stand_by_themselves(case: dict[str, Any]) -> None:
    """Each statement of a report includes the heading or sentence it needs to be understood."""
    assert [each.text for each in statements(case["report"])] == case["states"]


@pytest.mark.parametrize("case", KNOWN["state"], ids=cases.promise)
def test_a_session_is_told_by_what_it_came_to_and_left_open(case: dict[str, Any]) -> None:
    """A state has results and open ends, in many languages, without what is settled."""
    state = state_of(rows(*map(tuple, case["happened"])))

    for label, says in case.get("thread", {}).items():
        assert [said.says for said in state.thread if said.label == label] == says
    if "states" in case:
        assert [said.text for said in state.statements if not said.is_deed] == case["states"]


@pytest.mark.parametrize(("decided", "left"), KNOWN["reasons_and_open_ends"])
def test_reasons_and_open_ends_are_told_in_many_languages(decided: str, left: str) -> None:
    """In any language a sentence with a reason is a decision, and one that says so is open."""
    thread = state_of(rows(("UserPromptSubmit", "Go on"), ("Stop", f"{decided}\n\n{left}"))).thread

    told = {said.label: said.says for said in thread}
    assert (told["Decided"], told["Said to be open"]) == (decided, left)


@pytest.mark.parametrize(
    ("after", "is_merged"),
    [
        ([], True),
        ([("Stop", "It is in.")], True),
        ([("Edit", "Edited a.py (2 lines).")], False),
        ([("Bash", "Ran `gh pr merge 13 --auto`.")], True),
    ],
)
def test_who_merges_the_pull_request_last_has_brought_the_branch_in(
    after: list[tuple[str, str]], *, is_merged: bool
) -> None:
    """A session that merges its pull request counts as merged, unless it edits afterwards."""
    merge = ("Bash", "Ran `gh pr checks 12 --watch && gh pr merge 12 --squash`.")

    assert state_of(rows(merge, *after)).is_merged is is_merged
    assert not state_of(rows(("Bash", "Ran `gh pr merge 12 --auto`."))).is_merged
    assert not state_of(rows(("Bash", "Ran `gh pr merge 12`. Failed with exit code 1."))).is_merged


def test_a_plan_that_the_client_asks_to_implement_is_told_by_its_title() -> None:
    """The prompt that Claude Code writes for an accepted plan is a goal by the plan's title alone."""
    plan = "Implement the following plan:\n\n# Plan: Sort the `shelf`\n\n## Context\n\nIt is long."

    (goal, *_) = state_of(rows(("UserPromptSubmit", plan))).thread

    assert (goal.label, goal.says) == ("Goal", "Implement the plan: Sort the `shelf`")


def test_a_decision_in_a_few_words_is_told_with_its_question() -> None:
    """A short answer is a decision, shown with its question; a bare yes or a new request is none."""
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
        ("Stop", "标签放在表里还是放在列里\uff1f"),
        ("UserPromptSubmit", "放在表里\uff0c列已经不用了"),
    )

    assert decisions(told) == [
        "“Which one do you prefer?” a table, the column is gone on purpose",
        "“标签放在表里还是放在列里\uff1f” 放在表里\uff0c列已经不用了",
    ]


def test_lists_in_chinese_have_heads_too() -> None:
    """A full-width colon ends a head, and no statement; items are joined without a second full stop."""
    report = "修改说明\uff1a\n- `shelf.py`\uff1a标签按年份排序。\n- `label.py`\uff1a标签用两种语言打印。"

    told = state_of(rows(("UserPromptSubmit", "改标签"), ("Stop", report))).statements

    assert [(each.head, each.says) for each in told] == [
        ("修改说明", "`shelf.py`\uff1a标签按年份排序。"),
        ("修改说明", "`label.py`\uff1a标签用两种语言打印。"),
    ]


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        (
            "sort the shelf. bookends are applied before the sort, not after. which one is it?",
            ["bookends are applied before the sort, not after"],
        ),
        (
            "Wir nehmen das Regal im Flur, nicht das im Keller",
            ["Wir nehmen das Regal im Flur, nicht das im Keller"],
        ),
        ("don't sort the shelf today, wait", []),
        ("add a bookend to the shelf, without the glue", []),
        ("are bookends applied before the sort?", []),
        ("only the shelf", []),
        ("> bookends must not move\n\nfix that", []),
        (f"bookends are applied before the sort. {'the shelf stands. ' * 30}", []),
    ],
)
def test_what_the_user_says_of_how_it_is_to_be_is_stated(prompt: str, told: list[str]) -> None:
    """A user's statement of how things are is kept; errands, questions and quotes are not."""
    stated = state_of(rows(("UserPromptSubmit", prompt), ("Stop", "The shelf is sorted."))).statements

    assert [said.says for said in stated if said.is_users] == told


def test_a_list_stands_under_the_end_of_the_line_above_it() -> None:
    """A list item is shown with the last sentence of the line above the list."""
    report = "Version 0.3.0 is tagged.\n\nIt has two parts. Since 0.1.0:\n\n- a backup with checksums"
    told = rows(("Stop", report))

    assert "Since 0.1.0: a backup with checksums" in [said.text for said in state_of(told).statements]


def test_edits_under_way_are_one_line() -> None:
    """Uncommitted edits are one line: project files, newest first, with changed functions."""
    edited = rows(("Edit", "Edit a.py"), ("Write", "Create a plan"), ("Edit", "Edit b.py"))
    for row, path in zip(edited, ("a.py", "/home/dev/.claude/plans/a.md", "b.py"), strict=True):
        row.files_touched = [path]

    thread = state_of(edited, changes={"a.py": "new load"}).thread

    expected = [("Changed, not committed", "b.py, a.py (new load)", 3)]
    assert [(said.label, said.says, len(said.stands_for)) for said in thread] == expected


CASES = cases.load("coverage")


def state(*says: str) -> State:
    """Return a session's state with the given statements, newest first."""
    told = [Said(str(at), f"2026-05-01T00:00:0{9 - at}Z", each) for at, each in enumerate(says)]
    return State(statements=told, names=dict.fromkeys(("load_book", "save_book", "sort_book"), 1))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_says_most_in_the_room_is_told(case: dict[str, Any]) -> None:
    """Within the room, the statements of a session that say the most are chosen."""
    chosen = choose([(state(*case["says"]), 1), (State(), 1)], chars=case["chars"])

    assert [said.says for _, said in chosen] == [case["says"][at] for at in case["told"]]


def test_what_is_all_new_goes_before_what_repeats_a_part() -> None:
    """A statement that is all new precedes a longer one that repeats something shown."""
    told = "`load_book` takes the lock, `save_book` gives it back"
    says = [
        f"{told}, `sort_book` puts loans and authors in order.",
        "`sort_book` puts the authors without a year behind all others.",
    ]

    chosen = choose([(state(*says), 1), (State(), 1)], chars=135, told=[told])

    assert [said.says for _, said in chosen] == says[1:]


def test_what_a_session_of_more_worth_speaks_of_goes_first() -> None:
    """A statement of a session with more weight comes first."""
    names = ("load_book", "save_book")
    said = [Said(name, "2026-05-01T00:00:00Z", f"`{name}` takes the lock before it reads.") for name in names]
    told = [State([], [each], {name: 1}) for name, each in zip(names, said, strict=True)]

    chosen = choose(list(zip(told, (1, 9), strict=True)), chars=100)

    assert [said.row_id for _, said in chosen] == ["save_book"]


@pytest.mark.parametrize(("ages", "goes_first"), [(1, "old"), (12, "new")])
def test_an_old_session_must_say_more_than_a_new_one(ages: int, goes_first: str) -> None:
    """A statement that names more comes first, unless many sessions came after it."""
    says = {
        "new": "`load_book` takes the lock before it reads the list of authors.",
        "old": "`save_book` and `sort_book` take the lock before they read the list of authors and of loans.",
    }
    new, old = (Said(row, "2026-05-01T00:00:09Z", each) for row, each in says.items())
    named = dict.fromkeys(("load_book", "save_book", "sort_book"), 1)
    sessions = [State([], [new], named), *[State()] * (ages - 1), State([], [old], named)]

    chosen = choose([(each, 1.0) for each in sessions], chars=400)

    assert next(said.row_id for _, said in chosen) == goes_first


def test_what_speaks_of_the_branch_goes_first() -> None:
    """Statements with words of the branch's name or ticket come first."""
    says = [
        "`sort_book` was rewritten to take the lock before it reads the list of authors.",
        "`save_book` was rewritten to keep the loans when two readers return one book.",
        "`load_book` was rewritten for LIB-12, so that readers see the shelf of a book.",
    ]
    told = [(state(*says), 1.0), (State(), 1.0)]

    branches = ("", "authors/keep-loans", "me/lib-12")
    on = {branch: choose(told, chars=180, branch=branch)[0][1].says for branch in branches}

    assert list(on.values()) == says


@pytest.mark.parametrize(("heading_chars", "goes_first"), [(0, "b"), (100, "a2")])
def test_what_stands_under_a_heading_that_is_told_costs_less(heading_chars: int, goes_first: str) -> None:
    """A statement under a heading already shown costs less, and can precede a better one."""
    says = "takes the lock before it reads the list of authors."
    named = {"a1": "load_book", "a2": "save_book", "b": "sort_book"}
    a1, a2, b = (Said(row, "2026-05-01T00:00:09Z", f"`{name}` {says}") for row, name in named.items())
    both = State(statements=[a1, a2], names={"load_book": 9, "save_book": 1})
    sessions = [(both, 1.0), (State(statements=[b], names={"sort_book": 9}), 1.0)]

    chosen = choose(sessions, chars=320, headings=[("a", heading_chars), ("b", heading_chars)])

    assert [said.row_id for _, said in chosen][:2] == ["a1", goes_first]
