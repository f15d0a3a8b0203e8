"""Commands whose output is a secret by the command, whatever it looks like, and those that only look so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import cases

from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.redaction.printers import printer_of

WEAK = "spring otter lamp"  # looks like anything
COMMANDS = cases.load("redaction/commands")


def call(command: str, **fields: Any) -> str:
    """Return the JSON text of a Bash call."""
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    return json.dumps(event | fields)


@pytest.mark.parametrize("command", COMMANDS["secret"])
def test_what_a_command_prints_goes_by_the_command(command: str) -> None:
    """A secret that looks like three words is withheld; that the command ran is not."""
    response = {"stdout": f"{WEAK}\n", "stderr": "", "isImage": False}

    stored = scrub(call(command, tool_response=response))

    assert WEAK not in stored
    event = json.loads(stored)
    assert event["tool_response"]["stdout"] == f"[redacted: output of {printer_of(command)}]"
    assert event["tool_response"]["isImage"] is False


@pytest.mark.parametrize("command", COMMANDS["harmless"])
def test_what_only_looks_like_such_a_command_keeps_its_output(command: str) -> None:
    """Help, lists, names, copies and what goes to another program or a file stay as they are."""
    event = call(command, tool_response={"stdout": f"{WEAK}\n", "stderr": ""})

    assert scrub(event) == event


def test_why_such_a_command_failed_is_kept() -> None:
    """Of a failure only lines of one word go: one may be the secret, an error has blanks."""
    event = call("op read op://a/b/c", error="Exit code 1\nhunter2\n[ERROR] could not find item b in vault a")

    stored = json.loads(scrub(event))

    assert stored["error"] == (
        "Exit code 1\n[redacted: output of op]\n[ERROR] could not find item b in vault a"
    )


def test_a_text_for_the_model_is_withheld_too() -> None:
    """A batch tells the output as a text; it goes like the fields of a single call."""
    one = {"tool_name": "Bash", "tool_input": {"command": "pass show a"}, "tool_response": WEAK}

    stored = scrub(json.dumps({"hook_event_name": "PostToolBatch", "tool_calls": [one]}))

    assert json.loads(stored)["tool_calls"][0]["tool_response"] == "[redacted: output of pass]"


@pytest.mark.parametrize(
    "unit", ["$(", "`", "'", '"', "\\", "echo $A_TOKEN ", "|", "sudo ", "a=$(b) ", "(", "${"]
)
def test_any_script_is_read_to_its_end(unit: str) -> None:
    """A hundred thousand characters of anything give an answer, whatever they open and do not close."""
    assert isinstance(printer_of(unit * (100_000 // len(unit))), str)
