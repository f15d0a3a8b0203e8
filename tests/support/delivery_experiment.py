"""Kill hooks and consumers at random instants, for test_inbox and benchmarks/delivery.

Not a test by itself.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass

from claude_mem_lite.services import install
from claude_mem_lite.storage import models, queries
from support.hooks import tool_event
from support.processes import end, wait_until

CONSUMER = (
    sys.executable, "-I", "-m", "huey.bin.huey_consumer", "claude_mem_lite.tasks.consumer.huey",
    "-w", "2", "-s", "15", "-g", "TERM", "-t", "20",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The fate of the events; every list but the counts should be empty."""

    hooks_ended: int
    hooks_killed: int
    consumers_killed: int
    stored_of_killed: int
    lost: tuple[str, ...]
    unfinished: tuple[str, ...]
    doubled: tuple[str, ...]


def run(*, hooks: int, kills: int, seed: int, at_once: int = 4) -> Outcome:
    """Start `hooks` hook processes while the consumer dies `kills` times, then let a last one finish.

    Every tenth hook is killed too. The data directory is that of CLAUDE_MEM_HOME and has its databases.
    """
    chance = random.Random(seed)  # noqa: S311  (an experiment, no secret)
    killed_hooks = set(chance.sample(range(hooks), hooks // 10))
    kill_after = sorted(chance.sample(range(1, hooks), kills))
    consumer, running, ended = start_consumer(), [], []
    for number in range(hooks):
        running.append((number, _capture(number)))
        if number in killed_hooks:
            time.sleep(chance.uniform(0, 0.15))
            running[-1][1].kill()
        while len(running) >= at_once:
            ended.append(_join(running.pop(0)))
        if kill_after and number >= kill_after[0]:
            kill_after.pop(0)
            time.sleep(chance.uniform(0, 0.4))
            consumer.send_signal(signal.SIGKILL)
            consumer.wait()
            consumer = start_consumer()
    ended += [_join(each) for each in running]
    try:
        wait_until(_is_drained)
    finally:
        end(consumer)
    return _outcome(dict(ended), kills)


def _outcome(ended: dict[int, int], kills: int) -> Outcome:
    rows = list(models.PendingEvent.select())
    by_number = {json.loads(row.raw_output)["tool_input"]["number"]: row for row in rows}
    counted = Counter(json.loads(row.raw_output)["tool_input"]["number"] for row in rows)
    observed = Counter(row.id for row in models.Observation.select())
    done = [number for number, status in ended.items() if status == 0]
    return Outcome(
        hooks_ended=len(done),
        hooks_killed=len(ended) - len(done),
        consumers_killed=kills,
        stored_of_killed=sum(number in by_number for number, status in ended.items() if status != 0),
        lost=tuple(str(number) for number in done if number not in by_number),
        unfinished=tuple(str(number) for number, row in by_number.items() if row.status != "done"),
        doubled=tuple(
            str(number) for number, row in by_number.items() if counted[number] + observed[row.id] > 2
        ),
    )


def _capture(number: int) -> subprocess.Popen[bytes]:
    given = {"command": f"make target-{number}", "description": f"Build {number}", "number": number}
    printed = {"stdout": f"built {number}\n" * 50, "stderr": "", "interrupted": False}
    event = tool_event(session_id=f"s{number % 7}", tool_input=given, tool_response=printed)
    command = [sys.executable, "-I", "-S", os.path.join(install.HOOKS, "post_tool_use.py")]
    environment = {**os.environ, "CLAUDE_PROJECT_DIR": "/p"}
    hook = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    assert hook.stdin is not None
    try:
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
    except BrokenPipeError:
        pass  # killed already
    return hook


def _join(started: tuple[int, subprocess.Popen[bytes]]) -> tuple[int, int]:
    number, process = started
    return number, process.wait()


def start_consumer() -> subprocess.Popen[bytes]:
    """Start a consumer as the supervisor does."""
    return subprocess.Popen(CONSUMER, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _is_drained() -> bool:
    stats = queries.queue_stats()
    return not stats["messages"] and not stats["raw"]
