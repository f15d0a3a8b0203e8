"""Test each language's definitions against lists made by hand, and hashes, changes and hostile sources."""

import signal
import subprocess
import sys
from typing import Any

import pytest
from support import cases

from claude_mem_lite.codemap import languages
from claude_mem_lite.codemap.languages import Change, diff

DEFINITIONS = cases.load("languages/definitions")
HASHES = cases.load("languages/hashes")["case"]


def spoken(path: str) -> None:
    """Skip a test of a language without its grammar."""
    if languages.of(path) is None:
        pytest.skip("its grammar is in the extra [languages]")


@pytest.mark.parametrize(
    ("path", "case"), [(path, case) for path in DEFINITIONS for case in DEFINITIONS[path]]
)
def test_a_source_defines_what_it_says(path: str, case: dict[str, Any]) -> None:
    """Functions, methods and types are found under the names that people use."""
    spoken(path)

    found = languages.extract(path, case["source"])

    assert [f"{each.kind} {each.qualified_name}" for each in found] == case["defines"]


@pytest.mark.parametrize(
    "case", cases.load("languages/signatures")["case"], ids=lambda case: case["signature"]
)
def test_a_definition_is_told_with_signature_doc_and_decorators(case: dict[str, Any]) -> None:
    """A signature is one line without comments; the doc is the first line of the comment above."""
    (found,) = languages.extract(case["path"], case["source"])

    assert (found.signature, found.docstring) == (case["signature"], case.get("doc"))
    assert list(found.decorators) == case["decorators"]
    assert [found.line, found.end_line] == case["lines"]


@pytest.mark.parametrize("case", HASHES, ids=lambda case: case["path"])
def test_a_hash_does_not_see_comments_space_and_the_own_name(case: dict[str, Any]) -> None:
    """Comments, spacing and the function's own name do not change its hash."""
    path = case["path"]
    spoken(path)

    same, renamed = (languages.extract(path, case[name])[-1] for name in ("source", "renamed"))

    assert diff(case["source"], case["reformatted"], path=path) == ()
    assert same.body_hash == renamed.body_hash
    assert same.qualified_name != renamed.qualified_name


@pytest.mark.parametrize(
    ("path", "source", "change"),
    [(case["path"], case["source"], change) for case in HASHES for change in case["changes"]],
)
def test_a_hash_sees_every_other_change(path: str, source: str, change: list[str]) -> None:
    """Operators, operands, literals, types and keywords change a hash."""
    spoken(path)

    changed = diff(source, source.replace(*change), path=path)

    assert [each.change_type for each in changed] == ["modified"]


def test_a_type_is_not_changed_by_its_methods() -> None:
    """A method's change belongs to the method, a field's to its class, an overload's to all overloads."""
    source = "class A { n = 1; f() { return 1 } of(a: string): void; of(a: any) { x() } }"

    method, field, overload, decorator, moved = (
        diff(source, source.replace(*words), path="a.ts")
        for words in (
            ("return 1", "return 2"),
            ("n = 1", "n = 2"),
            ("a: string", "a: number"),
            ("f()", "@Get() f()"),
            ("f() {", "g() {} f() {"),
        )
    )

    assert method == (Change("A.f", "method", "modified"),)
    assert field == (Change("A", "class", "modified"),)
    assert overload == (Change("A.of", "method", "modified"),)
    assert decorator == (Change("A.f", "method", "modified"),)
    assert moved == (Change("A.g", "method", "new"),)


def test_a_file_of_no_language_has_no_changes() -> None:
    """A file of no known language has no changes, whatever it holds."""
    assert diff("package a\nfunc Old() {}\n", "package a\n", path="a.unknown") == ()


def test_what_an_error_hides_neither_came_nor_went() -> None:
    """A function behind a missing brace is not deleted, nor new once the brace is back."""
    good = "function good() {\n" + "\tgood()\n" * 40 + "}\n"
    whole = good + "function a() {\n  x()\n}\nfunction b() {\n  y()\n}\n"
    partial = whole.replace("x()\n}", "if (x() {\n")

    pairs = ((whole, partial), (partial, whole))
    found = [diff(*pair, path="a.ts") for pair in pairs]
    there, back = ({(each.qualified_name, each.change_type) for each in changes} for changes in found)
    shorter = whole[: whole.rindex("func")]

    assert {name for name, what in there | back if what != "modified"} == set()
    assert diff(whole, shorter, path="a.ts") == (Change("b", "function", "deleted"),)


