"""Several data directories in one process: each is a machine, and all share a hub."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from claude_mem_lite.storage import models
from claude_mem_lite.sync import run
from claude_mem_lite.sync.setup import Outcome
from claude_mem_lite.upkeep import exchange

# What belongs to one machine: costs, and marks that depend on the code on its disk.
_OWN_KINDS, _OWN_FIELDS = {"claude-mem", "cost"}, {"stale"}


@contextmanager
def unpaused() -> Iterator[list[str]]:
    """Pause nothing, because no service runs."""
    yield []


@dataclass
class Machine:
    """A data directory; inside `with`, everything works on it alone."""

    home: Path
    blank: Path

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        for file in self.blank.glob("*.db"):
            shutil.copy(file, self.home)

    def __enter__(self) -> Self:
        models.close_databases()
        self._before = os.environ["CLAUDE_MEM_HOME"]
        os.environ["CLAUDE_MEM_HOME"] = str(self.home)
        models.open_databases()
        return self

    def __exit__(self, *_: object) -> None:
        models.close_databases()
        os.environ["CLAUDE_MEM_HOME"] = self._before

    def sync(self) -> Outcome:
        """Sync once."""
        with self:
            return run.sync(paused=unpaused)

    def lines(self) -> list[str]:
        """Return the lines of an export that are equal on every machine."""
        with self:
            said = [json.loads(line) for line in exchange.export(None)]
        return [
            json.dumps({name: each for name, each in line.items() if name not in _OWN_FIELDS})
            for line in said
            if line["kind"] not in _OWN_KINDS
        ]

    def bytes(self) -> bytes:
        """Return all bytes of the data directory."""
        return all_bytes(self.home)


def joined(folder: Path, blank: Path, address: str, number: int) -> list[Machine]:
    """Return `number` machines of one user at a hub."""
    found: list[Machine] = []
    code = ""
    for each in range(number):
        machine = Machine(folder / f"m{each}", blank)
        with machine:
            code = run.begin(address, name=f"laptop{each}", code=code).code
        found.append(machine)
    return found


def all_bytes(folder: Path) -> bytes:
    """Return the bytes and paths of all files below a folder."""
    found: list[Any] = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path).encode())
        with contextlib.suppress(OSError):
            if path.is_file():
                found.append(path.read_bytes())
    return b"\n".join(found)


def settle(*machines: Machine, rounds: int = 3) -> None:
    """Have each machine sync `rounds` times, in turn."""
    for _ in range(rounds):
        for machine in machines:
            machine.sync()
