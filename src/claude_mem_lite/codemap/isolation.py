"""Run code in worker processes: parsers that may crash, and the resolver, which needs much memory.

A parser written in C may crash its process. A process that must survive its input and stay small, such as
the consumer, calls `isolate()`; without it, `run` and `run_large` call the function in this process.
A worker starts on first use and ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar, cast

from claude_mem_lite.errors import ClaudeMemError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

Read = TypeVar("Read")

_CPU_S = 5  # per source; tree-sitter itself stops after two
_SILENT_S = 60.0  # wall time: on a busy machine, five seconds of processor time take longer
_MOST_MEMORY_BYTES = 2 << 30
_LARGE_S = 1_800.0  # for the largest project on the slowest machine
_IDLE_S = 300.0  # then the worker ends, and with it the state kept for a project's next change
_SERVE = "import sys; from claude_mem_lite.codemap import isolation; isolation.{}(int(sys.argv[1]))"


def isolate() -> None:
    """Make all later calls of `run` and `run_large` use worker processes."""
    _reader.is_used = _resolver.is_used = True


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Isolate until the end of a `with` block, then end the workers."""
    isolate()
    try:
        yield
    finally:
        _reader.close()
        _resolver.close()


def run(function: Callable[..., Read], *arguments: Any) -> Read:
    """Return the result of a module-level function; arguments and result must be picklable.

    Raises: SyntaxError, RecursionError and MemoryError, as the function does; SyntaxError where the worker
    crashes or takes too long.
    """
    if not _reader.is_used:
        return function(*arguments)
    try:
        return cast("Read", _reader.run(function, arguments))
    except EndedError as error:
        raise SyntaxError(f"its parser ended with {error.status}") from error


def run_large(function: Callable[..., Read], *arguments: Any) -> Read:
    """Return the result of a module-level function as `run` does, without a memory limit.

    The worker keeps the module's state for the next call and ends after five idle minutes, which frees all
    of its memory.

    Raises: EndedError where the worker crashes; it writes the reason to stderr, shared with this process.
    """
    return _resolver.run(function, arguments) if _resolver.is_used else function(*arguments)


class EndedError(ClaudeMemError):
    """A worker ended before it answered; `status` is its exit code, negative for the signal that ended it."""

    def __init__(self, status: int | None) -> None:
        """Take the exit code."""
        super().__init__(f"a worker process ended with {status}: see claude-mem logs")
        self.status = status


class _Worker:
    """A process that is started again after it ends; `main` names the function here that it runs."""

    def __init__(self, main: str, silent_s: float) -> None:
        self.is_used = False
        self._main = main
        self.silent_s = silent_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call a function in the worker; return its result or raise its exception.

        Raises: EndedError.
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._end()
                self._start()
            try:
                self._pipe.send((function, arguments))
                if not self._pipe.poll(self.silent_s):
                    raise TimeoutError
                is_good, value = self._pipe.recv()
            except (OSError, EOFError) as error:
                raise EndedError(self._end()) from error
        if not is_good:
            raise value
        return value

    def close(self) -> None:
        """End the worker, if there is one; later calls run in this process."""
        self.is_used = False
        with self._lock:
            self._end()

    def _start(self) -> None:
        import subprocess
        from multiprocessing.connection import Pipe

        self._pipe, end = Pipe()
        command = [sys.executable, "-I", "-c", _SERVE.format(self._main), str(end.fileno())]
        with end:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[end.fileno()])

    def _end(self) -> int | None:
        """End the worker; return its exit code, negative for the signal that ended it."""
        process, self._process = self._process, None
        if process is None:
            return None
        from subprocess import TimeoutExpired

        self._pipe.close()
        with contextlib.suppress(TimeoutExpired):
            return process.wait(1)  # it crashed, or ends because the pipe is closed
        process.kill()
        return process.wait()


def serve_sources(descriptor: int) -> None:
    """Parse sources under a memory limit and a time limit for each; the main function of the reader."""
    import resource

    with contextlib.suppress(ValueError, OSError):  # macOS does not limit memory
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _serve(descriptor, None, _bound_time)


def serve_large(descriptor: int) -> None:
    """Do large jobs until none comes for `_IDLE_S` seconds; the main function of the resolver."""
    _serve(descriptor, _IDLE_S, lambda: None)


def _serve(descriptor: int, idle_s: float | None, begin: Callable[[], None]) -> None:
    """Answer requests from a pipe until it closes or none comes within `idle_s`."""
    from multiprocessing.connection import Connection

    pipe = Connection(descriptor)
    with contextlib.suppress(KeyboardInterrupt):
        while (work := _received(pipe, idle_s)) is not None:
            function, arguments = work
            begin()
            try:
                answer = True, function(*arguments)
            except (SyntaxError, RecursionError, MemoryError) as error:
                answer = False, error
            with contextlib.suppress(OSError):  # the caller has stopped waiting
                pipe.send(answer)


def _received(pipe: Connection, idle_s: float | None) -> Any:
    """Return the next request; None where none comes in time or the pipe is closed."""
    with contextlib.suppress(EOFError, OSError):
        if pipe.poll(idle_s):
            return pipe.recv()
    return None


def _bound_time() -> None:
    """Let the system end this process after `_CPU_S` more seconds of processor time."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + _CPU_S, most))


_reader = _Worker("serve_sources", _SILENT_S)
_resolver = _Worker("serve_large", _LARGE_S)
atexit.register(_reader.close)
atexit.register(_resolver.close)
