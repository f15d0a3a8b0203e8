"""Measure the time from a hook's exit until search finds the event, and how fast a full queue is processed.

    python benchmarks/pipeline.py [--captures N] [--backlog N]

Runs the real services in a temporary data directory. Prints median and 95th percentile of the times from hook
exit to searchable and from append to finished, captures per second, how long a new event waits behind a
backlog from before the services' start, idle CPU, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import measuring

from claude_mem_lite.capture import client, inbox
from claude_mem_lite.services import install, process_states, supervise
from claude_mem_lite.storage import models, queries


def capture_event(number: int, session: str = "b") -> str:
    """Return a test run with a unique word to search for."""
    stdout = (
        f"FAILED tests/test_a.py::test_word{number}x - assert {number} == 0\n1 failed, 40 passed in 0.9s\n"
    )
    return json.dumps({
        "session_id": session,
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "python3 -m pytest -q", "description": "Run the tests"},
        "tool_response": {"stdout": "." * 2000 + "\n" + stdout, "stderr": "", "interrupted": False},
    })  # fmt: skip


def to_searchable(number: int) -> float:
    """Run one capture hook; return the milliseconds from its exit until the search finds it."""
    command = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, "post_tool_use.py")]
    subprocess.run(command, input=capture_event(number).encode(), check=True)
    started = time.perf_counter()
    while True:
        found = client.get("/api/search", {"q": f"test_word{number}x"}, timeout_s=5)
        if found and found["results"]:
            return (time.perf_counter() - started) * 1000
        time.sleep(0.001)


def start_latency(number: int) -> float:
    """Append one event in this process; return the milliseconds until its row is done."""
    started = time.perf_counter()
    event_id = inbox.append(capture_event(number), "/p")
    while queries.pending_event(event_id).status == "raw":  # type: ignore[union-attr]
        time.sleep(0.0005)
    return (time.perf_counter() - started) * 1000


def process_numbers(pid: int) -> tuple[float, float]:
    """Return a process's CPU time in seconds and its peak memory in MiB (Linux only)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1024


def idle_cpu(seconds: float) -> dict[str, float]:
    """Return each service's share of a core, in percent, while nothing happens."""
    pids = {program.name: program.pid for program in process_states.programs() if program.pid}
    before = {name: process_numbers(pid)[0] for name, pid in pids.items()}
    time.sleep(seconds)
    return {name: (process_numbers(pid)[0] - before[name]) / seconds * 100 for name, pid in pids.items()}


def drain(backlog: int) -> float:
    """Append many events at once; return how many are finished per second."""
    done = queries.queue_stats()["done"]
    for number in range(backlog):
        inbox.append(capture_event(number, session=f"s{number % 20}"), "/p")
    started, first = time.perf_counter(), queries.queue_stats()["done"]
    while queries.queue_stats()["done"] < done + backlog:
        time.sleep(0.01)
    return (done + backlog - first) / (time.perf_counter() - started)


def behind(backlog: int) -> float:
    """Start the services with a backlog of events; return the seconds until a new event is finished."""
    supervise.down()
    for number in range(backlog):
        inbox.append(capture_event(30_000 + number, session=f"t{number % 20}"), "/p")
    supervise.up()
    return start_latency(20_000) / 1000


def report(name: str, times: list[float]) -> None:
    """Print a row of milliseconds."""
    p50, p95 = statistics.median(times), measuring.p95(times)
    print(f"{name:<28} p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   n {len(times)}")


def main() -> None:
    """Measure with the real services in a temporary data directory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--captures", type=int, default=100)
    parser.add_argument("--backlog", type=int, default=2_000)
    parser.add_argument("--idle-s", type=float, default=20)
    options = parser.parse_args()
    with measuring.memory(CLAUDE_PROJECT_DIR="/p"):
        supervise.up()
        models.open_databases(read_only=True)
        report("hook exit to searchable", [to_searchable(number) for number in range(options.captures)])
        report("append to finished", [start_latency(10_000 + number) for number in range(options.captures)])
        time.sleep(2)
        shares = idle_cpu(options.idle_s)
        print(
            "idle CPU                     "
            + "   ".join(f"{name} {share:.2f} %" for name, share in shares.items())
        )
        print(f"backlog of {options.backlog:<17} {drain(options.backlog):.0f} captures/s")
        print(f"a new event behind {options.backlog:<9} {behind(options.backlog):.2f} s")
        for program in process_states.programs():
            if program.pid:
                print(f"peak memory, {program.name:<15} {process_numbers(program.pid)[1]:.0f} MiB")


if __name__ == "__main__":
    main()
