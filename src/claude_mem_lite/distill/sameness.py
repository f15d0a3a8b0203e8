"""Compare two learnings by words and meaning: the same, a different rule on one matter, or neither. Pure.

A distance between vectors shows the matter, not the claim: "use tabs" is near "never use tabs". So near texts
are the same only if no word replaces another, and the newer replaces the older only if it says so.
"""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from claude_mem_lite.distill import phrases
from claude_mem_lite.search.words import STOP_WORDS, lemma

# "replaces": the newer says that the old no longer holds. "rivals": different rules on one matter; both may
# hold. "near": on one matter by their meaning, and one may contradict the other. "again": nothing tells the
# two apart; only a person knows whether they are one rule.
Relation = Literal["same", "replaces", "rivals", "near", "again", "other"]

SAME_SHARE = 0.6  # shared part of all words of two texts, from which on they say the same
_PART_SHARE = 0.5  # the same limit if the shorter text adds no word of its own
# Cosines. From NEAR on: the same, unless the words differ. Below _ALIKE: not the same. From _ON_ONE_MATTER,
# or with a shared word and a contradiction from _LOOSELY on: on one matter. Below _FAR: on different matters.
# Source: 296 labelled pairs, all-MiniLM-L6-v2.
NEAR, _ALIKE, _ON_ONE_MATTER, _LOOSELY, _FAR = 0.9, 0.65, 0.4, 0.35, 0.3
_MOST_SHARED = 2  # with this many shared words two texts are on one matter from _FAR on
_FRAME_SHARE = 0.5  # shared part of the words of two texts that differ in one place
_REJECTED_SHARE = 1 / 3  # part of the terms a text is for that another must be against to reject it
_LONGEST_SLOT = 3
_ORDER = frozenset({"first", "last"})  # with one of these, two texts can demand opposite orders
_READ = 1_200
_KEPT = 2_048  # texts in the cache: each candidate is compared with every known learning
_SHORTEST_STEMMED = 4  # letters of a word with a final "s"; a shorter one is no plural: DNS

# Words that occur in learnings on any matter.
_GENERIC = frozenset(
    """also always avoid allow allowed been being directly don dont don't do either else ever everything fine
    from go goes going gone instead just keep keeps live lives lie lies longer make makes may must need
    needs never no nor not now off ok okay one ones only onto our over own please prefer put puts rather
    should shall so some stand stands than that's them there via too use used uses using want wants well
    what whatever within without won't whenever every each all any both such up out into if but because
    since doesn't isn't aren't can't cannot mustn't you're we're we've place placed called named written
    write writes mean means able sure get gets anywhere everywhere anymore more""".split()  # noqa: SIM905  (reads as words)
)
_TOKEN = re.compile(r"[^\W_][\w]*(?:[./@+#-][\w]+)*|[-_.][\w][\w.-]*")
_NAME = re.compile(r"[._/@#]|\d|^-")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_REASON = re.compile(
    r"(?:\b(?:because|since|so that|otherwise|due to)\b|,\s*(?:like|as in|e\.g\.|such as)\b|(?<=\w\w):\s"
    r"|\s[–—-]\s|\s\(|;\s).*",
    re.IGNORECASE | re.DOTALL,
)
_CLAUSE = re.compile(r"[,;.!](?=\s|$)|\s(?:but|and|while|whereas)\s|[\u3001\u3002\uff0c\uff1b\uff01]")


class _Claim(NamedTuple):
    """The terms that a text is for, in order, and those it is against; `given_up` are all that it negates."""

    for_: tuple[str, ...]
    against: frozenset[str]
    given_up: frozenset[str]
    first: str


def terms(text: str) -> list[str]:
    """Return a text's terms in order, once each: stems of words, code names unchanged.

    For a script without spaces, each pair of adjacent characters is a term.
    """
    found: dict[str, None] = {}
    text = text.replace("\u2019", "'")[:_READ]
    for token in _TOKEN.finditer(text):
        is_code = text[token.start() - 1 : token.start()] == "`"
        for word in _pieces(token[0].casefold()):
            is_common = word in STOP_WORDS or word in _GENERIC
            if (is_code or not is_common) and (len(word) > 1 or word.isdigit()):
                is_short = word.endswith("s") and len(word) < _SHORTEST_STEMMED
                found[word if is_common or is_short or _NAME.search(word) else lemma(word)] = None
    return list(found)


def relation(old: str, new: str, cosine: float = 0.0, near: float = NEAR) -> Relation:
    """Return the relation of `new` to `old`; `cosine` (-1 to 1) is their similarity in meaning, 0 if unknown.

    From the cosine `near` on they count as the same, unless their words differ in an essential way. Whether
    two texts that are only on one matter can both hold, only a person can tell.
    """
    if _normal(old) == _normal(new):
        return "same"
    before, after = _claim(old), _claim(new)
    shared = _about(before) & _about(after)
    is_near = cosine >= (_FAR if len(shared) >= _MOST_SHARED else _ON_ONE_MATTER)
    if 0 < cosine < _FAR and not (is_near or len(shared) > _MOST_SHARED):
        return "other"
    if _are_apart(before, after):
        return "replaces" if _says_so(new, before, after) else "rivals"
    if (is_near or (shared and cosine >= _LOOSELY)) and _are_opposed(before, after, new):
        return "near"
    is_same = cosine >= near and bool(before.against) == bool(after.against)
    has_same_words = _say_the_same(before, after) and not 0 < cosine < _ALIKE
    if (is_same or has_same_words) and not (tells_of_change(new) or names_differ(old, new)):
        return "same"
    return "again" if is_near else "other"


