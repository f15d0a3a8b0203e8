"""Rank rows for a query: one score from words, their order, exact names, and vectors.

These are pure functions over the candidates that full text and vectors have found. The caller queries the
indexes, reads rows, and keeps a project's profile and the centre of its vectors.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from math import log
from statistics import median
from typing import TYPE_CHECKING

from claude_mem_lite.search import times
from claude_mem_lite.search.candidates import Candidate, Profile, Query, Scored, Term
from claude_mem_lite.search.words import forms, function_words, is_part, is_prefix, lemma, words

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from claude_mem_lite.search.times import Span

    Vectors = NDArray[np.float32]

# A longer query is reduced to its most significant terms; and how many terms of it are read.
MAX_TERMS = 32
_TERMS_READ = 400
MAX_NAMES = 8
# Most terms in a full-text query: FTS5 evaluates all of them for every row that has one.
TERMS_ASKED = 16
_PARTS_ASKED = 8  # most parts of words; these have no index and are searched for in each row
# The weight of a term halves after this many others: a text begins with what it is about.
_PLACE_HALVES = 16
# Weight of a term that is part of a name, relative to a plain word.
_NAMED = 1.5
# k1 and b of BM25F, which weights fields before the count saturates; the values are Lucene's defaults.
# Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, 3.5.
SATURATION = 1.2
LENGTH_PENALTY = 0.75
# A title says what a row is about, a detail mostly what else was on the screen, a path only where it was.
FIELD_WEIGHTS = {"title": 2.0, "summary": 1.0, "detail": 0.5, "files": 0.2}
DETAIL_CHARACTERS = 2000  # more costs time and says little
# Most rows that full text scores. Rare words find the rows that common ones only confirm, and FTS5 is slow
# because of BM25 over every row with a common word. Limits down to a tenth of the rows lost nothing.
ROW_BUDGET = 2000
# Rows whose lemmas are cached, about 2 kB each.
_ROWS_KEPT = 8192
# Bonus for coverage: a row with all words of the query beats one with the same weight in fewer words.
COVERAGE = 0.2
# Bonus for two words that are adjacent in query and row, as a share of the lesser evidence of the two.
PAIR = 0.4
PAIR_WINDOW = 3
# Bonus for an identifier, path or quoted phrase that the row contains as written, beside its parts' points.
EXACT = 1.0
# Bonus for a row of a time that the query names, as a multiple of the evidence; more is hardly better.
TIME = 3.0
# Share of a row's similarity to its nearest fellow candidates that is subtracted; 0.1 to 0.2 are as good.
CROWDED = 0.1
NEIGHBOURS = 10

_QUOTED = re.compile(r'"([^"]+)"')
_INNER = r"(?:\.|::|/|_|->|-|:|(?<=[a-z0-9])(?=[A-Z]))"
# get_user_by_id, AuthService.login, src/db/session.py, 3.11, --line-length, camelCase, __init__
_IDENTIFIER = re.compile(
    rf"(?<!\w)(?:--?|__|\.{{0,2}}/)?\w+(?:{_INNER}+\w+)+(?:__|/)?(?!\w)|(?<!\S)--\w+|__\w+__"
)


def analyze(text: str, *, now: dt.datetime | None = None) -> Query:
    """Return the terms of a query, its pairs of neighbouring terms and its exact names.

    With `now`, also the times that it names, seen from then; their words are terms only without any others.
    """
    whole = text = text.replace("\0", " ")
    spans: tuple[Span, ...] = ()
    if now is not None:
        text, spans = times.read(text, now=now)
    found = [*_QUOTED.findall(text), *_IDENTIFIER.findall(_QUOTED.sub(" ", text))]
    exact = tuple(dict.fromkeys(_flat(name) for name in found if words(name)))
    all_words = words(text)
    telling = _telling(all_words) or _telling(words(whole)) or all_words
    lemmas = [lemma(word) for word in telling]
    kept = list(dict.fromkeys(lemmas))[:_TERMS_READ]
    position = {name: at for at, name in enumerate(kept)}
    pairs = {
        (position[one], position[other]): None
        for one, other in itertools.pairwise(lemmas)
        if one != other and one in position and other in position
    }
    first_word = dict(reversed(list(zip(lemmas, telling, strict=True))))
    left = _IDENTIFIER.sub(" ", _QUOTED.sub(" ", text))
    return Query(
        terms=tuple(Term(name, forms(first_word[name])) for name in kept),
        pairs=tuple(pairs),
        exact=exact,
        exact_only=bool(exact) and not _telling(words(left)),
        spans=spans,
    )


def focused(query: Query, profile: Profile) -> Query:
    """Return a query reduced to its most significant terms, in their order, and its first names."""
    if len(query.terms) <= MAX_TERMS:
        return query
    kept = _most_telling(query, profile, MAX_TERMS)
    place = {at: new for new, at in enumerate(kept)}
    return replace(
        query,
        terms=tuple(query.terms[at] for at in kept),
        pairs=tuple((place[one], place[other]) for one, other in query.pairs if {one, other} <= place.keys()),
        exact=query.exact[:MAX_NAMES],
    )


def _most_telling(query: Query, profile: Profile, limit: int) -> list[int]:
    """Return the positions of the most significant terms, in order: rare ones, early ones, parts of names."""
    in_names = {lemma(word) for name in query.exact for word in words(name)}

    def weight(at: int) -> float:
        name = query.terms[at].lemma
        rarity = idf(profile.row_count, profile.rows_with(name))
        return rarity * (_NAMED if name in in_names else 1) / (1 + at / _PLACE_HALVES)

    return sorted(sorted(range(len(query.terms)), key=weight, reverse=True)[:limit])


def vocabulary(title: str, summary: str = "", detail: str = "", files: tuple[str, ...] = ()) -> set[str]:
    """Return the lemmas of a row without those of its files; they are cached for ranking it later."""
    return set(itertools.chain(*_told(title, summary, detail[:DETAIL_CHARACTERS], files)[:-1]))


def profile(vocabularies: Iterable[Iterable[str]], *, row_count: int, share: float = 1.0) -> Profile:
    """Return the word statistics of a project of `row_count` rows, from the lemmas of some of its rows."""
    counts: Counter[str] = Counter()
    sampled = 0
    for lemmas in vocabularies:
        counts.update(lemmas)
        sampled += 1
    return Profile(row_count=row_count, share=share, sampled=sampled, counts=counts)


def match_expression(query: Query, profile: Profile) -> str:
    """Return the FTS5 query: the rarest terms in all their forms and the exact names, joined by OR.

    Common terms are left out once the others find `ROW_BUDGET` rows; the ranking still counts them.
    """
    wanted: list[str] = []
    starts: list[str] = []
    rows = 0.0
    asked = [query.terms[at] for at in _most_telling(query, profile, TERMS_ASKED)]
    for term in sorted(asked, key=lambda term: profile.rows_with(term.lemma)):
        rows += profile.rows_with(term.lemma)
        if wanted and rows > ROW_BUDGET * profile.share:
            break
        wanted += [word for word in term.words if not is_part(word)]
        starts += [term.lemma] * is_prefix(term.lemma)
    # A path as a phrase makes FTS5 read each row that has `src`; among many terms its rare parts are enough.
    whole = _any_of([*wanted, *(query.exact if len(query.terms) <= TERMS_ASKED else ())])
    return " OR ".join([*filter(None, [whole]), *(f'"{start}"*' for start in starts)])


def parts(query: Query, profile: Profile) -> list[str]:
    """Return the significant terms to search for within longer words, [] if no term is part of one."""
    if not any(is_part(term.lemma) for term in query.terms):
        return []
    return [query.terms[at].words[0] for at in _most_telling(query, profile, _PARTS_ASKED)]


def named_expression(query: Query) -> str:
    """Return the FTS5 query for the exact names."""
    return _any_of(query.exact)


def cosines(query: Vectors, rows: Vectors, centre: Vectors) -> Vectors:
    """Return the similarity of each candidate to the query: a centred cosine, corrected for crowding.

    `query` is (dim,), `rows` (n, dim) are all candidates with a vector, `centre` (dim,) is the mean of the
    project's vectors, or of 50 of them. Subtracting the centre removes what all rows of the project have in
    common: its theme is to a cosine what a common word is to BM25. Then each row loses a share of its
    similarity to its nearest fellows, because a row that is like all others is near every query.
    Source: Mu and Viswanath, All-but-the-Top, 2018 (the mean alone); Conneau et al., Word translation without
    parallel data, 2018, 2.3 (CSLS, here for rows alone and by a share).
    """
    import numpy as np

    from claude_mem_lite.search.embedder.interface import unit_length

    centred = unit_length(rows - centre)
    likeness = centred @ centred.T
    np.fill_diagonal(likeness, -np.inf)
    nearest = min(NEIGHBOURS, len(rows) - 1)
    crowd = np.sort(likeness, axis=1)[:, -nearest:].mean(axis=1) if nearest > 0 else np.zeros(len(rows))
    similar: Vectors = centred @ unit_length(query - centre) - CROWDED * crowd
    return similar


def rank(
    query: Query,
    candidates: Sequence[Candidate],
    profile: Profile,
    *,
    meaning: float,
    rows_in_time: int = 0,
) -> list[Scored]:
    """Return the candidates, best first; equal ones stay in the given order.

    Candidates are those of full text and of vectors, about 50 of each; lengths are compared among them.
    `rows_in_time` is how many of the project's rows are of a time that the query names.
    """
    if not candidates:
        return []
    counts, lengths, pairs = _count(query, candidates)
    seen = (sum(map(bool, column)) for column in zip(*counts, strict=True))
    rows_with = (profile.rows_with(term.lemma) for term in query.terms)
    evidence = [idf(profile.row_count, *each) for each in zip(rows_with, seen, strict=True)]
    mean_length = max(sum(lengths) / len(lengths), 1e-9)
    all_evidence = max(sum(evidence), 1e-9)
    pair_evidence = [min(evidence[one], evidence[other]) for one, other in query.pairs]
    coverage = [
        sum(tells for count, tells in zip(row, evidence, strict=True) if count) / all_evidence
        for row in counts
    ]
    in_time = [
        tuple(span.said for span in query.spans if span.has(candidate.created_at)) for candidate in candidates
    ]
    time = TIME * idf(profile.row_count, rows_in_time, sum(map(bool, in_time)))
    points = [meaning * cosine for cosine in _meaning(candidates, coverage)]
    scored = []
    for at, candidate in enumerate(candidates):
        found = _exact_found(query, candidate)
        norm = SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * lengths[at] / mean_length)
        terms = zip(counts[at], evidence, strict=True)
        bm25 = sum(count * (SATURATION + 1) / (count + norm) * tells for count, tells in terms)
        parts = {
            "words": bm25 * (1 + COVERAGE * coverage[at]),
            "order": PAIR * sum(itertools.compress(pair_evidence, pairs[at])),
            "exact": EXACT * len(found),
            "meaning": points[at],
            "time": time * bool(in_time[at]),
        }
        scored.append(
            Scored(
                id=candidate.id,
                score=sum(parts.values()),
                coverage=coverage[at],
                cosine=candidate.cosine,
                exact_found=found,
                times_found=in_time[at],
                named_first=len(found) if query.exact_only else 0,
                **parts,
            )
        )
    return sorted(scored, key=lambda row: (-row.named_first, -row.score))


def _telling(every: list[str]) -> list[str]:
    return [word for word in every if word not in function_words()]


def _count(
    query: Query, candidates: Sequence[Candidate]
) -> tuple[list[list[float]], list[float], list[list[bool]]]:
    """Return, per candidate, the weighted count of each term, the weighted length, and the pairs it has."""
    terms = {term.lemma: at for at, term in enumerate(query.terms)}
    followers: dict[int, list[tuple[int, int]]] = {}
    for at, (one, other) in enumerate(query.pairs):
        followers.setdefault(one, []).append((at, other))
    counts, pairs, lengths = [], [], []
    for candidate in candidates:
        count, has_pair, length = [0.0] * len(query.terms), [False] * len(query.pairs), 0.0
        told = _told(candidate.title, candidate.summary, _detail(candidate), candidate.files)
        for weight, lemmas in zip(FIELD_WEIGHTS.values(), told, strict=True):
            length += weight * len(lemmas)
            places: dict[int, list[int]] = {}
            for place, name in enumerate(lemmas):
                if name in terms:
                    count[terms[name]] += weight
                    places.setdefault(terms[name], []).append(place)
            for one, found in places.items():
                for at, other in followers.get(one, ()):
                    if any(
                        0 < then - place <= PAIR_WINDOW for place in found for then in places.get(other, ())
                    ):
                        has_pair[at] = True
        counts.append(count)
        pairs.append(has_pair)
        lengths.append(length)
    return counts, lengths, pairs


@lru_cache(maxsize=_ROWS_KEPT)
def _told(title: str, summary: str, detail: str, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the lemmas per field, in the order of FIELD_WEIGHTS; cached, as rows recur in searches."""
    return tuple(tuple(map(lemma, words(text))) for text in (title, summary, detail, " ".join(files)))


