"""Measure the memory of the services, and the size of an install by package.

    python benchmarks/footprint.py [--rows N] [--idle-s S] [--after-drop] [--beside PYTHON]
    python benchmarks/footprint.py --install

Memory: the real services run in a temporary data directory, first idle. Then 20 sessions of real hooks (20
reads, edits and test runs each, in two projects with sources of this package) and 60 searches stand for an
hour of work. With `--rows`, N rows in ten projects are stored before, and each project is searched.
`--after-drop` waits until the model has been dropped, and times loading it again. `--beside` first does the
same with another interpreter, which has another version installed. PSS counts a page shared by two processes
once, RSS in each. Linux only.

Install: the sizes, as installed here, of each distribution that pip installs for claude-mem-lite with the
extra `index`, for claude-mem-lite, for `small[meaning]` and for `small`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import random
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measuring
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSIONS, CALLS = 20, 20
PROJECTS = 2
PARTS = ("codemap", "distill", "search", "storage")  # folders of this package used as a project's sources
DROP_S = 7 * 60
PACKAGE = Path(__file__).resolve().parents[1] / "src" / "claude_mem_lite"


def memory_mb(pid: int) -> tuple[float, float]:
    """Return PSS and RSS of a process in MB."""
    lines = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    )
    return tuple(int(lines[name].split()[0]) * 1024 / 1e6 for name in ("Pss", "Rss"))  # type: ignore[return-value]


def peak_mb(pid: int) -> float:
    """Return a process's peak RSS in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def pids() -> dict[str, int]:
    """Return the process ids of the services by name."""
    from claude_mem_lite import config
    from claude_mem_lite.services import process_states

    found = {program.name: program.pid for program in process_states.programs() if program.pid}
    return {**found, "supervisord": int((Path(config.home()) / "supervisord.pid").read_text())}


def show(what: str) -> None:
    """Print the memory of each process and their total."""
    running = pids()
    found = {name: memory_mb(pid) for name, pid in running.items()}
    found["together"] = tuple(map(sum, zip(*found.values(), strict=True)))  # type: ignore[assignment]
    for name, (pss, rss) in found.items():
        peak = f"   peak {peak_mb(running[name]):4.0f} MB" if name in running else ""
        print(f"{what:<24} {name:<12} PSS {pss:4.0f} MB   RSS {rss:4.0f} MB{peak}", flush=True)


@contextlib.contextmanager
def projects() -> Iterator[list[Path]]:
    """Yield two git projects with this package's sources."""
    with tempfile.TemporaryDirectory(prefix="cml-footprint-") as folder:
        made = [Path(folder) / f"project{number}" for number in range(PROJECTS)]
        for path in made:
            for part in PARTS:
                ignored = shutil.ignore_patterns("__pycache__", "data")
                shutil.copytree(PACKAGE / part, path / "src" / part, ignore=ignored)
            for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
                person = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
                subprocess.run(["git", *person, *command], cwd=path, check=True)  # noqa: S607
        yield made


