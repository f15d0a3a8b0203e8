"""Judge whether a user's sentence is a rule, may become one, or is neither. Pure.

A task says what to do now and names it; a rule says how things are done. No words tell the two apart for
certain, so signs are counted: one binding form ("always", "from now on") makes a rule, of other signs two do.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, islice

from claude_mem_lite.distill import phrases
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.distill.typed import (
    CONTENT_CHARS,
    SIGN,
    WORD,
    Sentence,
    is_how,
    is_question,
    is_short,
    sentences,
    without_lead,
)
from claude_mem_lite.text import SIGNS

MAX_STATED = 20
ACTIVE, CANDIDATE = 2, 1  # signs

_FIRST_WORDS = 3  # a binding word counts among these
_MOST_PLAIN = 12  # words of a rule without signs
# Characters of a prompt in which a sentence with one sign, or with none, can be a candidate; a longer prompt
# is about the work at hand, or has a paste in it.
_MOST_SAID, _MOST_SAID_PLAINLY = 400, 150
_FEWEST_TERMS = 2  # terms of a general sentence
_QUOTED = re.compile(r"\"[^\"]*\"?|[“«][^”»]*[”»]?")
_CLAUSE = re.compile(r"[,:]\s|\s[–—-]\s")
# "always in UTC"
_MANNER = re.compile(r"\s+(?:in|en|em|auf|po|als|como|comme|come|as|на|по)\s", re.IGNORECASE)
# One particular thing: a number (but not in "line length is 100"), a quotation, an address, a call.
_ONE_THING = re.compile(
    r"(?:#|\b(?:line|pr|issue|step|option) )\d|\b\d{4,}\b"
    r"|(?<![\w.])(?<!\b(?:is|at) )(?<![a-z]{4} )\d++(?!\s?[^\W\d])|[\"\u201c\u201d«»]"
    r"|https?:|\w@\w|\w\((?!\))",
    re.IGNORECASE,
)
_AND = re.compile(
    r"(?:,\s*(?:(?:and|und|et|en|och|og|oraz|[yeiи])\s+)?|\s+(?:and|und|et|en|och|og|oraz|[yeiи])\s+)$"
)
_PLEASE = re.compile(r"\b(?:please|pls|plz|bitte|por favor|per favore|s'il te plaît)\s+", re.IGNORECASE)
_ADDRESS = re.compile(r"https?:|\w@\w|\w\((?!\))")
# Too few words for a rule, a line of output, or a report of something that fails.
_REPORT = re.compile(
    rf"[!-\u04ff]+(?: [!-\u04ff]+)?$|[{SIGNS}\W]{{1,7}}$|[^\w`]|.*\b(?:fail\w*|\w+ing)$|.*[{{}}]"
)
# Names of code, files and products; "end-to-end" may be one.
_CODE = re.compile(
    r"`[^`\n]+`|[\w.-]*/[\w./-]+|\w+\.[a-z]{1,4}\b|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+_\w[\w-]*"
)
_NAME = re.compile(rf"{_CODE.pattern}|\b\w+-\w[\w-]*")


@dataclass(frozen=True, slots=True)
class Stated:
    """The user's own words, at most 300 characters, and the number of signs that they are a rule."""

    content: str
    signs: int


