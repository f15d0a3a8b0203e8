"""Measure the code map's time, memory and accuracy.

    python benchmarks/codemap.py DIR… [--peers PYTHON]     time and memory, next to pyan3, pycg and code2flow
    python benchmarks/codemap.py --cases                   accuracy by category and by call shape
    python benchmarks/codemap.py --executed DIR PACKAGE [--tests PATH] [--python PYTHON]

DIR of `--executed` is an unpacked sdist, PACKAGE its package. Its own tests run under a profiler with PYTHON,
which needs pytest and the imports of the tests. Explicit calls are those of a call or attribute instruction;
predicted edges are judged if their caller ran; edges from and to tests are not counted. "strong" edges have a
confidence of 0.75 or more and do not come from name matching.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import call_cases
import executed_calls

from claude_mem_lite.codemap.confidence import CONFIDENCE, STRONG
from claude_mem_lite.codemap.extract import parse
from claude_mem_lite.codemap.project import Project, no_collection
from claude_mem_lite.codemap.sources import decode
from claude_mem_lite.codemap.valueflow.frame import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CODE2FLOW = "from code2flow.engine import main; main()"
PEERS = {  # the module that must be installed, and the arguments of the interpreter
    "pyan3": ("pyan", ["-m", "pyan", "--uses", "--no-defines", "--dot", "{files}"]),
    "pycg": ("pycg", ["-m", "pycg", "--package", "{dir}", "{files}"]),
    "code2flow": (
        "code2flow",
        ["-c", CODE2FLOW, "--quiet", "--skip-parse-errors", "-o", "{out}.json", "{dir}"],
    ),
}
RUNS = 5
PEER_LIMIT_S = 300


def main() -> None:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dirs", nargs="*")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--executed", metavar="PACKAGE", nargs=2, action="append", default=[])
    parser.add_argument("--tests", action="append", default=[])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peers", default=sys.executable, help="an interpreter that has the peers")
    options = parser.parse_args()
    for folder in options.dirs:
        cost(folder, options.peers)
    if options.dirs:
        rescan(1_000)
    if options.cases:
        by_category()
    truths: list[dict[str, tuple[int, int]]] = [
        executed(folder, package, options.tests[index : index + 1] or ["tests"], options.python)
        for index, (folder, package) in enumerate(options.executed)
    ]
    if len(truths) > 1:
        print("all together")
        report({name: add(each[name] for each in truths) for name in truths[0]})


def cost(folder: str, peers: str) -> None:
    """Print time and memory of scanning a folder, and the peers' times on the same files.

    Times are medians of processor time, all without the garbage collector: `claude-mem map` turns it off too,
    and `ast.parse` takes five times as long when it searches a heap as large as a project's.
    """
    took: dict[str, list[float]] = defaultdict(list)
    project = Project(folder)
    for _ in range(RUNS):
        project = Project(folder)
        with no_collection():
            took["scan"].append(seconds(project.scan))
            took["resolve"].append(seconds(project.edges))
        gc.collect()
    thousands = sum(file.lines for file in project.files.values()) / 1000
    texts = [open(os.path.join(folder, path), "rb").read() for path in project.files]  # noqa: SIM115
    good = [
        decode(text)
        for text, file in zip(texts, project.files.values(), strict=True)
        if not file.error and file.imports is not None  # Python
    ]
    with no_collection():
        took["ast.parse"] = [seconds(lambda: [parse(text) for text in good]) for _ in range(RUNS)]
    medians = {name: statistics.median(values) * 1000 for name, values in took.items()}
    whole = medians["scan"] + medians["resolve"]
    print(
        f"{folder}: {len(project.files)} files, {thousands:.1f} thousand lines, {len(project.edges())} edges"
    )
    for name, ms in [*medians.items(), ("scan and resolve", whole)]:
        print(f"  {name:17} {rates(ms, thousands, len(project.files))}")
    print(f"  {'ratio':17} {whole / medians['ast.parse']:6.1f} × ast.parse")
    tracemalloc.start()
    project = Project(folder)
    project.scan()
    project.edges()
    print(f"  {'peak memory':17} {tracemalloc.get_traced_memory()[1] / 2**20:6.1f} MiB of Python objects")
    tracemalloc.stop()
    beside_peers(folder, sorted(project.files), thousands, len(project.files), peers)


def beside_peers(folder: str, paths: list[str], thousands: float, files: int, python: str) -> None:
    """Run this map and each installed peer as a process over the same files."""
    ours = (
        "import sys; from claude_mem_lite.codemap.project import Project\n"
        "project = Project(sys.argv[1]); project.scan(); project.edges()"
    )
    full = [os.path.abspath(os.path.join(folder, path)) for path in paths if path.endswith(".py")]
    print("  whole processes, CPU time:")
    with tempfile.TemporaryDirectory() as scratch:
        told = {"dir": os.path.abspath(folder), "out": os.path.join(scratch, "out")}
        commands = {"this map": [sys.executable, "-c", ours, told["dir"]]}
        for name, (module, arguments) in PEERS.items():
            if subprocess.run(
                [python, "-c", f"import {module}"], capture_output=True, check=False
            ).returncode:
                print(f"  {name:17} not installed")
                continue
            filled = [each.format(**told) if each != "{files}" else each for each in arguments]
            commands[name] = [
                python,
                *(each for part in filled for each in (full if part == "{files}" else [part])),
            ]
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                done = subprocess.run(
                    command, capture_output=True, check=False, cwd=scratch, timeout=PEER_LIMIT_S
                )
            except subprocess.TimeoutExpired:
                print(f"  {name:17} did not end within {PEER_LIMIT_S} s")
                continue
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            failed = f"   failed: {done.stderr.decode()[-80:].strip()!r}" if done.returncode else ""
            print(f"  {name:17} {rates(spent, thousands, files)}{failed}")


def rates(ms: float, thousands: float, files: int) -> str:
    """Return a time per thousand lines and per file."""
    return f"{ms / thousands:6.1f} ms per thousand lines {ms / files:7.2f} ms a file"


def rescan(count: int) -> None:
    """Print the times of a first scan and of one that finds nothing changed."""
    folder = tempfile.mkdtemp(prefix="cml-bench-")
    source = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(40))
    for number in range(count):
        os.makedirs(os.path.join(folder, f"p{number // 50}"), exist_ok=True)
        with open(os.path.join(folder, f"p{number // 50}", f"m{number}.py"), "w") as file:
            file.write(f"# {number}\n{source}")
    project = Project(folder)
    first = seconds(project.scan)
    again = [seconds(project.scan) for _ in range(RUNS)]
    print(f"{count} files: first scan {first:.2f} s, nothing changed {statistics.median(again):.3f} s")
    shutil.rmtree(folder)


def by_category() -> None:
    """Print recall and precision over the hand-written cases."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    shapes: dict[str, Counter[str]] = defaultdict(Counter)
    exact = 0
    cases = call_cases.cases()
    for case in cases:
        edges = call_cases.edges(case)
        found = {(edge.caller, edge.callee) for edge in edges}
        exact += found == case.calls
        for key in (case.category, "all"):
            rows[key].update(hits=len(found & case.calls), true=len(case.calls), found=len(found))
        for edge in edges:
            shape = "re-export" if case.category == "reexports" else edge.shape
            shapes[shape].update(hits=(edge.caller, edge.callee) in case.calls, total=1)
    print(f"{exact} of {len(cases)} cases exact")
    for name, row in rows.items():
        recall, precision = share(row["hits"], row["true"]), share(row["hits"], row["found"])
        print(f"  {name:13} recall {recall}   precision {precision}")
    for name in sorted(shapes):
        print(f"  {name:13} precision {share(shapes[name]['hits'], shapes[name]['total'])}")


