"""Record the calls that a package's own test suite makes, and compare a code map's edges with them.

Run as a script this is the recorder: `executed_calls.py ROOT OUT PYTEST_ARGUMENT…` runs pytest in the current
folder under `sys.setprofile` and writes the pairs of caller and callee below ROOT as JSON.
"""

from __future__ import annotations

import ast
import bisect
import dis
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_mem_lite.codemap.resolution import Edge

Pair = tuple[str, str]
LIMIT_S = 240  # some suites hang under a profiler; the calls made until then count


def record(root: str, out: str, arguments: list[str]) -> None:
    """Run pytest and write `[path, qualified name, path, qualified name, opcode]` for each pair."""
    import pytest

    root = os.path.join(os.path.abspath(root), "")
    inside: dict[Any, bool] = {}
    seen: set[tuple[Any, int, Any]] = set()

    def is_inside(code: Any) -> bool:
        found = inside.get(code)
        if found is None:
            found = inside[code] = code.co_filename.startswith(root)  # avoids calls that a suite may patch
        return found

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "call" and is_inside(frame.f_code) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            caller = frame.f_back
            if caller is not None and is_inside(caller.f_code):
                seen.add((caller.f_code, caller.f_lasti, frame.f_code))

    watch = threading.Timer(LIMIT_S, lambda: (write(out, root, set(seen), -1), os._exit(0)))
    watch.daemon = True
    watch.start()
    threading.setprofile(profile)
    sys.setprofile(profile)
    status = pytest.main(["-q", "-p", "no:cacheprovider", *arguments])
    sys.setprofile(None)
    write(out, root, seen, int(status))
    os._exit(0)  # a thread left by a test would keep the process alive


def write(out: str, root: str, seen: set[tuple[Any, int, Any]], status: int) -> None:
    """Write the recorded pairs; `status` is pytest's, or -1 after the time limit."""
    names: dict[Any, list[tuple[int, str]]] = {}
    rows = set()
    for caller, place, callee in seen:
        if caller not in names:
            names[caller] = [(each.offset, each.opname) for each in dis.get_instructions(caller)]
        at = bisect.bisect(names[caller], (place, "~")) - 1  # the offset may be in an instruction's cache
        opcode = names[caller][at][1] if at >= 0 else ""
        ends = [os.path.relpath(os.path.abspath(each.co_filename), root) for each in (caller, callee)]
        rows.add((ends[0], caller.co_qualname, ends[1], callee.co_qualname, opcode))
    with open(out, "w") as file:
        json.dump({"status": status, "rows": sorted(rows)}, file)


def plain(qualified: str) -> str:
    """Return a runtime name in the map's form: without `<locals>`, lambdas and comprehensions."""
    return ".".join(part for part in qualified.split(".") if part[:1] != "<")


def recorded(root: str, python: str, folder: str, arguments: list[str]) -> list[list[str]]:
    """Run the recorder in a separate process; return its rows."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "calls.json")
        places = os.pathsep.join([os.path.join(folder, "src"), folder])
        environment = {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [python, os.path.abspath(__file__), root, out, *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if not os.path.exists(out):
            sys.exit(f"the tests of {folder} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        print("  " + done.stdout.strip().rpartition("\n")[2])
        with open(out) as file:
            return json.load(file)["rows"]


def called_names(root: str, modules: dict[str, str]) -> dict[str, set[str]]:
    """Return the names used in call expressions, by the function that contains them."""
    found: dict[str, set[str]] = defaultdict(set)

    def walk(node: ast.AST, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for each in child.decorator_list:
                    walk(ast.Expr(each), scope)
                walk(child, f"{scope}.{child.name}")
                continue
            if isinstance(child, ast.Call):
                name = getattr(child.func, "id", None) or getattr(child.func, "attr", None)
                if name:
                    found[scope].add(name)
            walk(child, scope)

    for path, module in modules.items():
        with open(os.path.join(root, path), "rb") as file:
            walk(ast.parse(file.read()), module)
    return found


class Truth:
    """The executed pairs of a package, in the map's names; pairs with tests only if `with_tests`."""

    def __init__(
        self,
        rows: Iterable[list[str]],
        modules: dict[str, str],
        called: dict[str, set[str]],
        *,
        with_tests: bool = False,
    ) -> None:
        """Name and sort the recorded rows."""
        self.explicit: set[Pair] = set()
        self.named: set[Pair] = set()
        self.all: set[Pair] = set()
        self.across: set[Pair] = set()
        self.callers: set[str] = set()
        for caller_path, caller_name, callee_path, callee_name, opcode in rows:
            if caller_path not in modules or callee_path not in modules:
                continue
            caller = ".".join(filter(None, [modules[caller_path], plain(caller_name)]))
            callee = ".".join(filter(None, [modules[callee_path], plain(callee_name)]))
            self.callers.add(caller)
            if callee_name.rpartition(".")[2].startswith("<"):
                continue
            if not with_tests and (is_test(caller) or is_test(callee)):
                continue
            pair = (caller, callee)
            self.all.add(pair)
            last = callee.rpartition(".")[2]
            owner = callee.split(".")[-2] if last in {"__init__", "__new__"} else last
            is_named = bool({last, owner} & called[caller])
            if is_named and (
                opcode.startswith(("CALL", "PRECALL")) or opcode in {"SEND", "FOR_ITER", "YIELD_VALUE"}
            ):
                self.named.add(pair)
            if opcode.startswith(("CALL", "PRECALL", "LOAD_ATTR", "LOAD_METHOD")):
                self.explicit.add(pair)
        self.explicit |= self.named
        self.across = {
            pair for pair in self.explicit if self._module(pair[0], modules) != self._module(pair[1], modules)
        }

    def _module(self, name: str, modules: dict[str, str]) -> str:
        names = set(modules.values())
        while name and name not in names:
            name = name.rpartition(".")[0]
        return name


def is_test(name: str) -> bool:
    """Tell whether a dotted name lies in a test module."""
    return any(part in {"test", "tests", "conftest"} or part.startswith("test_") for part in name.split("."))


def compare(truth: Truth, edges: Iterable[Edge], *, with_tests: bool = False) -> dict[str, tuple[int, int]]:
    """Return (hits, total) for the recall of each set of pairs, and for precision over callers that ran."""
    pairs = {(edge.caller, edge.callee) for edge in edges if not edge.is_class}
    judged = {pair for pair in pairs if pair[0] in truth.callers and (with_tests or not is_test(pair[0]))}
    result = {
        name: (len(wanted & pairs), len(wanted))
        for name, wanted in (("named", truth.named), ("explicit", truth.explicit), ("across", truth.across))
    }
    result["precision"] = (len(judged & truth.all), len(judged))
    return result


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2], sys.argv[3:])
