"""Read the verdict of a test run from its output; each row of `_RUNNERS` is a test runner."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from claude_mem_lite.text import unique

# A runner's word for a result, and the word used here; other words are not counted.
_RESULTS = {
    "failed": "failed", "failure": "failed", "failures": "failed", "fail": "failed", "failing": "failed",
    "error": "errors", "errors": "errors", "unexpected": "failed",
    "passed": "passed", "pass": "passed", "passing": "passed", "passes": "passed",
    "skipped": "skipped", "skip": "skipped", "skips": "skipped", "ignored": "skipped",
    "pending": "skipped", "todo": "skipped",
    "xfailed": "xfailed", "xpassed": "xpassed",
    "total": "total", "tests": "total", "test": "total", "run": "total", "runs": "total",
    "examples": "total", "example": "total",
}  # fmt: skip
_COUNT = re.compile(
    r"(\d{1,9}) +([a-z]+)|([A-Za-z]+)[=:] *(\d{1,9}+)(?! +[a-z])"
    r"|^[#\u2139] (pass|fail|skipped|todo) (\d{1,9})",
    re.MULTILINE,
)
_HEADING = re.compile(r"---|●|FAIL|Failed \S+ \[|ERROR|expect\(|File |\S+\.py:\d+: |.*:$")
# Tells the reason for a failure from other lines that a test prints.
_SAYS_WHY = re.compile(
    r"\b(?:want|expect|expected|got|assert\w*|fail\w*|error|unexpected|not|panic\w*|mismatch)\b|(?:Error|Exception)\b",
    re.IGNORECASE,
)
Tally = Callable[[re.Pattern[str], str], Counter[str]]
_SHOWN = ("failed", "errors", "passed", "skipped", "xfailed", "xpassed")


@dataclass(frozen=True, slots=True)
class TestRun:
    """A finished test run: a verdict such as "1 failed, 4 passed", its own `lines`, failed tests, reasons."""

    __test__ = False  # tells pytest that this is no test

    runner: str
    verdict: str
    has_failed: bool
    failing: tuple[str, ...]
    evidence: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The reason for the first failure; "" if the output has none."""
        told = (line.strip() for each in self.evidence for line in each.splitlines())
        lines = [line for line in told if not _HEADING.match(line)]
        return next(filter(_SAYS_WHY.search, lines), lines[0] if lines else "")


def test_run(output: str) -> TestRun | None:
    """Return the test run in an output; None if there is none."""
    for runner in _RUNNERS:
        if runner.verdict.search(output):
            return _read(runner, output)
    return None


def verdict_in(summary: str) -> str:
    """Return the counts that a command's summary gives after the name of a test runner; "" for none."""
    found = _TOLD.search(summary)
    return found["verdict"] if found else ""


test_run.__test__ = False  # type: ignore[attr-defined]  # pytest: this is no test


def _read(runner: "_Runner", output: str) -> TestRun:
    tally = runner.tally(runner.verdict, output)
    parts = [f"{tally[name]} {name}" for name in _SHOWN if tally[name]]
    if tally["errors"] == 1:
        parts = ["1 error" if part == "1 errors" else part for part in parts]
    failing = unique(match["name"].strip() for match in runner.failing.finditer(output))
    return TestRun(
        runner=runner.name,
        verdict=", ".join(parts) or "no tests ran",
        has_failed=bool(tally["failed"] or tally["errors"] or failing),
        failing=failing,
        evidence=_evidence(runner, output),
        lines=unique(match[0].strip() for match in runner.verdict.finditer(output)),
    )


def _evidence(runner: "_Runner", output: str) -> tuple[str, ...]:
    """Return the lines with reasons for failures; pytest's without its marks."""
    lines = unique(match[0].strip() for match in runner.evidence.finditer(output))
    if not any(line.startswith("E  ") for line in lines):
        return lines
    told = (re.sub(r"^E *", "", line) for line in lines if not line.startswith(("FAILED ", "ERROR ")))
    return unique(re.sub(r"^_{3,} (.+) _{3,}$", r"\1:", line) for line in told)


def _words(verdict: re.Pattern[str], output: str) -> Counter[str]:
    """Add up the counts in all verdict lines: "1 failed", "Failures: 1", "failures=1"."""
    tally: Counter[str] = Counter()
    for line in unique(match[0] for match in verdict.finditer(output)):  # a client may send an output twice
        for number, word, key, amount, tap_word, tap_number in _COUNT.findall(line):
            result = _RESULTS.get((word or key or tap_word).lower())
            if result:
                tally[result] += int(number or amount or tap_number)
    if "passed" not in tally and tally["total"]:
        tally["passed"] = max(0, tally["total"] - tally["failed"] - tally["errors"] - tally["skipped"])
    return tally


def _go(_: re.Pattern[str], output: str) -> Counter[str]:
    """Count the results of `go test`, which prints no totals: tests if it was verbose, else packages."""
    passed, failed = (
        len(re.findall(rf"^[ \t]*--- {word}: ", output, re.MULTILINE)) for word in ("PASS", "FAIL")
    )
    if not passed:
        passed = len(re.findall(r"^ok\s", output, re.MULTILINE))
    failed = failed or len(re.findall(r"^FAIL\s+\S+\s", output, re.MULTILINE))
    return Counter(passed=passed, failed=failed)


