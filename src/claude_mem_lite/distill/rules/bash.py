"""Describe what a shell command did and how it ended."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from claude_mem_lite.capture.simple_commands import Command
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, Capture, Observation, Skip
from claude_mem_lite.distill.rules import evidence, failures, fields, git, results, runners, shell
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import TITLE_CHARS, clip, join, one_line, relative

_COMMAND_CHARS = 300
_SCRIPT_CHARS = 450
_LONG_OUTPUT_CHARS = 4_000
_TIMED_OUT = 124  # exit status of timeout(1) when it stops a command
_FOLDERS = re.compile(r"^[^\s:(]*/(?=[^\s/:(]+[:(]\d)")


@dataclass(frozen=True, slots=True)
class _Run:
    """A command with everything parsed from it and from its output."""

    command: str
    steps: tuple[Command, ...]
    description: str
    output: str
    has_failed: bool
    exit_code: int | None
    only_looks: bool
    tests: runners.TestRun | None
    deeds: tuple[git.Deed, ...]
    result: str
    changed: tuple[str, ...]


def observe(capture: Capture) -> Observation | Skip:
    """Describe one command: its test verdict, its commit, its error, or its output."""
    run = _read(capture)
    reason = _reason_to_skip(run, capture)
    if reason:
        return Skip(reason)
    title = _title(run)
    summary = _summary(run, title, capture)
    detail = _detail(run, OBSERVATION_CHARS - len(title) - len(summary))
    return Observation(title, summary, detail or None, run.changed)


def is_lookup(capture: Capture) -> bool:
    """Tell whether every step of a command is read-only."""
    steps = shell.steps(fields.argument(capture, "command"))
    return bool(steps) and all(shell.is_lookup(step) for step in steps)


def findings(capture: Capture) -> str:
    """Return the output of a read-only command, without noise."""
    if all(shell.is_idle(step) for step in shell.steps(fields.argument(capture, "command"))):
        return ""
    return "\n".join(evidence.telling_lines(output(capture)))


def label(capture: Capture) -> str:
    """Return the command's description, or else the command itself, in at most 80 characters."""
    return one_line(fields.argument(capture, "description"), 80).rstrip(".") or shown(capture, 80)


def shown(capture: Capture, limit: int) -> str:
    """Return the command itself on one line, in at most `limit` characters."""
    return one_line(shell.on_one_line(fields.argument(capture, "command")), limit)


def output(capture: Capture) -> str:
    """Return a command's output; for a failed command, the client's message with the exit code."""
    if capture.event_name == "PostToolUseFailure":
        return fields.text(capture.payload, "error")
    response = fields.value(capture.payload, "tool_response")
    parts = (fields.text(response, "stdout"), fields.text(response, "stderr"))
    return "\n".join(part for part in parts if part.strip()) or fields.answer(capture)


def is_cut_short(steps: Sequence[Command], exit_code: int | None) -> bool:
    """Tell whether a command was stopped by its own `timeout`, which is not a failure."""
    return exit_code == _TIMED_OUT and any(step.outer[:1] == ("timeout",) for step in steps)


def error_line(steps: Sequence[Command], output: str) -> str:
    """Return the line of a failed command's output that says what went wrong; "" for none."""
    options = {word.partition("=")[0] for step in steps for word in step.words[1:] if word[:1] == "-"}
    return failures.about_option(options, output) or failures.decisive_line(output)


def circumstances(capture: Capture) -> list[str]:
    """Return sentences on the output's size, the background task and the timeout that the client reports."""
    response = fields.value(capture.payload, "tool_response")
    size, timeout_ms = (fields.number(response, key) for key in ("persistedOutputSize", "timedOutAfterMs"))
    told = [f"It printed {size:,} characters."] if size else []
    told += ["It goes on in the background."] if fields.text(response, "backgroundTaskId") else []
    return told + ([f"Timed out after {timeout_ms / 1000:g} s."] if timeout_ms else [])


def _read(capture: Capture) -> _Run:
    command = fields.argument(capture, "command")
    steps = shell.steps(command)
    exit_code, printed = failures.exit_code(output(capture))
    has_failed = capture.event_name == "PostToolUseFailure" or bool(exit_code)
    has_failed = has_failed and not is_cut_short(steps, exit_code)
    only_looks = all(shell.is_lookup(step) for step in steps)
    cwd = fields.text(capture.payload, "cwd") or capture.project_dir
    return _Run(
        command=command,
        steps=steps,
        description=one_line(fields.argument(capture, "description"), 200).rstrip(". "),
        output=printed,
        has_failed=has_failed,
        exit_code=exit_code,
        only_looks=only_looks,
        tests=None if only_looks else runners.test_run(printed),
        deeds=() if _is_elsewhere(steps, capture) else git.deeds(steps, printed, has_failed=has_failed),
        result="" if only_looks or has_failed else results.result(steps, printed),
        changed=tuple(relative(path, capture.project_dir) for path in shell.changed_files(command, cwd)),
    )


def _is_elsewhere(steps: Sequence[Command], capture: Capture) -> bool:
    """Tell whether a command first enters a folder outside the project; a commit there is another's."""
    folders = [step.operands[0] for step in steps if step.program == "cd" and step.operands]
    return bool(folders) and relative(folders[0], capture.project_dir).startswith("/")


