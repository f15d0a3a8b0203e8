"""Whether two learnings say the same, contradict each other or are on different things, by their words. Pure.

For where there is no embedding model, and for the contradiction that no distance between vectors shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from claude_mem_lite.distill.rivals import RIVALS
from claude_mem_lite.search.words import STOP_WORDS, lemma

Relation = Literal["same", "contradicts", "other"]

SAME_SHARE = 0.66  # of the words of two texts together, from which on they say the same
_SAME_SHARE_IF_BOTH_ADD = 0.75
_READ = 1_200
_LONGEST_SLOT = 4
_SHORT_CLAIM = 4
_FEWEST_NAMED = 2
_KEPT = 2_048  # texts whose reading is kept: a candidate is held against all that is known
_SHORTEST_STEMMED = 4  # of what ends with "s": DNS is no plural

# What every learning says of everything: it tells of no matter.
_GENERIC = frozenset(
    """also always avoid allow allowed been being directly don dont don't do either else ever everything fine
    from go goes going gone instead just keep keeps live lives lie lies longer make makes may must need
    needs never no nor not now off ok okay one ones only onto our over own please prefer put puts rather
    should shall so some stand stands than that's them there via too use used uses using want wants well
    what whatever within without won't whenever every each all any both such up out into if but because
    since doesn't isn't aren't can't cannot mustn't you're we're we've place placed called named written
    write writes mean means able sure get gets""".split()  # noqa: SIM905  (reads as words)
)
# Nouns that a name is said with or without: WAL, WAL mode.
_CARRIERS = frozenset(
    lemma(word)
    for word in "mode module library package tool file format style command framework function class".split()  # noqa: SIM905
)
_OPPOSITES = frozenset(
    lemma(word)
    for word in "positive negative singular plural uppercase lowercase public private first last".split()  # noqa: SIM905
)
_NEED_CARRIER = {"single": "quote", "double": "quote"}

_TOKEN = re.compile(r"[^\W_][\w]*(?:[./:@+#-][\w]+)*|[-_.][\w][\w.-]*")
_NAME = re.compile(r"[._/:@#]|\d|^-")
_PLACE = re.compile(r"\b(?:in|inside|within|from|by)\s+(?P<where>\S.*)", re.IGNORECASE)
_REASON = re.compile(
    r"(?:\b(?:because|since|so that|so as|as it|as we|as they|otherwise|due to)\b|,\s*(?:like|as in|e\.g\."
    r"|such as)\b"
    r"|\b(?:like|e\.g\.) [\"'`]|(?<=\w\w):\s|\s[–—-]\s|\s\(|;\s*(?:it|that|this|they)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_ANNOUNCED = re.compile(
    r"^(?:we|it|that|this|i)(?:'ve| have|'s| has)?\s+(?:\w+\s+){0,2}?"
    r"(?:switched|changed|moved|went|decided|agreed)\b[^:]{0,20}:\s",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;.!](?=\s|$)|\s(?:but|while|whereas)\s|\sand\s(?=(?:never|not|no|don't|do not|always)\b)"
)
_NEGATION = re.compile(
    r"\b(?:never|no|not|don't|do not|dont|avoid|avoids|instead of|rather than|no longer|stop|stopped|dropped"
    r"|drop|without|mustn't|doesn't|cannot|can't)\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:(?:is|are|was|were|has been|have been)\s+(?:now\s+)?(?:forbidden|banned|not allowed|gone|removed"
    r"|dropped"
    r"|deprecated|no longer \w+|not \w+ any ?more|(?:now )?called|renamed(?: to)?|replaced (?:by|with)"
    r"|superseded by|moved (?:in)?to)"
    r"|(?:must|should|may|shall|can|need|is|are) ?(?:not|never) (?:to )?be \w+)\b",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    r"\b(?:(?:replace[ds]?|rename[ds]?|swap(?:ped)?)\s+(?P<old>.{1,120}?)\s+(?:by|with|to|for)"
    r"|(?:switched|switch|moved|migrated?|changed?|went)\s+(?:\w+\s+){0,3}?from\s+(?P<was>.{1,120}?)\s+to)\s",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:no|never|not|don't)\s+(?P<what>.{1,120}?)\s+(?:outside(?: of)?|except(?: in)?|anywhere but in"
    r"|unless in)\s+(?P<where>\S.*)"
    r"|(?P<that>.{1,120}?)\s+(?:is|are|may be|belongs?|goes|go|must|can be)?\s*only\s+(?:allowed\s+"
    r"|be used\s+|used\s+|be\s+)?"
    r"(?:in|inside|within)\s+(?P<there>\S.*)",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:use[sd]?|using|with|via|by|in|on|prefer|run|runs|switch|always|mode|fine|allowed|ok)\b",
    re.IGNORECASE,
)
_ALLOWED = re.compile(r"\b(?:allowed|fine|ok|okay|may|can|also|anywhere|everywhere)\b", re.IGNORECASE)
_DROPPED_IN_FRAMES = frozenset(
    [
        "a",
        "an",
        "the",
        "always",
        "must",
        "should",
        "shall",
        "be",
        "please",
        "now",
        "we",
        "you",
        "our",
        "to",
        "it",
        "also",
        "has",
        "have",
        "will",
        "all",
        "every",
        "each",
    ]
)
_MARKS = frozenset("is are be with on in at to from as by called named into = of".split())  # noqa: SIM905
_DESCRIBES = re.compile(r"(?:ed|able|ible|ing|ive|ful|ous|less|slow|fast|big|small|flaky|new|old)$")


@dataclass(frozen=True)
class _Claim:
    """What a text chooses and what it rejects; `elsewhere` is the one place where `rejected` is allowed."""

    chosen: tuple[str, ...]
    rejected: tuple[frozenset[str], ...]
    elsewhere: frozenset[str]
    text: str


def terms(text: str) -> list[str]:
    """Return what a text is about, in order and once each: stems of words, names of code as they stand."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text.replace("’", "'")[:_READ]):
        for word in _pieces(token.casefold()):
            if word not in STOP_WORDS and word not in _GENERIC and (len(word) > 1 or word.isdigit()):
                found[
                    word
                    if _NAME.search(word) or (word.endswith("s") and len(word) < _SHORTEST_STEMMED)
                    else lemma(word)
                ] = None
    return list(found)


