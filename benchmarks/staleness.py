"""Measure whether learnings that a code change made false are withheld, and those still true are shown.

    python benchmarks/staleness.py

Each change is made to real files of a git repository in its own session, with one learning: an Edit, a Write
or a Bash command, recorded as the consumer does. Then the block for the next session is built: a learning
that the change made false must be absent or marked "may be outdated"; any other must be unchanged. "At once"
means before the session ends. The last figures are the time of the check that runs after each edit.

Some of the changes cannot be detected: constants of modules, which the code map does not contain, and methods
of a class that a learning mentions as a whole.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staleness_cases import ABOUT, FALSE, FILES, LEARNINGS, TRUE, Change, Edit, Shell, Step

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import file_index, heal
from claude_mem_lite.context import builder
from claude_mem_lite.distill import record
from claude_mem_lite.learnings import anchors, evolve
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, queries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SESSION = "s1"
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
_MODULES, _FUNCTIONS, _LEARNINGS, _RUNS = 100, 50, 200, 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a learning is withheld or marked, before (`at_once`) and after (`at_end`) the session's end."""

    change: Change
    at_once: bool
    at_end: bool
    line: str


def main() -> None:
    """Make the changes and print which learnings are withheld or marked."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        os.environ |= {"CLAUDE_MEM_HOME": str(scratch / "memory"), **_GIT}
        make(scratch)
        for title, changes, is_right in (
            ("made false: withheld or marked", FALSE, True),
            ("left true: withheld or marked", TRUE, False),
        ):
            outcomes = []
            for each in changes:
                restore(scratch)
                outcomes.append(happen(each, scratch / "ledger"))
            report(title, outcomes, is_right=is_right)
        cost(scratch / "large")
        models.close_databases()


def make(scratch: Path) -> None:
    """Create the project and a memory with its map, to be restored before each change."""
    folder = scratch / "ledger"
    for path, source in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(source)
    shell("git init -q -b main && git add -A && git commit -qm 1", folder)
    models.open_databases()
    file_index.rescan(str(folder), file_index.Seen("s0"))
    models.close_databases()
    for name in ("ledger", "memory"):
        shutil.copytree(scratch / name, scratch / "kept" / name)


def restore(scratch: Path) -> None:
    """Restore project and memory to their initial state."""
    models.close_databases()
    for name in ("ledger", "memory"):
        shutil.rmtree(scratch / name)
        shutil.copytree(scratch / "kept" / name, scratch / name)
    models.open_databases()


def happen(change: Change, folder: Path) -> Outcome:
    """Make a change to the project; return what the next session is shown of the learning."""
    if change.prepare:
        shell(change.prepare, folder)
        file_index.rescan(str(folder), file_index.Seen("s0"))
    learning_id = learned(LEARNINGS[change.learning], folder, about=ABOUT.get(change.learning, ()))
    if is_withheld(told(learning_id, folder)):
        raise RuntimeError(f"not told before anything happened: {change.learning}")
    for step in change.steps:
        event = done(step, folder)
        if event is not None:
            take(event, folder)
    at_once = is_withheld(told(learning_id, folder))
    take({"hook_event_name": "SessionEnd", "reason": "other"}, folder)
    line = told(learning_id, folder)
    return Outcome(change, at_once, is_withheld(line), line)


def learned(content: str, folder: Path, *, about: tuple[str, ...] = ()) -> str:
    """Store a learning and return its id."""
    candidate = evolve.Candidate(content, "gotcha", "user", about=about)
    outcome = evolve.take(candidate, session_id="s0", project_dir=str(folder))
    if outcome.action != "inserted":
        raise RuntimeError(f"{outcome.action}, {outcome.reason}: {content}")
    return outcome.learning_id


def told(learning_id: str, folder: Path) -> str:
    """Return the line of a learning in the block for a new session, "" if it has none."""
    block = builder.build(str(folder), session_id="next", source="startup").text
    return next((line for line in block.splitlines() if learning_id[:8] in line), "")


def is_withheld(line: str) -> bool:
    """Tell whether a learning's line is missing or marked as outdated."""
    return not line or "may be outdated" in line


def take(event: dict[str, Any], folder: Path) -> None:
    """Process an event as the tasks `compress` and, if due, `heal` do; stored calls are not updated."""
    event = {"session_id": SESSION, "cwd": str(folder), **event}
    row = queries.pending_event(inbox.append(json.dumps(event), str(folder)))
    if row is None:
        raise RuntimeError(f"not captured: {event}")
    has_changed_code = record.record_event(row)
    if has_changed_code:
        evolve.check_code(str(folder), SESSION)
    if has_changed_code or event["hook_event_name"] == "SessionEnd":
        file_index.rescan(str(folder), file_index.Seen(SESSION), only_newer=True)
        heal.heal(str(folder))
        evolve.check_code(str(folder), SESSION)