def _reason_to_skip(run: _Run, capture: Capture) -> str:
    if not run.command.strip():
        return "a command that was not recorded"
    if run.has_failed:
        return "" if run.output.strip() else _silent_failure(run, capture)
    if all(shell.is_idle(step) for step in run.steps):
        return "a command that tells nothing"
    if evidence.telling_lines(run.output):
        return ""
    if run.only_looks:
        return "a look that found nothing"
    is_staging = all(step.words[:2] == ("git", "add") or shell.is_idle(step) for step in run.steps)
    return "nothing but staging" if is_staging else ""


def _silent_failure(run: _Run, capture: Capture) -> str:
    if fields.value(capture.payload, "is_interrupt") is True:
        return "interrupted by the user"
    return "a look that found nothing" if run.only_looks else ""


def _title(run: _Run) -> str:
    """Return the title: what was run and with which result."""
    if run.tests and (run.tests.has_failed or (len(run.steps) == 1 and not run.has_failed)):
        return _title_of_tests(run, run.tests)
    if run.has_failed:
        lead = _label(run, 45)
        error = quoted(_short(_error(run)))
        mark = "" if lead.endswith("?") else ":"
        return one_line(f"{lead}{mark} {error or f'exit code {run.exit_code}'}")
    if run.deeds:
        main, *others = sorted(run.deeds, key=lambda deed: not deed.title.startswith(("Commit", "Amend")))
        rest = "".join(f", {other.title[0].lower()}{other.title[1:]}" for other in others)
        return one_line(main.title + rest if len(main.title + rest) <= TITLE_CHARS else main.title)
    if installed := results.packages(run.steps):
        return installed
    told = run.tests.verdict if run.tests else quoted(_short(run.result))
    return one_line(f"{_label(run, 45)}: {told}") if told else _label(run, 70)


def _title_of_tests(run: _Run, tests: runners.TestRun) -> str:
    """Return a title with the first failed test and its reason, or with the verdict."""
    if not tests.failing:
        told = f"Run {tests.runner}{_targets(run)}: {tests.verdict}"
        reason = _short(_error(run)) if tests.has_failed else ""
        return one_line(f"{told}: {quoted(reason)}" if reason else told)
    first = tests.failing[0].rpartition("::")[2] or tests.failing[0]
    more = f" and {len(tests.failing) - 1} more" if len(tests.failing) > 1 else ""
    told = f"{named(one_line(first, 60))}{more} failed"
    return one_line(f"{told}: {quoted(reason)}" if (reason := _short(_error(run))) else told)


def _short(line: str) -> str:
    """Return a line without the folders of the file position at its beginning."""
    return _FOLDERS.sub("", line)


def _label(run: _Run, limit: int) -> str:
    command = one_line(shell.on_one_line(run.command), limit)
    return one_line(run.description, limit) if run.description else f"Run {command}"


def _targets(run: _Run) -> str:
    """Return the tests that a runner was given, as in " on tests/test_money.py"."""
    words = [word for step in run.steps for word in step.operands if "/" in word or "::" in word]
    paths = [word for word in words if "test" in word.lower() and " " not in word]
    return f" on {join(paths, 2)}" if paths else ""


def _summary(run: _Run, title: str, capture: Capture) -> str:
    command = one_line(git.without_messages(run.steps, shell.on_one_line(run.command)), _COMMAND_CHARS)
    is_told = not run.description or title.startswith(run.description)
    sentences = [f"Ran `{command}`." if is_told else f"{run.description}: `{command}`."]
    if run.tests:
        failing = f"; failing: {join(list(map(named, run.tests.failing)), 6)}" if run.tests.failing else ""
        sentences.append(f"{run.tests.runner}: {run.tests.verdict}{failing}.")
    sentences += [deed.sentence for deed in run.deeds]
    if run.result and not run.tests and not run.deeds and quoted(_short(run.result)) not in title:
        sentences.append(f"{quoted(run.result)}.")
    if run.has_failed:
        code = f" with exit code {run.exit_code}" if run.exit_code is not None else ""
        error = _error(run).rstrip(".")
        is_new = error and _short(error) not in title
        sentences.append(f"Failed{code}: {quoted(error)}." if is_new else f"Failed{code}.")
    sentences += circumstances(capture)
    gone = shell.removed_files(run.steps) if not run.has_failed else ()
    removed = [path for path in run.changed if path.endswith(gone)] if gone else []
    changed = [path for path in run.changed if path not in removed]
    for verb, paths in (("Changed", changed), ("Removed", removed)):
        if paths:
            sentences.append(f"{verb} {join(list(map(named, paths)), 6)}.")
    return " ".join(sentences)


def _detail(run: _Run, limit: int) -> str:
    if run.tests and run.tests.has_failed:
        return clip("\n".join(run.tests.evidence), limit)
    script = "\n".join(step.text for step in run.steps if step.text)
    kept_script = evidence.best_lines(script.split("\n"), min(_SCRIPT_CHARS, limit // 3), evidence.code_worth)
    # Lines that the summary already repeats.
    told = {run.result, *(line for deed in run.deeds for line in deed.lines)}
    told.update(run.tests.lines if run.tests else ())
    lines = [line for line in evidence.telling_lines(run.output) if line.strip() not in told]
    room = limit - len(kept_script) - 1
    shown = clip("\n".join(lines), room if len(run.output) < _LONG_OUTPUT_CHARS else min(room, 700))
    return "\n".join(filter(None, [shown, kept_script]))


def _error(run: _Run) -> str:
    """Return the error: why the first test failed, or the most telling line of the output."""
    if run.tests and run.tests.has_failed and run.tests.reason:
        return one_line(run.tests.reason, 300)
    # A read-only command that fails has found nothing; its last line is no error.
    return error_line(run.steps, run.output) or ("" if run.only_looks else failures.last_line(run.output))
