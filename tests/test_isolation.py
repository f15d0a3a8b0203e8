"""Test that sources are parsed in another process, so that a crash does not end the consumer."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path

import pytest
from support.hooks import tool_event
from support.processes import wait_until

from claude_mem_lite.capture import inbox
from claude_mem_lite.codemap import isolation, languages
from claude_mem_lite.storage import models, queries

pytestmark = pytest.mark.process

# TypeScript's parser recurses once for each of these, and its stack ends before 100,000.
CRASHING = "\n".join(["{a:" * 40] * 8_000)


@pytest.mark.usefixtures("isolated")
def test_what_is_isolated_runs_in_one_other_process() -> None:
    """Values and errors come back from one worker process that is reused."""
    first, second = isolation.run(os.getpid), isolation.run(os.getpid)

    assert first == second != os.getpid()
    assert isolation.run(divmod, 7, 2) == (3, 1)
    with pytest.raises(SyntaxError, match="was never closed"):
        isolation.run(compile, "f(", "a.py", "exec", ast.PyCF_ONLY_AST)


@pytest.mark.usefixtures("isolated")
def test_a_crash_costs_one_source() -> None:
    """If the worker dies over a source, that source is unparsable, and the next one is parsed."""
    with pytest.raises(SyntaxError, match=f"its parser ended with -{signal.SIGSEGV:d}"):
        isolation.run(signal.raise_signal, signal.SIGSEGV)
    with pytest.raises(SyntaxError, match="its parser ended with -"):
        languages.extract("a.ts", CRASHING)

    assert [each.qualified_name for each in languages.extract("a.ts", "function f() {}")] == ["f"]


@pytest.mark.usefixtures("isolated")
def test_a_source_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker is ended after six seconds of work, or when it stays silent for too long."""
    started = time.monotonic()

    with pytest.raises(SyntaxError, match=f"ended with -{signal.SIGXCPU:d}"):
        isolation.run(sum, range(10**12))
    monkeypatch.setattr("claude_mem_lite.codemap.isolation._reader.silent_s", 0.2)
    with pytest.raises(SyntaxError, match="ended with -9"):
        isolation.run(time.sleep, 3_600)

    assert time.monotonic() - started < 120


@pytest.mark.usefixtures("isolated")
def test_what_is_large_is_kept_in_a_process_of_its_own() -> None:
    """Large work has its own process, apart from the parser's, with a new one after a crash."""
    runs = (isolation.run_large, isolation.run_large, isolation.run)
    first, second, reader = (run(os.getpid) for run in runs)
    with pytest.raises(isolation.EndedError, match=f"ended with -{signal.SIGKILL:d}"):
        isolation.run_large(signal.raise_signal, signal.SIGKILL)

    third = isolation.run_large(os.getpid)

    assert first == second
    assert len({first, reader, third, os.getpid()}) == 4


def test_large_work_takes_its_memory_along_when_idle() -> None:
    """The process for large work ends when idle, which frees its memory."""
    script = (
        "from claude_mem_lite.codemap import isolation; isolation._IDLE_S = 0.1; isolation.serve_large(0)"
    )
    pipe, end = Pipe()
    with end, pipe:
        process = subprocess.run([sys.executable, "-c", script], stdin=end.fileno(), timeout=60, check=False)

    assert process.returncode == 0


def test_the_consumer_outlives_a_source_that_crashes_its_parser(
    tmp_path: Path, consumer: Callable[[], subprocess.Popen[bytes]]
) -> None:
    """An edit that crashes its parser is observed at the first attempt, and the next edit is mapped."""
    for name, content in (("a.ts", CRASHING), ("b.ts", "export function f() {\n  return 1;\n}\n")):
        path = tmp_path / name
        path.write_text(content)
        given = {"file_path": str(path), "content": content}
        answer = {"type": "create", "filePath": str(path), "content": content}
        inbox.append(json.dumps(tool_event("Write", tool_input=given, tool_response=answer)), str(tmp_path))

    process = consumer()
    wait_until(lambda: queries.queue_stats()["done"] == 2)

    assert process.poll() is None
    assert [row.attempts for row in models.PendingEvent.select()] == [1, 1]
    assert [row.qualified_name for row in models.FunctionMapEntry.select()] == ["f"]
    expected = [f"cannot be parsed: its parser ended with -{signal.SIGSEGV:d}"]
    assert [row.error for row in models.SourceFile.select() if row.error] == expected
