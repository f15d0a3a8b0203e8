"""Find in a rule's text what a tool call can show: commands, options, files, texts; and what is forbidden.

Pure. Evidence is what the text gives as code and what this project's commands were; polarity is told by
`rule_phrases`. What guard these come to stands in `guarding`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from claude_mem_lite.capture.guards import LONG_OPTIONS
from claude_mem_lite.distill.phrases import ALWAYS, INSTEAD, NOT
from claude_mem_lite.learnings import rule_phrases as says
from claude_mem_lite.learnings.seen import SUBS, USUAL, WORDS
from claude_mem_lite.search.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.learnings.seen import Seen

    Part = Literal["command", "sub", "option", "file", "text", "operand", "host", ""]

_NO_BRANCH = STOP_WORDS | says.ANY_FOLDER | {"branch", "branche", "rama", "remote"}
_TOKEN = re.compile(
    r"`(?P<code>[^`]+)`|[\"“”](?P<quoted>[^\"“”]+)[\"“”]"
    r"|(?<=\S)(?P<end>[.!?;](?=\s|$))|(?P<word>(?:[^\s`\"“”,;().!?]|[.!?](?!\s|$)|(?<=\s)\.(?=\s))+)"
)
_JOINS = re.compile(
    r"[\s,/&(]*(?:and|or|nor|und|oder|noch|et|ou|ni|nem|y|o|e|en|of|i|lub|и|или|&|/|,)(?: d[eu])?[\s,(]*",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"\s*(?:$|[,.;)]|{_JOINS.pattern}(?!\w))", re.IGNORECASE)  # after one of several
_OPTION = re.compile(r"--?[A-Za-z][\w-]*(?:=\S+)?")
_PROGRAM = re.compile(r"[\w./~][\w./~+-]*")
_FILE = re.compile(
    r"[\w@.*-]*\.(?:json|ya?ml|toml|lock|md|sql|proto|ini|cfg|txt|xml|csv|sum|mod|tf|tfvars|snap|svg|html|css|py"
    r"|go|rs|rb|java|kt|swift|php|tsx?|jsx?|sh)|\.[\w.*-]{2,}|Makefile|Dockerfile"
)
_PATH = re.compile(r"(?=.*\w)(?:~|\.{1,2})?/?[\w@.*-]+(?:/[\w@.*-]+)*/?")
_HOST = re.compile(r"[a-z][\w-]*(?:\.[a-z][\w-]*)+|\d+(?:\.\d+){3}")
_HOSTS = re.compile(r"[a-z][\w-]*\*[\w-]*|\*[.-][\w.-]+")
_PLAIN = re.compile(r"[a-z][a-z0-9_-]+")
_FULL_WIDTH = str.maketrans("，。；：！？、", ",.;:!?,")
_CLAUSE, _NEAR = re.compile(r"[^,;.!?]*"), 3
_NEXT = re.compile(r"(?<!\w)(?:and|but|und|aber|sondern|et|mais|y|pero)\s*$")
_TRAILER = re.compile(r"(?!Commit)[A-Z]\w+(?:-[A-Z]?[a-z]+)+:?")
# After a sub-command that stands for itself: nothing that narrows it.
_ALONE = re.compile(r"\s*(?:$|[.,;:!?]|(?:without|unless|until|before)\s+(?!-))", re.IGNORECASE)


class Thing(NamedTuple):
    """What a rule names, in words, and whether it is forbidden; `sentence` is the sentence's number.

    `is_alone` says that nothing follows at once that would narrow it, `joined` that it goes with the one
    before.
    """

    kind: Part
    words: tuple[str, ...]
    sentence: int
    is_forbidden: bool
    is_alone: bool
    joined: bool


def things(text: str, seen: Seen) -> list[Thing]:
    """Return what a rule's text names, in its order."""
    text = re.sub(r"(?<=[，。；：！？、])", " ", text).translate(_FULL_WIDTH)
    tokens, is_of_hosts = list(_TOKEN.finditer(text)), says.HOST.search(text) is not None
    found: list[Thing] = []
    programs: list[Thing] = []  # words that may be programs
    sentence = at = start = begin = 0  # where what was named last ends, where the sentence begins
    while at < len(tokens):
        before = text[start : tokens[at].start()]
        same = found[-1] if found and found[-1].sentence == sentence else None
        row = _in_a_row(tokens[at : at + 6])
        kind, words, taken = _named(row, seen, is_left=_is_left(before, row[0]))
        if is_of_hosts and (_HOST if not kind else _HOSTS).fullmatch(words[0]):
            kind = "host"
        kind, words, taken = _with_sub((kind, words, taken), text, before, row, same, seen)
        kind, words = _as_meant(kind, words, text[begin : tokens[at].start()], row, same)
        if kind:
            span = (row[0].start(), row[taken - 1].end())
            thing, start = _judged((kind, words), text, (start, *span), same)
            if thing.is_forbidden and thing.joined and same and not same.is_forbidden:
                _forbid_list(found)
            found.append(thing._replace(sentence=sentence))
        elif row[0]["end"]:
            sentence, start, begin = sentence + 1, row[0].end(), row[0].end()
        elif word := _may_be_program(row[0], seen):
            is_left = says.turns_down(before, softly=True) and _LISTED.match(text, row[0].end()) is not None
            is_left |= bool(says.REPLACED.match(text, row[0].end() + 1) or says.GIVES_UP.search(before))
            is_taken = says.TAKES.search(before) and any(each.is_forbidden for each in (*found, *programs))
            if is_left or is_taken or word in seen.programs:
                programs.append(Thing("command", (word,), sentence, is_left, is_alone=True, joined=False))
        at += taken
    return _with_programs(found, programs)


