"""Cases that are kept as text: what goes in and what comes of it, in the files of tests/data."""

from __future__ import annotations

import tomllib
from typing import Any

from claude_mem_lite.distill.observation import Capture
from support.recorded import DATA


def load(name: str) -> dict[str, Any]:
    """Return what a file of tests/data says, by its path there without the ending."""
    return tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))


def capture(case: dict[str, Any]) -> Capture:
    """Return the capture of a case: a call with its answer, one with its error, or an event by its fields."""
    if "event" in case:
        return Capture(case["event"], "", case["fields"], "/shop")
    payload = {"tool_input": case.get("input")}
    if "error" in case:
        payload["error"] = case["error"]
        return Capture("PostToolUseFailure", case["tool"], payload, "/shop")
    return Capture("PostToolUse", case["tool"], payload | {"tool_response": case.get("response")}, "/shop")
