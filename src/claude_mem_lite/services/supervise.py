"""Start and stop the consumer and the web process through their supervisor.

That is supervisord, unless the user has chosen launchd or systemd (see `agents`).
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from claude_mem_lite import config, installed, keys, settings
from claude_mem_lite.capture import client
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import agents, instance, process_states
from claude_mem_lite.services.programs import CONF, NAMES
from claude_mem_lite.storage import facts, files, migrations, models, rebuild

START_TIMEOUT_S = 20.0
STOP_TIMEOUT_S = 40.0

# A unix socket's path has 108 bytes on Linux, 104 on macOS; supervisord binds one with its pid appended.
_MAX_SOCKET_BYTES = 103
_LONGEST_SOCKET = "/supervisor.sock.9999999"
# Handed on if set; besides PREFIXES nothing else is. ANTHROPIC_* and proxies would decide where the content
# of every project goes and who pays for it; LD_* and PYTHON* which code runs.
HANDED_ON = (
    # who the user is, their language and time
    "HOME", "USER", "LOGNAME", "LANG", "TZ",
    # where temporary files go
    "TMPDIR",
    # the certificates of the machine's network
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    # where fetched models lie
    "HF_HOME", "HF_HUB_CACHE",
)  # fmt: skip
# Locale; folders of caches (models) and of settings (systemd's units).
PREFIXES = ("LC_", "XDG_")


def up(*, with_key: bool = False) -> Literal["", "started", "replaced"]:
    """Run both services with this installation's code, wait until they answer, and return what was done.

    Services of other code are replaced: old ones would not know the tables that this one changes. A hook does
    not replace those of an installation that the user has chosen since (see `installed`), and code that knows
    a newer schema is never replaced. Services are restarted, too, for a key that they do not have: one that
    the user has agreed to (see `keys`), or with `with_key` the one that is set here, with the base URL, for
    this run. The key is handed over in the environment only, never on disk.

    Raises: ClaudeMemError: they could not be started, or the data directory does not allow it.
    """
    _check_paths()
    files.refuse_read_only()
    config.refuse_foreign_memory()
    migrations.is_outdated()  # a newer schema is refused before anything is stopped
    kind = agents.installed()
    if with_key and kind is not None:
        raise ClaudeMemError(
            f"{kind} runs the services, so --with-key has no effect: set api_key in {config.config_path()}"
        )
    variable, is_new_key = _agree(with_key=with_key)
    is_hook = bool(os.environ.get(keys.STARTED_BY))
    with _alone():
        if is_hook and installed.is_anothers() and _runs_anything():
            return ""
        was_serving = _serving()
        old = bool(process_states.outdated()) or (_runs_anything() and _is_memory_lost())
        if was_serving and not old and (kind or not (with_key or is_new_key or _has_new_key())):
            _claim()
            return ""
        if kind is None:
            _start(variable, anew=old or was_serving, in_place=old and is_hook)
        else:
            _start_agents(kind, anew=old)
        timeout_s = START_TIMEOUT_S + (STOP_TIMEOUT_S if old else 0)
        _wait(lambda: _serving() and not process_states.outdated(), timeout_s, "the services did not come up")
        _claim()
    return "replaced" if was_serving or old else "started"


def _start(with_key: str, *, anew: bool, in_place: bool) -> None:
    """Start supervisord or its stopped programs; restart all if `anew` or if another Python runs it.

    With `in_place` our own supervisord restarts its programs itself, and keeps the key of an `up --with-key`.
    """
    is_ours = process_states.ask("getIdentification") == sys.executable
    if process_states.ask("getState") is not None and (not is_ours or (anew and not in_place)):
        _stop()
    models.open_databases()
    models.close_databases()
    if is_ours and in_place:
        process_states.ask("restart")
        return
    if process_states.ask("getState") is None:
        _spawn(with_key)
        _wait(
            lambda: process_states.ask("getState") is not None, START_TIMEOUT_S, "supervisord did not start"
        )
        return
    for program in process_states.programs():
        if program.state not in {"RUNNING", "STARTING"}:
            process_states.ask("startProcess", program.name, False)


def _start_agents(kind: agents.Supervisor, *, anew: bool) -> None:
    if anew:
        _stop_agents(kind)
    models.open_databases()
    models.close_databases()
    agents.install(kind) if anew else agents.start(kind)


def _claim() -> None:
    """Record this installation as the services' owner; a hook does so only if no other installation is."""
    if not (os.environ.get(keys.STARTED_BY) and installed.is_anothers()):
        installed.claim()


def _runs_anything() -> bool:
    return any(map(instance.is_running, NAMES))


def wait_until_serving() -> None:
    """Wait until both services answer. Raises: ClaudeMemError."""
    _wait(_serving, START_TIMEOUT_S, "the services did not come up")


def down() -> bool:
    """Stop both services and supervisord, and wait until they are gone; return whether they ran."""
    with _alone():
        kind = agents.installed()
        if kind is not None and _runs_anything():
            _stop_agents(kind)
        elif _gone():
            return False
        else:
            _stop()
    return True


