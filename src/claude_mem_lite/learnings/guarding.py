"""Derive a guard from a rule's text: what the rule forbids or demands, as far as tool calls show it.

Where the text is not certain, the user says it with `--command`, `--file`, `--text` or `--message`. This
module also reads a project's guards, and finds the past calls that a guard would have noticed.
"""

import json
import re
from collections.abc import Iterable, Sequence

from claude_mem_lite.capture.guards import ANY, ASK, BRANCH, BUT, NEW, OLD, READER, REMIND, Call, Guard
from claude_mem_lite.distill.phrases import FROM_NOW_ON, NOT
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.learnings import rule_words
from claude_mem_lite.learnings.programs import Seen, files_of
from claude_mem_lite.learnings.rule_words import Thing, things
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage.models import Learning

_COMMITS = re.compile(r"\bcommit(?!ted)|\btrailer|\bsubject line", re.IGNORECASE)
_SCOPE = re.compile(r"(?<!\w)(?:in|under|inside|unter|dans|en|im)\W+(?:\w+\W+)?$", re.IGNORECASE)
_ON = re.compile(r"(?<!\w)(?:on|of|for|auf|von|für|sur|pour|de|sobre|para|su)\W+(?:\w+\W+)?$", re.IGNORECASE)
# The place of an exception to the rule.
_EXCEPT = re.compile(
    r"(?i)(?<!\w)(?:outside(?: of)?|except(?: in| for| under)?|außer\w*|fuera de|hors de"
    r"|(?:only|nur|solo) (?:in|under|inside|unter|en))(?: (?:the|our|den))? (?P<where>[\w./*-]+)"
)
_TOWARDS = re.compile(
    r"(?i)\W*(?:\w+ )?(?:to|on|onto|auf|nach|sur|vers|a|en) (?:(?:the|a|la|le|den|branch|branche|rama) )*"
    r"(?!the\b)([\w/-]+)"
)
_STRAIGHT = re.compile(
    rf"(?i)(?:straight|direct\w*) (?:to|on|into|auf|sur|a|en) ({'|'.join(filter(None, SHARED_BRANCHES))})\b"
)
_NEW = re.compile(r"(?<!\w)(?:new|neue\w*|nouve\w+|nuev\w+)(?!\w)", re.IGNORECASE)
_CREATE = re.compile(r"create|creating|creates|cré\w+|crear|crees", re.IGNORECASE)
_OLD = re.compile(r"(?i)(?<![\w/])(?:exist|existing|applied|old|bestehende\w*|exist[ae]nte?\w*)(?![\w/])")
_EDITS_IT = re.compile(
    rf"(?i)(?:{NOT.pattern})\s+(?:{rule_words.EDIT.pattern})(?:\s+(?:it|them|by hand))*\W*(?:$|[,.;])"
)
_IN, _PAIR = re.compile(r"\W*(?:files? |Dateien )?(?:in|under|inside|unter|dans|en) ", re.IGNORECASE), 2
_PASSIVE = re.compile(r"(?<!\w)(?:is|are|be|get|gets|sind|wird|werden|est|sont|son)(?!\w)", re.IGNORECASE)
_IN_TESTS = re.compile(r"(?i)\b(?:in|dans|en) (?:(?:the|our|unit|los|las|les) )*(?:tests?|specs?)\b")
# Prose only mentions code, so it is excluded unless the rule is about words (`_OF_WORDS`).
_PROSE = (f"{BUT}*.md", f"{BUT}*.mdx", f"{BUT}*.rst", f"{BUT}*.adoc")
_OF_WORDS = re.compile(r"(?i)[\"“”]|://|\b(?:docs|doku|readme|markdown|prose|words?|phrases?|links?|urls?)\b")
_ON_BRANCHES = ("commit", "push", "rebase", "merge")
_ALSO = {"git rebase": "git pull --rebase", "apt": "apt-get"}  # other names of the same command
_SHELLS = ("bash", "sh", "zsh")

