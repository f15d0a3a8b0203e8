"""Find the file of a TypeScript or JavaScript module, and list the language's built-ins.

Supports relative paths, tsconfig's `baseUrl` and `paths`, and workspace packages by their package.json.
"""

import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from claude_mem_lite.codemap.calls import values
from claude_mem_lite.codemap.calls.values import Builtins, and_above, by_method, folders_of

_SUFFIXES = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_WRITTEN = {".js": (".ts", ".tsx", ".js", ".jsx"), ".jsx": (".tsx", ".jsx"), ".mjs": (".mts", ".mjs"),
            ".cjs": (".cts", ".cjs")}  # fmt: skip
_BUILT = ("dist", "build", "lib", "out", "es", "esm", "cjs")
_CONDITIONS = ("source", "types", "import", "module", "default", "require", "node", "browser")
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])')
_MAX_EXTENDS = 5


class Finder(values.Finder):
    """The modules of a project's files; `read` returns a file's text, "" where it can't be read."""

    def __init__(self, paths: Collection[str], read: Callable[[str], str]) -> None:
        """Read the settings in the folders of the files and above."""
        self._paths = frozenset(paths)
        self._read = read
        self._known: dict[tuple[str, str], str] = {}
        self._aliases: dict[str, list[tuple[str, list[str]]]] = {}
        self._packages: dict[str, tuple[str, dict[str, Any]]] = {}
        for folder in folders_of(paths):
            found = self._settings(folder)
            if found is not None:
                self._aliases[folder] = found
            package = _parsed(read(posixpath.join(folder, "package.json")))
            if isinstance(package.get("name"), str):
                self._packages.setdefault(package["name"], (folder, package))

    def find(self, path: str, module: str) -> str:
        """Return the file of a module as the file `path` names it; "" for one outside of the project."""
        folder = posixpath.dirname(path)
        key = folder, module
        if key not in self._known:
            self._known[key] = self._find(folder, module)
        return self._known[key]

    def _find(self, folder: str, module: str) -> str:
        if not module or len(module) > 500:
            return ""
        if module.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(folder, module)))
        return next((found for each in self._candidates(folder, module) if (found := self._file(each))), "")

    def _candidates(self, folder: str, module: str) -> Iterator[str]:
        aliases = next((self._aliases[each] for each in and_above(folder) if each in self._aliases), ())
        for pattern, targets in aliases:
            head, star, tail = pattern.partition("*")
            if module == pattern or (star and module.startswith(head) and module.endswith(tail)):
                middle = module[len(head) : len(module) - len(tail)] if star else ""
                yield from (target.replace("*", middle) for target in targets)
        parts = module.split("/")
        name = "/".join(parts[: 2 if module.startswith("@") else 1])
        if name in self._packages:
            home, package = self._packages[name]
            rest = module[len(name) :].lstrip("/")
            for target in _entries(package, rest):
                yield from _sources(posixpath.normpath(posixpath.join(home, target)), home)
            if rest:
                yield from (posixpath.join(home, rest), posixpath.join(home, "src", rest))
            else:
                yield from (posixpath.join(home, "src", "index"), posixpath.join(home, "index"))

    def _file(self, path: str) -> str:
        """Return the file for a path that lacks its suffix or has that of the build output; "" if none."""
        path = "" if path == "." else path.removeprefix("./")
        if path in self._paths:
            return path
        stem, suffix = posixpath.splitext(path)
        found = [f"{stem}{each}" for each in _WRITTEN.get(suffix, ())]
        found += [f"{path}{each}" for each in _SUFFIXES]
        found += [posixpath.join(path, f"index{each}") for each in _SUFFIXES]
        return next((each for each in found if each in self._paths), "")

    def _settings(self, folder: str) -> list[tuple[str, list[str]]] | None:
        """Return the path patterns of a folder's tsconfig, the longest first; None where it has none."""
        for name in ("tsconfig.json", "jsconfig.json"):
            at = posixpath.join(folder, name)
            for _ in range(_MAX_EXTENDS):
                settings = _parsed(self._read(at))
                options = settings.get("compilerOptions")
                options = options if isinstance(options, dict) else {}
                base, paths = options.get("baseUrl"), options.get("paths")
                if isinstance(base, str) or isinstance(paths, dict):
                    return _patterns(posixpath.dirname(at), base, paths)
                above = settings.get("extends")
                above = above[-1] if isinstance(above, list) and above else above
                if not isinstance(above, str) or not above.startswith("."):
                    break
                at = posixpath.normpath(posixpath.join(posixpath.dirname(at), above))
                at = at if at.endswith(".json") else f"{at}.json"
        return None


def _patterns(folder: str, base: object, paths: object) -> list[tuple[str, list[str]]]:
    root = posixpath.normpath(posixpath.join(folder, base if isinstance(base, str) else "."))
    found = [
        (
            pattern,
            [posixpath.normpath(posixpath.join(root, each)) for each in targets if isinstance(each, str)],
        )
        for pattern, targets in (paths.items() if isinstance(paths, dict) else ())
        if isinstance(targets, list)
    ]
    found.sort(key=lambda each: -len(each[0]))
    return [*found, ("*", [posixpath.join(root, "*")])] if isinstance(base, str) else found


def _entries(package: dict[str, Any], rest: str) -> list[str]:
    """Return the targets in a package's package.json for a path in it, "" for the package itself."""
    found: list[str] = []
    wanted = f"./{rest}" if rest else "."
    exports = package.get("exports")
    if isinstance(exports, str) or (
        isinstance(exports, dict) and not any(key.startswith(".") for key in exports)
    ):
        exports = {".": exports}
    for pattern, target in exports.items() if isinstance(exports, dict) else ():
        head, star, tail = pattern.partition("*")
        if pattern == wanted:
            found += _conditions(target)
        elif star and wanted.startswith(head) and wanted.endswith(tail):
            middle = wanted[len(head) : len(wanted) - len(tail)]
            found += [each.replace("*", middle) for each in _conditions(target)]
    if not rest:
        found += [
            package[key] for key in ("source", "types", "module", "main") if isinstance(package.get(key), str)
        ]
    return found


