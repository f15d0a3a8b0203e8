"""Lines about what sessions found out: commands that run or fail, what works instead, explanations given."""

import os.path
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from claude_mem_lite.context import shared
from claude_mem_lite.context.budget import Line, Said, Section, fill
from claude_mem_lite.context.past import FADES, Past
from claude_mem_lite.context.prompts import command_words
from claude_mem_lite.distill.calls import shape
from claude_mem_lite.distill.failing import signatures_in
from claude_mem_lite.distill.findings import RECURS, Finding, findings, rules_told
from claude_mem_lite.distill.rules.shell import steps
from claude_mem_lite.distill.settling import called, missing
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import names
from claude_mem_lite.distill.thread import Said as Statement
from claude_mem_lite.repository import work_of
from claude_mem_lite.storage import findings as finding_rows
from claude_mem_lite.storage.context import sessions
from claude_mem_lite.text import count

BUDGET_TOKENS = 200
LINES = 12

_CHARS = 400
_YOUNG = 20  # a project with fewer sessions is young
_COMMANDS = 8  # most commands in the line of commands run most
# A command's `cd` prefix, variables and rest; a prefix in less than this share of its runs is ignored.
_HOW, _SELDOM = re.compile(r"((?:cd \S+ && )?)((?:\w+=(?:\$\([^)]*\)|\S)* )*)(.+)"), 0.25
_FINDINGS = 20  # most findings that get a line
_COMMAND = re.compile(r"`([^`]+)`")
_SUBS = 2  # words of a sub-command, as in `gh pr create`
_JOINS = 3  # most letters of a conjunction
_INFLECTED = 4  # least letters of a name that may be inflected: "committen", "tests"
# Factor for a failure per session since that has not met it.
_FADES = 0.85
# Weight of a failure without a known cure, relative to one with a cure; and of a cure that is run most.
_NO_CURE, _TOLD = 0.3, 0.3
# Newest sessions that are searched for repeated explanations, and the most explanations that are shown.
_SESSIONS, _EXPLAINED = 60, 2
# An explanation given repeatedly will be needed again: "a new field of `A` has to be copied to `B`". Least
# sessions and pieces of work with statements that join a pair of names.
_JOINED, _WORKS, _TOGETHER = 3, 2, 0.6  # least share of the sessions naming either that join both
_MOST_NAMES, _SHORTEST = 4, 4  # most names of a statement (more are a list), least letters of a name


def recurring(past: Past) -> list[Line]:
    """Return one line per recurring failure with its cure; linter rules share a single line.

    A failure in one session only is included if the same call with something added worked, or if the project
    is young, so that little can have recurred; then only a similar call counts as its cure. Slips (calls that
    only look for something, `cd` to a folder that is not there) and cures that use something that is gone are
    left out. Cures that are among the commands run most weigh less.
    """
    is_young = len(past.sessions) < _YOUNG
    rows = past.failed
    most = _run_most(past, {row.shape for row in rows if not row.rule})
    told = {command for line in most for command in _COMMAND.findall(line.says)}
    cured = (each if each.is_sure or each.is_close else replace(each, works="") for each in findings(rows))
    found = [
        each
        for each in cured
        if (each.is_sure or (is_young and not each.rule))
        and each.last_at > past.since
        and (each.works or each.is_old or not each.rule)
        and not each.is_slip
        and not _is_gone(past, each.in_general.works, each.last_at)
    ]
    rules = [each for each in found if each.rule and not each.is_old]
    lines = [
        _line(past, each, each.in_general.says, share=_TOLD if each.works in told else 1.0)
        for each in found[:_FINDINGS]
        if each not in rules
    ]
    if rules:
        newest = max(rules, key=lambda each: each.last_at)
        lines.append(replace(_line(past, newest, rules_told(rules)), is_one_of_many=True))
    return [*most, *sorted([*lines, *_explained(past)], key=lambda line: -line.value)]


