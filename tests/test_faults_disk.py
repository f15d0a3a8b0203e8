"""A disk that is full, for each store: hooks disturb nobody, nothing acknowledged is lost, all goes on."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import run_hook, wait_until, web_answers
from faults import append, build, fill, logged, rows, say, small_disk, titles

from claude_mem_lite import config, inbox
from claude_mem_lite.search.vectors import Vectors, VectorsError
from claude_mem_lite.storage import models, queries

Start = Callable[[], subprocess.Popen[bytes]]


def test_hooks_on_a_full_disk(home: Path) -> None:
    with small_disk(home, size_kb=1024):
        say(build(0))
        ballast = fill(home)
        for number in range(1, 4):
            say(build(number, output="x" * 9000))
        print(sorted((p.name, p.stat().st_size) for p in home.rglob("*")))
        ballast.unlink()
        say(build(4))
        print(rows(config.queue_path(), "select status, note, length(raw_output) from pending_queue"))


def test_services_on_a_full_disk(home: Path, consumer_at: Start) -> None:
    with small_disk(home, size_kb=12_000):
        process = consumer_at()
        web = subprocess.Popen([sys.executable, "-I", "-m", "claude_mem_lite.web"])
        wait_until(web_answers)
        for number in range(8):
            say(build(number))
        wait_until(lambda: len(titles()) >= 4)
        ballast = fill(home)
        for number in range(8, 16):
            say(build(number, output="x" * 9000))
        time.sleep(10)
        print(process.poll(), web.poll(), web_answers())
        t = time.time()
        ballast.unlink()
        for number in range(16, 20):
            say(build(number, output="x" * 9000))
        for _ in range(30):
            print(round(time.time() - t), len(titles()), rows(config.queue_path(), "select status, count(*) from pending_queue group by 1"), os.listdir(home / "spool"), rows(config.memory_path(), "select embedding_status, count(*) from observations group by 1"))
            time.sleep(2)
        print(logged(home)[-6000:])
        web.kill(); web.wait()


@pytest.fixture
def consumer_at() -> Iterator[Start]:
    started = []

    def start():
        command = [sys.executable, "-I", "-m", "huey.bin.huey_consumer"]
        options = ["claude_mem_lite.tasks.consumer.huey", "-w", "2", "-s", "15", "-g", "TERM", "-t", "20"]
        with (Path(config.home()) / "logs" / "consumer.out").open("ab") as out:
            started.append(subprocess.Popen([*command, *options], stdout=out, stderr=out))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
