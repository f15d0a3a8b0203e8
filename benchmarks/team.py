"""Time a team's hub in PostgreSQL with made-up data: many lines, 200 people, 50 projects.

    python benchmarks/team.py [--lines N] [--people N] [--projects N] [--clients N] [--folder PATH]

Each person shares a fifth of the projects, in segments as the product writes them, signed with their own key.
The benchmark starts its own server from the package `pgserver` and deletes it afterwards. Then a real data
directory joins: it pulls one project, pushes one session at a time, and pulls what its colleagues publish in
a day (one session each). Finally many clients list and publish at once, each in a thread with its own
connection. The full size is --lines 10000000.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pgserver
import psycopg

from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models
from claude_mem_lite.sync import cards, segments, signing
from claude_mem_lite.sync.hubs.postgres import PostgresTeamHub
from claude_mem_lite.sync.segments import Name
from claude_mem_lite.sync.team import incoming, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.sync.setup import Outcome

AT = "2026-11-01T09:00:00.000000Z"
COLUMNS = "team, project, owner, name, data"
TEAM, CODE = "everyone", "0" * 32
IN_SEGMENT, SHARE = 500, 5
SESSION_LINES, PUSHES, ROUNDS = 5, 30, 3
BEGINNINGS = ("build", "test", "deploy", "cache", "queue", "index", "parse", "merge", "token", "retry")
ENDINGS = ("er", "ing", "s", "ed", "able", "ment", "or", "age")
WORDS = [beginning + ending for beginning in BEGINNINGS for ending in ENDINGS]


def main() -> None:
    """Start the server and run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, default in (("lines", 200_000), ("people", 200), ("projects", 50), ("clients", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", default=None, help="where the server's files lie meanwhile")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="team-") as folder, started(folder) as url:
        measure(given, Path(folder), url)


@contextlib.contextmanager
def started(folder: str) -> Iterator[str]:
    """Run a PostgreSQL server that accepts 300 connections; yield its address."""
    server = pgserver.get_server(f"{folder}/pg", cleanup_mode="stop")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        admin.execute("ALTER SYSTEM SET max_connections = 300")
    server.cleanup()
    server = pgserver.get_server(f"{folder}/pg", cleanup_mode="stop")
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def measure(given: argparse.Namespace, folder: Path, url: str) -> None:
    """Fill the hub and print all figures."""
    names = [f"p{number:03d}" for number in range(given.people)]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {TEAM}".encode())
        for name in names:
            admin.execute(f"CREATE ROLE {name} LOGIN IN ROLE {TEAM}".encode())
    os.environ["CLAUDE_MEM_HOME"] = str(folder / "admin")
    PostgresTeamHub(f"{url}#{TEAM}").create()
    before = time.perf_counter()
    seeded = seed(given, folder, url, names)
    took = time.perf_counter() - before
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("VACUUM ANALYZE claude_mem.team_files")
        rows = admin.execute("SELECT count(*), sum(octet_length(data)) FROM claude_mem.team_files").fetchone()
        size = sum(
            admin.execute("SELECT pg_total_relation_size(%s)", (f"claude_mem.team_files_{n}",)).fetchone()[0]
            for n in range(16)
        )
    rows = rows or (0, 0)
    print(f"{seeded:,} lines of {given.people} people in {given.projects} projects, {rows[0]:,} rows")
    print(f"made in {took:.0f} s; {rows[1] / seeded:.0f} bytes a line sent, {size / seeded:.0f} on the disk,"
          f" {size / 1e9:.2f} GB in all")  # fmt: skip
    client(given, folder, url, names)
    at_once(given, url, names)


def seed(given: argparse.Namespace, folder: Path, url: str, names: list[str]) -> int:
    """Write each person's shared projects into the hub; return how many lines."""
    chance, made = random.Random(1), 0
    each = max(1, given.lines * SHARE // (given.people * given.projects))
    with psycopg.connect(url, autocommit=True) as admin:
        for number, name in enumerate(names):
            machine = become(folder, name)
            with (
                admin.cursor() as cursor,
                cursor.copy(
                    f"COPY claude_mem.team_files ({COLUMNS}) FROM STDIN WITH (FORMAT BINARY)"
                ) as copy,
            ):
                copy.set_types(["name", "text", "name", "text", "bytea"])
                copy.write_row((TEAM, "", name, f"{machine}/machine.json", cards.write(name, CODE)))
                for project in range(number % SHARE, given.projects, SHARE):
                    whole = -(-each // IN_SEGMENT)
                    for at in range(whole):
                        some = min(IN_SEGMENT, each - at * IN_SEGMENT)
                        file = name_of(machine, project, at + 1)
                        data = segments.write(file, lines(chance, project, some), after=at, whole=whole)
                        digest = incoming.project_digest(key(project))
                        copy.write_row((TEAM, digest, name, str(file), data))
                        made += some
    return made


def client(given: argparse.Namespace, folder: Path, url: str, names: list[str]) -> None:
    """Time one person's machine: its first pull, its pushes, and the pull of a day."""
    me = names[0]
    os.environ["CLAUDE_MEM_HOME"] = str(folder / "me")
    models.open_databases()
    pond = str(folder / "pond")
    models.ProjectFolder.insert(folder=pond, project_dir=pond, key=key(0), seen_at=AT).execute()
    run.join(f"postgres:{as_role(url, me)}#{TEAM}", name="me", code=CODE)
    run.share(pond, ["learnings"])
    seconds, outcome = timed(run.sync)
    print(f"first pull of one project: {outcome.taken:,} lines in {seconds:.1f} s,"
          f" {outcome.taken / seconds:,.0f} a second")  # fmt: skip
    times = []
    for number in range(PUSHES):
        learning_rows.insert(
            project_dir=pond, category="convention", content=f"{text(random.Random(number))} {number}",
            confidence=0.8, created_at=AT, updated_at=AT, seen_at=AT,
        )  # fmt: skip
        seconds, outcome = timed(run.sync)
        times.append(seconds)
    print(f"push of one session, a whole sync: {spread(times)}")
    models.close_databases()
    colleagues = names[SHARE::SHARE]
    times, taken = [], 0
    for day in range(ROUNDS):
        for name in colleagues:
            machine = become(folder, name)
            number = max(1, -(-max(1, given.lines * SHARE // (given.people * given.projects)) // IN_SEGMENT))
            file = name_of(machine, 0, number + day + 1)
            said = lines(random.Random(f"{name}{day}"), 0, SESSION_LINES)
            hub = PostgresTeamHub(f"{as_role(url, name)}#{TEAM}")
            hub.publish({str(file): segments.write(file, said, after=file.number - 1)}, [])
        os.environ["CLAUDE_MEM_HOME"] = str(folder / "me")
        models.open_databases()
        seconds, outcome = timed(run.sync)
        times.append(seconds)
        taken = outcome.taken
        models.close_databases()
    print(f"pull of a day, {taken} lines of {len(colleagues)} colleagues: {statistics.median(times):.2f} s")


def at_once(given: argparse.Namespace, url: str, names: list[str]) -> None:
    """Time many clients that list a project and publish a small file at once."""
    listing: list[float] = []
    publishing: list[float] = []
    failed: list[str] = []
    barrier = threading.Barrier(given.clients)
    lock = threading.Lock()

    def work(number: int) -> None:
        hub = PostgresTeamHub(f"{as_role(url, names[number % len(names)])}#{TEAM}")
        project = number % given.projects
        digest = incoming.project_digest(key(project))
        hub.names([digest])  # opens the connection
        barrier.wait()
        try:
            for turn in range(ROUNDS):
                one, _ = timed(lambda: hub.names([digest]))
                name = f"{number:016d}/{digest}.000000000001-0.{turn + 1:012d}.jsonl"
                other, _ = timed(lambda name=name: hub.publish({name: os.urandom(2_500)}, []))
                with lock:
                    listing.append(one)
                    publishing.append(other)
        except Exception as error:  # noqa: BLE001  (any error is counted)
            failed.append(str(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(given.clients)]
    before = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - before
    rounds = f"{len(publishing)} rounds in {took:.1f} s, {len(failed)} failed"
    print(f"{given.clients} clients at once, {os.cpu_count()} cores: {rounds}")
    print(f"  list a project: {spread(listing)}; publish: {spread(publishing)}")


def become(folder: Path, name: str) -> str:
    """Switch to a person's data directory and signing key; return their machine's id."""
    os.environ["CLAUDE_MEM_HOME"] = str(folder / "people" / name)
    return signing.ensure()


def name_of(machine: str, project: int, number: int) -> Name:
    """Return the name of a segment."""
    return Name(machine, f"{incoming.project_digest(key(project))}.000000000001-00000000", number)


def key(project: int) -> str:
    """Return a project's key."""
    return f"example.com/team/project{project}"


def text(chance: random.Random) -> str:
    """Return a sentence."""
    return f"Always {' '.join(chance.choices(WORDS, k=12))} in module{chance.randrange(1000)}.py"


def lines(chance: random.Random, project: int, number: int) -> list[str]:
    """Return made-up learnings as shared lines."""
    return [
        json.dumps({
            "kind": "learning", "id": f"{chance.getrandbits(128):032x}", "project_dir": key(project),
            "category": "convention", "content": text(chance), "confidence": 0.8, "times_seen": 2,
            "source_sessions": [], "observations": [], "code": [], "is_manual": False, "is_active": True,
            "quarantine": [], "superseded_by": None, "stale": "", "kin": [], "guard": None,
            "created_at": AT, "updated_at": AT, "seen_at": AT,
        })
        for _ in range(number)
    ]  # fmt: skip


def as_role(url: str, name: str) -> str:
    """Return the server's address for a role."""
    return url.replace("postgres:@", f"{name}:@")


def timed(work: object) -> tuple[float, Outcome]:
    """Return the seconds that a function takes, and its result."""
    before = time.perf_counter()
    done = work()  # type: ignore[operator]
    return time.perf_counter() - before, done


def spread(times: list[float]) -> str:
    """Return the median and the 95th percentile in milliseconds."""
    ordered = sorted(times)
    half, most = (ordered[int(len(ordered) * share)] * 1e3 for share in (0.5, 0.95))
    return f"p50 {half:.0f} ms, p95 {most:.0f} ms"


if __name__ == "__main__":
    main()
