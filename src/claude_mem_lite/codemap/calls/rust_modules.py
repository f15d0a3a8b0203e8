"""Find the files of Rust's modules and crates, and list the language's built-ins.

A `mod` names a file beside its own or in the folder named after it; crates are found by Cargo.toml.
"""

import posixpath
import tomllib
from collections.abc import Callable, Collection, Iterator
from typing import Any

from claude_mem_lite.codemap.calls import values
from claude_mem_lite.codemap.calls.values import Builtins, and_above, by_method, folders_of

_HOMES = frozenset({"lib.rs", "main.rs", "mod.rs"})


class Finder(values.Finder):
    """The modules of a project's files; `read` returns a file's text, "" where it can't be read."""

    def __init__(self, paths: Collection[str], read: Callable[[str], str]) -> None:
        """Read the Cargo.toml in the folders of the files and above."""
        self._paths = frozenset(paths)
        self._manifests: dict[str, dict[str, Any]] = {}
        self._crates: dict[str, str] = {}  # root files of crates by package name
        for folder in folders_of(paths):
            manifest = _parsed(read(posixpath.join(folder, "Cargo.toml")))
            if manifest:
                self._manifests[folder] = manifest
                name = _table(manifest, "package").get("name")
                if isinstance(name, str):
                    self._crates.setdefault(_identifier(name), self._root(folder))

    def find(self, path: str, module: str) -> str:
        """Return the file of a module: "./a/b" below a file's module, "=a.rs" beside it, else a crate's name.

        "" stands for a module outside of the project.
        """
        if module.startswith("="):
            return self._first([posixpath.join(posixpath.dirname(path), module[1:])])
        if module.startswith("./"):
            return self._first(_below(path, module[2:]))
        return self._crate(path, module)

    def _first(self, candidates: list[str]) -> str:
        known = (posixpath.normpath(each) for each in candidates if len(each) < 1_000)
        return next((each for each in known if each in self._paths), "")

    def _crate(self, path: str, name: str) -> str:
        above = and_above(posixpath.dirname(path))
        folder = next((each for each in above if "package" in self._manifests.get(each, {})), "")
        manifest = self._manifests.get(folder, {})
        own = _table(manifest, "lib").get("name")
        if isinstance(own, str) and _identifier(own) == name:
            return self._root(folder)
        for key, table in _dependencies(manifest):
            if _identifier(key) != name or not isinstance(table, dict):
                continue
            if isinstance(table.get("path"), str):
                return self._root(posixpath.normpath(posixpath.join(folder, table["path"])))
            if isinstance(table.get("package"), str):
                return self._crates.get(_identifier(table["package"]), "")
        return self._crates.get(name, "")

    def _root(self, folder: str) -> str:
        """Return the root file of a library crate by the folder of its Cargo.toml."""
        folder = "" if folder == "." else folder
        path = _table(self._manifests.get(folder, {}), "lib").get("path")
        return self._first([posixpath.join(folder, path if isinstance(path, str) else "src/lib.rs")])


def _below(path: str, module: str) -> list[str]:
    """Return the possible files of a module below a file's; those of a crate's root are beside it."""
    folder, name = posixpath.split(path)
    homes = [folder] if name in _HOMES else [posixpath.splitext(path)[0], folder]
    return [
        each
        for home in homes
        for each in (f"{home}/{module}.rs".lstrip("/"), f"{home}/{module}/mod.rs".lstrip("/"))
    ]


