"""Read hostile sources in a process of their own: a parser written in C may end the process it runs in.

`isolate()` says that this process must outlive whatever it reads, as the consumer must; without it, `run`
calls a function here. The worker is started on first need, and ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

Read = TypeVar("Read")

_CPU_S = 5  # for one source; tree-sitter is told to stop after two
_SILENT_S = 60.0  # on a busy machine, five seconds of processor time take longer
_MOST_MEMORY_BYTES = 2 << 30
_SERVE = "import sys; from claude_mem_lite.codemap import isolation; isolation.serve(int(sys.argv[1]))"


def isolate() -> None:
    """Have everything that is given to `run` from now on read in a worker process."""
    _worker.is_used = True


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Do so until the end of a block, and end the worker with it."""
    isolate()
    try:
        yield
    finally:
        _worker.close()


def run(function: Callable[..., Read], *arguments: Any) -> Read:
    """Return what a function of a module makes of its arguments; both can be pickled.

    Raises: SyntaxError, RecursionError and MemoryError, as the function does; SyntaxError where the worker
    crashes or takes too long.
    """
    return _worker.run(function, arguments) if _worker.is_used else function(*arguments)


class _Worker:
    """The process that reads sources, started again after it has ended."""

    def __init__(self) -> None:
        self.is_used = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return what a function returns in the worker; raise what it raises there."""
        with self._lock:
            if self._process is None:
                self._start()
            try:
                self._pipe.send((function, arguments))
                if not self._pipe.poll(_SILENT_S):
                    raise TimeoutError
                is_good, value = self._pipe.recv()
            except (OSError, EOFError) as error:
                raise SyntaxError(f"its parser ended with {self._end()}") from error
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
        command = [sys.executable, "-I", "-c", _SERVE, str(end.fileno())]
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


def serve(descriptor: int) -> None:
    """Answer what comes through a pipe until that ends: the worker's main function."""
    import resource
    from multiprocessing.connection import Connection

    with contextlib.suppress(ValueError, OSError):  # macOS bounds no memory
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            function, arguments = pipe.recv()
            _bound_time()
            try:
                answer = True, function(*arguments)
            except (SyntaxError, RecursionError, MemoryError) as error:
                answer = False, error
            pipe.send(answer)


def _bound_time() -> None:
    """Have the system end this process after so much more processor time."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + _CPU_S, most))


_worker = _Worker()
atexit.register(_worker.close)
