"""What is remembered of an edit."""

from typing import Any

import pytest

from claude_mem_lite.codemap.diff import Change
from claude_mem_lite.distill.local import observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip

MODULE = '''\
"""Prices."""
from decimal import Decimal

LIMIT = 10


def net(gross: Decimal) -> Decimal:
    """Without tax."""
    return gross / 2


def shown(price: Decimal) -> str:
    return f"{price:.2f}"
'''


def _edit(path: str, old: str, new: str, *, original: str | None = MODULE, **more: Any) -> Capture:
    arguments = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False, **more}
    response = {"filePath": path, "originalFile": original, "structuredPatch": []}
    return Capture("PostToolUse", "Edit", {"tool_input": arguments, "tool_response": response}, "/shop")


def _write(path: str, content: str, *, original: str | None = None, **response: Any) -> Capture:
    kind = "create" if original is None else "update"
    answer = {"type": kind, "filePath": path, "structuredPatch": [], "originalFile": original, **response}
    arguments = {"file_path": path, "content": content}
    return Capture("PostToolUse", "Write", {"tool_input": arguments, "tool_response": answer}, "/shop")


def test_an_edit_says_which_function_changed_and_why() -> None:
    """Function, file, size, docstring, request and the changed lines: all of it in one observation."""
    capture = _edit("/shop/prices.py", "return gross / 2", "return gross / Decimal('1.19')  # German rate")

    observation = observe(capture, prompt="Use the German tax rate. Then run the tests.")

    assert observation == Observation(
        title="Edit net in prices.py",
        summary="Edited prices.py (+1 -1 lines). Modified: net (“Without tax”). Comment: “German rate”.",
        detail="- return gross / 2\n+ return gross / Decimal('1.19')  # German rate",
        files_touched=("prices.py",),
        functions_changed=(Change("net", "function", "modified"),),
    )


@pytest.mark.parametrize(
    ("old", "new", "title"),
    [
        ("def shown(", "def gross(net):\n    return 1\n\n\ndef shown(", "Add gross to prices.py"),
        ('def shown(price: Decimal) -> str:\n    return f"{price:.2f}"\n', "", "Remove shown from prices.py"),
        ("def shown(", "def as_text(", "Rename shown to as_text in prices.py"),
        (
            'return gross / 2\n\n\ndef shown(price: Decimal) -> str:\n    return f"{price:.2f}"',
            "return gross / 3\n\n\ndef tax():\n    return 1",
            "Add tax, edit net, remove shown in prices.py",
        ),
        (
            "from decimal import Decimal",
            "from decimal import Decimal, getcontext",
            "Import getcontext in prices.py",
        ),
        ("LIMIT = 10", "LIMIT = 20", "Edit prices.py: “LIMIT = 20”"),
    ],
)
def test_title_names_the_change(old: str, new: str, title: str) -> None:
    """Added, edited, removed and renamed functions, imports and constants each have their words."""
    observation = observe(_edit("/shop/prices.py", old, new))

    assert isinstance(observation, Observation)
    assert observation.title == title


def test_a_rename_needs_something_to_be_known_by() -> None:
    """Two exceptions without a body are two exceptions, not one that was renamed."""
    old, new = (f'class {name}(ValueError):\n    """{name}."""' for name in ("Unknown", "Refused"))

    observation = observe(_edit("/shop/errors.py", old, new, original=f"{old}\n"))

    assert isinstance(observation, Observation)
    assert observation.title == "Add Refused, remove Unknown in errors.py"


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


@pytest.mark.parametrize(
    "original",
    [None, '"""[… 12,345 characters cut …]"""\n' + MODULE, "def net(", "no such text in it\n"],
)
def test_nothing_is_concluded_from_a_text_that_is_not_whole(original: str | None) -> None:
    """A missing, cut or unparsable original gives lines, never deleted functions."""
    observation = observe(_edit("/shop/prices.py", "return gross / 2", "return gross / 3", original=original))

    assert isinstance(observation, Observation)
    assert observation.functions_changed == ()
    assert observation.detail == "- return gross / 2\n+ return gross / 3"


def test_a_cut_content_names_no_functions() -> None:
    """A Write whose content the queue has cut is still remembered, without functions."""
    observation = observe(_write("/shop/big.py", MODULE + "\n[… 99,999 characters cut …]\nX = 1\n"))

    assert isinstance(observation, Observation)
    assert observation.functions_changed == ()
    assert observation.files_touched == ("big.py",)


def test_a_new_file_tells_its_definitions() -> None:
    """A created source shows its names with their docstrings; imports and blank lines are no evidence."""
    observation = observe(_write("/shop/prices.py", MODULE))

    assert isinstance(observation, Observation)
    assert observation.title == "Create prices.py with net and shown"
    assert observation.summary == "Created prices.py (13 lines). New: net (“Without tax”) and shown."
    assert observation.detail == (
        '"""Prices."""\nLIMIT = 10\ndef net(gross: Decimal) -> Decimal:\n    """Without tax."""\n'
        '    return gross / 2\ndef shown(price: Decimal) -> str:\n    return f"{price:.2f}"'
    )


def test_a_rewritten_file_is_compared_with_what_it_was() -> None:
    """An update by Write names what came and what went."""
    content = MODULE.replace("shown", "label").replace(".2f", ".3f")

    observation = observe(_write("/shop/prices.py", content, original=MODULE))

    assert isinstance(observation, Observation)
    assert observation.title == "Rewrite prices.py: add label, remove shown"
    assert observation.functions_changed == (
        Change("shown", "function", "deleted"),
        Change("label", "function", "new"),
    )


def test_lines_of_a_document_are_the_knowledge() -> None:
    """What is added to prose stands in the summary in full; what it replaced beside it."""
    original = "# Rules\n\n- Use os.path.\n"
    capture = _edit(
        "/shop/RULES.md", "- Use os.path.", "- Always use pathlib.\n- No print().", original=original
    )

    assert observe(capture) == Observation(
        title="Edit RULES.md: “Always use pathlib and No print()”",
        summary="Edited RULES.md (+2 -1 lines). Now: “- Always use pathlib. | - No print().”\n"
        "Before: “- Use os.path.”",
        detail=None,
        files_touched=("RULES.md",),
        functions_changed=(),
    )


def test_other_languages_are_read_by_pattern() -> None:
    """A new function of a TypeScript file is named, without a claim about the rest of the file."""
    new = "const a = 1;\nexport async function render(x: number) {\n  // the chart needs zero\n  return x;\n}"

    observation = observe(_edit("/shop/src/app.ts", "const a = 1;", new, original="const a = 1;\n"))

    assert isinstance(observation, Observation)
    assert observation.title == "Add render to src/app.ts"
    assert observation.summary == "Edited src/app.ts (4 lines). Comment: “the chart needs zero”."
    assert observation.functions_changed == ()


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


def test_a_large_file_keeps_to_the_limits() -> None:
    """However much was written, an observation stays within its 2,000 characters, its title within 100."""
    content = "\n".join(
        f"def function_with_a_long_name_{number}():\n    return {number}\n" for number in range(900)
    )

    observation = observe(_write("/shop/" + "deep/" * 30 + "big.py", content), prompt="Write it. " * 99)

    assert isinstance(observation, Observation)
    assert len(observation.title) <= 100
    assert len(observation.title) + len(observation.summary) + len(observation.detail or "") <= 2_000
    assert len(observation.functions_changed) == 900