def stated(text: str, *, is_refusal: bool = False, is_known: Callable[[str], bool] = bool) -> list[Stated]:
    """Return the parts of a prompt that may be worth keeping, in order; [] for text that the client wrote.

    The sentences of a brief prompt with a rule are kept as one, since those beside a rule give its scope and
    its reason. `is_refusal` is whether the user said it while rejecting a tool call or a plan. `is_known`
    tells whether an earlier session knows a name: a name new to this session is the object of a task.
    """
    said: list[Stated] = []
    before, is_brief = "", len(text) <= _MOST_SAID_PLAINLY
    for sentence in sentences(text):
        content, said_before = _without_task(without_lead(f"{sentence.prefix}{sentence.text}")), before
        before = ""
        if sentence.asks or _is_for_once(content):
            continue
        if said_before and _binds_what_it_follows(content):
            said[-1] = Stated(said_before, ACTIVE)
            continue
        signs = 0
        if is_short(content):
            before = content
            signs = _signs(content, sentence, is_refusal=is_refusal, is_known=is_known)
            signs = signs or int(is_brief and _has_plain_part(content))
        said.append(Stated(content, signs if signs == ACTIVE or len(text) <= _MOST_SAID else 0))
    kept = list({each.content.casefold(): each for each in said if each.signs}.values())
    if (is_refusal or is_brief) and any(each.signs == ACTIVE for each in kept):
        beside = said if is_refusal else [*dropwhile(_is_apart, kept)]
        whole = ". ".join(each.content for each in beside)
        if len(whole) <= CONTENT_CHARS:
            kept = [*(each for each in kept if each not in beside), Stated(whole, ACTIVE)]
    return kept[:MAX_STATED]


def _without_task(content: str) -> str:
    """Return a sentence without the task before its rule: "fix the typo and always run ruff"."""
    rule = phrases.ALWAYS.search(content)
    task = _AND.search(content, 0, rule.start()) if rule and content[rule.end() :].strip() else None
    is_task = task and (_is_deed(content) or phrases.AGAIN.search(content, 0, task.start()))
    return content[task.end() :] if task and is_task else content


def _is_apart(said: Stated) -> bool:
    """Tell whether a sentence before a prompt's rule is a separate task: no rule, and forbids nothing."""
    return said.signs < ACTIVE and not phrases.NOT.match(said.content)


def _signs(content: str, sentence: Sentence, *, is_refusal: bool, is_known: Callable[[str], bool]) -> int:
    if sentence.is_rule or _binds(content):
        return ACTIVE
    rest = phrases.IN_PROJECT.sub("", content)
    if not _is_general(rest) or is_question(rest):
        return 0
    if _is_ours(content) or _is_said_again(content) or _is_of_all(rest):
        signs = ACTIVE
    else:
        ought, denies = phrases.OUGHT.search(rest), phrases.DENIES.match(rest)
        signs = (is_refusal or denies is not None) + (rest != content) + (ought is not None)
        if not any(each.match(content) for each in (phrases.TOLD_OF, phrases.THE)):
            rest, times = phrases.ALWAYS.subn("", rest)
            signs += times  # later in a sentence "always" may tell of what happens
        rest = rest.replace(ought[0], "", 1) if ought else rest
        signs += phrases.HOW.search(rest) is not None if signs > is_refusal else is_how(rest)
    return min(ACTIVE if all(map(is_known, _NAME.findall(content))) else CANDIDATE, signs)


def _is_of_all(content: str) -> bool:
    """Tell whether a clause is about all things of a kind and names code, or forbids a thing in a place."""
    return any(
        phrases.NONE_IN.match(each) or (phrases.EVERY.match(each) and _CODE.search(content))
        for each in _CLAUSE.split(content)
    )


def _is_general(content: str, fewest_terms: int = _FEWEST_TERMS) -> bool:
    """Tell whether a text is about things that later sessions will know, not about things in view."""
    one = phrases.POINTS.search(content) or phrases.POINTS_EARLY.match(content) or _ONE_THING.search(content)
    return not one and not phrases.HEDGES.match(content) and len(terms(content)) >= fewest_terms


def _is_plain(content: str) -> bool:
    """Tell whether a short text without signs may say how things are done: "lint with ruff"."""
    rest = phrases.IN_PROJECT.sub("", content)
    if phrases.TOLD_OF.match(rest) or _is_deed(rest) or is_question(rest) or phrases.AGAIN.search(rest):
        return False
    if (_REPORT.match(rest) and not phrases.HOW.search(rest)) or (
        phrases.THE.match(rest) and phrases.NOT.search(rest)
    ):
        return False
    return is_short(rest, _MOST_PLAIN) and _is_general(rest, 1)


def _is_deed(content: str) -> bool:
    """Tell whether a sentence requests one action: "fix the build", "ci failed please fix"."""
    return any(map(phrases.DEED.match, _PLEASE.split(content)))