def relation(old: str, new: str) -> Relation:
    """Tell whether `new` says the same as `old`, contradicts it, or is on something else; linear in both.

    It contradicts only where one rejects what the other chooses, or both choose different things in the same
    frame ("the port is …") or on the same matter among known rivals (npm, pnpm); in doubt it is `other`.
    """
    old, new = (" ".join(text[:_READ].replace("’", "'").split()) for text in (old, new))
    before, after = _claim(old), _claim(new)
    if _normal(old) == _normal(new):
        return "same"
    if before.elsewhere or after.elsewhere:
        return _of_exceptions(before, after)
    if _rejects(before, after) or _rejects(after, before):
        return "contradicts"
    if (
        _is_swapped(before, after)
        or _differ_in_one_slot(old, new, before, after)
        or _are_rivals(before, after)
    ):
        return "contradicts"
    return "same" if _say_the_same(before, after) else "other"


def names_differ(one: str, other: str) -> bool:
    """Tell whether each of two texts has a number or a name of code that the other has not."""
    first, second = ({term for term in terms(text) if _NAME.search(term)} for text in (one, other))
    return bool(first - second and second - first)


def _pieces(token: str) -> list[str]:
    """Return a token, or its parts where only hyphens join it."""
    token = token.strip(".:/-") if not token.startswith(("-", ".")) else token.rstrip(".:/-")
    if "-" in token and not token.startswith("-") and re.fullmatch(r"[a-z]+(?:-[a-z]+)+", token):
        return [token] if token.endswith("-case") else token.split("-")
    return [token] if token else []