# Formats of a commit message: https://www.conventionalcommits.org, a length, a ticket number.
_CONVENTIONAL = re.compile(r"\bconventional[\s-]commits?\b|\b(?:type|typ|tipo)\(\w+\)", re.IGNORECASE)
_LONG = re.compile(r"(?i)\b(\d{2,3})\s*-?(?:char|column|letter|zeichen|buchstab|cara[ct]t?|signe|lett?r)")
_TICKET = re.compile(r"(\[?)\b([A-Z][A-Z0-9]+)-(?:\d+|[NX#]+\b)\]?(:?)")
_PREFIX = re.compile(r"(?<![\w:/])([a-z]+):(?=[\s/,`\"'“”)]|$)")
_AND_SO_ON = re.compile(r"\betc|\busw|\.\.\.|…|and so on")
_IMPORT = re.compile(r"\b(?:import(?!an)|require)\w*", re.IGNORECASE)
# Other demands on a commit message: words in the rule, whether it forbids them, the pattern to match then.
_FORMS = (
    (r"\bperiod\b|\bfull stop|\btrailing dot|\bPunkt\b|\bpoint final|\bpunto\b", True, r"[^.]$"),
    (r"\bemojis?\b|\bgitmoji", True, "^[^\u2600-\u27bf\U0001f300-\U0001faff]*$"),
    (r"\blower[ -]?case|\bklein(?:geschr|buchst)|\bmin[uú]scul", False, "^[^A-Z]"),
)
_MENTION = re.compile(r"\b(?:mention|credit|erwähn|nenn|cite|mencion)\w*\s+((?i:claude|ai)\b|[A-Z]\w+)")

_EVIDENCE, _PAST = 1_000, 20_000  # newest calls that are read
# Limit for a regular expression that runs before each commit.
_MOST_QUANTIFIERS = 4
_QUANTIFIER = re.compile(r"(?<!\\)[*+{]")
_REPEATED_GROUP = re.compile(r"\)[*+{]|\\[1-9]|\(\?P=")


def guard_of(row: Learning) -> Guard:
    """Return the guard of a learning; it must have one."""
    return Guard(**json.loads(row.guard))


def on(project_dir: str) -> list[Learning]:
    """Return the current rules of a project that have a guard."""
    return [row for row in learning_rows.find(project_dir, state="current") if row.guard]


def possible(project_dir: str) -> list[tuple[Learning, Guard]]:
    """Return the active rules of a project that could have a guard, each with the guard derived from it."""
    rows, seen = [row for row in learning_rows.find(project_dir) if not row.guard], _seen_in(project_dir)
    return [(row, guard) for row in rows if (guard := derive(row.content, seen))]


def understood(row: Learning, project_dir: str) -> Guard:
    """Return the guard derived from a rule's text. Raises: ClaudeMemError if tool calls cannot show it."""
    if guard := derive(row.content, _seen_in(project_dir)):
        return guard
    raise ClaudeMemError(
        f"nothing in {row.id[:8]}'s words can be checked on a tool call: say what to look for, as in"
        f' `claude-mem learnings guard {row.id[:8]} --command "git push" --without "--force"`, or by --file,'
        " --text or --message"
    )


def _seen_in(project_dir: str) -> Seen:
    return Seen.of(
        (call.line for _, call in learning_rows.past_calls(project_dir, limit=_EVIDENCE)), project_dir
    )


def noticed(guard: Guard, project_dir: str) -> tuple[list[tuple[str, Call, str]], int]:
    """Return the past calls that a guard would have noticed (time, call, match), and the number of all."""
    calls = learning_rows.past_calls(project_dir, limit=_PAST)
    return [(at, call, found) for at, call in calls if (found := guard.broken_by(call))], len(calls)


def given(message: str, **lists: Sequence[str]) -> Guard:
    """Return the guard that the user's options describe. Raises: ClaudeMemError if it cannot be checked."""
    if (lists["without"] or lists["needs"]) and not lists["commands"]:
        raise ClaudeMemError("--without and --with need a command: give it with --command")
    if any(not word.strip() or "\n" in word for words in lists.values() for word in words):
        raise ClaudeMemError("the text to look for is empty or has several lines")
    try:
        re.compile(message)
    except re.error as error:
        raise ClaudeMemError(f"{message!r} is not a regular expression: {error}") from error
    if len(_QUANTIFIER.findall(message)) > _MOST_QUANTIFIERS or _REPEATED_GROUP.search(message):
        raise ClaudeMemError(
            f"{message!r} may take too long before each commit: use no repeated group and at most"
            f" {_MOST_QUANTIFIERS} quantifiers"
        )
    return Guard(REMIND, message, **lists)


