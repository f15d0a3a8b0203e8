"""How a command came out, in the words of its own output."""

# ruff: noqa: E501, RUF001 - the outputs of tools, line by line as they print them

import pytest

from claude_mem_lite.distill.local import observe, problems
from claude_mem_lite.distill.local.problems import first_problem
from claude_mem_lite.distill.observation import Capture, Observation


def _bash(command: str, stdout: str, description: str) -> Capture:
    arguments = {"command": command, "description": description}
    payload = {"tool_input": arguments, "tool_response": {"stdout": stdout, "stderr": ""}, "cwd": "/p"}
    return Capture("PostToolUse", "Bash", payload, "/p")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("# example.com/shop\n./cart.go:12:2: undefined: total", "./cart.go:12:2: undefined: total"),
        ("# shop\nvet: ./cart.go:9:14: fmt.Printf format %d has arg s of wrong type string",
         "vet: ./cart.go:9:14: fmt.Printf format %d has arg s of wrong type string"),
        ("cart.go:25:5: Error return value of `f.Close` is not checked (errcheck)\n\tf.Close()\n1 issues:",
         "cart.go:25:5: Error return value of `f.Close` is not checked (errcheck)"),
        ("src/app.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'.",
         "src/app.ts(14,7): error TS2322: Type 'string' is not assignable to type 'number'."),
        ("src/app.ts:14:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n14   const x",
         "src/app.ts:14:7 - error TS2322: Type 'string' is not assignable to type 'number'."),
        (("warning: unused variable: `y`\n --> src/lib.rs:1:5\n\nerror[E0382]: borrow of moved value: `x`\n --> src/main.rs:5:20\n  |\n"
         'error: could not compile `shop` (bin "shop") due to 1 previous error'),
         "error[E0382]: borrow of moved value: `x` (src/main.rs:5:20)"),
        (("main.c: In function 'main':\nmain.c:4:5: warning: unused variable 'y' [-Wunused-variable]\n"
         "main.c:5:12: error: 'x' undeclared (first use in this function)\nmake: *** [Makefile:2: all] Error 1"),
         "main.c:5:12: error: 'x' undeclared (first use in this function)"),
        ("src/A.java:3: error: ';' expected\n    int x = 1\n             ^\n1 error",
         "src/A.java:3: error: ';' expected"),
        (("[INFO] Scanning for projects...\n[ERROR] COMPILATION ERROR :\n"
         "[ERROR] /p/src/A.java:[3,18] cannot find symbol\n[INFO] BUILD FAILURE"),
         "[ERROR] /p/src/A.java:[3,18] cannot find symbol"),
        (("> Task :compileKotlin FAILED\ne: file:///p/src/A.kt:3:5 Unresolved reference: total\n\n"
         "FAILURE: Build failed with an exception."), "e: file:///p/src/A.kt:3:5 Unresolved reference: total"),
        (("\n/p/src/a.js\n  1:7  warning  'y' is never used  no-unused-vars\n  3:5  error  'x' is not defined  no-undef"
         "\n\n✖ 2 problems (1 error, 1 warning)"), "/p/src/a.js:3:5: 'x' is not defined no-undef"),
        ("src/a.ts:3:5 lint/suspicious/noExplicitAny ━━━━━━━━━━\n\n  × Unexpected any. Specify a type.\n",
         "src/a.ts:3:5 lint/suspicious/noExplicitAny Unexpected any. Specify a type."),
        ("/p/Shop.cs(12,9): error CS0103: The name 'total' does not exist in the current context [/p/Shop.csproj]",
         "/p/Shop.cs(12,9): error CS0103: The name 'total' does not exist in the current context [/p/Shop.csproj]"),
        ("shop.py:3: error: Incompatible types in assignment  [assignment]\nFound 1 error in 1 file",
         "shop.py:3: error: Incompatible types in assignment [assignment]"),
        ('╷\n│ Error: Reference to undeclared resource\n│ \n│   on main.tf line 12, in resource "aws_x" "y":\n╵',
         "Error: Reference to undeclared resource (main.tf line 12)"),
        ("/p/a.js:3\n  throw new Error('no cart')\n  ^\n\nError: no cart\n    at load (/p/a.js:3:9)\n",
         "Error: no cart (/p/a.js:3:9)"),
        ('Exception in thread "main" java.lang.IllegalStateException: no cart\n\tat shop.A.b(A.java:3)', ""),
        ("12:30:45 listening on 8080\n2026/01/15 16:03:05 INFO ready", ""),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'", ""),
        ("nothing to see here", ""),
    ],
)  # fmt: skip
def test_one_finder_knows_the_errors_of_all_tools(output: str, line: str) -> None:
    """A position with a message, a message with its position below, or positions below a file's name."""
    assert first_problem(output) == line


