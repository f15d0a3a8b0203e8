"""Estimate how likely memory has something that a prompt needs. Pure.

Two things count: whether the project is related to the prompt (`nearness`, and the share of its words that
memory has), and whether it has an answer (the evidence of the matching words). Questions are answered by the
past more often than tasks or pasted text.
"""

from __future__ import annotations

import re
from math import exp, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claude_mem_lite.search.results import Found

# A logistic regression on `features`: the intercept, then a weight per feature, for hybrid search and for
# full-text search. Source: benchmarks/recall_gate.py on labelled prompts about two code histories.
GATES: Mapping[str, tuple[float, ...]] = {
    "hybrid": (-1.16, 0.44, 0.51, 1.72, 0.41, -0.26, -1.21, 4.31),
    "fts": (-0.74, 0.47, 0.90, 1.56, 0.43, -0.09, -1.77),
}
# Hits that are judged: the best one alone is sometimes wrong.
_HITS = 5
# Cap of the evidence feature: more matching words do not make an answer more likely.
_MOST = 1.5
# Least evidence: words that nearly every row has mean nothing.
_LEAST = 0.2
# Rows of the smaller of the two histories; a smaller memory is judged as if it had this many.
_ROWS = 170
# Characters that are searched for a question word: the beginning of a prompt says what it wants.
_READ = 400
_MARK = re.compile("[?\uff1f]")
# Question words in eighteen languages.
_QUESTION = re.compile(
    r"\b(?:what|which|why|where|how|who|when|whose|was|warum|wieso|wohin|woher|wo|wie|wer|wann|welche\w*|quoi"
    r"|quel\w*|où|pourquoi|comment|combien|qu[ée]|cu[aá]l\w*|d[oó]nde|c[oó]mo|qui[eé]n|cosa|perch[eé]|dove"
    r"|quale|chi|qual|quais|onde|quem|waarom|wat|waar|hoe|welke|wanneer|dlaczego|czemu|gdzie|kiedy|kt[óo]r\w*"
    r"|varför|vad|hur|vilk\w+|hvorfor|hvad?|hvordan|hvilk\w+|proč|kde|kdy|miksi|miten|neden|nas\u0131l|nerede"
    r"|чому|де|хто|коли|який|что|почему|где|как|кто|когда|какой)\b"
    r"|什么|为什么|哪|怎么|谁|吗|何|なぜ|どこ|どう|誰|いつ",
    re.IGNORECASE,
)


def features(  # noqa: PLR0913  (all of them are the gate's)
    prompt: str, found: Found, *, evidence: float, unknown: float, row_count: int, is_first: bool
) -> tuple[float, ...]:
    """Return the features of the logistic regression, () without hits.

    These are, for the best hits, the evidence of the matching words, as a multiple of the evidence of a word
    that one row has, and the logarithm of the nats of words in order; then whether nothing was recalled in
    the session before (`is_first`), whether the prompt has a question word, the logarithm of the project's
    rows, the share of the evidence in words that no row has (`unknown`) and, for hybrid search, the nearness.
    `evidence` is that of all words, in nats.
    """
    best = [hit.why for hit in found.hits[:_HITS] if hit.why]
    if not best:
        return ()
    told = (
        min(_MOST, max(each.coverage for each in best) * evidence / max(1.0, log1p(row_count))),
        log1p(max(each.order for each in best)),
        float(is_first),
        float(bool(_QUESTION.search(prompt[:_READ]))),
        log1p(max(_ROWS, row_count)),
        unknown,
    )
    return told if found.search_type == "fts" else (*told, found.nearness)


def certainty(  # noqa: PLR0913  (as above)
    prompt: str, found: Found, *, evidence: float, unknown: float, row_count: int, is_first: bool
) -> float:
    """Return how likely memory has something that a prompt needs (0 to 1); 1 if the prompt is a row's id."""
    if any(hit.why is None for hit in found.hits):
        return 1.0
    judged = features(
        prompt, found, evidence=evidence, unknown=unknown, row_count=row_count, is_first=is_first
    )
    if not judged or judged[0] < _LEAST:
        return 0.0
    base, *weights = GATES[found.search_type]
    return 1 / (1 + exp(-base - sum(weight * value for weight, value in zip(weights, judged, strict=True))))


def asks(prompt: str) -> bool:
    """Tell whether a prompt has a question mark, or a question word near its beginning."""
    return has_question_mark(prompt) or bool(_QUESTION.search(prompt[:_READ]))


def has_question_mark(text: str) -> bool:
    """Tell whether a text has a question mark."""
    return bool(_MARK.search(text))