def _judged(
    named: tuple[Part, tuple[str, ...]], text: str, at: tuple[int, int, int], same: Thing | None
) -> tuple[Thing, int]:
    """Return a thing with whether it is forbidden, and the end of what says so.

    `at` is where the thing before it ends, and its own start and end; `same` that thing, in one sentence.
    """
    kind, words = named
    before, start = text[at[0] : at[1]], at[2]
    is_alone = _ALONE.match(text, start) is not None and (
        kind != "sub" or _is_told_to_do(before, text[at[1] : at[2]])
    )
    joined = same is not None and _JOINS.fullmatch(before) is not None
    joined = joined and (before.strip() != "," or _LISTED.match(text, start) is not None)
    if same and same.is_forbidden and not joined and "," not in before and _narrows(kind, same):
        # never X with it; never X without it: needed
        is_forbidden = (says.WITHOUT if kind == "command" else NOT).search(before) is None
    elif same and (kind, same.kind) == ("sub", "operand") and "," not in before:
        is_forbidden = same.is_forbidden  # "niemals auf main pushen"
    else:
        clause = before.rpartition(",")[2]
        is_forbidden = same.is_forbidden if same and joined else says.forbids(clause)
        if not is_forbidden and (kind != "option" or same is None):
            after = _forbidden_after(text, start, is_file=kind == "file")
            is_forbidden, start = after > 0, max(after, start)
    return Thing(kind, words, 0, is_forbidden, is_alone, joined), start


def _narrows(kind: Part, same: Thing) -> bool:
    return kind == "option" or (kind, same.kind) == ("command", "sub")


def _with_sub(  # noqa: PLR0913, PLR0917  (what stands around the thing)
    named: tuple[Part, tuple[str, ...], int],
    text: str,
    before: str,
    row: Sequence[re.Match[str]],
    same: Thing | None,
    seen: Seen,
) -> tuple[Part, tuple[str, ...], int]:
    """Return a thing, "or destroy" with the program before it, a program that is run with what follows it."""
    kind, words, taken = named
    program = same.words[0] if same and same.kind == "command" and _JOINS.fullmatch(before) else ""
    if words[0] in seen.programs.get(program, ()):
        return "command", (program, words[0]), taken
    if kind == "command" and len(words) == 1 and says.RUN.search(before):
        more = _unknown_subs(row[1:3])
        if more and _LISTED.match(text, row[len(more)].end()):
            return kind, (*words, *more), 1 + len(more)
    return named


def _unknown_subs(tokens: Sequence[re.Match[str]]) -> tuple[str, ...]:
    """Return the words after a program that is run, () where one is none of its own: "npm audit fix"."""
    words = tuple(token["word"] or "" for token in tokens)
    is_sub = all(_PLAIN.fullmatch(word) and not word.endswith(("ly", "s")) for word in words)
    return words if is_sub and STOP_WORDS.isdisjoint(words) else ()


def _with_programs(found: list[Thing], programs: list[Thing]) -> list[Thing]:
    """Add the words that are programs by what their sentence says: one against another, or with an option."""
    added = []
    for each in programs:
        beside = [thing for thing in found if thing.sentence == each.sentence]
        commands = [thing for thing in beside if thing.kind == "command"]
        against = [thing for thing in (*commands, *programs) if thing.sentence == each.sentence]
        if (
            any(not thing.is_forbidden for thing in against)
            if each.is_forbidden
            else not commands and any(thing.kind == "option" for thing in beside)
        ):
            added.append(each)
    return sorted([*found, *added], key=lambda thing: thing.sentence)