def _normal(text: str) -> list[str]:
    return re.findall(r"[\w./-]*\w", text.casefold())


def _body(text: str) -> str:
    """Return a text without its reasons and examples, and without what announces it: "that changed: …"."""
    text = _ANNOUNCED.sub("", text)
    body = _REASON.sub("", text)
    return body if terms(body) else text


@lru_cache(maxsize=_KEPT)
def _claim(text: str) -> _Claim:
    body = _body(text)
    excepted = _EXCEPT.search(body)
    if excepted:
        what, where = excepted["what"] or excepted["that"], excepted["where"] or excepted["there"]
        return _Claim((), (frozenset(terms(what)),), frozenset(terms(where)), text)
    chosen: list[str] = []
    rejected: list[frozenset[str]] = []
    replaced = _REPLACE.search(body)
    if replaced:
        rejected.append(frozenset(terms(replaced["old"] or replaced["was"])))
        body = body[: replaced.start()] + " " + body[replaced.end() :]
    for clause in _CLAUSE.split(body):
        gone = _GONE.search(clause)
        if gone:
            subject = terms(clause[: gone.start()])
            tail = re.search(r"(?:no longer|be) (\w+)$", gone[0])
            rejected.append(frozenset([*subject, *(terms(tail[1]) if tail else [])]))
            chosen += terms(clause[gone.end() :])
            continue
        negation = _NEGATION.search(clause)
        if not negation:
            chosen += terms(clause)
            continue
        chosen += terms(clause[: negation.start()])
        rest = clause[negation.end() :]
        if negation[0].casefold() in {"instead of", "rather than"}:
            scope = re.search(r"\s(?:for|in|when|from now|at|on)\s", rest)
            rejected.append(frozenset(terms(rest[: scope.start()] if scope else rest)))
            chosen += terms(rest[scope.start() :]) if scope else []
        elif negation[0].casefold() == "no longer":
            rejected.append(frozenset(terms(clause)))
        else:
            rejected.append(frozenset(terms(rest)))
    return _Claim(tuple(dict.fromkeys(chosen)), tuple(filter(None, rejected)), frozenset(), text)


def _rejects(one: _Claim, other: _Claim) -> bool:
    """Tell whether one rejects, word for word, what the other chooses."""
    chosen = set(other.chosen)
    for phrase in one.rejected:
        bare = phrase - _CARRIERS or phrase
        if not bare <= chosen or phrase in other.rejected:
            continue
        name = next(iter(bare))
        if len(bare) >= _FEWEST_NAMED or _NAME.search(name):
            return True
        if len(chosen) <= _SHORT_CLAIM or _CHOICE.search(other.text):
            return True
    return False


def _of_exceptions(before: _Claim, after: _Claim) -> Relation:
    if before.elsewhere and after.elsewhere:
        if not before.rejected[0] & after.rejected[0]:
            return "other"
        return "same" if before.elsewhere & after.elsewhere else "contradicts"
    only, other = (before, after) if before.elsewhere else (after, before)
    if only.rejected[0] in other.rejected:
        return "contradicts"
    chosen = set(other.chosen)
    if not only.rejected[0] or not only.rejected[0] <= chosen or only.elsewhere & chosen:
        return "other"
    return "contradicts" if _ALLOWED.search(other.text) or _PLACE.search(other.text) else "other"


def _is_swapped(before: _Claim, after: _Claim) -> bool:
    return (
        before.chosen != after.chosen
        and sorted(before.chosen) == sorted(after.chosen)
        and len(set(before.chosen) & _OPPOSITES) >= _FEWEST_NAMED
    )


@lru_cache(maxsize=_KEPT)
def _frame(text: str) -> list[str]:
    body = _CLAUSE.split(_body(text), maxsplit=1)[0]
    tokens = [token.casefold().strip(".,:;!") for token in body.replace("`", "").split()]
    return [token for token in tokens if token and token not in _DROPPED_IN_FRAMES]