def names_differ(one: str, other: str) -> bool:
    """Tell whether each of two texts has a number or a code name that the other lacks."""
    first, second = ({term for term in terms(text) if _NAME.search(term)} for text in (one, other))
    return bool(first - second and second - first)


def says_more(one: str, other: str) -> bool:
    """Tell whether a text has every term of another, and at least one that the other lacks."""
    return set(terms(other)) < set(terms(one))


def _pieces(token: str) -> list[str]:
    """Return a token in a list, its parts if hyphenated, or each pair of characters of an unspaced script."""
    token = token.strip("./-") if not token.startswith(("-", ".")) else token.rstrip("./-")
    if _UNSPACED.search(token):
        runs = _UNSPACED.findall(token)
        return [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))] + [
            part for part in _UNSPACED.split(token) if part
        ]
    if "-" in token and not token.startswith("-") and re.fullmatch(r"[a-z]+(?:-[a-z]+)+", token):
        return [token] if token.endswith("-case") else token.split("-")
    return [token] if token else []


def _normal(text: str) -> list[str]:
    return re.findall(r"[\w./-]*\w", text.casefold())


@lru_cache(maxsize=_KEPT)
def _claim(text: str) -> _Claim:
    body = _REASON.sub("", text) or text
    body = body if terms(body) else text
    chosen: list[str] = []
    against: set[str] = set()
    for clause in _CLAUSE.split(body[:_READ]):
        negation = phrases.NOT.search(clause)
        if not negation:
            chosen += terms(clause)
            continue
        head, tail = terms(clause[: negation.start()]), terms(clause[negation.end() :])
        # "WAL mode must not be used": in the passive, the rejected thing stands before the verb.
        is_passive = len(tail) <= 1 and not phrases.CHANGES.match(negation[0])
        chosen += [] if is_passive else head
        against |= {*tail, *head} if is_passive else {*tail}
    first = next((token for token in _TOKEN.findall(body.casefold()) if token not in STOP_WORDS), "")
    return _Claim(
        tuple(dict.fromkeys(chosen)), frozenset(against - set(chosen)), frozenset(against), lemma(first)
    )


def _rejects(one: _Claim, other: _Claim) -> bool:
    """Tell whether one text is against the terms that the other is for, and against hardly anything else."""
    chosen = set(other.for_)
    shared = one.against & chosen
    is_whole = one.against <= chosen or chosen <= one.against
    return is_whole and bool(shared) and len(shared) >= _REJECTED_SHARE * len(chosen)


def _say_the_same(before: _Claim, after: _Claim) -> bool:
    mine, theirs = set(before.for_), set(after.for_)
    both, either = mine & theirs, mine | theirs
    if before.against and len(before.against & after.against) >= SAME_SHARE * len(
        before.against | after.against
    ):
        return bool(both) or not either
    if bool(mine) != bool(theirs) or not both:
        return False
    adds_nothing = len(both) > 1 and (mine <= theirs or theirs <= mine)
    return len(both) >= (_PART_SHARE if adds_nothing else SAME_SHARE) * len(either)


def _about(claim: _Claim) -> set[str]:
    return {*claim.for_, *claim.against}


def _are_apart(before: _Claim, after: _Claim) -> bool:
    """Tell whether two texts are for different things: swapped, rejected by one, or replaced in one place."""
    mine, theirs = set(before.for_), set(after.for_)
    is_turned = mine | before.against == theirs | after.against and mine != theirs
    return is_turned or _rejects(after, before) or _rejects(before, after) or _differ_in_one(before, after)


def _are_opposed(before: _Claim, after: _Claim, new: str) -> bool:
    """Tell whether one of two texts on one matter is against anything that the other is for.

    A different number, the opposite order, and a newer text that announces a change count as well.
    """
    first = [each for each in before.for_ if each in after.for_]
    second = [each for each in after.for_ if each in before.for_]
    numbers = [{each for each in _about(one) if each.isdigit()} for one in (before, after)]
    return bool(
        (before.against & set(after.for_))
        or (after.against & set(before.for_))
        or (all(numbers) and numbers[0].isdisjoint(numbers[1]))
        or (len(first) >= _MOST_SHARED and first == second[::-1] and _ORDER & set(first))
        or phrases.GIVES_UP.search(new)
        or phrases.FROM_NOW_ON.search(new)
    )


def _differ_in_one(before: _Claim, after: _Claim) -> bool:
    """Tell whether two texts differ in one place only, which is not their first word."""
    mine, theirs = set(before.for_), set(after.for_)
    old, new = mine - theirs, theirs - mine
    is_frame = len(mine & theirs) >= _FRAME_SHARE * max(len(mine), len(theirs))
    is_one = min(len(old), len(new)) == 1 and max(len(old), len(new)) <= _LONGEST_SLOT
    return is_frame and is_one and before.first not in old and after.first not in new


def _says_so(new: str, before: _Claim, after: _Claim) -> bool:
    """Tell whether a text says that the old rule no longer holds."""
    if phrases.FROM_NOW_ON.search(new):
        return True
    is_given_up = bool(after.given_up) and after.given_up <= set(before.for_)
    return is_given_up and tells_of_change(new)


def tells_of_change(new: str) -> bool:
    """Tell whether a text says that something else was the rule before."""
    return any(each.search(new) for each in (phrases.CHANGES, phrases.FROM_NOW_ON))
