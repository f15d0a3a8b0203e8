"""Choose the statements of many sessions that together cover most of the important names. Pure.

This is greedy budgeted maximum coverage. A statement is worth the names in it that no chosen statement has,
scaled by their share of it. A name is worth more the more often recent sessions mention it, and the fewer of
them do. Statements of recent sessions and about the topic in the branch's name are worth more.
Source: E. Filatova and V. Hatzivassiloglou, A formal model for information selection in multi-sentence text
extraction, 2004.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log1p

from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import MOMENT, TEST, names
from claude_mem_lite.distill.thread import Said
from claude_mem_lite.search.words import is_part, words
from claude_mem_lite.text import SIGNS

# Worth of a turn's statements relative to those of the next turn.
_TURN_FADES = 0.95
# Exponents: worth falls with the number of sessions since, and grows with the weight of the new names.
# Chosen by 571 labelled needs in eleven histories; values below and above both met fewer.
_AGES, _OF_NAMES = 0.7, 0.5
# Weight of a plain word, relative to a name.
_WORD = 0.05
_SHORTEST_WORD = 4
# Overhead of a statement in characters: in an existing line, and in a line of its own.
_JOINT, _LINE = 2, 14
# Readers keep longer statements of a report: the grade grows with the logarithm of the length, in units of
# _LENGTH characters, where characters of the head count less.
# Least squares fit over 630 statements that two readers graded 0 to 2; both agreed on 94 % of 191.
_LENGTH, _OF_HEAD, _GROWS, _OFFSET, _LEAST_KEPT = 80, 0.6, 1.43, -0.67, 0.1
# A character of a script without spaces between words counts as itself and this many letters more.
_SIGN, _OF_SIGN = re.compile(f"[{SIGNS}]"), 2.0
_PASSING = 0.5  # factor for a guess, or for something true only for a moment
_OF_TESTS = 0.5  # factor for a statement about a test: readers drop most of these
_NAMELESS = 0.2  # factor for a report's statement without a name; readers of four teams kept one in twenty
_LEAST = 60  # characters; hardly a line fits in fewer
_TICKET, _NO_WORD = re.compile(r"[A-Za-z]{2,}-\d+"), re.compile(r"[\W_]+")


def choose(  # noqa: PLR0913  (all of them say what matters)
    states: Sequence[tuple[State, float]],
    *,
    chars: int,
    since: str = "",
    told: Iterable[str] = (),
    use: Callable[[Said], float] = lambda _: 1.0,
    branch: str = "",
    headings: Sequence[tuple[str, int]] = (),
) -> list[tuple[int, Said]]:
    """Return the statements made since a time that cover most in `chars` characters, best first.

    `states` are the sessions' states, most important first, each with a weight; each returned statement has
    the index of its state. `told` are the texts already in the block. `use` is how much a statement is still
    worth (0 to 1). `branch` is the branch that the block is for. `headings` are the name and length in
    characters of the heading that each state is shown under (default: one of no length each).
    """
    weights, rarity = _weights(states)
    pool = list(_pool(states, rarity, since=since, use=use, topic=_topic(branch)))
    covered: set[str] = set().union(*map(_terms, told))
    begun: set[str | tuple[str, str]] = set()  # ids of rows that have a line, and (id, head) of its heads
    heading = headings or [(str(at), 0) for at in range(len(states))]
    under: defaultdict[str, list[int]] = defaultdict(list)  # the statements under each heading not used yet
    for number, (at, *_) in enumerate(pool):
        under[heading[at][0]].append(number)

    def cost(number: int) -> int:
        at, said, *_ = pool[number]
        head = 0 if not said.head or (said.row_id, said.head) in begun else len(said.head) + _JOINT
        line = _JOINT if said.row_id in begun else _LINE
        name, length = heading[at]
        return len(said.says) + head + line + (length if name in under else 0)

    def gain(number: int) -> float:
        _, _, terms, worth = pool[number]
        new = sum(weights[term] for term in terms - covered)
        share = new / sum(weights[term] for term in terms) if new else 0.0
        return float(new**_OF_NAMES * share * worth / cost(number))

    heap = [(-gain(number), number) for number in range(len(pool))]
    heapq.heapify(heap)
    chosen: dict[int, tuple[int, Said]] = {}
    while heap and chars > _LEAST:
        worth, number = heapq.heappop(heap)
        if number in chosen or cost(number) > chars:
            continue
        now = gain(number)
        if heap and now < -worth and now < -heap[0][0]:  # statements chosen since cover part of it
            heapq.heappush(heap, (-now, number))
            continue
        if now <= 0:
            break
        chars -= cost(number)
        at, said, terms, *_ = pool[number]
        covered |= terms
        chosen[number] = at, said
        begun |= {said.row_id, (said.row_id, said.head)}
        for other in under.pop(heading[at][0], ()):  # these cost less now
            heapq.heappush(heap, (-gain(other), other))
    return list(chosen.values())


def _pool(
    states: Sequence[tuple[State, float]],
    rarity: Mapping[str, float],
    *,
    since: str,
    use: Callable[[Said], float],
    topic: frozenset[str],
) -> Iterator[tuple[int, Said, frozenset[str], float]]:
    """Yield each statement made since a time with its state's index, its terms and its own worth."""
    for at, (state, _) in enumerate(states):
        turns: dict[str, int] = {}  # number of later turns, by row id
        for said in state.statements:
            after = turns.setdefault(said.row_id, len(turns))
            if said.at > since:
                terms = _terms(said.text)
                worth = use(said) * form(said) * _TURN_FADES**after / (1 + at) ** _AGES
                yield at, said, terms, worth * (1 + sum(rarity[term] for term in topic & terms))


