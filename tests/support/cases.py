"""Test cases kept as text in tests/data: inputs and their expected results."""

import tomllib
from typing import Any

from claude_mem_lite.distill.observation import Capture
from support.events import Event
from support.recorded import DATA


def load(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of tests/data, given its path there without the suffix."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def capture(case: dict[str, Any]) -> Capture:
    """Return the capture of a case: a call with its response, a failed call, or an event with fields."""
    fields = case.get("fields", {})
    if "event" in case:
        return Capture(case["event"], "", fields, "/shop")
    fields = {"tool_input": case["input"], **fields}
    if "error" in case:
        return Capture("PostToolUseFailure", case["tool"], fields | {"error": case["error"]}, "/shop")
    return Capture("PostToolUse", case["tool"], fields | {"tool_response": case.get("response")}, "/shop")


def of_event(event: Event, project_dir: str = "/shop") -> Capture:
    """Return the capture that a hook makes of an event."""
    return Capture(event["hook_event_name"], event.get("tool_name", ""), event, project_dir)


def promise(case: dict[str, Any]) -> str:
    """Return the promise of a case, or else its tool or event."""
    return str(case.get("promise") or case.get("tool") or case["event"])