def executed(folder: str, package: str, tests: list[str], python: str) -> dict[str, tuple[int, int]]:
    """Print how a package's map compares with the calls its tests execute; return (hits, total) by name."""
    folder = os.path.abspath(folder)
    print(f"{package}: its tests, recorded")
    rows = executed_calls.recorded(folder, python, folder, tests)
    project = Project(folder)
    project.scan()
    modules = project.python_modules()
    truth = executed_calls.Truth(rows, modules, executed_calls.called_names(folder, modules))
    inside = [edge for edge in project.edges() if edge.caller.startswith(f"{package}.")]
    found: dict[str, tuple[int, int]] = {}
    for title, edges in (
        ("strong", [edge for edge in inside if edge.confidence >= STRONG and edge.level != "guess"]),
        ("all", inside),
    ):
        found |= {f"{title} {name}": pair for name, pair in executed_calls.compare(truth, edges).items()}
    for level in LEVELS:
        edges = [edge for edge in inside if edge.level == level]
        found[f"level {level}"] = executed_calls.compare(truth, edges)["precision"]
    report(found)
    return found


def report(found: dict[str, tuple[int, int]]) -> None:
    """Print recall (share of executed calls predicted) and precision (share of predicted calls executed)."""
    for name, (hits, total) in found.items():
        level = name.removeprefix("level ")
        stated = f"   stated {CONFIDENCE[level]:.2f}" if level in CONFIDENCE else ""
        print(f"  {name:17} {share(hits, total)}{stated}")


def add(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of hits and of totals."""
    hits, totals = zip(*pairs, strict=True)
    return sum(hits), sum(totals)


def share(hits: int, total: int) -> str:
    """Return "0.93 (93 of 100)"."""
    return f"{hits / total:.3f} ({hits} of {total})" if total else "- (none)"


def seconds(function: Callable[[], object]) -> float:
    """Return the processor time of a call in seconds."""
    started = time.process_time()
    function()
    return time.process_time() - started


if __name__ == "__main__":
    main()