def derive(text: str, seen: Seen) -> Guard | None:
    """Return the guard derived from a rule's text; None if tool calls can show nothing of it."""
    text = FROM_NOW_ON.sub("", text).lstrip(" ,:")  # `from now` is not an import
    told: list[tuple[str, list[Thing]]] = []
    for sentence in rule_words.sentences(text):
        programs = [each.words[0] for _, named in told for each in named if each.kind == "command"]
        told.append((sentence, things(sentence, seen, "".join(programs[-1:]))))
    if _COMMITS.search(text):
        texts = [each for _, named in told for each in named if each.kind == "text" and each.is_forbidden]
        if unwanted := [each.words[0].rstrip(":") for each in texts] or _unwanted(text):
            return Guard(commands=["git commit"], without=unwanted)
        has_option = any(each.kind == "option" for _, named in told for each in named)
        if form := "" if has_option else _form(text):
            return Guard(message=form)
    guard = Guard(ASK if rule_words.ASK.search(text) else REMIND)
    for sentence, named in told:
        if guard.texts or not guard.files:
            _take(guard, sentence, named, seen)
    if "git push" in guard.commands and "--force" in guard.without and "--force" not in text:
        guard.without.append("--force-with-lease")
    guard.commands += [_ALSO[each] for each in guard.commands if each in _ALSO]
    shared = _STRAIGHT.search(text)
    if shared and NOT.search(text[: shared.start()]) and not guard.commands:
        guard.commands, guard.without = ["git push", "git commit"], [f"{BRANCH}{shared[1]}"]
    guard.files = _marked(guard, text)
    guard.allowed += [each for one in guard.commands for each in re.findall(rf"\b{re.escape(one)}\d\b", text)]
    pairs = [sorted((each, one), key=len) for each in guard.allowed for one in guard.commands]
    within = {word for short, long in pairs if f"{long} ".startswith(f"{short} ") for word in (short, long)}
    guard.allowed = [each for each in guard.allowed if each not in {"python", *within}]
    return Guard(**guard.as_json()) if guard.commands or guard.files or guard.texts else None


def _marked(guard: Guard, text: str) -> list[str]:
    """Return a guard's file globs, marked as new or old; a guard on code excludes prose files."""
    if guard.texts:
        is_anywhere = {each for each in guard.files if not each.startswith(BUT)} <= {"*"}
        return ["*", *guard.files, *_PROSE] if is_anywhere and not _OF_WORDS.search(text) else guard.files
    edits = rule_words.EDIT.findall(text)
    is_new = _NEW.search(text) or (edits and all(map(_CREATE.fullmatch, edits)))
    mark = OLD if _OLD.search(text) else NEW if is_new else ""
    return [glob if glob.startswith(BUT) else f"{mark}{glob}" for glob in guard.files]


def _unwanted(text: str) -> list[str]:
    """Return the name that a commit message must not mention, in a list; [] for none."""
    return [found[1] for found in _MENTION.finditer(text) if NOT.search(text[: found.start()])][:1]


def _form(text: str) -> str:
    """Return the pattern that a rule demands of commit messages, "" for none; "^" is a subject's start."""
    prefixes = dict.fromkeys(_PREFIX.findall(text))
    if _CONVENTIONAL.search(text) and (len(prefixes) <= 1 or _AND_SO_ON.search(text)):
        return r"^[a-z]+(\([^)]*\))?!?: \S"
    if len(prefixes) > 1:
        return rf"^({'|'.join(prefixes)})(\([^)]*\))?!?: ?\S"
    if ticket := _TICKET.search(text):
        opens, name, colon = ticket.groups()
        return rf"^\[{name}-\d+\]" if opens else rf"{'^' if colon else ''}\b{name}-\d+{colon}"
    if long := _LONG.search(text):
        return rf"^.{{1,{long[1]}}}$"
    is_denied = NOT.search(text) is not None
    forms = (form for said, denies, form in _FORMS if denies == is_denied and re.search(f"(?i){said}", text))
    return next(forms, "")


