"""Compare the calls found in TypeScript packages with those that TypeScript's own compiler resolves.

npm installs the compiler and the packages into a temporary folder, or into FOLDER. Each pair of caller and
callee counts once, if the callee is a named function of the package. If the callee is a constructor, its
class is not counted as well.

Usage: python benchmarks/typescript_calls.py [--folder FOLDER] [--wrong N] [PACKAGE ...]
"""

from __future__ import annotations

import argparse
import gc
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field

from claude_mem_lite.codemap import calls, languages
from claude_mem_lite.codemap.calls.resolver import Found
from claude_mem_lite.codemap.languages import walk

PACKAGES = (
    "rxjs@7.8.2", "zod@4.6.7", "@reduxjs/toolkit@2", "immer", "@tanstack/query-core", "mobx", "ajv",
)  # fmt: skip
TYPES = ("typescript@5", "react@19", "@types/react@19", "react-redux@9")
TRUTH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "typescript_calls.js")

Place = tuple[str, str]  # file and qualified name, "" for the module
Pair = tuple[Place, Place]


@dataclass
class Package:
    """A package's mapped sources: times, calls found, and names by (path, offset)."""

    folder: str
    files: list[str]
    lines: int = 0
    parse_s: float = 0.0  # parsing and finding definitions
    facts_s: float = 0.0
    resolve_s: float = 0.0
    found: list[Found] = field(default_factory=list)
    names: dict[tuple[str, int], str] = field(default_factory=dict)


def sources(folder: str) -> list[str]:
    """Return the relative paths of a package's TypeScript sources, without tests and declarations."""
    found = [
        os.path.relpath(path, folder)
        for path in glob.glob(os.path.join(folder, "**", "*.ts*"), recursive=True)
    ]
    return sorted(
        path
        for path in found
        if path.endswith((".ts", ".tsx")) and not path.endswith(".d.ts") and ".test." not in path
        and not {"node_modules", "tests", "benchmarks", "__tests__"} & set(path.split(os.sep))
    )  # fmt: skip


def measure(folder: str) -> Package:
    """Map a package and resolve its calls."""
    package = Package(folder, sources(folder))
    facts = {}
    gc.disable()
    for path in package.files:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            text = file.read()
        package.lines += text.count("\n")
        language = languages.of(path)
        start = time.process_time()
        parsed = language.parse(text)
        definitions = walk.definitions(parsed)
        package.parse_s += time.process_time() - start
        start = time.process_time()
        read = calls.read(path, parsed, definitions)
        package.facts_s += time.process_time() - start
        if read is not None:
            facts[path] = read
        for each in definitions:
            # The compiler counts offsets in UTF-16 code units.
            place = (
                len(parsed.data[: each.named.at.start_byte].decode("utf-8", "replace").encode("utf-16-le"))
                // 2
            )
            package.names[path, place] = each.qualified_name
    start = time.process_time()
    resolved = list(calls.resolve(facts, lambda path: _text(os.path.join(folder, path))))
    package.resolve_s = time.process_time() - start
    gc.enable()
    package.found = [each for each in resolved if isinstance(each, Found)]
    return package


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def truth(package: Package, compiler: str) -> tuple[dict[Pair, tuple[int, str]], Counter[str]]:
    """Return the compiler's pairs with line and shape, and counts of callees that have no name in the map."""
    command = ["node", "--max-old-space-size=3000", TRUTH, compiler, package.folder, *package.files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pairs: dict[Pair, tuple[int, str]] = {}
    nameless: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        file, callers, callee_file, place, at, shape = json.loads(line)
        name = package.names.get((callee_file, place))
        if name is None:
            nameless[shape] += 1
            continue
        caller = next((known for each in callers if (known := package.names.get((file, each)))), "")
        pairs.setdefault(((file, caller), (callee_file, name)), (at, shape))
    return pairs, nameless


def pairs_of(found: list[Found]) -> dict[Pair, Found]:
    """Return the found calls by pair, without a class if its constructor is called in the same place."""
    made = {
        (each.caller, each.line, each.callee) for each in found if each.callee[1].endswith(".constructor")
    }
    calls_of = {(caller, line) for caller, line, _ in made}
    return {
        (each.caller, each.callee): each
        for each in reversed(found)
        if not (each.is_class and (each.caller, each.line) in calls_of)
    }


def main() -> None:
    """Print a table, and the results by shape of call."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default="", help="where npm installs; a temporary folder otherwise")
    parser.add_argument("--wrong", type=int, default=0, help="print so many of what is wrong, a package")
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(options.folder or temporary, options.packages, options.wrong)


def run(folder: str, packages: list[str], wrong: int) -> None:
    """Install the packages, measure and print."""
    if not os.path.isdir(os.path.join(folder, "node_modules")):
        command = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run([*command, *TYPES, *packages], check=True, stdout=sys.stderr)
    print(
        f"{'package':<18}{'lines':>7}{'tsc':>7}{'found':>7}{'precision':>10}{'recall':>8}"
        f"{'with guesses':>18}{'parse':>8}{'facts':>7}{'resolve':>8}  ms a 1,000 lines"
    )
    levels: dict[str, Counter[bool]] = {}
    reports = []
    for name in packages:
        bare = name[:1] + name[1:].partition("@")[0]
        package = measure(os.path.realpath(os.path.join(folder, "node_modules", bare)))
        true, nameless = truth(package, os.path.join(os.path.realpath(folder), "node_modules", "typescript"))
        every = pairs_of(package.found)
        sure = pairs_of([each for each in package.found if each.level != "guess"])
        for pair, each in every.items():
            levels.setdefault(each.level, Counter())[pair in true] += 1
        hits, all_hits = len(sure.keys() & true), len(every.keys() & true)
        ms = [1e6 * each / package.lines for each in (package.parse_s, package.facts_s, package.resolve_s)]
        print(
            f"{bare:<18}{package.lines:>7}{len(true):>7}{len(sure):>7}"
            f"{hits / len(sure):>10.3f}{hits / len(true):>8.3f}"
            f"{all_hits / len(every):>10.3f}{all_hits / len(true):>8.3f}"
            f"{ms[0]:>8.1f}{ms[1]:>7.1f}{ms[2]:>8.1f}"
        )
        reports.append((bare, true, sure, nameless))
    print("\nlevel        right  wrong  precision")
    for level, counts in sorted(levels.items()):
        print(f"{level:<12}{counts[True]:>6}{counts[False]:>7}{counts[True] / counts.total():>11.3f}")
    for bare, true, sure, nameless in reports:
        print(
            f"\n{bare}: shape, of tsc, of those found, found but not of tsc; "
            f"{nameless.total()} calls of what has no name in the map"
        )
        shapes = Counter(shape for _, shape in true.values())
        got = Counter(shape for pair, (_, shape) in true.items() if pair in sure)
        extra = Counter(each.shape for pair, each in sure.items() if pair not in true)
        for shape, count in shapes.most_common():
            print(f"  {shape:<14}{count:>6}{got[shape]:>6}{extra[shape]:>6}")
        for pair in [pair for pair in true if pair not in sure][:wrong]:
            print("  missed", *pair[0], "->", *pair[1], *true[pair])
        for pair in [pair for pair in sure if pair not in true][:wrong]:
            print("  wrong ", *pair[0], "->", *pair[1], sure[pair].line, sure[pair].level, sure[pair].shape)


if __name__ == "__main__":
    main()