HOSTILE = {
    "deep brackets": "(" * 200_000,
    "deep and whole": "x = " + "(" * 50_000 + "1" + ")" * 50_000,
    "deep functions": "function f() {" * 5_000 + "}" * 5_000,
    "deep classes": "class A {" * 5_000 + "}" * 5_000,
    "angles": "a<" * 100_000,
    "braces of all kinds": "{[(" * 60_000,
    "templates": "`${" * 60_000,
    "ternaries": "a?b:" * 50_000,
    "quotes": "'" + "a" * 200_000,
    "NUL": "\x00" * 100_000 + "function f() {}",
    "half characters": "function f() { return '\ud800' }",
    "open comment": "/*" * 100_000,
    "one line": "function f(){};" * 20_000,
    "too much": "function f() {}\n" * 100_000,
    "slashes": "\\" * 100_000,
    "directives": "#if A\n" * 30_000,
}

# Their scanners of nested comments cannot be interrupted: the worker is ended and started again.
ENDED = {("Kotlin", "open comment"), ("Swift", "open comment")}


@pytest.mark.process
@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "language", [each for each in languages.LANGUAGES if each.is_installed], ids=lambda each: each.name
)
def test_a_hostile_source_is_read_or_refused_in_time(language: languages.Language, name: str) -> None:
    """Any file gives functions or a SyntaxError in bounded time."""
    path, source = f"a{language.suffixes[0]}", HOSTILE[name]
    lines = (source[at : at + 120] for at in range(0, len(source), 120))  # a single line counts as minified

    for each in (source, "\n".join(lines)):
        refusal = ""
        try:
            assert len(languages.extract(path, each)) <= 500
        except SyntaxError as error:
            refusal = str(error)
        is_ended = f"ended with -{signal.SIGXCPU:d}" in refusal
        assert not is_ended or (language.name, name) in ENDED


def test_sources_with_a_bom_or_windows_lines_are_as_others() -> None:
    """A byte order mark and CRLF change no name, line or hash."""
    source = "package a\n\n// F does.\nfunc F() {\n\ta(\n\t\t1,\n\t)\n}\n"

    texts = (source, source.replace("\n", "\r\n"), f"\ufeff{source}")
    plain, windows, marked = (languages.extract("a.go", each) for each in texts)

    assert plain == windows == marked
    assert plain[0].docstring == "F does."


def test_a_minified_bundle_defines_nothing() -> None:
    """A minified source defines nothing; one with a single long line is mapped."""
    minified = "function f(){return 1};" * 1_000
    long_line = "const data = '" + "x" * 20_000 + "'\n" + "function g() {\n  return 1\n}\n" * 40

    assert languages.extract("a.js", minified) == ()
    assert [each.qualified_name for each in languages.extract("a.js", long_line)] == ["g"]


def test_a_source_with_small_errors_is_mapped_as_far_as_it_goes() -> None:
    """A syntax error costs only the code around it; a file without valid code is refused."""
    good = "function a() { return 1 }\n" * 20

    found = languages.extract("a.ts", f"{good}function b( {{ if }}\nfunction c() {{}}\n")

    assert {each.qualified_name for each in found} >= {"a"}
    with pytest.raises(SyntaxError, match="bytes are not valid TypeScript"):
        languages.extract("a.ts", "<<<< this is no source at all ]]]] )) :: but a text, of words >>>>\n" * 20)


def test_no_language_is_loaded_before_a_source_is_read() -> None:
    """Listing the languages loads nothing of tree-sitter, and reading Go loads only Go's grammar."""
    script = (
        "import sys\n"
        "from claude_mem_lite.codemap import file_index, graph, languages\n"
        "def loaded():\n"
        "    names = (name for name in sys.modules if '.' not in name)\n"
        "    return sorted(name for name in names if name.startswith('tree_sitter'))\n"
        "languages.of('a.go'), languages.installed()\n"
        "print(loaded())\n"
        "languages.extract('a.py', 'def f(): pass')\n"
        "print(loaded())\n"
        "languages.extract('a.go', 'package a')\n"
        "print(loaded())\n"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert said.stdout.splitlines() == ["[]", "[]", "['tree_sitter', 'tree_sitter_go']"]
