"""Claude Code's own memory of a project: where its notes lie, and what stands in them. Read, never written.

A note is Markdown below a head of `name: value` lines (name, description, type); MEMORY.md lists the notes,
and the client loads its first lines at every start. All of it is untrusted text of a tolerant shape.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from claude_mem_lite.capture import own_file
from claude_mem_lite.storage import timeline
from claude_mem_lite.text import clean, sentences

INDEX = "MEMORY.md"
INDEX_LINES = 200  # so many of them the client loads
FEEDBACK = "feedback"
RULE_CHARS = 300

_MOST_BYTES = 256 << 10
_MOST_NOTES = 500
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# Where a rule ends and its reason begins.
_REASON = re.compile(
    r"^\s*(?:[-*]\s+)?\**(?:why|how to apply|reason)\b.*", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^\s*#{1,6}\s.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """One note: its file's name, its kind ("" where it says none), and what it says without its head."""

    file: str
    kind: str
    description: str
    body: str

    @property
    def rule(self) -> str:
        """What the note wants, without its reason, in at most 300 characters: whole sentences."""
        told = ""
        body = _REASON.sub("", _TITLE.sub("", self.body))
        for sentence in sentences(body.strip() or self.description):
            if len(told) + len(sentence) >= RULE_CHARS:
                break
            told = f"{told} {sentence}".strip()
        return told


def folders(project_dir: str) -> list[str]:
    """Return the folders in which the client may keep its notes on a project, without those that are none.

    Its folder of projects is that of the project's newest transcript, else the one of this environment.
    """
    slug = re.sub(r"[^A-Za-z0-9]", "-", project_dir)
    transcript = os.path.dirname(timeline.transcript_path(project_dir))
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    found = [os.path.join(os.path.dirname(transcript), slug), transcript] if transcript else []
    found.append(os.path.join(own, "projects", slug))
    listed = dict.fromkeys(os.path.join(folder, "memory") for folder in found)
    return [folder for folder in listed if os.path.isdir(folder) and not os.path.islink(folder)]


def index_lines(project_dir: str) -> list[str]:
    """Return what the client loads at every start of the notes on a project: the first lines of MEMORY.md."""
    for folder in folders(project_dir):
        if text := _text(os.path.join(folder, INDEX)):
            return text.splitlines()[:INDEX_LINES]
    return []


def notes(project_dir: str) -> Iterator[Note]:
    """Yield the client's notes on a project, by name."""
    for folder in folders(project_dir):
        for name in sorted(os.listdir(folder))[:_MOST_NOTES]:
            if name.endswith(".md") and name != INDEX:
                text = _text(os.path.join(folder, name))
                if text.strip():
                    yield parsed(name, text)


def parsed(name: str, text: str) -> Note:
    """Return a note from a file's text; what is no head is body, and a name may say the kind."""
    text = clean(text)
    head = _HEAD.match(text)
    said = {key.casefold(): value.strip("\"'") for key, value in _FIELD.findall(head[1])} if head else {}
    kind = said.get("type", "").casefold() or name.partition("_")[0].partition("-")[0].casefold()
    kinds = {"user", FEEDBACK, "project", "reference"}
    return Note(
        file=name,
        kind=kind if kind in kinds else "",
        description=said.get("description", ""),
        body=text[head.end() :] if head else text,
    )


def _text(path: str) -> str:
    """Return the beginning of a file of this user's; "" for none, and for a link."""
    try:
        with own_file.opened(path) as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
