"""Measure how long one changed file takes to resolve in a mapped project: `python benchmarks/renewal.py DIR`.

Copies the folder, stores its map, and edits its Python files one after another with a fixed seed: removes a
statement, or adds a call, function, method, parameter or empty line. Prints processor time and, with
`--check`, how often the stored calls differ from those of resolving everything. With `--apart` it maps the
folder as the consumer does, and prints how the memory of this process and of its worker grows.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from claude_mem_lite.codemap import file_index, graph, isolation, renewal, sources
from claude_mem_lite.search import memory
from claude_mem_lite.storage import call_edges, code, models

KINDS = ("a statement less", "a call more", "a function more", "a method more", "a parameter more", "lines")


def main() -> None:
    """Run the measurement that the options select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dir")
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--apart", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["CLAUDE_MEM_HOME"] = os.path.join(home, "memory")
        folder = os.path.join(home, "project")
        shutil.copytree(options.dir, folder)
        os.mkdir(os.path.join(folder, ".git"))
        models.open_databases()
        if options.apart:
            measure_apart(folder)
        else:
            measure(folder, options)


def measure_apart(folder: str) -> None:
    """Print the memory that mapping a folder takes in this process and in the worker that resolves calls."""
    before = resident_mb()
    with isolation.isolated():
        file_index.scan(folder)
        memory.give_back()
        print(f"  scanned               {resident_mb() - before:6.1f} MB more")
        graph.refresh_apart(folder, "", most_lines=graph.MOST_LINES)
        memory.give_back()
        print(f"  resolved apart        {resident_mb() - before:6.1f} MB more")
    print(f"  the worker's peak     {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:6.1f} MB")


def measure(folder: str, options: argparse.Namespace) -> None:
    """Print the time of resolving a folder, first completely and then after each of many edits."""
    file_index.scan(folder)
    memory.give_back()
    before = resident_mb()
    print(f"{len(code.source_files(folder))} files")
    print(f"  all resolved          {spent(lambda: graph.refresh(folder, '')):6.2f} s")
    memory.give_back()
    print(f"  kept in this process  {resident_mb() - before:6.1f} MB")
    chance = random.Random(options.seed)
    took: dict[str, list[float]] = defaultdict(list)
    different = 0
    paths = list(sources.source_files(folder, sources.PYTHON))
    while sum(map(len, took.values())) < options.edits:
        path = chance.choice(paths)
        kind = edit(Path(folder, path), chance)
        if kind is None:
            continue
        file_index.rescan(folder, file_index.Seen(), paths=[path])
        took[kind].append(spent(lambda: graph.refresh(folder, "")))
        memory.give_back()
        if options.check:
            different += stored(folder) != resolved_anew(folder)
    for kind, each in [("every edit", [one for some in took.values() for one in some]), *took.items()]:
        ninth = statistics.quantiles(each, n=10)[-1] if len(each) > 1 else each[0]
        shown = f"median {statistics.median(each):.3f} s, nine of ten below {ninth:.3f} s"
        print(f"  {kind:21} {shown}, worst {max(each):.3f} s ({len(each)})")
    print(f"  peak memory           {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:6.1f} MB")
    if options.check:
        print(f"  different from a resolution of everything: {different}")


def edit(path: Path, chance: random.Random) -> str | None:
    """Make a random edit to a file and return its kind, None if it was not possible."""
    tree = ast.parse(path.read_bytes())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    kind = chance.choice(KINDS)
    if not functions or not calls or (kind == "a method more" and not classes):
        return None
    function = chance.choice(functions)
    if kind == "a statement less":
        if len(function.body) < 2:
            return None
        del function.body[chance.randrange(len(function.body))]
    elif kind == "a call more":
        function.body.insert(chance.randrange(len(function.body) + 1), ast.Expr(chance.choice(calls)))
    elif kind == "a parameter more":
        function.args.kwonlyargs.append(ast.arg("one_more"))
        function.args.kw_defaults.append(ast.Constant(None))
    elif kind != "lines":
        new = copy.deepcopy(function)
        new.name = f"one_more_{chance.randrange(10**6)}"
        (chance.choice(classes) if kind == "a method more" else tree).body.append(new)
    lines = "\n" * (kind == "lines")
    path.write_text(lines + ast.unparse(ast.fix_missing_locations(tree)))
    return kind


def stored(folder: str) -> set[tuple[object, ...]]:
    """Return the stored calls without their row numbers."""
    return {each[1:] for each in call_edges.known_edges(folder)}


def resolved_anew(folder: str) -> set[tuple[object, ...]]:
    """Return the calls that resolving everything finds."""
    files = code.mapped_files(folder)
    fresh = renewal.Resolved(folder, files)
    rows = graph.rows(folder, fresh.modules, fresh.calls(None), "")
    return {
        (pair, *[row[name] for name in ("resolution", "level", "shape", "line", "confidence", "source")], 0)
        for pair, row in rows.items()
    }


def spent(action: object) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    action()
    return time.process_time() - started


def resident_mb() -> float:
    """Return this process's resident memory in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