def _conditions(target: object) -> list[str]:
    waiting, found = [target], []
    while waiting:
        each = waiting.pop(0)
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += [each[name] for name in _CONDITIONS if name in each]
    return found


def _sources(path: str, home: str) -> Iterator[str]:
    """Yield where the source of a built file may be."""
    yield path
    inside = path[len(home) :].lstrip("/").split("/")
    stem = posixpath.splitext("/".join(inside))[0].removesuffix(".d")
    yield posixpath.join(home, stem)
    parts = stem.split("/")
    while parts[1:] and parts[0] in _BUILT:
        parts = parts[1:]
        yield posixpath.join(home, "src", *parts)
        yield posixpath.join(home, *parts)


def _parsed(text: str) -> dict[str, Any]:
    """Parse a JSON object with comments and trailing commas; {} for anything else."""
    try:
        plain = _COMMA.sub(lambda match: match[1] or "", _COMMENT.sub(lambda match: match[1] or "", text))
        value = json.loads(plain) if plain.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_ARRAYS, _MAPS, _SETS = "Array ReadonlyArray", "Map ReadonlyMap WeakMap", "Set ReadonlySet WeakSet"
_ITERATORS = "Iterable Iterator IterableIterator AsyncIterable AsyncIterableIterator Generator AsyncGenerator"

BUILTINS = Builtins(
    globals=frozenset({
        "AbortController", "afterAll", "afterEach", "alert", "Array", "ArrayBuffer", "atob", "beforeAll",
        "beforeEach", "BigInt", "Boolean", "btoa", "Buffer", "cancelAnimationFrame", "clearInterval",
        "clearTimeout", "console", "crypto", "Date", "decodeURIComponent", "describe", "document",
        "encodeURIComponent", "Error", "eval", "EvalError", "Event", "EventTarget", "expect", "fetch",
        "FormData", "Function", "global", "globalThis", "Headers", "Infinity", "Intl", "isFinite", "isNaN",
        "it", "jest", "JSON", "localStorage", "location", "Map", "Math", "NaN", "navigator", "Number",
        "Object", "parseFloat", "parseInt", "performance", "process", "Promise", "Proxy", "queueMicrotask",
        "RangeError", "ReferenceError", "Reflect", "RegExp", "Request", "requestAnimationFrame", "require",
        "Response", "Set", "setImmediate", "setInterval", "setTimeout", "String", "structuredClone",
        "Symbol", "SyntaxError", "test", "TextDecoder", "TextEncoder", "TypeError", "Uint8Array",
        "undefined", "URL", "URLSearchParams", "vi", "WeakMap", "WeakRef", "WeakSet", "WebSocket", "window",
        "XMLHttpRequest",
    }),
    unknown=frozenset({"any", "unknown", "never", "void", "object", "undefined", "null"}),
    containers=frozenset(f"{_ARRAYS} {_MAPS} {_SETS} {_ITERATORS} Promise PromiseLike Record".split()),
    transparent=frozenset({"Partial", "Required", "Readonly", "NonNullable", "Omit", "Pick", "Awaited"}),
    awaited=frozenset({"Promise", "PromiseLike"}),
    elements={
        **dict.fromkeys(f"{_ARRAYS} {_SETS} {_ITERATORS}".split(), 0),
        "Record": 1,
    },
    results=by_method(
        (_ARRAYS, "at find findLast pop shift", 0),
        (_ARRAYS, "concat copyWithin fill filter reverse slice sort splice", "self"),
        (_ARRAYS, "toReversed toSorted toSpliced with", "self"),
        (_ARRAYS, "values", "self"),
        (_MAPS, "get", 1),
        (_MAPS, "set", "self"),
        (_MAPS, "values", ("Array", 1)),
        (_MAPS, "keys", ("Array", 0)),
        (_SETS, "add", "self"),
        (_SETS, "values keys", ("Array", 0)),
        ("Promise PromiseLike", "catch finally", "self"),
    ),
    passed=by_method(
        (_ARRAYS, "every filter find findIndex findLast flatMap forEach map some", (0,)),
        (_ARRAYS, "sort toSorted", (0, 0)),
        (_SETS, "forEach", (0,)),
        (_MAPS, "forEach", (1, 0)),
        ("Promise PromiseLike", "then", (0,)),
    ),
    noise=frozenset({
        "add", "addEventListener", "all", "apply", "at", "bind", "call", "catch", "charAt", "charCodeAt",
        "clear", "concat", "delete", "endsWith", "entries", "every", "exec", "fill", "filter", "finally",
        "find", "findIndex", "flat", "flatMap", "forEach", "freeze", "from", "get", "getTime", "has",
        "hasOwnProperty", "includes", "indexOf", "isArray", "join", "keys", "lastIndexOf", "length", "log",
        "map", "match", "next", "of", "padStart", "parse", "pop", "push", "reduce", "reduceRight", "reject",
        "removeEventListener", "replace", "replaceAll", "resolve", "reverse", "set", "shift", "slice",
        "some", "sort", "splice", "split", "startsWith", "stringify", "substring", "test", "then",
        "toFixed", "toISOString", "toLowerCase", "toString", "toUpperCase", "trim", "unshift", "valueOf",
        "values", "warn", "write",
    }),
)  # fmt: skip