def with_failed(past: Past) -> Past:
    """Return a past with its failed calls, and the operands that programs missed and have not used since."""
    rows = finding_rows.known(past.project_dir)
    missed = missing(rows)
    for row in past.sessions if missed else ():
        for each in {pair for command in past.state(row).commands for pair in called(command)}:
            if missed.get(each, row.started_at) < row.started_at:
                del missed[each]
    return replace(past, failed=rows, missed=missed)


def as_before(
    past: Past, signatures: Collection[str], command: str, *, session_id: str, budget_tokens: int
) -> Section:
    """Return what worked in other sessions after a failure, or else that they met it, too.

    A rule of a linter or compiler that is broken again is no news, unless the place is the same.
    """
    section = Section("failure", "This has failed before")
    rows = finding_rows.known(past.project_dir, signatures=signatures, without=session_id)
    found = findings(rows, command=command)
    met = (each for each in found if not each.is_slip)
    same = [each for each in met if (each.signature in signatures if each.is_old else not each.rule)]
    cured = [each for each in found if each.works]
    lines = [_line(past, each, each.says) for each in cured or same]
    fill(section, lines or shared.as_before(past, signatures), budget_tokens=budget_tokens, said=Said())
    return section


def asked_for(past: Past, prompt: str, *, session_id: str, said: Said, budget_tokens: int) -> Section:
    """Return the cures of failures pasted into a prompt, or the known failures of commands that it names.

    At least half of the words of a prompt like "commit and push" must be sub-commands of commands with sure
    failures; otherwise the section has no lines.
    """
    section = Section("failure", "This has failed before")
    budget_tokens = min(budget_tokens, BUDGET_TOKENS)
    if pasted := signatures_in(prompt):
        rows = finding_rows.known(past.project_dir, signatures=pasted, without=session_id)
        lines = [_line(past, each, each.says) for each in findings(rows) if each.works]
        fill(section, lines, budget_tokens=budget_tokens, said=said)
        return section
    asked = command_words(prompt)
    found = findings(finding_rows.known(past.project_dir, without=session_id)) if asked else []
    named = {
        each: words
        for each in found[:_FINDINGS]
        if each.is_sure and not each.rule and not each.is_slip and (words := _named_in(asked, each.command))
    }
    called = set[str]().union(*named.values())
    # Conjunctions ("e", "und", "y") are not counted as words of a command.
    if named and 2 * len(called) >= len({word for word in asked if word in called or len(word) > _JOINS}):
        lines = [_line(past, each, each.says) for each in named]
        fill(section, lines, budget_tokens=budget_tokens, said=said)
    return section


def _named_in(asked: set[str], command: str) -> set[str]:
    """Return the words that name a command's sub-commands, or its program if it has none."""
    named = set[str]()
    for step in steps(command):
        subs = [word for word in step.operands[:_SUBS] if word.isascii() and word.replace("-", "").isalpha()]
        keys = [key.lower() for key in subs or [step.program]]
        named |= {word for word in asked if any(_is_form_of(word, key) for key in keys)}
    return named


def _is_form_of(word: str, name: str) -> bool:
    return word == name or (len(name) >= _INFLECTED and word.startswith(name))


def _is_gone(past: Past, command: str, at: str) -> bool:
    """Tell whether something that a command of time `at` names is gone: a recipe, a script, an option."""
    words = (word for step in steps(command) for word in step.words[1:] if not set(word) & set(" `"))
    names = (os.path.basename(part) for word in words for part in word.lstrip("-").split("="))
    return bool(past.gone(" ".join([*(f"`{name}`" for name in names if name), command]), at))


