"""Find and parse the notes that Claude Code itself keeps on a project. Reads them, never writes them.

A note is Markdown below a header of `name: value` lines (name, description, type). MEMORY.md lists the notes,
and the client loads its first lines at every start. All of it is untrusted text with a loose format.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from claude_mem_lite.capture import own_file
from claude_mem_lite.storage import timeline
from claude_mem_lite.text import clean, sentences

INDEX = "MEMORY.md"
INDEX_LINES = 200  # the client loads this many
FEEDBACK = "feedback"
RULE_CHARS = 300

_MOST_BYTES = 256 << 10
_MOST_NOTES = 500
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# The reason for a rule, from its label to the end of the note.
_REASON = re.compile(
    r"^\s*(?:[-*]\s+)?\**(?:why|how to apply|reason)\b.*", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_TITLE = re.compile(r"^\s*#{1,6}\s.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """One note: its file name, its kind ("" for none), its description, and its text below the header."""

    file: str
    kind: str
    description: str
    body: str

    @property
    def rule(self) -> str:
        """The note's rule without its reason: whole sentences, at most 300 characters."""
        told = ""
        body = _REASON.sub("", _TITLE.sub("", self.body))
        for sentence in sentences(body.strip() or self.description):
            if len(told) + len(sentence) >= RULE_CHARS:
                break
            told = f"{told} {sentence}".strip()
        return told


def folders(project_dir: str) -> list[str]:
    """Return the existing folders in which the client may keep its notes on a project; symlinks are left out.

    Looks beside and in the folder of the project's newest transcript, then in this environment's own.
    """
    slug = re.sub(r"[^A-Za-z0-9]", "-", project_dir)
    transcript = os.path.dirname(timeline.transcript_path(project_dir))
    own = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    found = [os.path.join(os.path.dirname(transcript), slug), transcript] if transcript else []
    found.append(os.path.join(own, "projects", slug))
    listed = dict.fromkeys(os.path.join(folder, "memory") for folder in found)
    return [folder for folder in listed if os.path.isdir(folder) and not os.path.islink(folder)]


def index_lines(project_dir: str) -> list[str]:
    """Return the first lines of a project's MEMORY.md, which the client loads at every start."""
    for folder in folders(project_dir):
        if text := _text(os.path.join(folder, INDEX)):
            return text.splitlines()[:INDEX_LINES]
    return []


def notes(project_dir: str) -> Iterator[Note]:
    """Yield the client's notes on a project, sorted by name within each folder."""
    for folder in folders(project_dir):
        for name in sorted(os.listdir(folder))[:_MOST_NOTES]:
            if name.endswith(".md") and name != INDEX:
                text = _text(os.path.join(folder, name))
                if text.strip():
                    yield parsed(name, text)


def parsed(name: str, text: str) -> Note:
    """Parse a file's text into a note; without a header all is body, and the file name may give the kind."""
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
    """Return the beginning of a file that this user owns; "" if it is missing, a link or somebody else's."""
    try:
        with own_file.opened(path) as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