def calls(project: Path, session: str, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the tool calls of a session, and make their changes to the files."""
    sources = sorted(project.rglob("*.py"))
    for number in range(CALLS):
        path = chance.choice(sources)
        text = path.read_text()
        if number % 3 == 0:
            file = {"filePath": str(path), "content": text, "numLines": text.count("\n")}
            tool, given, answer = "Read", {"file_path": str(path)}, {"type": "text", "file": file}
        elif number % 3 == 1:
            added = f"\n\ndef added_{session}_{number}(rows):\n    return sorted(rows)[:{number}]\n"
            path.write_text(text + added)
            given = {"file_path": str(path), "old_string": text[-20:], "new_string": text[-20:] + added}
            answer = {"filePath": str(path), "oldString": text[-20:], "newString": text[-20:] + added}
            tool, answer = "Edit", {**answer, "originalFile": text, "structuredPatch": []}
        else:
            said = f"FAILED tests/test_{path.stem}.py::test_{session}_{number}\n1 failed, 40 passed in 0.9s\n"
            tool, given = "Bash", {"command": f"python3 -m pytest -q tests/test_{path.stem}.py"}
            answer = {"stdout": "." * 2000 + "\n" + said, "stderr": "", "interrupted": False}
        yield {"tool_name": tool, "tool_input": given, "tool_response": answer}


def work(folders: list[Path]) -> None:
    """Do an hour of work: sessions with prompts, tool calls and searches."""
    from claude_mem_lite.capture import client
    from claude_mem_lite.cli import demo

    chance = random.Random(1)
    for number in range(SESSIONS):
        session, project = f"s{number}", folders[number % len(folders)]

        def send(name: str, session: str = session, folder: str = str(project), **more: Any) -> None:
            event = {"session_id": session, "hook_event_name": name, "cwd": folder, **more}
            demo.run_hook(event, project_dir=folder)

        send("SessionStart", source="startup")
        module = chance.choice(sorted(PACKAGE.rglob("*.py"))).stem
        send("UserPromptSubmit", prompt=f"why do the tests of {module} fail since the change")
        for call in calls(project, session, chance):
            send("PostToolUse", **call)
        send("Stop", last_assistant_message=f"The tests of {module} pass now: rows are sorted first.")
        send("SessionEnd", reason="other")
        for question in ("which tests failed", f"what changed in {module}", "sorting of rows"):
            client.get("/api/search", {"q": question, "project": str(project)}, timeout_s=30)


def wait_for_consumer() -> None:
    """Return when every event is finished and every row has its vector."""
    from claude_mem_lite.storage import embeddings, queries

    while queries.queue_stats()["raw"]:
        time.sleep(0.2)
    while any(done < rows for done, rows in embeddings.count_embedded(_key()).values()):
        time.sleep(0.2)
    time.sleep(5)


def _key() -> str:
    from claude_mem_lite.search import embedder

    return str(embedder.resolve("minilm").key)


def search_projects() -> None:
    """Search the ten projects of `--rows`, each and all together, by meaning."""
    from search_scale import times

    from claude_mem_lite.capture import client

    client.post("/api/embed", {"texts": []}, timeout_s=60)  # waits until the model is loaded
    times(100, "hybrid")
    times(20, "hybrid", everywhere=True)


def measure(rows: int, idle_s: float, *, is_after_drop: bool) -> None:
    """Print the memory when idle, after an hour of work, and after the model was dropped."""
    with tempfile.TemporaryDirectory(prefix="cml-footprint-") as folder, projects() as made:
        os.environ |= {
            "CLAUDE_MEM_HOME": f"{folder}/memory", "HOME": folder, "CLAUDE_CONFIG_DIR": f"{folder}/claude"
        }  # fmt: skip
        from claude_mem_lite import config
        from claude_mem_lite.capture import client
        from claude_mem_lite.services import supervise
        from claude_mem_lite.storage import models

        config.ensure_home()
        if rows:
            code = f"import search_scale; search_scale.fill({rows})"  # this process stays small
            subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
        try:
            supervise.up()
            models.open_databases(read_only=True)
            time.sleep(idle_s)
            show("idle")
            work(made)
            wait_for_consumer()
            if rows:
                search_projects()
            show("after an hour of work")
            if is_after_drop:
                time.sleep(DROP_S)
                show("with the model dropped")
                started = time.perf_counter()
                client.post("/api/embed", {"texts": ["back"]}, timeout_s=60)
                print(f"the model is back in {(time.perf_counter() - started) * 1000:.0f} ms", flush=True)
        finally:
            supervise.down()
            models.close_databases()


def installed(left_out: set[str], extra: str = "") -> dict[str, float]:
    """Return the MB of each distribution that pip installs, without some and what only those need."""
    found: dict[str, float] = {}
    todo = ["claude-mem-lite"]
    while todo:
        name = todo.pop()
        if name in found or name in left_out:
            continue
        distribution = importlib.metadata.distribution(name)
        files = [str(file.locate()) for file in distribution.files or []]
        found[name] = sum(os.path.getsize(path) for path in files if os.path.exists(path)) / 1e6
        wanted = map(Requirement, distribution.requires or [])
        todo += [
            canonicalize_name(each.name)
            for each in wanted
            if each.marker is None
            or each.marker.evaluate({"extra": extra if name == "claude-mem-lite" else ""})
        ]
    found["claude-mem-lite"] = sum(
        os.path.getsize(os.path.join(folder, name)) / 1e6
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
    )
    return found


def show_install() -> None:
    """Print the sizes of the installs: packages from 1 MB, the largest first, and the others together."""
    extras = runpy.run_path(str(PACKAGE.parents[1] / "small" / "hatch_build.py"))["EXTRAS"]
    meaning = extras["claude"]
    sizes = [installed(left_out) for left_out in (set(), meaning, meaning | extras["meaning"])]
    sizes.insert(0, installed(set(), "index"))
    whole = sizes[0]
    large = sorted((name for name in whole if whole[name] >= 1), key=lambda name: -whole[name])
    print("| MB | `.[index]` | `.` | `./small[meaning]` | `./small` |\n| --- | --- | --- | --- | --- |")
    for name in large:
        print(f"| {name} |", " | ".join(f"{each[name]:.1f}" if name in each else "" for each in sizes), "|")
    rest = [[size for name, size in each.items() if name not in large] for each in sizes]
    print(f"| {len(rest[0])} smaller ones |", " | ".join(f"{sum(each):.1f}" for each in rest), "|")
    print("| together |", " | ".join(f"{sum(each.values()):.0f}" for each in sizes), "|")


def main() -> None:
    """Measure the memory or the install."""
    parser = measuring.parser(__doc__)
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--idle-s", type=float, default=20)
    parser.add_argument("--after-drop", action="store_true")
    parser.add_argument("--beside", metavar="PYTHON", action="append", default=[])
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    if options.install:
        show_install()
        return
    again = ["--rows", str(options.rows), "--idle-s", str(options.idle_s)]
    again += ["--after-drop"] * options.after_drop
    for interpreter in options.beside:
        print(interpreter, flush=True)
        subprocess.run([interpreter, __file__, *again], check=True)
    print(sys.executable, flush=True)
    measure(options.rows, options.idle_s, is_after_drop=options.after_drop)


if __name__ == "__main__":
    main()
