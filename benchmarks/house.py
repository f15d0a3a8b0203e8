"""Trace one recorded Edit from the hook's stdin to the next session's text; count the code a reader follows.

    python benchmarks/house.py [--json] [--list]

Runs in one process on a temporary data directory; all modules are imported before tracing. There are four
stages: `hook` (the event is redacted and appended to the inbox), `compress` (`record_event`), `summarize`
(`summarize_session`) and `context` (the block for the next session's start). Tasks and routes, which only
call these, and third-party code are not counted. For each stage and in all:

files      files of the package in which a function was called
functions  functions of the package that were called, each counted once
returns    how often a reader who reads each function once, in the order of first calls, turns back to a file
           that they had left (each stage begins anew, so the stages do not add up to the total)
payload    how often the event's JSON was parsed
edit       how often the edit was read from the payload: its two versions, its lines and its hunks
ast        how often Python source was parsed into a tree

`--list` also prints each stage's files in the order in which they are entered, with their functions, and all
files, the shortest first, with their lines and the number of their functions that were called.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import importlib
import inspect
import itertools
import json
import os
import pkgutil
import sys
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import claude_mem_lite
from claude_mem_lite import config
from claude_mem_lite.cli import demo
from claude_mem_lite.context import answers
from claude_mem_lite.context.shown import Shown
from claude_mem_lite.distill.record import record_event, summarize_session
from claude_mem_lite.distill.rules import edits
from claude_mem_lite.hooks import event as hook
from claude_mem_lite.hooks import post_tool_use
from claude_mem_lite.storage import models, queries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

PACKAGE = os.path.dirname(os.path.abspath(claude_mem_lite.__file__))
REPEATED = {edits.edit_of.__code__: "edit", ast.parse.__code__: "ast"}
STARTS_PROGRAM = ("__main__", "tasks.consumer")  # modules that run something when imported


@dataclasses.dataclass
class Trace:
    """The package's functions in the order of their first call, and counts of the work in REPEATED."""

    functions: dict[CodeType, None] = dataclasses.field(default_factory=dict)
    repeated: Counter[str] = dataclasses.field(default_factory=Counter)

    def saw(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call, as `sys.setprofile` reports it."""
        code = frame.f_code
        if event != "call":
            return
        if code is json.loads.__code__:
            self.repeated["payload"] += "tool_response" in str(frame.f_locals["s"])
        elif name := REPEATED.get(code):
            self.repeated[name] += 1
        if is_ours(code):
            self.functions.setdefault(code)

    def files(self) -> list[str]:
        """Return the file of each function in turn, once for successive functions of the same file."""
        names = (file_of(code) for code in self.functions)
        return [name for name, _ in itertools.groupby(names)]

    def figures(self) -> dict[str, int]:
        """Return the figures that the module's docstring explains."""
        entered = self.files()
        return {
            "files": len(set(entered)),
            "functions": len(self.functions),
            "returns": len(entered) - len(set(entered)),
            **{name: self.repeated[name] for name in ("payload", *REPEATED.values())},
        }


def is_ours(code: CodeType) -> bool:
    """Tell whether code is a named function of the package, not a module, class body or lambda."""
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
    return bool(is_function) and os.path.abspath(code.co_filename).startswith(PACKAGE)


def file_of(code: CodeType) -> str:
    """Return the file of one of the package's functions, relative to the package."""
    return os.path.relpath(code.co_filename, PACKAGE)


@contextlib.contextmanager
def traced(stages: dict[str, Trace], name: str) -> Iterator[None]:
    """Trace the functions called in a block."""
    trace = stages[name] = Trace()
    sys.setprofile(trace.saw)
    try:
        yield
    finally:
        sys.setprofile(None)


def import_all() -> None:
    """Import the package's modules, so that code run on import is not traced."""
    for module in pkgutil.walk_packages(claude_mem_lite.__path__, "claude_mem_lite."):
        if not module.name.endswith(STARTS_PROGRAM):
            importlib.import_module(module.name)


def edit() -> dict[str, Any]:
    """Return the first recorded edit of Python code."""
    return next(each for each in demo.recorded_events() if each.get("tool_name") == "Edit")


def follow(event: dict[str, Any]) -> tuple[dict[str, Trace], str]:
    """Return the traces of one event by stage, and the text at the next session's start."""
    stages: dict[str, Trace] = {}
    raw = json.dumps(event).encode()
    with traced(stages, "hook"):
        hook.respond(raw, post_tool_use.ask)
    models.open_databases()
    (event_id,) = queries.unfinished_events()
    with traced(stages, "compress"):
        record_event(queries.waiting_event(event_id))
    with traced(stages, "summarize"):
        summarize_session(event["session_id"])
    with traced(stages, "context"):
        answer = answers.at_start(
            demo.PROJECT, session_id="the next one", source="startup", idle_s=None, shown=Shown()
        )
    return stages, answer.block.text


def print_files(stages: dict[str, Trace], whole: Trace) -> None:
    """Print the lists of `--list`."""
    for name, trace in stages.items():
        print(f"\n{name}")
        for path, codes in itertools.groupby(trace.functions, key=file_of):
            print(f"  {path}: {', '.join(code.co_qualname for code in codes)}")
    called = Counter(map(file_of, whole.functions))
    print(f"\n{'lines':>5}{'functions':>11}  file")
    for lines, path in sorted((lines_of(path), path) for path in called):
        print(f"{lines:>5}{called[path]:>11}  {path}")


def lines_of(path: str) -> int:
    """Return the number of lines of one of the package's files."""
    with open(os.path.join(PACKAGE, path), encoding="utf-8") as file:
        return len(file.readlines())


def main() -> None:
    """Trace one Edit in a temporary data directory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--list", action="store_true", help="print files and functions, too")
    options = parser.parse_args()
    import_all()
    with tempfile.TemporaryDirectory(prefix="cml-bench-") as home:
        os.environ |= {"CLAUDE_MEM_HOME": home, "CLAUDE_PROJECT_DIR": demo.PROJECT}
        config.ensure_home()
        stages, text = follow(edit())
        models.close_databases()
    if not text:
        sys.exit("the edit did not reach the next session")
    whole = Trace(
        {code: None for trace in stages.values() for code in trace.functions},
        sum((trace.repeated for trace in stages.values()), Counter()),
    )
    figures = {name: trace.figures() for name, trace in {**stages, "in all": whole}.items()}
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{'stage':<12}" + "".join(f"{name:>11}" for name in figures["in all"]))
    for name, row in figures.items():
        print(f"{name:<12}" + "".join(f"{figure:>11}" for figure in row.values()))
    if options.list:
        print_files(stages, whole)


if __name__ == "__main__":
    main()
