"""Check an installation: each finding tells what is wrong and its cure; some have a fix.

Checks change nothing; only the `fix` of a finding does. Data is never deleted.
"""

import functools
import json
import os
import shlex
import shutil
import sqlite3
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_mem_lite import __version__, config, keys, locks, settings
from claude_mem_lite.capture import backlog, client, guards, inbox, spool
from claude_mem_lite.codemap import languages, sources
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.services import install, other_clients, plugin, process_states, supervise
from claude_mem_lite.storage import damage, migrations, models, queries, rebuild
from claude_mem_lite.storage.files import connect

LEAST_FREE_BYTES = 500 << 20
SLOW_HOOK_MS = 200
STUCK_S = 600
_HOOK_RUNS = 5
_AHEAD_S = 300
_RECENT_S = 7 * 86_400
_OURS = (
    "claude-mem.db", "queue.db", "lance", "logs", "spool", "config.toml", "worker.sock", "doorbell", "guards",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `cure` is "" if all is well, `fix` does what the cure says."""

    name: str
    found: str
    cure: str = ""
    fix: Callable[[], object] | None = None

    @property
    def is_fine(self) -> bool:
        """Whether nothing needs to be done."""
        return not self.cure


def examine() -> Iterator[Finding]:
    """Yield the findings of all checks; a check comes after those that it depends on."""
    for check in _CHECKS:
        try:
            yield from check()
        except Exception as error:
            if not isinstance(error, (ClaudeMemError, OSError)) and not damage.explains(error):
                raise
            name = check.__name__.removeprefix("_")
            yield Finding(
                name, f"could not be checked: {error}", "see the finding above, or claude-mem status"
            )


def _folder() -> Iterator[Finding]:
    home = config.home()
    if not os.path.isdir(home):
        yield Finding("folder", f"there is no {home} yet", "claude-mem up", supervise.up)
        return
    wrong = [
        path
        for path in [home, *(os.path.join(home, name) for name in _OURS)]
        if (path != home and os.path.islink(path))
        or (os.path.exists(path) and os.stat(path).st_uid != os.geteuid())
    ]
    if wrong:
        yield Finding(
            "owner",
            f"{wrong[0]} is a symbolic link or belongs to another user",
            "replace it with a folder or file of your own",
        )
    else:
        yield Finding("owner", f"{home} and its files belong to you")
    unwritable, cure = config.unwritable()
    if unwritable:
        yield Finding("folder", unwritable, cure)
    open_ones = list(_open_to_others(home))
    if open_ones:
        found = f"{len(open_ones)} files or folders are open to others: {open_ones[0]}"
        cure = f"chmod -R go-rwx {shlex.quote(home)}"
        yield Finding("permissions", found, cure, lambda: _close(open_ones))
    else:
        yield Finding("permissions", "readable by you alone")


def _close(paths: Sequence[str]) -> None:
    for path in paths:
        os.chmod(path, os.stat(path).st_mode & 0o700)


def _open_to_others(home: str) -> Iterator[str]:
    for folder, folders, files in os.walk(home):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode) and mode & 0o077:
                yield path
        folders[:] = [name for name in folders if name != "models"]


def _disk() -> Iterator[Finding]:
    home = config.home()
    free = shutil.disk_usage(home if os.path.isdir(home) else os.path.expanduser("~")).free
    is_low = free < LEAST_FREE_BYTES
    yield Finding(
        "disk",
        f"{free >> 20:,} MB are free",
        "free some space: claude-mem prune --dry-run shows what it would delete" if is_low else "",
    )


def _settings() -> Iterator[Finding]:
    wrong = settings.problem()
    yield Finding("config.toml", wrong or "valid", f"fix {config.config_path()}" if wrong else "")


def _databases() -> Iterator[Finding]:
    config.refuse_foreign_memory()
    newest = len(migrations.MIGRATIONS)
    for name, path in (("memory", config.memory_path()), ("queue", config.queue_path())):
        if not os.path.exists(path):
            yield Finding(name, f"there is no {path} yet", "claude-mem up", supervise.up)
            continue
        damaged = damage.found(path, thorough=True)
        if damaged:
            yield Finding(name, f"{path} is damaged: {damaged}", damage.cure(path))
            continue
        with closing(connect(path, mode="ro", timeout_s=10)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path), os.W_OK):
            cure = f"chmod u+w {shlex.quote(path)}, or mount its disk for writing"
            yield Finding(name, f"{path} cannot be written", cure)
        elif name == "memory" and version > newest:
            yield Finding(name, f"schema {version}, this version has {newest}", "upgrade claude-mem-lite")
        elif name == "memory" and version < newest:
            yield Finding(name, f"schema {version} of {newest}", "claude-mem up", models.open_databases)
        else:
            yield Finding(name, f"sound, {os.path.getsize(path) / 1e6:,.1f} MB")


def _has_memory(*, read_only: bool = True) -> bool:
    """Open the memory if there is one of the current schema; return whether there is."""
    if not os.path.exists(config.memory_path()) or migrations.is_outdated():
        return False
    models.open_databases(read_only=read_only)
    return True


def _rebuild() -> Iterator[Finding]:
    if _has_memory() and (found := rebuild.state()):
        yield Finding("rebuild", found.told, "" if found.at else "claude-mem restart", _restart)


def _index() -> Iterator[Finding]:
    from claude_mem_lite.search import inventory

    if not _has_memory(read_only=False):
        return
    wrong = damage.wrong_full_text()
    found = f"the index of {', '.join(wrong)} differs from its table" if wrong else "matches its tables"
    yield Finding("full text", found, "claude-mem reindex" if wrong else "")
    state = inventory.state()
    if state["problem"] and state["setting"] != inventory.NONE:
        yield Finding("meaning", state["problem"], "claude-mem model list")
    else:
        yield Finding("meaning", inventory.in_words(state))


def _services() -> Iterator[Finding]:
    if os.path.isdir(config.socket_path()):
        cure = "move it aside, then claude-mem up"
        yield Finding("socket", f"{config.socket_path()} is a folder: the web process cannot start", cure)
    down = [program for program in process_states.programs() if program.state != "RUNNING"]
    if down:
        states = ", ".join(f"{program.name} {program.state.lower()}" for program in down)
        yield Finding("services", states, f"claude-mem up; logs: {config.log_dir()}", supervise.up)
        return
    try:
        client.get("/api/health", {}, timeout_s=5)
    except client.UnreachableError as error:
        yield Finding("services", f"{config.socket_path()}: {error}", "claude-mem restart", _restart)
        return
    if old := process_states.outdated():
        yield Finding("services", process_states.told_of(old), "claude-mem up", supervise.up)
    else:
        yield Finding("services", f"consumer and web run, version {__version__}")


def _restart() -> None:
    supervise.down()
    supervise.up()


def _queue() -> Iterator[Finding]:
    if not _has_memory():
        return
    stats = queries.queue_stats()
    oldest_s = max(0.0, -_ahead_s(stats["oldest_raw"]))
    lost = stats["lost"] + len(spool.lost_files())
    told = f"{stats['raw']} events waiting, {stats['error']} in error" + (
        f", {lost} lost for good" if lost else ""
    )
    rebuilt = rebuild.state()
    if oldest_s > STUCK_S and not (rebuilt and rebuilt.left):
        cure = f"claude-mem restart; if that does not help, see {config.log_dir()}/consumer.jsonl"
        yield Finding("queue", f"{told}, the oldest for {oldest_s / 60:.0f} minutes", cure, backlog.requeue)
    elif stats["error"] + stats["set_aside"]:
        cure = f"see why in {config.log_dir()}/consumer.jsonl; claude-mem doctor --fix tries them again"
        aside = f", {stats['set_aside']} messages set aside" if stats["set_aside"] else ""
        yield Finding("queue", told + aside, cure, backlog.retry_failed)
    else:
        yield Finding("queue", told)
    ahead_s = _ahead_s(queries.last_event_at())
    is_ahead = ahead_s > _AHEAD_S
    yield Finding(
        "clock",
        f"the newest event is dated {ahead_s / 60:.0f} minutes in the future"
        if is_ahead
        else "not behind the newest event",
        "set the clock: new events sort before the existing ones" if is_ahead else "",
    )


def _ahead_s(at: str | None) -> float:
    """Return how many seconds a time is from now, below 0 if past; 0 for none or an invalid one."""
    try:
        return inbox.unix_time(at) - time.time() if at else 0.0
    except ValueError:
        return 0.0


def _recall() -> Iterator[Finding]:
    from claude_mem_lite.storage import evals

    if _has_memory():
        in_time, late = evals.recall_answers(since=inbox.utc_text(time.time() - _RECENT_S))
        yield Finding(
            "recall", f"{in_time + late} prompts answered in the last week, {late} of them too late"
        )


def _spool() -> Iterator[Finding]:
    waiting = len(spool.waiting())
    broken = sum(path.endswith(spool.BROKEN) for path in spool.files())
    if waiting and not locks.is_held("consumer.lock"):
        yield Finding("spool", f"{waiting} events wait to be queued", "claude-mem up", backlog.take_in_spool)
    elif broken:
        cure = f"inspect {config.spool_dir()}/*{spool.BROKEN}, then delete them"
        yield Finding("spool", f"{broken} files hold no event", cure)
    else:
        yield Finding("spool", f"{waiting} events are being queued" if waiting else "empty")


def _hooks() -> Iterator[Finding]:
    registered = install.registered_events()
    words = {word for command in registered.values() for word in install.words(command)}
    gone = sorted(word for word in words if word.startswith("/") and not os.path.exists(word))
    if twice := install.registered_twice():
        yield Finding("hooks", twice, "claude-mem uninstall-hooks", install.uninstall)
    elif wrong := _wrong_events(set(registered)):
        yield Finding("hooks", wrong, "claude-mem install-hooks", install.install)
    elif install.is_guarding() != bool(guards.all_on()):
        found = "the guard hook does not match the guards that are on"
        yield Finding("hooks", found, "claude-mem doctor --fix", install.sync_guard)
    elif gone:
        found = f"they name {gone[0]}, which does not exist"
        yield Finding("hooks", found, "claude-mem install-hooks", install.install)
    else:
        yield _interpreters(registered)


def _wrong_events(registered: set[str]) -> str:
    """Describe events that are registered but should not be, or else those that are missing; "" for none."""
    wanted = install.wanted_events()
    if unknown := sorted(registered - wanted):
        return f"your Claude Code may not know {', '.join(unknown)}: it could ignore all of its settings"
    missing = ", ".join(sorted(wanted - registered))
    return missing and (
        f"{len(registered)} events registered, missing: {missing}" if registered else "not installed"
    )


def _interpreters(registered: dict[str, str]) -> Finding:
    """Check the Python interpreters that run the hooks."""
    found_plugin = plugin.enabled(install.claude_dir())
    interpreters = set(map(install.interpreter, registered.values()))
    useless = [path for path in interpreters if not _is_recent(path)]
    if useless:
        removal = found_plugin.removal if found_plugin else "claude-mem uninstall-hooks"
        cure = f"put a newer Python on the PATH, or {removal} and claude-mem install-hooks"
        return Finding("hooks", f"they are run by {useless[0]}, which is not Python 3.11 or newer", cure)
    whose = f" of {found_plugin.told}" if found_plugin else ""
    other = "" if found_plugin or interpreters == {sys.executable} else f", not by {sys.executable}"
    run_by = ", ".join(sorted(interpreters))
    return Finding("hooks", f"{len(registered)} events{whose}, run by {run_by}{other}")


def _other_clients() -> Iterator[Finding]:
    for each in other_clients.here():
        found, cure = other_clients.look(each)
        fix = functools.partial(other_clients.install, each) if cure == each.installation else None
        yield Finding(each.name, found, cure, fix)


def _languages() -> Iterator[Finding]:
    """Check whether the code map knows the languages of the current project, if that is a repository."""
    folder = config.place(os.getcwd())[1]
    if os.path.exists(os.path.join(folder, ".git")):
        advice = languages.advice(sources.unmapped(folder))
        found, _, cure = advice.partition("; ")
        yield Finding("languages", found or "the code map supports those of this project", cure)


def _is_recent(python: str) -> bool:
    """Tell whether a Python is new enough to run the hooks."""
    asked = [python, "-I", "-S", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    try:
        return subprocess.run(asked, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _latency() -> Iterator[Finding]:
    """Time the capture hook on a trial event, in a temporary data directory."""
    event = {"session_id": "doctor", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {}}
    times = []
    with tempfile.TemporaryDirectory(prefix="claude-mem-doctor-") as folder:
        environment = {**os.environ, "CLAUDE_MEM_HOME": folder}
        for _ in range(_HOOK_RUNS):
            started = time.perf_counter()
            subprocess.run(
                [sys.executable, "-I", "-S", os.path.join(install.HOOKS, "post_tool_use.py")],
                input=json.dumps(event).encode(), env=environment, capture_output=True, check=False,
            )  # fmt: skip
            times.append((time.perf_counter() - started) * 1000)
        stored, said = _stored_in(os.path.join(folder, "queue.db")), _last_word(folder)
    took_ms = statistics.median(times)
    if stored != _HOOK_RUNS:
        found = f"stored {stored} of {_HOOK_RUNS} trial events{said and f': {said}'}"
        yield Finding("a hook", found, "reinstall claude-mem-lite, then claude-mem install-hooks")
    else:
        slow = "; is the machine loaded, or the disk slow?" if took_ms > SLOW_HOOK_MS else ""
        yield Finding("a hook", f"takes {took_ms:.0f} ms (median of {_HOOK_RUNS}){slow}")


def _stored_in(path: str) -> int:
    try:
        with closing(connect(path, mode="ro")) as connection:
            return int(connection.execute("SELECT count(*) FROM pending_queue").fetchone()[0])
    except sqlite3.Error:
        return 0


def _last_word(home: str) -> str:
    """Return the last error that a hook has logged in a data directory, "" for none."""
    for path in Path(home, "logs").glob("hooks.jsonl.*"):
        return str(json.loads(path.read_text(encoding="utf-8").splitlines()[-1]).get("message", ""))
    return ""


def ask_api(chosen: Any) -> Finding:
    """Check that the Messages API answers and accepts the key; costs nothing."""
    from claude_mem_lite.claude import api, client

    if chosen.credential is None:
        return Finding("API", keys.about("", chosen.api_key_from), "")
    try:
        if chosen.via == "cli":
            return Finding("API", f"not asked: {client.look(chosen)} writes, on your plan")
        api.look(chosen)
    except api.ClaudeError as error:
        return Finding("API", str(error), "fix the key or the network, then claude-mem restart")
    return Finding("API", f"answers, and knows {chosen.model}")


_CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _folder, _disk, _settings, _databases, _rebuild, _index, _services, _queue, _recall, _spool, _hooks,
    _other_clients,
    _languages, _latency,
)  # fmt: skip
