"""What is remembered of an edit."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

import pytest
from support import cases

from claude_mem_lite.codemap.diff import Change
from claude_mem_lite.distill.local import observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip

KNOWN = cases.load("distill/edits")
MODULE: str = KNOWN["module"]


def _edit(path: str, old: str, new: str, *, original: str | None = MODULE, **more: Any) -> Capture:
    arguments = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False, **more}
    response = {"filePath": path, "originalFile": original, "structuredPatch": []}
    return Capture("PostToolUse", "Edit", {"tool_input": arguments, "tool_response": response}, "/shop")


def _write(path: str, content: str, *, original: str | None = None, **response: Any) -> Capture:
    kind = "create" if original is None else "update"
    answer = {"type": kind, "filePath": path, "structuredPatch": [], "originalFile": original, **response}
    arguments = {"file_path": path, "content": content}
    return Capture("PostToolUse", "Write", {"tool_input": arguments, "tool_response": answer}, "/shop")


def _patched(path: str, before: str, after: str) -> Capture:
    """Return an edit with the patch that the client makes of two versions."""
    old, new = before.splitlines(), after.splitlines()
    patch = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for kind, start, end, at, to in group:
            lines += [f" {line}" for line in old[start:end]] if kind == "equal" else []
            lines += [f"-{line}" for line in old[start:end]] if kind in {"replace", "delete"} else []
            lines += [f"+{line}" for line in new[at:to]] if kind in {"replace", "insert"} else []
        patch.append({"oldStart": group[0][1] + 1, "newStart": group[0][3] + 1, "lines": lines})
    capture = _edit(path, before, after, original=before)
    capture.payload["tool_response"]["structuredPatch"] = patch
    return capture


def _capture(case: dict[str, Any]) -> Capture:
    if "after" in case:
        return _patched(case["path"], case["before"], case["after"])
    if "content" in case:
        return _write(case["path"], case["content"], original=case.get("before"))
    original = None if "is_unknown" in case else case.get("before", MODULE)
    return _edit(case["path"], case["old"], case["new"], original=original)


@pytest.mark.parametrize("case", KNOWN["case"], ids=lambda case: case["promise"])
def test_an_edit_is_told_by_what_changed(case: dict[str, Any]) -> None:
    """Function, file and size, what the line was and is; in any language, and never more than is known."""
    observation = observe(_capture(case), prompt=case.get("prompt"))

    assert isinstance(observation, Observation)
    told = {
        "title": observation.title,
        "summary": observation.summary,
        "detail": observation.detail,
        "files": list(observation.files_touched),
        "functions": [
            [each.qualified_name, each.kind, each.change_type] for each in observation.functions_changed
        ],
    }
    expected = {name: case[name] for name in told if name in case}
    assert {name: told[name] for name in expected} == expected


def test_a_patch_counts_before_the_strings() -> None:
    """The client's patch is what really happened, also where the user changed the proposal."""
    capture = _edit("/shop/prices.py", "LIMIT = 10", "LIMIT = 20")
    hunk = {"oldStart": 4, "oldLines": 1, "newStart": 4, "newLines": 3}
    lines = ["-LIMIT = 10", "+def limit():", "+    return 30", "+"]
    capture.payload["tool_response"]["structuredPatch"] = [{**hunk, "lines": lines}]

    observation = observe(capture)

    assert isinstance(observation, Observation)
    assert observation.title == "Add limit to prices.py"
    assert observation.detail == "- LIMIT = 10\n+ def limit():\n+     return 30"


def test_several_edits_of_a_file_are_one_observation() -> None:
    """MultiEdit applies its edits one after the other."""
    edits = [
        {"old_string": "gross / 2", "new_string": "gross / 3"},
        {"old_string": "3", "new_string": "4", "replace_all": True},
    ]
    arguments = {"file_path": "/shop/prices.py", "edits": edits}
    response = {"filePath": "/shop/prices.py", "originalFile": MODULE}
    capture = Capture(
        "PostToolUse", "MultiEdit", {"tool_input": arguments, "tool_response": response}, "/shop"
    )

    observation = observe(capture)

    assert isinstance(observation, Observation)
    assert observation.functions_changed == (Change("net", "function", "modified"),)


def test_a_notebook_cell_is_named() -> None:
    """The changed cell, its old and its new source are remembered."""
    arguments = {
        "notebook_path": "/shop/a.ipynb",
        "cell_id": "b2",
        "new_source": "x = 2",
        "edit_mode": "replace",
    }
    response = {"old_source": "x = 1", "cell_type": "code", "language": "python", "error": ""}
    capture = Capture(
        "PostToolUse", "NotebookEdit", {"tool_input": arguments, "tool_response": response}, "/shop"
    )

    assert observe(capture) == Observation(
        title="Edit cell b2 of a.ipynb",
        summary="Edit cell b2 of a.ipynb (code, +1 -1 lines).",
        detail="- x = 1\n+ x = 2",
        files_touched=("a.ipynb",),
        functions_changed=(),
    )


@pytest.mark.parametrize(
    "capture",
    [
        _edit("/shop/a.py", "same", "same", original="same\n"),
        _edit("", "a", "b"),
        _write("/shop/empty.py", ""),
    ],
)
def test_an_edit_without_a_change_is_skipped(capture: Capture) -> None:
    """Nothing changed, or nobody knows where: nothing to remember."""
    assert isinstance(observe(capture), Skip)