def _last(verdict: re.Pattern[str], output: str) -> Counter[str]:
    """Count the results in the last verdict line: those before it are about parts of the run."""
    lines = [match[0] for match in verdict.finditer(output)]
    return _words(verdict, lines[-1])


def _ctest(verdict: re.Pattern[str], output: str) -> Counter[str]:
    """Count the results of CTest, which prints the share of those that passed, the failed and all."""
    _, failed, total = map(int, re.findall(r"\d+", verdict.search(output)[0]))  # type: ignore[index]
    return Counter(failed=failed, passed=total - failed)


def _flutter(verdict: re.Pattern[str], output: str) -> Counter[str]:
    """Count the results in the last line of `dart test`: "00:05 +10 ~1 -2: Some tests failed."."""
    tally: Counter[str] = Counter()
    for match in verdict.finditer(output):
        tally = Counter({name: int(match[name] or 0) for name in ("passed", "skipped", "failed")})
    return tally


class _Runner:
    """A test runner: patterns of its verdict, failed tests and reasons, and the function that counts."""

    def __init__(
        self, name: str, *, verdict: str, failing: str, evidence: str, tally: Tally = _words
    ) -> None:
        self.name, self.tally = name, tally
        self.verdict, self.failing, self.evidence = (
            re.compile(lines, re.MULTILINE) for lines in (verdict, failing, evidence)
        )