def _detail(candidate: Candidate) -> str:
    return candidate.detail[:DETAIL_CHARACTERS]


def idf(row_count: int, rows_with: float, seen: int = 0) -> float:
    """Return the evidence, in nats, of what `rows_with` rows of a project have, but at least `seen`.

    Source: the form that can't be negative, as in Lucene's BM25Similarity.
    """
    row_count = max(row_count, seen)
    rows_with = min(max(rows_with, seen), row_count)
    return log(1 + (row_count - rows_with + 0.5) / (rows_with + 0.5))


def _meaning(candidates: Sequence[Candidate], coverage: Sequence[float]) -> list[float]:
    """Return the cosines; a row without a vector gets the median of the rows that have words of the query."""
    known = [(row.cosine, covered) for row, covered in zip(candidates, coverage, strict=True)]
    known_cosines = [cosine for cosine, _ in known if cosine is not None]
    alike = [cosine for cosine, covered in known if cosine is not None and covered > 0]
    usual = median(alike or known_cosines or [0.0])
    return [usual if row.cosine is None else row.cosine for row in candidates]


def _exact_found(query: Query, candidate: Candidate) -> tuple[str, ...]:
    if not query.exact:
        return ()
    fields = candidate.title, candidate.summary, _detail(candidate), *candidate.files
    text = _flat("\n".join(fields))
    return tuple(name for name in query.exact if _has(text, name))


def _any_of(names: Iterable[str]) -> str:
    return " OR ".join('"{}"'.format(name.replace('"', '""')) for name in names)


def _has(text: str, name: str) -> bool:
    """Tell whether a text contains a name that is not part of a longer word."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_letter(before) and _letter(name[0])) and not (_letter(after) and _letter(name[-1])):
            return True
        at = text.find(name, at + 1)
    return False


def _letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