def _dependencies(manifest: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
        yield from _table(manifest, kind).items()


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _table(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    found = manifest.get(name)
    return found if isinstance(found, dict) else {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


_LISTS = "Vec VecDeque LinkedList BinaryHeap HashSet BTreeSet []"
_MAPS = "HashMap BTreeMap"
_EITHER = "Option Result"
CELLS = "RefCell Cell Mutex RwLock OnceCell OnceLock LazyLock LazyCell"

# Methods that return their function's result: bare, wrapped in the receiver's type, or its elements so.
MAPPED = {
    "map": "wrapped", "and_then": "bare", "filter_map": "element", "flat_map": "element", "then": "wrapped",
    "map_or": "bare", "map_or_else": "bare",
}  # fmt: skip

_SCALARS = "str String bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 () !"

BUILTINS = Builtins(
    globals=frozenset({"Some", "Ok", "Err", "None", "drop"}),
    unknown=frozenset({"_"}),
    containers=frozenset(
        f"{_LISTS} {_MAPS} {_EITHER} {CELLS} {_SCALARS} Iterator Entry Future (,)".split()
    ),
    transparent=frozenset({
        "Box", "Rc", "Arc", "Ref", "RefMut", "MutexGuard", "RwLockReadGuard", "RwLockWriteGuard", "Pin",
    }),
    awaited=frozenset({"Future"}),
    elements={**dict.fromkeys(f"{_LISTS} {_EITHER} Iterator".split(), 0), **dict.fromkeys(_MAPS.split(), 1)},
    results=by_method(
        (_LISTS, "iter iter_mut into_iter drain", ("Iterator", 0)),
        (_LISTS, "first last first_mut last_mut get get_mut pop pop_first pop_last", ("Option", 0)),
        (_LISTS, "front back front_mut back_mut pop_front pop_back peek", ("Option", 0)),
        (_LISTS, "as_slice as_mut_slice to_vec clone as_ref as_mut borrow into_boxed_slice", "self"),
        (_LISTS, "split_off", "self"),
        (_LISTS, "remove swap_remove", 0),
        (_LISTS, "chunks windows chunks_exact", ("Iterator", ("[]", 0))),
        (_MAPS, "get get_mut remove insert", ("Option", 1)),
        (_MAPS, "values values_mut into_values", ("Iterator", 1)),
        (_MAPS, "keys into_keys", ("Iterator", 0)),
        (_MAPS, "iter iter_mut into_iter drain", ("Iterator", ("(,)", 0, 1))),
        (_MAPS, "entry", ("Entry", 0, 1)),
        ("Entry", "or_insert or_insert_with or_default", 1),
        ("Entry", "and_modify", "self"),
        (_EITHER, "unwrap expect unwrap_or unwrap_or_default unwrap_or_else", 0),
        (_EITHER, "as_ref as_mut as_deref as_deref_mut clone cloned copied or or_else inspect", "self"),
        (_EITHER, "iter into_iter iter_mut", ("Iterator", 0)),
        ("Option", "take filter replace", "self"),
        ("Option", "insert get_or_insert get_or_insert_with", 0),
        ("Option", "ok_or ok_or_else", ("Result", 0, None)),
        ("Result", "ok", ("Option", 0)),
        ("Result", "err", ("Option", 1)),
        ("Result", "unwrap_err expect_err", 1),
        ("Result", "map_err", ("Result", 0, None)),
        ("Iterator", "next next_back last nth min max min_by min_by_key max_by max_by_key find peek reduce",
         ("Option", 0)),
        ("Iterator", "filter rev skip take chain peekable step_by skip_while take_while", "self"),
        ("Iterator", "inspect fuse cycle by_ref", "self"),
        ("Iterator", "cloned copied into_iter iter", "self"),
        ("Iterator", "enumerate", ("Iterator", ("(,)", None, 0))),
        ("Iterator", "zip", ("Iterator", ("(,)", 0, None))),
        ("RefCell", "borrow borrow_mut", 0),
        ("RefCell Mutex RwLock Cell", "get_mut into_inner get", 0),
        ("Mutex RwLock", "lock read write try_lock", ("Result", 0, None)),
        ("OnceCell OnceLock", "get get_mut", ("Option", 0)),
        ("OnceCell OnceLock", "get_or_init", 0),
        ("String", "as_str trim", ("str",)),
        ("String", "clone to_string", "self"),
        ("str", "to_string to_owned to_uppercase to_lowercase replace", ("String",)),
        ("str", "trim", "self"),
    ),
    passed=by_method(
        ("Iterator", "map filter for_each any all find position flat_map filter_map inspect", (0,)),
        ("Iterator", "take_while skip_while map_while max_by_key min_by_key find_map partition", (0,)),
        ("Iterator", "try_for_each", (0,)),
        ("Iterator", "fold try_fold", (None, 0)),
        ("Iterator", "max_by min_by reduce", (0, 0)),
        (_LISTS, "sort_by sort_unstable_by", (0, 0)),
        (_LISTS, "sort_by_key sort_unstable_by_key retain retain_mut binary_search_by_key", (0,)),
        (_EITHER, "map and_then inspect map_or map_or_else is_some_and is_ok_and", (0,)),
        ("Option", "filter is_none_or", (0,)),
        ("Result", "map_err or_else unwrap_or_else inspect_err", (1,)),
        (_MAPS, "retain", (0, 1)),
        ("Entry", "and_modify", (1,)),
    ),
    noise=frozenset({
        "add", "all", "and_then", "any", "as_bytes", "as_deref", "as_mut", "as_ptr", "as_ref", "as_slice",
        "as_str", "borrow", "borrow_mut", "bytes", "chain", "chars", "clear", "clone", "cloned", "cmp",
        "collect", "contains", "contains_key", "copied", "count", "default", "deref", "drain", "drop",
        "ends_with", "entry", "enumerate", "eq", "err", "expect", "extend", "filter", "filter_map", "find",
        "find_map", "finish", "first", "flat_map", "flatten", "flush", "fmt", "fold", "for_each", "from",
        "from_str", "get", "get_mut", "get_or_insert_with", "hash", "index", "insert", "into", "into_iter",
        "is_empty", "is_err", "is_none", "is_ok", "is_some", "iter", "iter_mut", "join", "keys", "last",
        "len", "lines", "load", "lock", "map", "map_err", "max", "min", "ne", "next", "ok", "ok_or",
        "ok_or_else", "or_default", "or_else", "or_insert", "or_insert_with", "parse", "partial_cmp",
        "peek", "pop", "position", "push", "push_str", "read", "remove", "replace", "retain", "rev", "send",
        "skip", "sort", "sort_by", "split", "starts_with", "store", "sum", "swap", "take", "then", "to_owned",
        "to_string", "to_vec", "trim", "try_from", "try_into", "unwrap", "unwrap_or", "unwrap_or_default",
        "unwrap_or_else", "values", "windows", "with_capacity", "wrapping_add", "write", "write_str", "zip",
    }),
)  # fmt: skip
# Methods of the traits that `derive` implements, and of traits that all types have.
DERIVED = frozenset({
    "clone", "clone_from", "eq", "ne", "cmp", "partial_cmp", "lt", "le", "gt", "ge", "max", "min", "hash",
    "default", "fmt", "to_string", "to_owned", "into", "try_into", "from", "try_from", "borrow", "borrow_mut",
    "as_ref", "as_mut", "type_id", "deref", "deref_mut", "into_iter", "drop",
})  # fmt: skip
SELF_RESULTS = frozenset({"clone", "to_owned", "borrow", "borrow_mut", "as_ref", "as_mut", "by_ref"})
SHARED_ROOTS = frozenset({"std", "core", "alloc"})