_JS_EVIDENCE = (
    r"^[ \t]*(?:●.*|(?:Assertion)?Error: .*|Expected.*: .*|Received.*: .*|[-+] .*|expect\(.*"
    r"|\u276f \S+:\d+:\d+)$"
)
_RUST_EVIDENCE = (
    r"^[ \t]*(?:thread '.*' panicked at .*(?:\n(?!note:|stack).+)?|assertion .*|(?:left|right): .*)$"
)
_RUNNERS = (
    _Runner(
        "pytest",
        verdict=r"^=* ?(?:no tests ran|\d+ (?:failed|passed|errors?|skipped|deselected|x\w+|warnings?)\b.*)"
        r" in [\d.]+s\b.*$",
        failing=r"^(?:FAILED|ERROR) (?P<name>\S+(?:\[.*?\](?= - |$))?)",
        evidence=r"^(?:E  .*|_{3,} .+ _{3,}|[^/\s]\S*\.py:\d+: \w+.*|(?:FAILED|ERROR) .*)$",
    ),
    _Runner(
        "unittest",
        verdict=r"^(?:Ran \d+ tests? in [\d.]+s|FAILED \(.*\)|OK \(.*\))$",
        failing=r"^(?:FAIL|ERROR): (?P<name>\S+ \(\S+\))",
        evidence=r"^(?:(?:FAIL|ERROR): .*|\w*(?:Error|Exception)\b.*|  File \".*\", line \d+, in test\w*)$",
    ),
    _Runner(
        "vitest",
        verdict=r"^[ \t]*Tests[ \t]+(?:\d+ [a-z]+[ |]*)+\(\d+\)$",
        failing=r"^[ \t]*FAIL\s+(?P<name>\S.*? > .*)$",
        evidence=_JS_EVIDENCE,
    ),
    _Runner(
        "jest",
        verdict=r"^Tests:[ \t]+\d+ \w+.*$",
        failing=r"^[ \t]+● (?P<name>.*)$",
        evidence=_JS_EVIDENCE,
    ),
    _Runner(
        "cargo test",
        verdict=r"^test result: (?:ok|FAILED)\. .*$",
        failing=r"^test (?P<name>\S+) \.\.\. FAILED$",
        evidence=_RUST_EVIDENCE,
    ),
    _Runner(
        "cargo nextest",
        verdict=r"^[ \t]*Summary \[ *[\d.]+s\] \d+(?:/\d+)? tests? run: .*$",
        failing=r"^[ \t]+(?:FAIL|SIG\w+|TIMEOUT) \[ *[\d.]+s\] (?:\([ \d/]+\) )?(?P<name>\S+ \S+)$",
        evidence=_RUST_EVIDENCE,
    ),
    _Runner(
        "go test",
        verdict=r"^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[build failed\])",
        failing=r"^[ \t]*--- FAIL: (?P<name>\S+)",
        evidence=r"^(?:[ \t]*--- FAIL: .*|[ \t]+\S+\.go:\d+: .*|panic: .*)$",
        tally=_go,
    ),
    _Runner(
        "mocha",
        verdict=r"^[ \t]+\d+ (?:passing|failing|pending)\b.*$",
        failing=r"^[ \t]+\d+\) (?P<name>\S.*)$",
        evidence=r"^[ \t]+(?:\d+\) .*|\w*Error\b.*|[-+] ?\S.*)$",
    ),
    _Runner(
        "rspec",
        verdict=r"^\d+ examples?, \d+ failures?.*$",
        failing=r"^rspec (?P<name>\S+)",
        evidence=r"^[ \t]+(?:\d+\) .*|Failure/Error: .*|expected.*|got.*)$",
    ),
    _Runner(
        "minitest",
        verdict=r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors\b.*$",
        failing=r"^(?P<name>[A-Z]\w*(?:::\w+)*#test_\S+?)(?: \[.*\])?:$",
        evidence=r"^(?:[\w:]*Error: .*|[\w:]*#test_.*:|Expected.*|[ \t]*Actual: .*)$",
    ),
    _Runner(
        "phpunit",
        verdict=r"^(?:OK \(\d+ tests?, .*\)|Tests: \d+, Assertions: .*)$",
        failing=r"^\d+\) (?P<name>\S+::\S+)",
        evidence=r"^(?:\d+\) .*|Failed asserting .*)$",
    ),
    _Runner(
        "dotnet test",
        verdict=r"^(?:Passed|Failed)!\s+-\s+Failed:\s+\d+, Passed:\s+\d+.*$",
        failing=r"^[ \t]+Failed (?P<name>\S+) \[",
        evidence=r"^[ \t]+(?:Failed .*|Assert\..*|Expected: .*|Actual: .*|[\w.]+Exception : .*)$",
    ),
    _Runner(
        "maven",
        verdict=r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$",
        failing=r"^\[ERROR\]\s+(?P<name>\w[\w.]*[.:]\w+:\d+)",
        evidence=r"^\[ERROR\] +(?!Tests run).*$",
    ),
    _Runner(
        "node --test",
        verdict=r"^[#\u2139] (?:pass|fail|skipped|todo) \d+$",
        failing=r"^(?:not ok \d+ - |✖ )(?P<name>.*?)(?: \([\d.]+ms\))?$",
        evidence=r"^[ \t]*(?:not ok .*|✖ .*|\w*Error\b.*|\+ .*|- .*)$",
    ),
    _Runner(
        "bun test",
        verdict=r"^[ \t]*\d+ (?:pass|fail)$",
        failing=r"^\(fail\) (?P<name>.*)$",
        evidence=r"^(?:error: .*|Expected: .*|Received: .*)$",
    ),
    _Runner(
        "gradle test",
        verdict=r"^\d+ tests? completed, \d+ (?:failed|skipped)\b.*$",
        failing=r"^(?P<name>\S.* > .*) FAILED$",
        evidence=r"^[ \t]+[\w.]+(?:Error|Exception)\b.*$",
    ),
    _Runner(
        "flutter test",
        verdict=r"^\d\d:\d\d(?: \+(?P<passed>\d+))?(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?"
        r": (?:All|Some) tests .*$",
        failing=r"^\d\d:\d\d [-+~ \d]+: (?P<name>.*) \[E\]$",
        evidence=r"^[ \t]+(?:Expected: .*|Actual: .*|[\w.]*(?:Error|Exception)\b.*)$",
        tally=_flutter,
    ),
    _Runner(
        "swift test",
        verdict=r"^[ \t]*Executed \d+ tests?, with (?:\d+ tests? skipped and )?\d+ failures?\b.*$",
        failing=r"^Test Case '(?:-\[)?(?P<name>[^'\]]+)\]?' failed\b",
        evidence=r"^\S+:\d+: error: .*$",
        tally=_last,
    ),
    _Runner(
        "mix test",
        verdict=r"^(?:\d+ (?:doctests?|propert\w+), )*\d+ tests?, \d+ failures?\b.*$",
        failing=r"^[ \t]+\d+\) test (?P<name>.*)$",
        evidence=r"^[ \t]+(?:\*\* \(.*|(?:left|right|code): .*)$",
    ),
    _Runner(
        "ctest",
        verdict=r"^\d+% tests passed, \d+ tests? failed out of \d+$",
        failing=r"^[ \t]+\d+ - (?P<name>\S+) \(.*\)$",
        evidence=r"^.*\*\*\*(?:Failed|Exception|Timeout)\b.*$",
        tally=_ctest,
    ),
    _Runner(
        "playwright",
        verdict=r"^[ \t]+\d+ (?:passed|failed|flaky|skipped)(?: \([\d.]+m?s?\))?$",
        failing=r"^[ \t]+\d+\) (?P<name>\S.* › .*?)[ \u2500]*$",
        evidence=_JS_EVIDENCE,
    ),
    _Runner(
        "deno test",
        verdict=r"^(?:ok|FAILED) \| \d+ passed\b.*$",
        failing=r"^(?P<name>\S.*) \.\.\. (?:.*)FAILED\b.*$",
        evidence=r"^error: .*$",
    ),
)
_TOLD = re.compile(
    rf"(?:^|\. )(?:{'|'.join(re.escape(each.name) for each in _RUNNERS)}): "
    r"(?P<verdict>\d+ (?:failed|errors?|passed)\b(?:, \d+ (?:failed|errors?|passed|skipped)\b)*)",
    re.MULTILINE,
)