def _run_most(past: Past, failing: Collection[str]) -> list[Line]:
    """Return one line with the commands that several sessions ran, the most and most recently run first.

    Each has the folder in which it is usually run, and the fewest variables that the last session running it
    set. Commands whose shape is in `failing` have not worked since and are left out.
    """
    folders: defaultdict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))  # by command
    variables: dict[str, str] = {}
    met: defaultdict[str, set[str]] = defaultdict(set)
    for at, row in enumerate(past.sessions):
        given: dict[str, str] = {}
        for command in past.state(row).commands:
            how = _HOW.match(command)
            is_missed = past.missed and not called(command).isdisjoint(past.missed)
            if how is None or is_missed or shape(command) in failing:
                continue
            folder, its, words = how.groups()
            given[words] = min(given.get(words, its), its, key=len)
            folders[words][folder] += FADES**at
            met[words].add(row.id)
        variables = given | variables
    often = [words for words in folders if len(met[words]) >= RECURS and not _is_gone(past, words, "")]
    best = sorted(often, key=lambda words: -sum(folders[words].values()))[:_COMMANDS]
    if not best or past.since:
        return []
    row = past.sessions[0]
    says = ", ".join(f"`{_usual(folders[words])}{variables[words]}{words}`" for words in best)
    line = past.line(
        row.id, "observation", row.last_event_at, f"Run most here: {says}", weight=20.0,
        reason="commands run", chars=_CHARS,
    )  # fmt: skip
    return [replace(line, is_one_of_many=True)]


def _usual(folders: Mapping[str, float]) -> str:
    """Return the longest `cd` prefix that a command is often run with, "" if it is usually run without."""
    usual = [folder for folder, worth in folders.items() if worth >= _SELDOM * sum(folders.values())]
    return max(usual, key=lambda folder: (len(folder), folder))


def _explained(past: Past) -> list[Line]:
    """Return lines for explanations that the assistant gave in several sessions, in its own words."""
    rows = [] if past.since else sessions(past.project_dir, limit=_SESSIONS)
    told = explained([(work_of(row.id, row.branch), past.state(row)) for row in rows if row.state])
    return [
        past.line(
            said.row_id, "observation", said.at, f"Said in {count(times, 'session')}: {said.says}",
            weight=times, reason="explained before", chars=_CHARS,
        )
        for said, times in told[:_EXPLAINED]
        if not past.gone(said.text, said.at)
    ]  # fmt: skip


def _line(past: Past, found: Finding, says: str, *, share: float = 1.0) -> Line:
    since = sum(row.last_event_at > found.last_at for row in past.sessions)
    observed = finding_rows.observed(found.event_ids)
    opens = next((each for each in found.event_ids if each in observed), found.sessions[-1])
    weight = len(found.sessions) * _FADES**since * (share if found.works else _NO_CURE)
    return past.line(
        opens, "observation", found.last_at, says, weight=weight, reason=f"failed {found.times} times",
        chars=_CHARS, stands_for=found.event_ids,
    )  # fmt: skip


def explained(states: Sequence[tuple[str, State]]) -> list[tuple[Statement, int]]:
    """Return statements that join two names in several sessions, with the number of these, most first.

    `states` are the sessions' states, newest first, each with its piece of work: the branch or, on a shared
    branch, the session itself. Each statement is returned once.
    """
    files = {form for _, state in states for path in state.files for form in _forms(path)}
    spoken: defaultdict[str, set[int]] = defaultdict(set)
    joined: defaultdict[tuple[str, str], dict[int, Statement]] = defaultdict(dict)
    for at, (_, state) in enumerate(states):
        for said in state.statements:
            found = {name for name in names(said.text) if len(name) >= _SHORTEST and "/" not in name} - files
            for name in found:
                spoken[name].add(at)
            if not said.is_users and len(found) <= _MOST_NAMES:
                for pair in combinations(sorted(found), 2):
                    joined[pair].setdefault(at, said)
    best: dict[str, tuple[Statement, int]] = {}
    for pair, by_session in sorted(joined.items(), key=lambda each: -len(each[1])):
        either = spoken[pair[0]] | spoken[pair[1]]
        works = {states[at][0] for at in by_session}
        if len(by_session) >= _JOINED and len(works) >= _WORKS and len(by_session) >= _TOGETHER * len(either):
            said = max(by_session.values(), key=lambda said: len(said.says))
            best.setdefault(said.says, (said, len(by_session)))
    return list(best.values())


def _forms(path: str) -> tuple[str, str]:
    """Return the names of a file in statements: with its extension and without."""
    base = os.path.basename(path).lower()
    return base, base.partition(".")[0]