def _forbid_list(found: list[Thing]) -> None:
    """Forbid all of a list of which the last is forbidden: "a and b must not be changed"."""
    for at in range(len(found) - 1, -1, -1):
        found[at] = found[at]._replace(is_forbidden=True)
        if not found[at].joined:
            return


def _in_a_row(tokens: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """Return the first tokens as far as nothing but a blank parts them: "grep, grep is slow" is one each."""
    parted = (at for at, (one, next_) in enumerate(pairwise(tokens), 1) if next_.start() - one.end() > 1)
    return tokens[: next(parted, None)]


def _is_left(before: str, token: re.Match[str]) -> bool:
    """Tell whether the words before turn a program down, or a word that may be one."""
    return says.turns_down(before, softly=token["word"] not in WORDS)


def _may_be_program(token: re.Match[str], seen: Seen) -> str:
    word = (token["word"] or token["code"] or "").strip("'’:")
    is_word = (word in WORDS and word not in USUAL) or (word in says.ANY_FOLDER and word not in seen.programs)
    return "" if is_word or not _PLAIN.fullmatch(word) or says.EDIT.fullmatch(word) else word


def _as_meant(
    kind: Part, words: tuple[str, ...], before: str, row: Sequence[re.Match[str]], same: Thing | None
) -> tuple[Part, tuple[str, ...]]:
    """Return what a thing is by the words around it; `before` is its sentence up to it."""
    word = words[0].strip("'’:") if len(words) == 1 else ""
    folder = (row[1]["word"] or "").strip("'’:") if len(row) > 1 else ""
    last = (before.split() or [""])[-1]
    if word and kind in {"", "operand", "text"} and _PATH.fullmatch(word):
        is_folder = says.FOLDER.fullmatch(folder) or says.FOLDER.fullmatch(last)
        is_named = is_folder and word.lower() not in STOP_WORDS | says.ANY_FOLDER
        is_edited = kind == "text" and word.islower() and says.EDIT.search(before)
        if is_named or (is_edited and says.forbids(before)):
            return "file", (word,)
    if same and same.words == ("git", "push") and word.lower() == "tags":
        return "option", ("--tags",)
    if (
        kind == "operand"
        and same is None
        and not any(says.spoken((each["word"] or "").lower()) for each in row)
    ):
        return "", words
    if same and same.words[:2] == ("git", "push") and _PLAIN.fullmatch(word) and word not in _NO_BRANCH:
        kind = "operand" if says.TOWARDS.fullmatch(_after(before, same)) else kind
    if kind == "operand" and not _has_deed(same, row):
        kind = ""
    if kind in {"file", "text"} and _PROGRAM.fullmatch(words[0].split()[0]) and says.RUN.search(before):
        is_script = "/" in words[0] or words[0].endswith((".sh", ".py", ".js", ".rb"))
        if kind == "text" or is_script:
            return "command", tuple(words[0].split())
    if says.FILES.fullmatch(folder) and (glob := _glob(kind, word)):
        return "file", (glob,)
    return kind, words


def _after(before: str, same: Thing) -> str:
    """Return what stands after a deed of git's, as far as it is one word."""
    found = [word.end() for word in re.finditer(r"\w+", before) if says.spoken(word[0].lower()) == same.words]
    return before[found[-1] :] if found else ""


def _has_deed(same: Thing | None, row: Sequence[re.Match[str]]) -> bool:
    """Tell whether a command stands before an operand, or a deed of git's after it: "auf main pushen"."""
    if same is None:
        return any(says.spoken((token["word"] or "").lower()) for token in row[1:])
    return same.kind in {"command", "sub", "operand"}


def _glob(kind: Part, word: str) -> str:
    """Return the glob of a kind of files, "" for none: ".md files", "markdown files"."""
    is_ending = kind == "file" and word.startswith(".") and _FILE.fullmatch(f"x{word}")
    return f"*{word}" if is_ending else says.ENDINGS.get(word.lower(), "")


def _is_told_to_do(before: str, word: str) -> bool:
    """Tell whether a sub-command is forbidden as a deed: "don't commit", not "… are not committed"."""
    is_verb = bool(says.spoken(word.strip("'’:"))) and not word.lower().startswith("committ")
    return is_verb and _ends_with(NOT, re.sub(r"\bever\s*$", "", before))


def _ends_with(pattern: re.Pattern[str], text: str) -> bool:
    return any(match.end() == len(text.rstrip()) for match in pattern.finditer(text))


def _forbidden_after(text: str, end: int, *, is_file: bool) -> int:
    """Return the end of what forbids the thing before it ("… is not allowed", "…, don't"), 0 for none."""
    found = NOT.match(text, end + 2) if is_file and text[end : end + 2] == ", " else None
    if found and (ALWAYS.match(text, end + 2) or "'" in found[0] or " " in found[0]):
        return found.end()  # "…, don't touch it", and no contrast: "…, not there"
    rest = _CLAUSE.match(text, end)
    stop = rest.end() if rest else end
    found = NOT.search(text, end, stop)
    is_near = found and len(text[end : found.start()].split()) <= _NEAR
    is_of_next = found and _NEXT.search(text, end, found.start())
    if found and is_near and not is_of_next and not INSTEAD.match(text, found.start()):
        return found.end()
    if replaced := says.REPLACED.match(text, end + 1):
        return replaced.end()
    return _kept_after(text, end) if is_file else 0


def _kept_after(text: str, end: int) -> int:
    """Return the end of the clause that says that the file before it is not changed, 0 for none."""
    for number, clause in enumerate(re.finditer(r"[^,.;!?:]+(?:[.](?=\S)[^,.;!?:]*)*", text[end:])):
        told = clause[0]
        if number and any(_is_thing(word) for word in told.split()):
            break
        is_of_it = not number or says.IT.search(told)
        is_edited = NOT.search(told) and says.EDIT.search(told) and is_of_it
        is_kept = says.KEEP_OUT.search(told) and is_of_it if number else says.KEPT.search(told)
        if is_edited or is_kept:
            return end + clause.end()
    return 0


def _is_thing(word: str) -> bool:
    return "`" in word or _FILE.fullmatch(word) is not None or "/" in word.strip("/")


def _named(  # noqa: PLR0911  (each is something that can be named)
    tokens: Sequence[re.Match[str]], seen: Seen, *, is_left: bool
) -> tuple[Part, tuple[str, ...], int]:
    """Return what the first tokens name, "" for nothing, and how many of them do."""
    if code := tokens[0]["code"] or tokens[0]["quoted"]:
        return *_in_quotes(tuple(code.split()), seen), 1
    word, *following = [(token["word"] or "").strip("'’:") for token in tokens]
    after = following[0] if following else ""
    if _OPTION.fullmatch(word):
        has_value = (word, after) in seen.values
        return "option", (f"{word} {after}" if has_value else word,), 1 + has_value
    if word in seen.programs:
        words = _with_subs(word, following, seen)
        if len(words) > 1 or is_left or (word in USUAL and word not in WORDS):
            return "command", words, len(words)
    lower = word.lower()
    option, dash, sub = lower.partition("-")
    if option in LONG_OPTIONS["git"] and (told := says.spoken(sub or after)):  # force-push, force push
        return "command", (*told, f"--{option}"), 1 if dash else 2
    if _is_file(word, seen):
        return "file", (word,), 1
    if told := says.spoken(lower):
        return "command" if told[2:] or _OPTION.fullmatch(after) else "sub", told, 1
    if word in seen.programs["git"] and _OPTION.fullmatch(after):
        return "command", ("git", word), 1
    if _TRAILER.fullmatch(word):
        return "text", (word,), 1
    return "operand" if word in seen.operands else "", (word,), 1


def _in_quotes(words: tuple[str, ...], seen: Seen) -> tuple[Part, tuple[str, ...]]:
    """Return what stands between backticks or quotation marks."""
    if not words:
        return "", ()
    if _OPTION.fullmatch(words[0]):
        return "option", (" ".join(words[:2]),)
    if len(words) == 1 and _is_file(words[0], seen):
        return "file", words
    is_command = words[0] in seen.programs or any(map(_OPTION.fullmatch, words[1:]))
    if not is_command or not _PROGRAM.fullmatch(words[0]):
        return "text", (" ".join(words),)
    # What stands for other words ends it.
    others = (
        at for at, word in enumerate(words) if not word.isascii() or word[0] in "<[{$|" or word == "..."
    )
    return "command", words[: next(others, None)]


def _with_subs(program: str, following: Sequence[str], seen: Seen) -> tuple[str, ...]:
    """Return a program's name with the sub-commands and options that follow it in a sentence."""
    words = [program]
    for word in following:
        known = (
            word in seen.programs[program]
            or (word in SUBS and len(words) == 1)
            or (word in seen.programs and word not in WORDS)
        )
        if not (_OPTION.fullmatch(word) or ((known or word == ".") and len(words) < 4)):  # noqa: PLR2004
            break
        words.append(word)
    return tuple(words)


def _is_file(word: str, seen: Seen) -> bool:
    """Tell whether a word is a file's name or a path, but for the project itself."""
    if not _PATH.fullmatch(word) or f"{seen.root}/".startswith(f"{word.rstrip('/')}/"):
        return False
    if _FILE.fullmatch(word.rpartition("/")[2]) or "*" in word or word.endswith("/"):
        return True
    return "/" in word and STOP_WORDS.isdisjoint(word.split("/"))