def form(said: Said) -> float:
    """Return the worth of a statement by its form alone: its length, names and certainty."""
    length = _width(said.says) + _OF_HEAD * _width(said.head)
    worth = max(_LEAST_KEPT, _OFFSET + _GROWS * log1p(length / _LENGTH))
    if not (said.is_users or names(said.text)):
        worth *= _NAMELESS
    if TEST.search(said.text):
        worth *= _OF_TESTS
    return worth * (_PASSING if MOMENT.search(said.says) else 1.0)


def _width(text: str) -> float:
    return len(text) + _OF_SIGN * len(_SIGN.findall(text))


def _weights(states: Sequence[tuple[State, float]]) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the weight of each name and word, and the rarity of each term among the states."""
    weights: defaultdict[str, float] = defaultdict(float)
    spoken: Counter[str] = Counter(name for state, _ in states for name in state.names)
    for state, share in states:
        for name, times in state.names.items():
            weights[name] += share * log1p(times)
    stated = [frozenset().union(*(_terms(said.text) for said in state.statements)) for state, _ in states]
    said_in = Counter(term for each in stated for term in each)
    rarity = {term: log1p(len(states) / times) for term, times in said_in.items()}
    worth = defaultdict(
        float,
        {name: weight * log1p(len(states) / spoken[name]) for name, weight in weights.items()},
    )
    for each, (_, share) in zip(stated, states, strict=True):
        for word in each:
            if word[0] == " ":
                worth[word] += _WORD * share * rarity[word]
    return worth, rarity


def _topic(branch: str) -> frozenset[str]:
    """Return the terms of the last part of a branch's name: "fix" and "x" of "me/fix-x"."""
    name = branch.rpartition("/")[2]
    tickets = frozenset(match.lower() for match in _TICKET.findall(name))
    return tickets | _terms(_NO_WORD.sub(" ", name))


@lru_cache(maxsize=8_192)
def _terms(text: str) -> frozenset[str]:
    """Return the names in a text, and its longer words, each prefixed with a space."""
    return names(text) | {f" {each}" for each in words(text) if len(each) >= _SHORTEST_WORD or is_part(each)}
