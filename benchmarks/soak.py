"""Run many sessions at once for minutes, with kills: count lost and doubled events, orphans and growth.

    python benchmarks/soak.py [--sessions N] [--minutes M] [--kills K] [--interval SECONDS] [--model NAME]

Each session is a thread that starts real hook processes, one event after the other, as Claude Code does; when
it ends, the next one begins. In the first half of the time the consumer, the web process, the supervisor and
a running hook are killed with -9 in turn; sessions restart the services, as in real use. The second half has
no kills, so that memory growth is measured at work, not at the start. All files are in a temporary folder.
Linux only: memory and handles are read from /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measuring

from claude_mem_lite import config
from claude_mem_lite.services import install, instance, programs, supervise

if TYPE_CHECKING:
    import argparse

DRAIN_S = 300
SAMPLE_S = 5.0
IDLE_S = 20.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
VICTIMS = ("consumer", "web", "supervisor", "hook")


@dataclass
class Soak:
    """State shared by the threads: acknowledged events, times of hooks, kills and samples."""

    stop: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    stored: set[str] = field(default_factory=set)
    killed_hooks: set[str] = field(default_factory=set)
    running: dict[int, str] = field(default_factory=dict)
    took_ms: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    kills: Counter[str] = field(default_factory=Counter)
    samples: list[dict[str, Any]] = field(default_factory=list)

    def run_hook(self, hook: str, event: dict[str, Any], project: Path) -> None:
        """Run a hook as a process; if it exits with 0, its event must be stored."""
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", os.path.join(install.HOOKS, f"{hook}.py")],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(project)},
        )  # fmt: skip
        with self.lock:
            self.running[process.pid] = event["tool_use_id"]
        with contextlib.suppress(BrokenPipeError):
            process.communicate(json.dumps(event).encode())
        with self.lock:
            del self.running[process.pid]
            if process.returncode == 0:
                self.stored.add(event["tool_use_id"])
                self.took_ms[hook].append((time.perf_counter() - started) * 1000)

    def kill_hook(self) -> bool:
        """Kill a running hook; return whether there was one."""
        with self.lock:
            if not self.running:
                return False
            pid, mark = random.choice(list(self.running.items()))
            self.killed_hooks.add(mark)
            os.kill(pid, signal.SIGKILL)
        return True


def session(soak: Soak, number: int, project: Path, interval_s: float) -> None:
    """Play sessions, one after the other, until told to stop."""
    chance, run = random.Random(number), 0
    while not soak.stop.is_set():
        run += 1
        name = f"soak-{number}-{run}"
        told: list[tuple[str, dict[str, Any]]] = [
            ("session_start", {"hook_event_name": "SessionStart", "source": "startup"}),
            (
                "user_prompt_submit",
                {"hook_event_name": "UserPromptSubmit", "prompt": f"Work on part {run} of {number}"},
            ),
            *(("post_tool_use", tool_call(chance, project, step)) for step in range(chance.randint(8, 20))),
            ("stop", {"hook_event_name": "Stop", "last_assistant_message": f"Part {run} is done."}),
            ("session_end", {"hook_event_name": "SessionEnd", "reason": "other"}),
        ]
        for step, (hook, event) in enumerate(told):
            if soak.stop.is_set():
                return
            event |= {"session_id": name, "tool_use_id": f"{name}-{step}", "cwd": str(project)}
            soak.run_hook(hook, event, project)
            soak.stop.wait(chance.expovariate(1 / interval_s))


def tool_call(chance: random.Random, project: Path, step: int) -> dict[str, Any]:
    """Return an edit, a test run or a read; some are large."""
    path = str(project / f"module_{chance.randint(0, 9)}.py")
    padding = "# padding\n" * chance.choice((1, 10, 500, 5_000))
    kinds: dict[str, tuple[dict[str, Any], Any]] = {
        "Edit": (
            {"file_path": path, "old_string": "x = 1", "new_string": f"x = {step}"},
            {"filePath": path, "originalFile": f"x = 1\n{padding}"},
        ),
        "Bash": ({"command": "pytest -q"}, {"stdout": f"{padding}{step} passed in 0.1s", "stderr": ""}),
        "Read": ({"file_path": path}, {"file": {"content": padding}}),
    }
    tool = chance.choice(list(kinds))
    tool_input, response = kinds[tool]
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": tool_input,
        "tool_response": response,
    }


def kill(soak: Soak, victim: str) -> bool:
    """Kill one process of a kind; return whether there was one."""
    if victim == "hook":
        return soak.kill_hook()
    pid = supervisor_pid() if victim == "supervisor" else instance.pid_of(victim)
    if pid is None or (victim != "supervisor" and not instance.is_running(victim)):
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def supervisor_pid() -> int | None:
    """Return the supervisor's process id, None if it does not run."""
    try:
        pid = int(Path(config.home(), "supervisord.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid if "supervisord" in command_of(pid) else None


def command_of(pid: int) -> str:
    """Return the command line of a process, "" for none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def ours() -> list[int]:
    """Return the ids of the processes that use this data directory, except hooks."""
    found = []
    mark = f"CLAUDE_MEM_HOME={config.home()}\0".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                is_ours = mark in (entry / "environ").read_bytes() + b"\0"
                if is_ours and "/hooks/" not in command_of(int(entry.name)):
                    found.append(int(entry.name))
    return found


def rss_mb(pid: int) -> float:
    """Return the memory of a process in MB, 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6
    except (OSError, IndexError):
        return 0.0


def handles(pid: int) -> int:
    """Return how many files a process has open."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def folder_mb() -> float:
    """Return the size of the data directory in MB."""
    total = 0
    for folder, _, files in os.walk(config.home()):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total / 1e6


def sample(started: float) -> dict[str, Any]:
    """Return each service's pid, memory and open files, the folder's size, and the queue's backlog."""
    found: dict[str, Any] = {"at_s": time.monotonic() - started, "mb": folder_mb()}
    for name in programs.NAMES:
        pid = instance.pid_of(name) if instance.is_running(name) else None
        found[name] = (pid, rss_mb(pid), handles(pid)) if pid else None
    with contextlib.suppress(sqlite3.Error):
        found["queue"] = ask_queue(
            "SELECT count(*), coalesce(strftime('%s', 'now') - strftime('%s', min(created_at)), 0)"
            " FROM pending_queue WHERE status = 'raw'"
        )[0]
    return found


def ask_queue(query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on queue.db."""
    connection = sqlite3.connect(f"file:{config.queue_path()}?mode=ro", uri=True, timeout=10)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def slope(samples: list[dict[str, Any]], name: str) -> float:
    """Return the growth in MB per minute of a program's last process, in the later half of its life."""
    last = next((each[name] for each in reversed(samples) if each[name]), (0,))
    life = [(each["at_s"] / 60, each[name][1]) for each in samples if each[name] and each[name][0] == last[0]]
    settled = life[len(life) // 2 :]  # at first a process grows because it loads modules and models
    return statistics.linear_regression(*zip(*settled, strict=True)).slope if len(settled) > 3 else 0.0


def drained() -> bool:
    """Wait until nothing is left to process; return whether that happened in time."""
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline:
        with contextlib.suppress(sqlite3.Error):
            waiting = ask_queue("SELECT count(*) FROM pending_queue WHERE status = 'raw'")[0][0]
            spooled = [name for name in os.listdir(config.spool_dir()) if not name.endswith(".bad")]
            if not waiting and not spooled:
                return True
        time.sleep(0.5)
    return False


def percentiles(values: list[float]) -> str:
    """Return median, 95th and 99th percentile."""
    ordered = sorted(values)
    p50, p95, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99))
    return f"p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   p99 {p99:6.1f} ms   ({len(ordered):,})"


def play(soak: Soak, project: Path, options: argparse.Namespace) -> None:
    """Run the sessions and the kills for the chosen minutes."""
    started, length_s = time.monotonic(), options.minutes * 60
    threads = [
        threading.Thread(target=session, args=(soak, number, project, options.interval))
        for number in range(options.sessions)
    ]
    for thread in threads:
        thread.start()
    between_kills_s = length_s / 2 / (options.kills + 1)
    next_kill, next_sample = between_kills_s, 0.0
    while (now := time.monotonic() - started) < length_s:
        if now >= next_sample:
            soak.samples.append(sample(started))
            next_sample = now + SAMPLE_S
        if now >= next_kill and soak.kills.total() < options.kills:
            victim = VICTIMS[soak.kills.total() % len(VICTIMS)]
            if kill(soak, victim):
                soak.kills[victim] += 1
                next_kill += between_kills_s
        time.sleep(0.01)
    soak.stop.set()
    for thread in threads:
        thread.join()


def report(soak: Soak, *, is_drained: bool, idle_mb: float, orphans: int) -> bool:
    """Print the results; return whether nothing was lost, doubled or left behind."""
    marks = Counter(
        mark for (mark,) in ask_queue("SELECT json_extract(raw_output, '$.tool_use_id') FROM pending_queue")
    )
    lost = soak.stored - marks.keys()
    doubled = [mark for mark, count in marks.items() if count > 1]
    states = dict(ask_queue("SELECT status, count(*) FROM pending_queue GROUP BY status"))
    memory = sqlite3.connect(f"file:{config.memory_path()}?mode=ro", uri=True)
    observations, distinct = memory.execute(
        "SELECT count(*), count(DISTINCT id) FROM observations"
    ).fetchone()
    memory.close()
    total = len(soak.stored) + len(soak.killed_hooks)
    print(f"events    {total:,} hooks, {len(soak.killed_hooks)} of them killed; states {states}")
    print(f"lost      {len(lost)}   doubled {len(doubled) + observations - distinct}   "
          f"unfinished {states.get('raw', 0)}   {'drained' if is_drained else 'NOT DRAINED'}")  # fmt: skip
    print(f"kills     {soak.kills.total()}: {dict(soak.kills)}")
    print(f"orphans   {orphans} processes after down")
    for hook, values in sorted(soak.took_ms.items()):
        print(f"hook      {hook:8} {percentiles(values)}")
    for name in programs.NAMES:
        seen = [each[name] for each in soak.samples if each[name]]
        most_mb, most_handles = max(mb for _, mb, _ in seen), max(count for _, _, count in seen)
        grows = slope(soak.samples, name)
        print(f"{name:9} {most_mb:6.1f} MB at most, {grows:+.2f} MB/min, {most_handles} handles at most")
    print(f"idle      {idle_mb:.1f} MB, both processes together, {IDLE_S:.0f} s after a fresh start")
    queues = [each["queue"] for each in soak.samples if "queue" in each]
    waiting, oldest_s = max(count for count, _ in queues), max(age for _, age in queues)
    print(f"queue     {waiting:,} waiting at most, the oldest {oldest_s} s")
    print(f"folder    {soak.samples[0]['mb']:.1f} MB at first, {soak.samples[-1]['mb']:.1f} MB at last")
    return not (lost or doubled or observations != distinct or states.get("raw") or orphans) and is_drained


def main() -> None:
    """Run the soak test; exit with 1 if something was lost, doubled or left behind."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--interval", type=float, default=2.0, help="mean seconds between a session's events")
    parser.add_argument("--model", default="none", help="the embedding model: none, minilm")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="cml-soak-"))
    os.environ["CLAUDE_MEM_HOME"] = str(home / "m")
    config.ensure_home()
    Path(config.config_path()).write_text(f'[search]\nembedding_model = "{options.model}"\n')
    project = home / "project"
    project.mkdir()
    soak = Soak()
    try:
        supervise.up()
        play(soak, project, options)
        with contextlib.suppress(Exception):
            supervise.up()
        is_drained = drained()
        supervise.down()
        supervise.up()
        time.sleep(IDLE_S)
        idle_mb = sum(rss_mb(pid) for name in programs.NAMES if (pid := instance.pid_of(name)))
        supervise.down()
        time.sleep(2)
        is_sound = report(soak, is_drained=is_drained, idle_mb=idle_mb, orphans=len(ours()))
    finally:
        for pid in ours():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(home, ignore_errors=True)
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
