"""Extract the search query from a prompt: drop greetings, pasted text and bare "continue". Pure."""

import re

from claude_mem_lite.distill.phrases import is_small_talk
from claude_mem_lite.search.words import function_words, words
from claude_mem_lite.text import UNPARTED

# Most of a long prompt is pasted text, whose end says what it is. Characters read from the start of the first
# paragraph and the end of each other one, of the query and of the prompt; lines of a paragraph of prose.
_HEAD, _TAIL, _MOST, _READ = 500, 200, 1_000, 50_000
_PROSE_LINES = 2
_COMMAND_WORDS = 8
_PARTS = re.compile(r"\n\s*\n|^```.*$", re.MULTILINE)
_TAGGED = re.compile(
    r"<(system-reminder|task-notification|ide_\w+|(?:local-command|bash)-\w+)>.*?(?:</\1>|\Z)", re.DOTALL
)
_COMMAND = re.compile(r"\A\s*/[\w:-]+(?=\s|\Z)")
_UNPARTED = re.compile(f"[{UNPARTED}]+")
_CLITIC = re.compile(r"(?<=\w)['\u2019](?:s|re|ve|ll|d|m)\b")
# Opening words that say what to do, not with what.
_LEAD = re.compile(
    r"(?:(?:add|also|can|change|could|create|give|help|i|implement|just|kindly|let|let's|make|me|need|next|now"
    r"|please|put|set|should|then|to|try|up|update|us|use|want|we|would|write|you)\b[\s,:]*)+",
    re.IGNORECASE,
)
# Further words of small talk and of requests without an object: a prompt of these and stop words alone says
# nothing to search for.
_CHATTER = frozenset(
    """agreed all also awesome correct fast fix hello help hey hi hm hmm just kindly lets like look make maybe
    more not one retry same see sorry start too undo up very wait way wow""".split()  # noqa: SIM905  (reads as words)
)


def question(prompt: str) -> str:
    """Return the search query of a prompt, at most 1,000 characters; "" if there is nothing to search for."""
    text = _CLITIC.sub("", _COMMAND.sub(" ", _TAGGED.sub(" ", prompt[:_READ]))).strip()
    parts = [part.strip() for part in _PARTS.split(text) if part.strip()]
    asked = "\n".join([*(part[:_HEAD] for part in parts[:1]), *map(_gist, parts[1:])])[:_MOST]
    lead = _LEAD.match(asked)
    telling = asked[lead.end() :] if lead else asked
    return next((each for each in (telling, asked) if _tells(each)), "")


def command_words(prompt: str) -> set[str]:
    """Return the significant words of a prompt of at most eight words, like "commit and push"; else none."""
    asked = words(_UNPARTED.sub(" ", question(prompt)))
    return set() if len(asked) > _COMMAND_WORDS else {word for word in asked if not _is_chatter(word)}


def _gist(part: str) -> str:
    """Return the end of a further paragraph, only of its last line if it looks pasted."""
    lines = part.splitlines()
    return (lines[-1] if len(lines) > _PROSE_LINES else part)[-_TAIL:]


def _tells(text: str) -> bool:
    return not (is_small_talk(text) or all(map(_is_chatter, words(text))))


def _is_chatter(word: str) -> bool:
    return word in function_words() or word in _CHATTER or is_small_talk(word)
