"""Find the files of a Java package, and list the language's built-ins."""

from collections.abc import Callable, Mapping

from claude_mem_lite.codemap.calls import values
from claude_mem_lite.codemap.calls.facts import Facts
from claude_mem_lite.codemap.calls.values import Builtins, by_method


class Finder(values.Finder):
    """The packages of a project's files, by their `package` clauses."""

    def __init__(self, files: Mapping[str, Facts], _read: Callable[[str], str]) -> None:
        """Take the facts of files, by path."""
        self._files = files
        self._first: dict[str, str] = {}
        for path in sorted(files):
            self._first.setdefault(files[path].scopes[0].name, path)

    def find(self, _path: str, module: str) -> str:
        """Return the first file of a package; "" for one outside of the project."""
        return self._first.get(module, "") if module else ""

    def package(self, path: str) -> str:
        """Return a key for a file's package, whose files see each other's classes."""
        return f"{self._files[path].scopes[0].name}."


_LISTS = "List ArrayList LinkedList Vector Stack Deque ArrayDeque Queue PriorityQueue BlockingQueue"
_SETS = "Set HashSet LinkedHashSet TreeSet SortedSet Collection Iterable"
_MAPS = "Map HashMap LinkedHashMap TreeMap SortedMap ConcurrentHashMap ConcurrentMap EnumMap"
_ONES = (
    "Optional Supplier Iterator ListIterator AtomicReference ThreadLocal Future CompletableFuture Callable"
)

BUILTINS = Builtins(
    globals=frozenset({
        "AssertionError", "AutoCloseable", "Boolean", "Byte", "CharSequence", "Character", "Class",
        "ClassCastException", "ClassLoader", "ClassNotFoundException", "Cloneable", "Comparable",
        "Deprecated", "Double", "Enum", "Error", "Exception", "Float", "FunctionalInterface",
        "IllegalArgumentException", "IllegalStateException", "IndexOutOfBoundsException", "Integer",
        "InterruptedException", "Iterable", "Long", "Math", "Module", "NoSuchFieldException",
        "NoSuchMethodException", "NullPointerException", "Number", "NumberFormatException",
        "Object", "OutOfMemoryError", "Override", "Package", "Process", "ProcessBuilder",
        "Readable", "Record", "ReflectiveOperationException", "Runnable", "Runtime",
        "RuntimeException", "SafeVarargs", "SecurityException", "Short", "StackOverflowError",
        "StackTraceElement", "String", "StringBuffer", "StringBuilder", "SuppressWarnings",
        "System", "Thread", "ThreadLocal", "Throwable", "UnsupportedOperationException", "Void",
    }),
    unknown=frozenset({"Object"}),
    containers=frozenset(f"[] {_LISTS} {_SETS} {_MAPS} {_ONES} Stream Entry".split()),
    elements=dict.fromkeys(f"[] {_LISTS} {_SETS} Stream".split(), 0),
    results=by_method(
        (_LISTS, "get/1 remove/1 getFirst/0 getLast/0 removeFirst/0 removeLast/0 peek/0 poll/0 pop/0", 0),
        (_LISTS, "element/0 remove/0 take/0 peekFirst/0 peekLast/0 pollFirst/0 pollLast/0 firstElement/0", 0),
        (f"{_LISTS} {_SETS}", "iterator/0", ("Iterator", 0)),
        (f"{_LISTS} {_SETS}", "stream/0 parallelStream/0", ("Stream", 0)),
        (_LISTS, "subList/2 reversed/0", "self"),
        (_SETS, "first/0 last/0", 0),
        (_MAPS, "get/1 getOrDefault/2 put/2 remove/1 computeIfAbsent/2 putIfAbsent/2", 1),
        (_MAPS, "values/0", ("Collection", 1)),
        (_MAPS, "keySet/0", ("Set", 0)),
        (_ONES, "get/0 next/0 orElse/1 orElseGet/1 orElseThrow/0 orElseThrow/1 join/0 call/0", 0),
        ("Optional", "filter/1 or/1", "self"),
        ("Stream", "filter/1 sorted/0 sorted/1 distinct/0 limit/1 skip/1 peek/1", "self"),
        ("Stream", "findFirst/0 findAny/0 max/1 min/1", ("Optional", 0)),
        ("Stream", "toList/0", ("List", 0)),
    ),
    passed=by_method(
        (f"{_LISTS} {_SETS}", "forEach/1 removeIf/1", (0,)),
        (_LISTS, "sort/1", (0, 0)),
        (_MAPS, "forEach/1", (0, 1)),
        ("Optional", "ifPresent/1 map/1 filter/1 flatMap/1", (0,)),
        ("Stream", "filter/1 map/1 forEach/1 anyMatch/1 allMatch/1 noneMatch/1 flatMap/1 peek/1", (0,)),
        ("Stream", "mapToInt/1 mapToLong/1 mapToDouble/1", (0,)),
        ("Stream", "sorted/1 max/1 min/1", (0, 0)),
    ),
    noise=frozenset({
        "add", "addAll", "append", "apply", "asList", "charAt", "clear", "close", "collect", "compareTo",
        "contains", "containsKey", "entrySet", "equals", "filter", "forEach", "format", "get", "getClass",
        "getKey", "getMessage", "getName", "getValue", "hashCode", "isEmpty", "iterator", "join", "keySet",
        "length", "map", "name", "next", "of", "ordinal", "print", "printf", "println", "put", "remove",
        "replace", "run", "set", "size", "split", "stream", "substring", "toString", "trim", "valueOf",
        "values", "write",
    }),
    implies_this=True,
)  # fmt: skip
