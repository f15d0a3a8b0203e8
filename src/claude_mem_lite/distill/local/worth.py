"""Which observations are kept for search alone: a block that has little room can leave them out. Pure."""

import re

# What only was read, an import, a test run or a check in which all was well.
_READ = re.compile(r"^(?:Import |Read [^;]*$)")
_TOOLS = frozenset({"Read", "NotebookRead", "Edit", "MultiEdit"})
_PASSED = re.compile(r"(?::|^) (?:\d[\d,]* (?:passed|skipped|xfailed)(?:, )?)+$")
_CLEAN = re.compile(
    r": “[^”]*(?:\b(?:no|0|zero) (?:issues?|errors?|problems?|warnings?|vulnerabilities|failures?)\b"
    r"|\ball (?:checks|files|tests|matched files)\b|\bBUILD SUCCESS|\bunchanged\b)[^”]*”$",
    re.IGNORECASE,
)


def is_minor(title: str, tool_name: str) -> bool:
    """Tell whether an observation of a tool says nothing that another session must know."""
    if tool_name == "Bash":
        return bool(_PASSED.search(title) or _CLEAN.search(title))
    return tool_name in _TOOLS and _READ.match(title) is not None
