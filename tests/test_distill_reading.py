"""What is remembered of looking: one look, or many folded into one."""

from typing import Any

import pytest

from claude_mem_lite.distill.local import fold, is_lookup, observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip

SOURCE = '''\
"""Prices."""
import os

LIMIT = 10


def net(gross: int) -> int:
    """Without tax."""
    return gross
'''


def _tool(tool_name: str, arguments: dict[str, Any], response: object) -> Capture:
    return Capture(
        "PostToolUse",
        tool_name,
        {"tool_input": arguments, "tool_response": response, "cwd": "/shop"},
        "/shop",
    )


def _read(path: str, content: str, **file: Any) -> Capture:
    lines = content.count("\n") + 1
    told = {
        "filePath": path,
        "content": content,
        "numLines": lines,
        "startLine": 1,
        "totalLines": lines,
        **file,
    }
    return _tool("Read", {"file_path": path}, {"type": "text", "file": told})


def _missing(path: str) -> Capture:
    payload = {"tool_input": {"file_path": path}, "error": "File does not exist.", "is_interrupt": False}
    return Capture("PostToolUseFailure", "Read", payload, "/shop")


def _grep(pattern: str, *names: str, content: str = "") -> Capture:
    response = {"mode": "content", "filenames": list(names), "numFiles": len(names), "content": content}
    return _tool("Grep", {"pattern": pattern}, {**response, "numLines": content.count("\n") + 1})


def _bash(command: str, description: str, stdout: str) -> Capture:
    return _tool("Bash", {"command": command, "description": description}, {"stdout": stdout, "stderr": ""})


def test_a_read_source_leaves_its_outline() -> None:
    """Definitions with their docstrings and constants are kept, the bodies are not."""
    assert observe(_read("/shop/prices.py", SOURCE), prompt="Explain the tax.") == Observation(
        title="Read prices.py",
        summary="Read prices.py: 10 lines",
        detail="Prices.\nLIMIT = 10\nnet(gross: int) -> int: Without tax.",
        files_touched=("prices.py",),
        functions_changed=(),
    )


def test_a_read_part_says_which_lines() -> None:
    """A part that Python cannot parse alone still shows its telling lines."""
    part = "    return gross\n\n\ndef tax(net: int) -> int:"

    observation = observe(_read("/shop/prices.py", part, numLines=4, startLine=9, totalLines=60))

    assert isinstance(observation, Observation)
    assert observation.summary == "Read prices.py: lines 9 to 12 of 60"
    assert observation.detail == "return gross\n\ndef tax(net: int) -> int:".replace("\n\n", "\n")


def test_a_read_document_leaves_its_lines() -> None:
    """Prose is kept as it stands."""
    observation = observe(_read("/shop/RULES.md", "# Rules\n\n- Always use pathlib.\n"))

    assert isinstance(observation, Observation)
    assert observation.detail == "# Rules\n- Always use pathlib."


def test_a_notebook_is_read_by_its_cells() -> None:
    """The sources of all cells are one text."""
    cells = [{"cellType": "markdown", "source": "# Sales"}, {"cellType": "code", "source": "TOTAL = 3"}]

    observation = observe(
        _tool("Read", {"file_path": "/shop/a.ipynb"}, {"type": "notebook", "file": {"cells": cells}})
    )

    assert isinstance(observation, Observation)
    assert (observation.summary, observation.detail) == ("Read a.ipynb: 2 cells", "# Sales\nTOTAL = 3")


@pytest.mark.parametrize(
    ("capture", "title", "detail"),
    [
        (
            _grep("net(", "prices.py", content="prices.py:7:def net("),
            "Search for 'net(': 1 line in prices.py",
            "prices.py:7:def net(",
        ),
        (
            _tool(
                "Grep",
                {"pattern": "net"},
                {"mode": "files_with_matches", "filenames": ["/shop/a.py", "b.py"]},
            ),
            "Search for 'net': in a.py and b.py",
            "a.py\nb.py",
        ),
        (
            _tool("Glob", {"pattern": "**/*.py"}, {"filenames": ["/shop/a.py"], "numFiles": 1}),
            "Find **/*.py: 1 file",
            "a.py",
        ),
        (
            _bash("git log --oneline | head -2", "", "1a2b3c4 One\n2b3c4d5 Two"),
            "Run git log --oneline | head -2",
            "1a2b3c4 One\n2b3c4d5 Two",
        ),
    ],
)
def test_a_search_tells_what_it_found(capture: Capture, title: str, detail: str) -> None:
    """Pattern, count and matches are remembered, with paths from the project."""
    observation = observe(capture)

    assert isinstance(observation, Observation)
    assert (observation.title, observation.detail) == (title, detail)