@contextmanager
def paused() -> Iterator[list[str]]:
    """Keep the services stopped for a while, and keep others from starting them.

    Yield a list that afterwards says if they did not come back; what was done meanwhile stays done.
    supervisord itself keeps running, so that the services come back with the key that they were given;
    launchd and systemd are told to stop and start them.

    Raises: ClaudeMemError: a service runs that supervisord does not know, or does not stop.
    """
    problems: list[str] = []
    with _alone():
        kind = agents.installed()
        names = [
            each.name
            for each in process_states.programs()
            if each.state in {"RUNNING", "STARTING", "BACKOFF"}
        ]
        for name in NAMES:
            if name not in names and instance.is_running(name):
                raise ClaudeMemError(
                    f"a {name} process runs that claude-mem up did not start: stop it, then try again"
                )
        try:
            if kind and names:
                agents.stop(kind)
            for name in names:
                process_states.ask("stopProcess", name, False)
            _wait(lambda: not _runs_anything(), STOP_TIMEOUT_S, "the services did not stop")
            yield problems
        finally:
            if kind and names:
                agents.start(kind)
            for name in names:
                process_states.ask("startProcess", name, False)
        try:
            if names:
                _wait(_serving, START_TIMEOUT_S, "the services did not come up again")
        except ClaudeMemError as error:
            problems.append(str(error))


def _stop_agents(kind: agents.Supervisor) -> None:
    agents.stop(kind)
    _wait(_gone, STOP_TIMEOUT_S, "the services did not stop")


def _stop() -> None:
    """Stop supervisord with its services, and services that a kill or a test has left without one."""
    supervised = {program.pid for program in process_states.programs()}
    process_states.ask("shutdown")
    for name in NAMES:
        pid = instance.pid_of(name) if instance.is_running(name) else None
        if pid is not None and pid not in supervised:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    _wait(_gone, STOP_TIMEOUT_S, "the services did not stop")


def _agree(*, with_key: bool) -> tuple[str, bool]:
    """Record the key that the user starts the services with; return the variable of `with_key`, and if new.

    A session (a hook or Claude) records nothing: its environment may be a project's.
    """
    if with_key:
        keys.refuse_session("up --with-key")
        variable = keys.named()
        if not variable:
            raise ClaudeMemError(f"--with-key found no key: set {' or '.join(keys.KINDS)} in this shell")
        return variable, keys.agree(variable)
    chosen = settings.load().api_key_from
    return "", chosen != keys.NONE and not keys.in_session() and keys.agree(chosen)


def _has_new_key() -> bool:
    """Tell whether there is a key, and from another source than the running consumer's."""
    credential = settings.load().credential
    models.open_databases(read_only=True)
    running = facts.read("consumer").get("credential", "")
    models.close_databases()
    return credential is not None and running not in {credential.source, keys.WITH_KEY}


def _is_memory_lost() -> bool:
    """Tell whether claude-mem.db was replaced while the services still have the old one open."""
    models.open_databases(read_only=True)
    found = rebuild.state()
    models.close_databases()
    return found is not None and not found.at


def for_services(credential: keys.Credential | None, *, with_key: str = "") -> dict[str, str]:
    """Return the environment in which supervisord starts both programs.

    It has the key of `credential` if that came from a variable; `with_key` is the one of `up --with-key`.
    PATH is the system's: the only program that the services start is the client of `claude.via`, by its path.
    """
    names = (name for name in os.environ if name in HANDED_ON or name.startswith(PREFIXES))
    given = {name: os.environ[name] for name in names}
    given |= {"PATH": os.defpath, "CLAUDE_MEM_HOME": config.home(), "CLAUDE_MEM_PYTHON": sys.executable}
    if credential is not None and credential.source in keys.KINDS:
        given[credential.source] = credential.value
    return given | keys.to_hand_over(with_key) if with_key else given


def _spawn(with_key: str) -> None:
    credential = keys.of_variable(with_key) if with_key else settings.load().credential
    # supervisord goes to the background by itself; before that it prints errors to stderr.
    started = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-m", "supervisor.supervisord", "-c", CONF],
        env=for_services(credential, with_key=with_key),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if started.returncode:
        # Its errors end with a line that points to its help.
        errors = [line for line in started.stderr.splitlines() if line and not line.startswith("For help")]
        said = errors[-1] if errors else f"exit status {started.returncode}"
        raise ClaudeMemError(f"supervisord did not start: {said}")


def _serving() -> bool:
    return all(program.state == "RUNNING" for program in process_states.programs()) and _web_answers()


def _web_answers() -> bool:
    try:
        return client.get("/api/health", {}, timeout_s=2) is not None
    except client.UnreachableError:
        return False


def _gone() -> bool:
    return process_states.ask("getState") is None and not _runs_anything()


def _wait(done: Callable[[], bool], timeout_s: float, failure: str) -> None:
    deadline = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > deadline:
            states = ", ".join(
                f"{program.name} {program.state}"
                + (f" as pid {instance.pid_of(program.name)}" if instance.is_running(program.name) else "")
                for program in process_states.programs()
            )
            raise ClaudeMemError(
                f"{failure} within {timeout_s:.0f} s ({states}): see the logs in {config.log_dir()}"
            )
        time.sleep(0.05)


def _check_paths() -> None:
    for path in (config.home(), sys.executable):
        if "%" in path:
            raise ClaudeMemError(f"{path}: supervisord cannot use a path with a %; choose another")
    length = len(os.fsencode(config.home() + _LONGEST_SOCKET))
    if length > _MAX_SOCKET_BYTES:
        raise ClaudeMemError(
            f"{config.home()} is too long for a unix socket in it ({length} of {_MAX_SOCKET_BYTES} bytes): "
            "set CLAUDE_MEM_HOME to a shorter path"
        )


@contextmanager
def _alone() -> Iterator[None]:
    """Let only one `up` or `down` at a time change the services, and wait while they end by themselves."""
    config.ensure_home()
    path = os.path.join(config.home(), "services.lock")
    with open(path, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path) or not os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
            raise ClaudeMemError(f"{config.home()} was deleted or replaced meanwhile: try again")
        _wait(
            lambda: process_states.ask("getState") is not False,
            STOP_TIMEOUT_S,
            "the services were stopping and did not stop",
        )
        yield
