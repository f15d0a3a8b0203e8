"""Find the package that a Go import names, and list the language's built-ins.

A package is the files of a folder with the same `package` clause. Paths begin with the `module` of a go.mod
or are below a `vendor` folder.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from claude_mem_lite.codemap.calls import values
from claude_mem_lite.codemap.calls.facts import Facts
from claude_mem_lite.codemap.calls.values import Builtins, and_above, folders_of

_MODULE = re.compile(r'^\s*module\s+"?([^\s"]+)', re.MULTILINE)


class Finder(values.Finder):
    """The packages of a project's files; `read` returns a file's text, "" where it can't be read."""

    def __init__(self, files: Mapping[str, Facts], read: Callable[[str], str]) -> None:
        """Read the go.mod of each folder that has one."""
        self._files = files
        self._first: dict[str, str] = {}  # the first file of each folder, tests last
        for path in sorted(files, key=lambda path: (path.endswith("_test.go"), path)):
            self._first.setdefault(posixpath.dirname(path), path)
        self._modules: list[tuple[str, str]] = []  # a module's path and folder, longest path first
        for home in folders_of(files):
            found = _MODULE.search(read(posixpath.join(home, "go.mod")))
            if found is not None:
                self._modules.append((found[1], home))
        self._modules.sort(key=lambda each: (-len(each[0]), each[1]))
        self._known: dict[tuple[str, str], str] = {}

    def find(self, path: str, module: str) -> str:
        """Return the first file of the package that a file imports as `module`; "" for one outside."""
        key = posixpath.dirname(path), module
        if key not in self._known:
            folders = self._folders(*key) if len(module) <= 500 else ()
            self._known[key] = next((self._first[each] for each in folders if each in self._first), "")
        return self._known[key]

    def package(self, path: str) -> str:
        """Return a key for a file's package, whose files see each other's names."""
        return f"{posixpath.dirname(path)}\0{self._files[path].scopes[0].name}"

    def _folders(self, folder: str, module: str) -> Iterator[str]:
        for above in and_above(folder):
            yield posixpath.join(above, "vendor", module)
        for name, home in self._modules:
            if module == name or module.startswith(f"{name}/"):
                yield posixpath.join(home, module[len(name) + 1 :]).rstrip("/")


BUILTINS = Builtins(
    globals=frozenset({
        "append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min",
        "new", "panic", "print", "println", "real", "recover", "nil", "true", "false", "iota",
        "any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64", "int",
        "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16", "uint32", "uint64",
        "uintptr",
    }),
    unknown=frozenset({"any"}),
    containers=frozenset({"[]", "map", "chan", "()"}),
    elements={"[]": 0, "map": 1, "chan": 0},
    results={
        ("map", "key"): 0,
        ("chan", "key"): 0,
        **{("()", str(place)): place for place in range(8)},
    },
    passed={},
    noise=frozenset({
        "Add", "Close", "Done", "Err", "Error", "Errorf", "Fatal", "Fatalf", "Get", "Len", "Lock", "Log",
        "Logf", "Name", "Next", "Print", "Printf", "Println", "Read", "Run", "Set", "Sprintf", "String",
        "Unlock", "Wait", "Write", "WriteString",
    }),
)  # fmt: skip