def _take(guard: Guard, sentence: str, named: list[Thing], seen: Seen) -> None:
    """Add to a guard what one sentence says about commands, or else about code, files or options."""
    has_file = any(thing.kind == "file" for thing in named)
    is_with_option = any(thing.kind == "option" for thing in named)
    commands = [thing for thing in named if thing.kind == "command"] or [
        thing for thing in named
        if thing.kind == "deed" and (
            (has_file or not _PASSIVE.search(thing.before)) if thing.is_forbidden else is_with_option
        )
    ]  # fmt: skip
    for command, rest in _with_rest(named, commands):
        if not command.is_forbidden and any(each.is_forbidden for each in commands):
            guard.allowed.append(" ".join(command.words))  # the command to run instead
        else:
            _take_command(guard, command, rest)
    if guard.commands:
        return
    down, is_replaced = rule_words.replaced(sentence)
    options = [each.words[0] for each in named if each.kind == "option" and each.is_forbidden]
    if down and _IMPORT.search(sentence):
        _take_replaced(guard, down, seen)
    elif texts := _texts(sentence, named, down):
        guard.texts += texts
        guard.files = guard.files or _scope(sentence, named)
    elif left := _left_alone(sentence, named):
        guard.files += left
    elif down and (is_replaced or any(not each.is_forbidden for each in commands)):
        _take_replaced(guard, down, seen)
    elif named_in_full := [option for option in options if option.startswith("--")]:
        guard.commands, guard.without = ["*"], named_in_full


def _left_alone(sentence: str, named: list[Thing]) -> list[str]:
    """Return the globs of files that a sentence forbids to change."""
    files = [each for each in named if each.kind == "file"]
    forbidden = [glob for each in files if each.is_forbidden for glob in each.words]
    is_kept = any(each.search(sentence) for each in (rule_words.EDIT, rule_words.KEPT, rule_words.KEEP_OUT))
    if forbidden and is_kept:
        is_in = len(files) == len(forbidden) == _PAIR and _IN.fullmatch(files[1].before)
        return [f"{forbidden[1].rstrip('/')}/**/{forbidden[0]}"] if is_in else forbidden
    excepted = _excepted(sentence) if files else []
    is_left = excepted or _EDITS_IT.search(sentence)
    return [each.words[0] for each in files if "/" not in each.words[0] and is_left] + excepted


def _take_replaced(guard: Guard, words: Iterable[str], seen: Seen) -> None:
    """Add programs that others have replaced; one that was never run may also be a library."""
    for word in words:
        guard.commands.append(word)
        if word not in seen.programs:
            guard.commands += [f"* install {word}", f"* add {word}"]
            guard.texts += [f"import {word}", f"from {word}", f'"{word}": "^']
            guard.texts += [f"{says}{quote}{word}" for says in ("from ", "require(") for quote in "'\""]


def _texts(sentence: str, named: list[Thing], words: list[str]) -> list[str]:
    """Return the texts that a sentence forbids in code.

    `words` are plain words that it rejects; they count as code if the sentence says in which files.
    """
    texts = [each for each in named if each.kind == "text" and each.is_forbidden]
    given = [re.sub(r"\.{3}|…", "*", each.words[0]) for each in texts]
    is_code = _scope(sentence, named) and not rule_words.EDIT.search(sentence)
    return given or [word for word in words if is_code and not word.endswith("s")]  # no code: "no mocks"


def _excepted(sentence: str) -> list[str]:
    """Return globs of the files that a sentence excepts; "outside of tests" excepts files with that name."""
    found = (each["where"].rstrip(".") for each in _EXCEPT.finditer(sentence))
    return [BUT + (each if re.search(r"[/.*]", each) else f"*{each.rstrip('s')}*") for each in found]


def _scope(sentence: str, named: list[Thing]) -> list[str]:
    """Return globs of the files and languages that a sentence applies to."""
    files = [each.words[0] for each in named if each.kind == "file" and _is_scope(each.before)]
    excepted = _excepted(sentence)
    scope = [each for each in files if f"{BUT}{each}" not in excepted] + files_of(sentence)
    if not scope and not excepted and _IN_TESTS.search(sentence):
        return ["*test*", "*Test*", "*.spec.*", "*_spec.*"]
    return [*(scope or ["*"] * len(excepted)), *excepted]


def _is_scope(before: str) -> bool:
    """Tell whether the words before a file make it the rule's scope; not in "no X, it belongs in Y"."""
    clause = rule_words.BREAK.split(before)[-1]
    return bool(_SCOPE.fullmatch(clause.lstrip()) or (clause == before and _SCOPE.search(before)))