@pytest.mark.parametrize(
    "capture",
    [
        _tool("Read", {"file_path": "/shop/a.png"}, {"type": "image", "file": {"base64": "AAAA"}}),
        _read("/shop/empty.py", ""),
        _missing("/shop/IMPORT.md"),
        _grep("nothing"),
        _tool("Glob", {"pattern": "*.zig"}, {"filenames": [], "numFiles": 0}),
        _tool("LS", {"path": "/shop"}, "- /shop/\n  - a.py\n"),
    ],
)
def test_a_look_without_a_finding_is_skipped(capture: Capture) -> None:
    """Pictures, empty files, missing files, empty searches and listings leave nothing."""
    assert isinstance(observe(capture), Skip)


def test_many_looks_become_one_observation() -> None:
    """Files, searches and commands share a title and the room; what was not there is named too."""
    captures = [
        _read("/shop/prices.py", SOURCE),
        _read("/shop/RULES.md", "- Always use pathlib.\n"),
        _missing("/shop/IMPORT.md"),
        _bash("ls", "List", "prices.py"),
        _bash("cat a.cfg", "Look at the settings", "rate = 19"),
        _grep("net", "prices.py", content="prices.py:7:def net("),
    ]

    assert fold(captures, prompt="Explain the tax.") == Observation(
        title="Read prices.py and RULES.md; search for 'net'; look at the settings",
        summary="Read prices.py: 10 lines. Read RULES.md: 2 lines. Look at the settings: `cat a.cfg`. "
        "Search for 'net': 1 line in prices.py. not found: IMPORT.md",
        detail="prices.py:\nPrices.\nLIMIT = 10\nnet(gross: int) -> int: Without tax.\n"
        "RULES.md:\n- Always use pathlib.\nLook at the settings:\nrate = 19\n'net':\nprices.py:7:def net(",
        files_touched=("prices.py", "RULES.md"),
        functions_changed=(),
    )


def test_a_fold_of_one_is_that_observation() -> None:
    """A look that stands alone is told like any other event."""
    capture = _read("/shop/prices.py", SOURCE)

    assert fold([capture], prompt="Why?") == observe(capture, prompt="Why?")


def test_a_fold_of_many_names_as_many_as_fit() -> None:
    """A title stays within its limit and says how many more there were."""
    captures = [_read(f"/shop/a_folder_with_a_long_name/module_{number}.py", SOURCE) for number in range(40)]

    observation = fold(captures)

    assert isinstance(observation, Observation)
    folder = "a_folder_with_a_long_name"
    assert observation.title == f"Read {folder}/module_0.py, {folder}/module_1.py and 38 more"
    assert len(observation.title + observation.summary + (observation.detail or "")) <= 2_000


def test_a_fold_shares_its_room() -> None:
    """One long finding leaves room for those after it."""
    captures = [_grep(name, "a.py", content=f"a.py:1: {name}\n" * 300) for name in ("one", "two", "three")]

    observation = fold(captures)

    assert isinstance(observation, Observation)
    assert observation.detail is not None
    assert [line for line in observation.detail.splitlines() if line.endswith("':")] == [
        "'one':",
        "'two':",
        "'three':",
    ]


def test_a_fold_mentions_what_is_no_look() -> None:
    """A plan among looks is not lost."""
    plan = _tool("TodoWrite", {"todos": [{"content": "Write"}, {"content": "Test"}]}, {"oldTodos": []})

    observation = fold([_read("/shop/prices.py", SOURCE), plan])

    assert isinstance(observation, Observation)
    assert observation.title == "Read prices.py; plan 2 steps: Write and Test"


@pytest.mark.parametrize("captures", [[], [_missing("/shop/a"), _grep("nothing")]])
def test_a_fold_of_nothing_is_skipped(captures: list[Capture]) -> None:
    """Where no look found anything there is no observation."""
    assert isinstance(fold(captures), Skip)


@pytest.mark.parametrize(
    ("capture", "looks"),
    [
        (_read("/shop/a.py", "x"), True),
        (_bash("cat a | grep 'b|c'", "", ""), True),
        (_bash("cat a > b", "", ""), False),
        (_tool("Write", {}, {}), False),
        (_tool("Bash", {}, {}), False),
        (Capture("UserPromptSubmit", "", {}, "/shop"), False),
    ],
)
def test_is_lookup_tells_what_may_be_folded(capture: Capture, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    """Reads, searches and commands that only look."""
    assert is_lookup(capture) is looks
