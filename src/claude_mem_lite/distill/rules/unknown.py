"""Describe tools without a rule of their own: MCP tools, new tools, and most tools' failures."""

import json

from claude_mem_lite.distill.observation import Capture, Observation, Skip
from claude_mem_lite.distill.rules import fields
from claude_mem_lite.distill.rules.evidence import telling_lines
from claude_mem_lite.distill.rules.failures import decisive_line, exit_code, last_line
from claude_mem_lite.quoting import named, quoted
from claude_mem_lite.text import clean, clip, one_line, relative, unique

_INPUTS_READ = 40
_INPUTS_SHOWN = 4
_TELLING_INPUTS = frozenset(
    {"query", "title", "url", "subject", "file_path", "path", "name", "command", "text"}
)
_TEXT_ANSWERS = ("stdout", "output", "result", "text", "message")
_PATH_INPUTS = ("file_path", "notebook_path", "path")


def observe(capture: Capture) -> Observation | Skip:
    """Describe a call by the tool's name, its main inputs, and the beginning of its answer."""
    inputs = _inputs(capture)
    answer = _answer(capture).strip()
    if not capture.tool_name or not (inputs or answer):
        return Skip("a tool call without content")
    lines = telling_lines(answer)
    lead = f"Call {_name(capture)}{_main_input(inputs)}"
    listed = one_line(", ".join(inputs), 400)
    told = f"Called {_name(capture)}{f' with {listed}' if inputs else ''}."
    first = f"Answer: {quoted(one_line(lines[0], 300))}" if lines else "No answer."
    summary = f"{told} {first}"
    detail = clip("\n".join(lines), 1_000) if len(lines) > 1 else None
    return Observation(one_line(lead), summary, detail, _files(capture))


def observe_failure(capture: Capture) -> Observation | Skip:
    """Describe a failed call by its main input and its error."""
    _, error = exit_code(fields.text(capture.payload, "error"))
    if not error.strip():
        return Skip("a failure without a message")
    inputs = _inputs(capture)
    target = _main_input(inputs)
    said = decisive_line(error) or last_line(error)
    title = one_line(f"Fail to call {_name(capture)}{target}: {quoted(said)}")
    summary = f"{_name(capture)}{target} failed: {quoted(one_line(error, 500))}"
    return Observation(title, summary, None, _files(capture))


def _main_input(inputs: list[str]) -> str:
    """Return " with " and the most telling input; "" if there is none."""
    told = [each for each in inputs if each.partition(" ")[0] in _TELLING_INPUTS] or inputs
    return f" with {told[0]}" if told else ""


def _name(capture: Capture) -> str:
    """Return "github create_issue" for mcp__github__create_issue."""
    server, separator, tool = capture.tool_name.removeprefix("mcp__").partition("__")
    if capture.tool_name.startswith("mcp__") and separator:
        return f"{named(clean(server))} {named(clean(tool))}"
    return named(one_line(clean(capture.tool_name), 60))


def _inputs(capture: Capture) -> list[str]:
    """Return the first four plain inputs, each as its name and its value."""
    given = fields.value(capture.payload, "tool_input")
    pairs = list(given.items())[:_INPUTS_READ] if isinstance(given, dict) else []
    shown = [
        f"{named(one_line(clean(str(name)), 40))} {one_line(clean(str(content)), 120)}"
        for name, content in pairs
        if isinstance(content, str | int | float) and content != ""
    ]
    return shown[:_INPUTS_SHOWN]


def text_answer(capture: Capture) -> str:
    """Return the tool's answer if it is text, under any of the usual keys; else ""."""
    response = fields.value(capture.payload, "tool_response")
    texts = (fields.text(response, key) for key in _TEXT_ANSWERS)
    return fields.answer(capture) or next(filter(None, texts), "")


def _answer(capture: Capture) -> str:
    response = fields.value(capture.payload, "tool_response")
    text = text_answer(capture)
    if text or not isinstance(response, dict | list) or not response:
        return text
    try:
        return clean(json.dumps(response, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        return ""


def _files(capture: Capture) -> tuple[str, ...]:
    return unique(relative(fields.argument(capture, key), capture.project_dir) for key in _PATH_INPUTS)
