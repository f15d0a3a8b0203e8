"""Derive a guard from a rule's text: what it forbids or demands, as far as a tool call shows it. Pure."""

from __future__ import annotations

import re
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from claude_mem_lite.capture.guards import ASK, BRANCH, NEW, OLD, READER, REMIND, Guard
from claude_mem_lite.distill.phrases import NOT
from claude_mem_lite.learnings import commit_forms, rule_phrases
from claude_mem_lite.learnings.rule_words import things

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_mem_lite.learnings.rule_words import Thing
    from claude_mem_lite.learnings.seen import Seen

_COMMITS = re.compile(r"\bcommit", re.IGNORECASE)
_MODULE = ("python", "-m")
_CALL = re.compile(r"\w\(\)")
_CLAUSE = re.compile(r"(?:[^,;.!?。，]|[.](?=\S))+")
_DATABASES = ("psql", "mysql", "mariadb", "sqlite3")


def derive(text: str, seen: Seen) -> Guard | None:
    """Return the guard that a rule's text comes to, None where nothing in it can be seen in a call."""
    named = things(text, seen)
    if _COMMITS.search(text):
        said = [each.words[0].rstrip(":") for each in named if each.kind == "text" and each.is_forbidden]
        said = said or commit_forms.unwanted(text)
        if said:
            return Guard(commands=["git commit"], without=said)
        if form := commit_forms.pattern(text):
            return Guard(message=form)
    guard = Guard()
    for _, same in groupby(named, key=lambda thing: thing.sentence):
        _take(guard, list(same), seen, is_of_code=_CALL.search(text) is not None)
    if guard.without:
        guard.needs = []  # what is said beside it is how to do it instead
    if guard.commands and rule_phrases.PIPED.search(text):
        guard.without = [f"{READER}bash sh zsh"]
    if "git commit" in guard.commands and any(word.startswith(BRANCH) for word in guard.without):
        guard.commands.append("git push")
    if age := rule_phrases.OLD.search(text) or rule_phrases.NEW.search(text):
        guard.files = [f"{OLD if age.re is rule_phrases.OLD else NEW}{glob}" for glob in guard.files]
    _take_others(guard, text, [thing.words[0] for thing in named if thing.kind == "file"])
    guard.allowed = [each for each in guard.allowed if not any(map(f"{each} ".startswith, guard.commands))]
    if not guard.commands and not guard.files:
        _take_idiom(guard, text)
    guard.mode = ASK if rule_phrases.ASK.search(text) else REMIND
    return Guard(**guard.as_json()) if guard.commands or guard.files or guard.texts else None


def _take_others(guard: Guard, text: str, files: list[str]) -> None:
    """Add the other ways to do what is forbidden, and what runs a program, and what code must not have."""
    if "git rebase" in guard.commands and not guard.without:
        guard.commands.append("git pull --rebase")
    _take_wrapper(guard, text)
    _take_code(guard, text, files)


def _take_wrapper(guard: Guard, text: str) -> None:
    """Add what a rule says of programs that are to be run by another: `bundle exec` for rspec."""
    found = rule_phrases.RUN_BY.search(text)
    if found and not guard.commands and not guard.files:
        guard.commands = re.findall(r"[\w-]+(?<!\band)(?<!\bor)", found["each"] or found["only"])
        guard.allowed = [found["by"] or found["with"]]


def _take_code(guard: Guard, text: str, files: list[str]) -> None:
    """Add the text that a rule forbids in code, or in what a database is told to do."""
    texts = [] if guard.commands or rule_phrases.EXCEPT.search(text) else _forbidden_code(text)
    if texts and all(map(str.isupper, texts)) and rule_phrases.RUN.search(text.partition(texts[0])[0]):
        guard.commands, guard.without = [*_DATABASES], texts
    elif texts and not any(each in file for each in texts for file in files):
        guard.texts, guard.files = texts, files + rule_phrases.files_of(text)


def _forbidden_code(text: str) -> list[str]:
    texts: list[str] = []
    for clause in _CLAUSE.finditer(text):
        for code in rule_phrases.CODE.finditer(clause[0]):
            before, after = clause[0][: code.start()], clause[0][code.end() :]
            is_forbidden = rule_phrases.forbids(before if before.strip() else code[0]) or NOT.search(after)
            if is_forbidden and code.lastgroup:
                texts.append(re.sub(r"\.{2,3}|…", "*", code[code.lastgroup].strip()))
    return texts


def _take_idiom(guard: Guard, text: str) -> None:
    """Add what a rule says of an option in words."""
    if branch := rule_phrases.PROTECTED.search(text):
        guard.commands, guard.without = ["git push"], [f"{BRANCH}{branch[1]}"]
        return
    for command, option, told in rule_phrases.IDIOMS:
        if found := re.search(told, text, re.IGNORECASE):
            guard.commands.append(command)
            (guard.without if rule_phrases.forbids(text[: found.start()]) else guard.needs).append(option)
            return


