"""Run code in worker processes: parsers that may crash, and the resolver that needs much memory.

A parser written in C may end the process that it runs in. `isolate()` says that this process must outlive
what it reads and stay small, as the consumer must; without it, `run` and `run_large` call the function here.
A worker is started on first need, and ends with this process.
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

_CPU_S = 5  # for one source; tree-sitter is told to stop after two
_SILENT_S = 60.0  # on a busy machine, five seconds of processor time take longer
_MOST_MEMORY_BYTES = 2 << 30
_LARGE_S = 1_800.0  # for the largest project on the slowest machine
_IDLE_S = 300.0  # what a worker keeps for the next change of a project is given up after that
_SERVE = "import sys; from claude_mem_lite.codemap import isolation; isolation.{}(int(sys.argv[1]))"


def isolate() -> None:
    """Have everything that is given to `run` and `run_large` from now on done in a worker process."""
    _reader.is_used = _resolver.is_used = True


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Do so until the end of a block, and end the workers with it."""
    isolate()
    try:
        yield
    finally:
        _reader.close()
        _resolver.close()


def run(function: Callable[..., Read], *arguments: Any) -> Read:
    """Return what a function of a module makes of its arguments; both can be pickled.

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
    """Return what a function of a module makes of its arguments, as `run`, with no bound on its memory.

    The worker keeps the module's state for the next call, and ends after five idle minutes: then all of its
    memory is free again.

    Raises: EndedError where the worker crashes; the reason is on its stderr, which is this process's.
    """
    return _resolver.run(function, arguments) if _resolver.is_used else function(*arguments)


class EndedError(ClaudeMemError):
    """A worker ended over its work; `status` is its exit code, minus the signal that ended it."""

    def __init__(self, status: int | None) -> None:
        """Take the exit code."""
        super().__init__(f"a worker process ended with {status}: claude-mem logs has its last words")
        self.status = status


class _Worker:
    """A process that is started again after it has ended; `main` names the function here that it runs."""

    def __init__(self, main: str, silent_s: float) -> None:
        self.is_used = False
        self._main = main
        self.silent_s = silent_s
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what a function returns in the worker; raise what it raises there.

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
        """End the worker, if there is one, and use none."""
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
        """End the worker; return its exit code, minus the signal that ended it."""
        process, self._process = self._process, None
        if process is None:
            return None
        from subprocess import TimeoutExpired

        self._pipe.close()
        with contextlib.suppress(TimeoutExpired):
            return process.wait(1)  # it has crashed, or ends with the pipe
        process.kill()
        return process.wait()


def serve_sources(descriptor: int) -> None:
    """Read sources, with little time and memory for each: the main function of the reader."""
    import resource

    with contextlib.suppress(ValueError, OSError):  # macOS bounds no memory
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _serve(descriptor, None, _bound_time)


def serve_large(descriptor: int) -> None:
    """Do large work until none comes for a while: the main function of the resolver."""
    _serve(descriptor, _IDLE_S, lambda: None)


def _serve(descriptor: int, idle_s: float | None, begin: Callable[[], None]) -> None:
    """Answer what comes through a pipe until that ends, or nothing has come for so long."""
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
            with contextlib.suppress(OSError):  # nobody waits for it any more
                pipe.send(answer)


def _received(pipe: Connection, idle_s: float | None) -> Any:
    """Return the next piece of work; None where none comes in time, or the pipe has ended."""
    with contextlib.suppress(EOFError, OSError):
        if pipe.poll(idle_s):
            return pipe.recv()
    return None


def _bound_time() -> None:
    """Have the system end this process after so much more processor time."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + _CPU_S, most))


_reader = _Worker("serve_sources", _SILENT_S)
_resolver = _Worker("serve_large", _LARGE_S)
atexit.register(_reader.close)
atexit.register(_resolver.close)
