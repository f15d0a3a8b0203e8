"""Time hooks as whole processes, compared with the bare interpreter in the same run.

    python benchmarks/hooks.py [--runs N] [--against CHECKOUT]

Each hook gets ordinary source code of 1 kB, 50 kB and 1 MB, alone and eight at once. The guard hook gets it
as a Write, which a guard on text has to read, and also gets three commands. The runs of all cases are
interleaved, so that other load on the machine affects all of them alike. This process keeps queue.db open, as
the consumer does. Prints medians, 95th percentiles and ratios to the median of `python -I -c pass`; compare
the guard hook, which runs before each command, with `python -I -S -c pass`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import email.message
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing

import measuring

from claude_mem_lite import config
from claude_mem_lite.capture import guards
from claude_mem_lite.capture.guards import Guard
from claude_mem_lite.learnings import curate
from claude_mem_lite.services import install
from claude_mem_lite.storage import models

SIZES = {"1 kB": 1_000, "50 kB": 50_000, "1 MB": 1_000_000}
HOOKS = (
    "pre_tool_use", "post_tool_use", "user_prompt_submit", "stop", "pre_compact", "session_end",
    "session_start",
)  # fmt: skip
CONTEXT_EVENT = {"session_id": "b", "hook_event_name": "SessionStart", "source": "startup"}
# A command that no guard concerns, one that runs a guard's program, and one that breaks its rule.
GUARDED = {"innocent": "ls -la src", "near": "cd src && git push origin main", "broken": "git push --force"}
NO_OP = {
    "session_id": "b",
    "hook_event_name": "Stop",
    "stop_hook_active": True,
    "last_assistant_message": "x" * 500,
}


def source(size: int) -> str:
    """Return `size` characters of Python source from the standard library."""
    text = ""
    for module in (argparse, typing, email.message, statistics, shutil, tempfile, subprocess):
        with open(str(module.__file__), encoding="utf-8") as file:
            text += file.read()
    return (text * (size // len(text) + 1))[:size]


def event(hook: str, size: int) -> bytes:
    """Return an event for a hook with `size` characters of source code in it."""
    text = source(size)
    fields: dict[str, object] = {
        "post_tool_use": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": "/p/a.py", "content": text},
            "tool_response": {
                "type": "create",
                "filePath": "/p/a.py",
                "structuredPatch": [],
                "originalFile": None,
            },
        },
        "pre_tool_use": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": "/p/a.py", "content": text},
        },
        "user_prompt_submit": {"hook_event_name": "UserPromptSubmit", "prompt": text},
        "stop": {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": text},
        "pre_compact": {"hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": text},
        "session_end": {"hook_event_name": "SessionEnd", "reason": "other", "padding": text},
        "session_start": {**CONTEXT_EVENT, "padding": text},
    }[hook]  # type: ignore[assignment]
    return json.dumps({"session_id": "b", "cwd": "/p", **fields}).encode()


def switch_guards_on() -> None:
    """Add a guard on a command and one on a text, for all projects."""
    for rule, guard in (
        ("Never push with --force", Guard(commands=["git push"], without=["--force"])),
        ("No print in Python", Guard(files=["*.py"], texts=["print"])),
    ):
        row = curate.add(rule, category="convention", project_dir=None)
        curate.guard(row, guard)
    with open(config.guards_path(), "w", encoding="utf-8") as words:
        words.write(guards.telling_words(guards.all_on()))


def timed(command: list[str], stdin: bytes) -> float:
    """Return the milliseconds that a process took from start to end."""
    started = time.perf_counter()
    subprocess.run(command, input=stdin, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def row(name: str, times: list[float], bare: float) -> str:
    """Return one line of the table."""
    median = statistics.median(times)
    p95 = measuring.p95(times)
    return f"{name:<28}{median:8.1f} ms{p95:9.1f} ms{median / bare:8.2f}{p95 / bare:8.2f}"


def measure(cases: dict[str, tuple[list[str], bytes]], runs: int, at_once: int) -> None:
    """Run all cases interleaved and print their table."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for _ in range(max(1, runs // at_once)):
            for name, (command, stdin) in cases.items():
                times[name] += pool.map(lambda _, c=command, s=stdin: timed(c, s), range(at_once))
    bare = statistics.median(times["python -I -c pass"])
    print(f"\n{at_once} at once, {len(times['python -I -c pass'])} runs")
    print(f"{'':<28}{'median':>11}{'p95':>12}{'ratio':>8}{'p95 r.':>8}")
    for name, values in times.items():
        print(row(name, values, bare))


def main() -> None:
    """Measure in a temporary data directory without services."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=80)
    parser.add_argument("--hook", choices=HOOKS, help="only this hook")
    parser.add_argument(
        "--against", metavar="CHECKOUT", help="time the hooks of another checkout beside ours"
    )
    options = parser.parse_args()
    home = tempfile.mkdtemp(prefix="cml-bench-")
    os.environ |= {"CLAUDE_MEM_HOME": home, "CLAUDE_PROJECT_DIR": "/p"}
    models.open_databases()
    models.PendingEvent.select().count()  # opens the file, which stays open while this process lives
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as config_file:
        config_file.write("[services]\nautostart = false\n")
    cases = {
        "python -I -c pass": ([sys.executable, "-I", "-c", "pass"], b""),
        "python -I -S -c pass": ([sys.executable, "-I", "-S", "-c", "pass"], b""),
    }
    switch_guards_on()
    for hook in [options.hook] if options.hook else HOOKS:
        command = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")]
        for label, size in SIZES.items():
            cases[f"{hook} {label}"] = (command, event(hook, size))
            if options.against:
                # By the path of the link, so that it imports its own package.
                other = os.path.join(options.against, "src", "claude_mem_lite", "hooks", f"{hook}.py")
                cases[f"{hook} {label}, other"] = ([*command[:-1], other], event(hook, size))
        for label, line in GUARDED.items() if hook == "pre_tool_use" else ():
            call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line}}
            cases[f"{hook}, {label}"] = (
                command,
                json.dumps({"session_id": "b", "cwd": "/p", **call}).encode(),
            )
        if hook == "stop":
            cases["stop, nothing to do"] = (command, json.dumps(NO_OP).encode())
    try:
        for at_once in (1, 8):
            measure(cases, options.runs, at_once)
    finally:
        models.close_databases()
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
