"""Judge whether memory has something that a prompt needs. Pure.

How a prompt is put counts beside what the search found: a question about the project, rather than a task or a
paste, has its answer in the past, in whatever words that is kept.
"""

from __future__ import annotations

import re
from math import exp, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from claude_mem_lite.search.results import Found

# A logistic regression on `features`: the intercept, then a weight for each, of search by both legs and by
# words alone. Source: benchmarks/recall_gate.py on labelled prompts about two histories of code.
GATES: Mapping[str, tuple[float, ...]] = {
    "hybrid": (-7.27, 0.98, 0.76, 2.02, 0.98, 0.94, 0.43, 2.92),
    "fts": (-7.85, 1.41, 0.84, 2.00, 1.00, 0.96, 0.56),
}
# The best hit alone is now and then a wrong one.
_HITS = 5
# More words found make it no surer.
_MOST = 1.5
# The smaller history of those two; a memory of fewer rows is judged as if it had as many.
_ROWS = 170
# How a prompt begins says what it wants.
_READ = 400
_MARK = re.compile("[?\uff1f]")
# Question words in ten languages.
_QUESTION = re.compile(
    r"\b(?:what|which|why|where|how|who|when|whose|was|warum|wieso|wohin|woher|wo|wie|wer|wann|welche\w*|quoi"
    r"|quel\w*|où|pourquoi|comment|combien|qu[ée]|cu[aá]l\w*|d[oó]nde|c[oó]mo|qui[eé]n|cosa|perch[eé]|dove"
    r"|quale|chi|qual|quais|onde|quem|что|почему|где|как|кто|когда|какой)\b"
    r"|什么|为什么|哪|怎么|谁|吗|何|なぜ|どこ|どう|誰|いつ",
    re.IGNORECASE,
)


def features(
    prompt: str, found: Found, *, evidence: float, row_count: int, is_first: bool
) -> tuple[float, ...]:
    """Return what the gate judges by, () without hits.

    Of the best hits the evidence of the words found, as a multiple of that of a word which one row has, and
    the nats of words in their order; whether nothing was recalled in the session before (`is_first`), whether
    the prompt has a question mark, a question word; the logarithm of the project's rows; of a search by both
    legs the best cosine. `evidence` is that of all words, in nats.
    """
    best = [hit.why for hit in found.hits[:_HITS] if hit.why]
    if not best:
        return ()
    head = prompt[:_READ]
    told = (
        min(_MOST, max(each.coverage for each in best) * evidence / max(1.0, log1p(row_count))),
        log1p(max(each.order for each in best)),
        float(is_first),
        *(float(bool(pattern.search(head))) for pattern in (_MARK, _QUESTION)),
        log1p(max(_ROWS, row_count)),
    )
    return told if found.search_type == "fts" else (*told, max(each.cosine or 0.0 for each in best))


def certainty(prompt: str, found: Found, *, evidence: float, row_count: int, is_first: bool) -> float:
    """Return how likely memory has something that a prompt needs (0 to 1), 1 if it is the id of a row."""
    if any(hit.why is None for hit in found.hits):
        return 1.0
    judged = features(prompt, found, evidence=evidence, row_count=row_count, is_first=is_first)
    if not judged:
        return 0.0
    base, *weights = GATES[found.search_type]
    return 1 / (1 + exp(-base - sum(weight * value for weight, value in zip(weights, judged, strict=True))))


def has_question_mark(text: str) -> bool:
    """Tell whether a text asks something."""
    return bool(_MARK.search(text))