def done(step: Step, folder: Path) -> dict[str, Any] | None:
    """Apply a step to the files and return its event, None if Claude Code does not notice it."""
    if isinstance(step, Shell):
        stdout = shell(step.command, folder)
        response: dict[str, Any] = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
        return _event("Bash", {"command": step.command, "description": "Do it"}, response)
    path = folder / step.path
    before = path.read_text() if path.exists() else None
    if isinstance(step, Edit):
        if before is None or step.old not in before:
            raise RuntimeError(f"{step.path} has no {step.old!r}")
        after = before.replace(step.old, step.new, -1 if step.everywhere else 1)
        given = {"file_path": str(path), "old_string": step.old, "new_string": step.new}
        if step.everywhere:
            given["replace_all"] = True  # type: ignore[assignment]
    else:
        after = step.content
        given = {"file_path": str(path), "content": after}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    if isinstance(step, Edit) and not step.is_told:
        return None
    response = {
        "filePath": str(path),
        "originalFile": before,
        "structuredPatch": _patch(before, after) if before is not None else [],
    }
    if isinstance(step, Edit):
        named = {"oldString": step.old, "newString": step.new, "replaceAll": step.everywhere}
        return _event("Edit", given, {**response, **named, "userModified": False})
    kind = "create" if before is None else "update"
    return _event("Write", given, {**response, "type": kind, "content": after})


def _event(tool: str, given: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_response": response,
    }


def _patch(before: str, after: str) -> list[dict[str, Any]]:
    """Return an edit's hunks in Claude Code's format."""
    old, new = before.split("\n"), after.split("\n")
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for what, old_from, old_to, new_from, new_to in group:
            if what == "equal":
                lines += [f" {line}" for line in old[old_from:old_to]]
                continue
            lines += [f"-{line}" for line in old[old_from:old_to]]
            lines += [f"+{line}" for line in new[new_from:new_to]]
        first, last = group[0], group[-1]
        hunks.append({
            "oldStart": first[1] + 1, "oldLines": last[2] - first[1],
            "newStart": first[3] + 1, "newLines": last[4] - first[3],
            "lines": lines,
        })  # fmt: skip
    return hunks


def shell(command: str, folder: Path) -> str:
    """Run a command in a folder and return what it prints."""
    ran = subprocess.run(["/bin/bash", "-c", command], cwd=folder, check=True, capture_output=True, text=True)
    return ran.stdout


def report(title: str, outcomes: Sequence[Outcome], *, is_right: bool) -> None:
    """Print how many learnings are withheld or marked, by kind of change, and the wrong and late ones."""
    count = len(outcomes)
    for name, hits in (
        ("at the next session", sum(each.at_end for each in outcomes)),
        ("at once", sum(each.at_once for each in outcomes)),
    ):
        print(f"{title}, {name}: {hits} of {count} ({100 * hits / count:.1f} %)")
    kinds = Counter(each.change.kind for each in outcomes)
    for kind, number in kinds.items():
        some = [each for each in outcomes if each.change.kind == kind]
        at_end, at_once = sum(each.at_end for each in some), sum(each.at_once for each in some)
        print(f"  {kind:24} {at_end:3} of {number:3}   at once {at_once:3}")
    for each in outcomes:
        if each.at_end != is_right:
            print(f"  wrong: {each.change.kind}, {each.change.learning}: {each.change.steps[0]!r:.110}")
            print(f"         {each.line or 'absent'}")
    for each in outcomes:
        if each.at_end == is_right != each.at_once:
            print(f"  late: {each.change.kind}, {each.change.learning}: {each.change.steps[0]!r:.110}")


def cost(folder: Path) -> None:
    """Print the time of the check with many learnings in a large project, after no, one and all changes."""
    folder.mkdir()
    names = [f"{verb}_{noun}" for verb in ("read", "write", "check", "merge", "drop") for noun in range(10)]
    for number in range(_MODULES):
        functions = (f"def {name}_{number}(x):\n    return x + {at}\n" for at, name in enumerate(names))
        (folder / f"module_{number}.py").write_text("\n\n".join(functions))
    file_index.scan(str(folder))
    for number in range(_LEARNINGS):
        name = f"{names[number % _FUNCTIONS]}_{number % _MODULES}"
        learning_rows.insert(
            project_dir=str(folder), category="gotcha", content=f"`{name}` does {number} things",
            code=anchors.as_json(anchors.speaks_of(str(folder), f"`{name}`")),
            created_at="", updated_at="", seen_at="",
        )  # fmt: skip
    changed = [folder / f"module_{number}.py" for number in range(_MODULES)]
    print(f"the check, {_LEARNINGS} learnings, {_MODULES * _FUNCTIONS} functions:")
    _print_ms("nothing has changed", str(folder), lambda _: None)
    _print_ms("one file has changed", str(folder), lambda run: _change(changed[:1], run))
    _print_ms("every file has changed", str(folder), lambda run: _change(changed, run))


def _change(paths: Sequence[Path], run: int) -> None:
    for path in paths:
        path.write_text(path.read_text().replace(f"x + {run}\n", f"x + {run + 1}\n"))
    file_index.rescan(str(paths[0].parent), file_index.Seen(SESSION), paths=[path.name for path in paths])


def _print_ms(title: str, project_dir: str, prepare: Callable[[int], None]) -> None:
    took = []
    for run in range(_RUNS):
        prepare(run)
        started = time.perf_counter()
        evolve.check_code(project_dir, SESSION)
        took.append((time.perf_counter() - started) * 1000)
    print(f"  {title:24} median {statistics.median(took):6.1f} ms   longest {max(took):6.1f} ms")


if __name__ == "__main__":
    main()