def _with_rest(named: list[Thing], commands: list[Thing]) -> list[tuple[Thing, list[Thing]]]:
    """Return a sentence's commands, each with its options and operands: after it, or before the first.

    Those after the last command of a list belong to all: "a and b always with -x".
    """
    parts: list[tuple[list[Thing], list[Thing]]] = []
    before: list[Thing] = []
    for thing in named:
        if thing not in commands:
            (parts[-1][1] if parts else before).append(thing)
        elif parts and thing.joined and not parts[-1][1]:
            parts[-1][0].append(thing)
        else:
            parts.append(([thing], [] if parts else before))
    return [(command, rest) for listed, rest in parts for command in listed]


def _take_command(guard: Guard, command: Thing, rest: list[Thing]) -> None:
    """Add what a rule says about one command; `rest` are its options and operands."""
    own = [word for word in command.words if word != "--" and (word.startswith("-") or word == ".")]
    plain = [word for word in command.words if not word.startswith("-") and word != "."]
    if own and rest and rest[0].kind == "option" and rest[0].joined and not command.is_forbidden:
        own, rest = [f"{own[0]}|{rest[0].words[0]}"], rest[1:]
    if "|" in plain:
        at = plain.index("|")
        plain, own = plain[:at], [f"{READER}{' '.join(dict.fromkeys([*plain[at + 1 :], *_SHELLS]))}"]
    options = [each for each in rest if each.kind == "option"]
    needed = [each for each in _needed(options) if each not in own]
    is_led_to = rule_words.BY.fullmatch(command.before.lstrip())  # "no DROP TABLE through psql"
    without = [each.words[0] for each in (rest if is_led_to else options) if each.is_forbidden]
    files = [each for each in rest if each.kind == "file"]
    line = " ".join(plain)
    if line == "git commit" and any(each.is_forbidden for each in (*files, command) if files):
        guard.commands += ["git add", line]
        guard.without += [each.words[0] for each in files]
    elif command.is_forbidden:
        if not any(rule_words.WITHOUT.search(each.before) for each in options):
            is_bare = len(plain) > 1 and rule_words.BARE.search(command.before)
            needed = [ANY] if is_bare else []  # other options belong to the alternative that the rule gives
        without = own + without or ([] if needed else _operands(command, plain[1:2], rest))
        is_asked = rule_words.ASK.search(f"{command.before} {command.after}")
        if without or needed or command.kind == "command" or command.is_end or is_asked:
            guard.commands.append(line)
            guard.without += without
            guard.needs += needed
    elif without:
        guard.commands.append(line)
        guard.without += without
    elif any(each.kind == "text" and _ON.search(each.before) for each in rest):
        return  # the rule is about one operand, which a guard cannot express
    elif (own or needed) and not rule_words.forbids(rule_words.BREAK.split(command.before)[-1]):
        subs = [word for word in plain[1:] if re.fullmatch(r"[a-z][\w-]*", word)]
        guard.commands.append(" ".join([plain[0], *subs, *own * bool(needed)]))  # "--no-edit with --amend"
        guard.needs += needed or own
    else:
        guard.allowed.append(line)


def _operands(command: Thing, sub: list[str], rest: list[Thing]) -> list[str]:
    """Return the operands that narrow a forbidden command: a branch, a file, a quoted text."""
    is_led_to = bool(rest) and rest[-1].after == command.before and rule_words.BREAK.search(command.before)
    near = [each for each in rest if not is_led_to and not rule_words.BREAK.search(each.before)]
    given = [each.words[0] for each in near if each.kind in {"text", "file"}]
    if sub and sub[0] in _ON_BRANCHES:
        words = re.findall(r"[\w/-]+", f"{command.before} {command.after}")
        towards = _TOWARDS.match(command.after)
        shared = [word for word in words if word in SHARED_BRANCHES]
        given = [f"{BRANCH}{name}" for name in shared or given or ([towards[1]] if towards else [])]
    return given


def _needed(options: list[Thing]) -> list[str]:
    """Return the options that a sentence demands; alternatives are joined as in "-n|--name"."""
    needed: list[str] = []
    for option in (each for each in options if not each.is_forbidden):
        either = f"{needed.pop()}|" if option.joined and needed else ""
        needed.append(f"{either}{option.words[0]}")
    return needed