def _take(guard: Guard, named: list[Thing], seen: Seen, *, is_of_code: bool) -> None:
    """Add to a guard what one sentence forbids or demands; what code says is not what files are changed."""
    is_said = any(thing.kind == "command" for thing in named)
    is_forbidden = False
    for commands, rest in _parts(named, is_said=is_said):
        files = [thing for thing in rest if thing.kind == "file"]
        for command in commands:
            is_forbidden |= command.is_forbidden
            _take_command(guard, command, rest, seen, files=files)
    forbidden = [thing.words[0] for thing in named if thing.is_forbidden and thing.kind in {"file", "host"}]
    options = [thing.words[0] for thing in named if thing.is_forbidden and thing.kind == "option"]
    hosts = [thing.words[0] for thing in named if thing.is_forbidden and thing.kind == "host"]
    hosts += [option for option in options if option.startswith("--")]  # whatever it is given to
    if hosts and not guard.commands:
        by = [" ".join(thing.words) for thing in named if thing.kind == "command"]
        guard.allowed = [each for each in guard.allowed if each not in by]
        guard.commands, guard.without = by or ["*"], hosts
    elif not is_of_code and not guard.without and not is_forbidden:
        guard.files += forbidden


def _parts(named: list[Thing], *, is_said: bool) -> list[tuple[list[Thing], list[Thing]]]:
    """Return the commands of a sentence, those of a list together, each with what belongs to it.

    Where a command is named (`is_said`) a deed of git's counts only as one of several forbidden things.
    """
    parts: list[tuple[list[Thing], list[Thing]]] = []
    before: list[Thing] = []
    for thing, next_ in zip_longest(named, named[1:]):
        is_listed = thing.is_forbidden and thing.is_alone and (next_ is None or next_.is_forbidden)
        is_deed = thing.kind == "sub" and (not is_said or is_listed)
        if thing.kind != "command" and not is_deed:
            (parts[-1][1] if parts else before).append(thing)
        elif thing.joined and parts and not parts[-1][1]:
            parts[-1][0].append(thing)
        else:
            parts.append(([thing], before))
            before = []
    return parts


def _take_command(guard: Guard, command: Thing, rest: list[Thing], seen: Seen, *, files: list[Thing]) -> None:
    """Add what a rule says of one command, `rest` being the options and operands that belong to it."""
    if command.words[:2] == _MODULE and not command.is_forbidden:
        guard.allowed.append(" ".join(command.words))
        return
    options = [thing for thing in rest if thing.kind == "option"]
    forbidden = [thing.words[0] for thing in options if thing.is_forbidden]
    needed = _needed(thing for thing in options if not thing.is_forbidden)
    own = [word for word in command.words if word.startswith("-")]
    if own and needed and options[0].joined and not command.is_forbidden:
        own, needed = [*own[:-1], f"{own[-1]}|{needed[0]}"], needed[1:]
    plain = [word for word in command.words if not word.startswith("-")]
    known = {*seen.programs, *seen.programs.get(plain[0], ())}
    subs = [word for word in plain[1:3] if word in known]
    is_kept_out = plain == ["git", "commit"] and any(each.is_forbidden for each in (*files, command) if files)
    if command.is_forbidden or is_kept_out:
        if command.words[2:] and [command.words[-2]] == own and command.words[-1] not in known:
            own, plain = [" ".join(command.words[-2:])], plain[:-1]
        forbidden = own + forbidden
        if not forbidden and not needed and len(plain) == len(subs) + 2:
            *plain, operand = plain
            forbidden = [operand]
        elif not forbidden and not needed:
            forbidden = _operands(plain, rest)
        if forbidden or needed or command.kind == "command" or command.is_alone:
            guard.commands += [*(["git add"] if is_kept_out else []), " ".join(plain)]
    elif own or needed or forbidden:
        needed = own + needed
        guard.commands.append(" ".join([plain[0], *subs]))
    else:
        guard.allowed.append(" ".join(plain))
    guard.without += forbidden
    guard.needs += needed


def _operands(plain: list[str], rest: list[Thing]) -> list[str]:
    to_branch = BRANCH if plain[1:2] in (["commit"], ["push"], ["rebase"]) else ""
    return [
        f"{to_branch if thing.kind == 'operand' else ''}{thing.words[0]}"
        for thing in rest
        if thing.kind in {"operand", "text", "file"}
    ]


def _needed(options: Iterable[Thing]) -> list[str]:
    """Return the options that a sentence demands, those of which one is enough as "-n|--name"."""
    needed: list[str] = []
    for option in options:
        either = f"{needed.pop()}|" if option.joined and needed else ""
        needed.append(f"{either}{option.words[0]}")
    return needed