def _has_plain_part(content: str) -> bool:
    """Tell whether a sentence or a clause of it may say, without signs, how things are done."""
    parts = _CLAUSE.split(content)
    is_task = _is_deed(content) or phrases.HEDGES.match(content) or any(map(is_question, parts))
    is_one = phrases.POINTS.search(content) or _ADDRESS.search(content)
    if is_task or is_one:
        return _is_plain(content)
    is_change = phrases.CHANGES.search(content) is not None and not phrases.THE.match(content)
    return _is_plain(content) or any(_is_plain(each) and (is_change or is_how(each)) for each in parts)


def _binds(content: str) -> bool:
    content = _QUOTED.sub("", content)
    if phrases.FROM_NOW_ON.search(content):
        return True
    if any(each.match(content) for each in (phrases.TOLD_OF, phrases.THE, phrases.HEDGES, phrases.OUGHT)):
        return False
    places = [*_first_words(content), *_edges(content)]
    found = next(filter(None, (_always(content, at) for at in places)), None)
    found = found or next(
        (each for each in phrases.ALWAYS.finditer(content) if _MANNER.match(content, each.end())), None
    )
    # "next time too" names nothing that the rule is about
    return found is not None and len(terms(content)) > len(terms(found[0]))


def _always(content: str, at: int) -> re.Match[str] | None:
    """Return the "always" word at a place; None if it is a complaint: "always this error"."""
    found = phrases.ALWAYS.match(content, at)
    is_complaint = found and phrases.SAME.match(content[found.end() :].lstrip())
    return None if is_complaint else found


def _binds_what_it_follows(content: str) -> bool:
    """Tell whether a sentence makes the one before it a rule: "always like that", "I said so"."""
    if phrases.SAID_BEFORE.match(content) and not _is_said_again(content):
        return True
    rest = clause = _CLAUSE.split(content)[0]
    points = (phrases.LIKE_THAT, phrases.POINTS, phrases.POINTS_BACK)
    for each in (phrases.FROM_NOW_ON, phrases.ALWAYS, *points):
        rest = each.sub("", rest)
    if terms(rest) or (phrases.NOT.search(clause) and not phrases.ALWAYS.fullmatch(clause)):
        return False
    if phrases.ALWAYS.fullmatch(clause):
        return True
    if phrases.FROM_NOW_ON.search(clause):
        return any(each.search(clause) for each in points)
    is_told = phrases.TOLD_OF.match(clause) is not None
    return not is_told and None not in (phrases.LIKE_THAT.search(clause), phrases.ALWAYS.search(clause))


def _is_said_again(content: str) -> bool:
    """Tell whether a sentence repeats an earlier demand and states it: "I said no mocks"."""
    found = phrases.SAID_BEFORE.match(content)
    return found is not None and bool(terms(content[found.end() :]))


def _edges(content: str) -> Iterator[int]:
    """Yield the positions of each clause's last word and later clauses' first words, except in reports."""
    start = 0
    for edge in _CLAUSE.finditer(content):
        yield max(start, content.rfind(" ", start, edge.start()) + 1)
        start = edge.end()
        if not phrases.TOLD_OF.match(content[start:]):
            yield start
    if not phrases.TOLD_OF.match(content[start:]):
        yield max(start, content.rfind(" ") + 1)


def _first_words(content: str) -> Iterator[int]:
    for word in islice(WORD.finditer(content), _FIRST_WORDS):
        yield from range(word.start(), word.end() if SIGN.match(word[0]) else word.start() + 1)


def _is_ours(content: str) -> bool:
    is_reason = phrases.ON_PURPOSE.search(content) is not None and not phrases.DEED.match(content)
    return is_reason or phrases.OURS.search(content) is not None


def _is_for_once(content: str) -> bool:
    rest = phrases.FROM_NOW_ON.sub("", content)
    holds = _is_ours(content) or phrases.CHANGES.search(content) is not None
    return phrases.ONCE.search(rest) is not None or (not holds and phrases.NOW.search(rest) is not None)
