"""Cases that are kept as text: what goes in and what comes of it, in the files of tests/data."""

import tomllib
from typing import Any

from claude_mem_lite.distill.observation import Capture
from support.events import Event
from support.recorded import DATA


def load(name: str) -> dict[str, Any]:
    """Return what a file of tests/data says, by its path there without the ending."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def capture(case: dict[str, Any]) -> Capture:
    """Return the capture of a case: a call with its answer, one with its error, or an event by its fields."""
    fields = case.get("fields", {})
    if "event" in case:
        return Capture(case["event"], "", fields, "/shop")
    fields = {"tool_input": case["input"], **fields}
    if "error" in case:
        return Capture("PostToolUseFailure", case["tool"], fields | {"error": case["error"]}, "/shop")
    return Capture("PostToolUse", case["tool"], fields | {"tool_response": case.get("response")}, "/shop")


def of_event(event: Event, project_dir: str = "/shop") -> Capture:
    """Return the capture of an event as a hook is sent it."""
    return Capture(event["hook_event_name"], event.get("tool_name", ""), event, project_dir)


def promise(case: dict[str, Any]) -> str:
    """Return what a case promises, or else the tool that it is about."""
    return str(case.get("promise") or case.get("tool") or case["event"])