def _differ_in_one_slot(old: str, new: str, before: _Claim, after: _Claim) -> bool:
    """Tell whether two texts are one frame with different things after its "is", "in", "with" or the like."""
    first, second = _frame(old), _frame(new)
    shared = 0
    while shared < min(len(first), len(second)) and _alike(first[shared], second[shared]):
        shared += 1
    end = 0
    while end < min(len(first), len(second)) - shared and _alike(first[-1 - end], second[-1 - end]):
        end += 1
    slots = [words[shared : len(words) - end] for words in (first, second)]
    if not all(0 < len(slot) <= _LONGEST_SLOT for slot in slots) or not terms(" ".join(first[:shared])):
        return False
    if (bool(before.rejected) and not before.chosen) or (bool(after.rejected) and not after.chosen):
        return False
    names = [terms(" ".join(slot)) for slot in slots]
    if (
        not all(names)
        or set(names[0]) & set(names[1])
        or any(_NEGATION.search(" ".join(slot)) for slot in slots)
    ):
        return False
    if all(slot[0].strip("`").replace(".", "").replace(",", "").isdigit() for slot in slots):
        return True
    return _are_exclusive(first[shared - 1], slots)


def _are_exclusive(mark: str, slots: list[list[str]]) -> bool:
    """Tell whether only one of two things can stand after the word that marks the slot."""
    if mark not in _MARKS or any(slot[0] in _MARKS for slot in slots):
        return False
    if _is_path(slots[0][-1]) != _is_path(slots[1][-1]):
        return False
    return mark not in {"is", "are", "be"} or all(_is_thing(slot) for slot in slots)


def _is_path(word: str) -> bool:
    return "/" in word or bool(re.search(r"\w\.\w", word))


def _is_thing(slot: list[str]) -> bool:
    """Tell whether what stands after "is" names a thing of which there is one, and is no quality of many."""
    if _DESCRIBES.search(slot[0]) or _DESCRIBES.search(slot[-1]):
        return False
    return len(slot) > 1 or slot[0].endswith("s") or bool(_NAME.search(slot[0]))


def _alike(one: str, other: str) -> bool:
    return one == other or lemma(one) == lemma(other)


def _are_rivals(before: _Claim, after: _Claim) -> bool:
    """Tell whether both choose different members of a group of rivals, on the same matter."""
    first, second = set(before.chosen), set(after.chosen)
    for group in RIVALS:
        one, other = first & group, second & group
        if not one or not other or one & second or other & first:
            continue
        if carrier := _NEED_CARRIER.get(next(iter(one))):
            if lemma(carrier) in first & second:
                return True
            continue
        mine, theirs = _roots(first - one), _roots(second - other)
        if not mine or not theirs or mine & theirs:
            return True
    return False


def _roots(found: set[str]) -> set[str]:
    """Return terms, a file also by its name without the ending."""
    return found | {lemma(term.rsplit("/", 1)[-1].split(".")[0]) for term in found if "." in term} - {""}


def _say_the_same(before: _Claim, after: _Claim) -> bool:
    first, second = set(before.chosen), set(after.chosen)
    if set(before.rejected) & set(after.rejected) and (not first or not second or first & second):
        return True
    if bool(first) != bool(second):
        return False
    if not first:
        first, second = set().union(*before.rejected), set().union(*after.rejected)
    both, added = first & second, (first - second, second - first)
    if not both:
        return False
    share = len(both) / len(first | second)
    if all(added):
        names = any(_NAME.search(term) for term in added[0] | added[1])
        return share >= _SAME_SHARE_IF_BOTH_ADD and not names
    return share >= SAME_SHARE or (
        not added[1] and len(both) >= _FEWEST_NAMED and len(both) * 2 >= len(first)
    )