@pytest.mark.parametrize(
    ("command", "output", "title"),
    [
        ("gh pr create --fill", ("\nCreating pull request for fix into main in o/shop\n\n"
         "https://github.com/o/shop/pull/12"), "Open the PR: “https://github.com/o/shop/pull/12”"),
        ("gh api repos/o/shop/issues -f title=x",
         '{"id": 1, "user": {"html_url": "https://github.com/ann"}, "html_url": "https://github.com/o/shop/issues/3"}',
         "Open the PR: “https://github.com/o/shop/issues/3”"),
        ("time ./shop", "\nreal\t0m1.250s\nuser\t0m0.2s\nsys\t0m0.0s", "Open the PR: “0m1.250s”"),
        ("for i in 1 2; do time ./shop; done", ("./shop  0.02s user 0.03s system 6% cpu 0.684 total\n"
         "./shop  0.01s user 0.02s system 25% cpu 0.136 total"), "Open the PR: “0.684 total, 0.136 total”"),
        ("hyperfine './a' './b'", ("Benchmark 1: ./a\n  Time (mean ± σ):     812.4 ms ±   3.1 ms    [User: 1 ms]\n"
         "Summary\n  ./b ran\n   16.10 ± 0.30 times faster than ./a"),
         "Open the PR: “16.10 ± 0.30 times faster than ./a”"),
        ("go build ./... 2>&1 | head -50", "# shop\nlib/cart.go:12:2: undefined: total\nlib/cart.go:15:2: undefined: x",
         "Open the PR: “cart.go:12:2: undefined: total (+1 more)”"),
        ("mise run lint", "0 issues.\n[lint] $ golangci-lint run ./...", "Open the PR: “0 issues.”"),
        ("./report", "\n".join(f"row {number}" for number in range(9)), "Open the PR"),
    ],
)  # fmt: skip
def test_a_command_is_told_by_what_came_of_it(command: str, output: str, title: str) -> None:
    """The address of what it made, the time that it took, the error that a pipe hid, or its verdict."""
    observation = observe(_bash(command, output, "Open the PR"))

    assert isinstance(observation, Observation)
    assert observation.title == title
    assert title.partition(": ")[2] not in observation.summary or ": " not in title


def test_a_removed_file_is_said_to_be_removed() -> None:
    """What `rm` was given is gone, what else was written has changed."""
    observation = observe(_bash("rm -f old.py && git rm -q lib/gone.py && touch new.py", "", "Clean up"))

    assert isinstance(observation, Observation)
    assert observation.summary.endswith("Changed new.py. Removed old.py and lib/gone.py.")


@pytest.mark.parametrize(
    "place", ["src/a.py:3: error: x y", "src/a.ts(3,1): error TS1: x y", "a.kt:[3,1] x y"]
)
def test_an_error_after_a_long_row_of_dots_is_found_with_its_place(place: str) -> None:
    """Lines that name no line number are passed over, those in any compiler's form are not."""
    output = f"{'.' * 4_000}\n{place}\n"

    assert (problems.first_problem(output), problems.count_problems(output)) == (place, 1)
