"""Confidence of call edges, from evidence in the code and from observations."""

# Share of a level's edges that ran when their caller ran, in the test suites of huey 3.5.4, starlette 1.10.0
# and sqlparse 0.6.1 together: `benchmarks/codemap.py --executed`. A callback runs, but a library calls it.
CONFIDENCE = {
    "direct": 0.95, "typed": 0.93, "several": 0.93, "passed": 0.93, "callback": 0.8, "protocol": 0.93,
    "any": 0.35, "override": 0.37, "guess": 0.8,
}  # fmt: skip
# Elsewhere: share that TypeScript's compiler resolves the same way in rxjs, zod, @reduxjs/toolkit, immer,
# @tanstack/query-core, mobx and ajv; of "several", one is right. Source: `benchmarks/typescript_calls.py`.
CALL_CONFIDENCE = {"direct": 0.99, "typed": 0.98, "several": 0.42, "guess": 0.62}
EVIDENCE = {
    "direct": "the name refers to it",
    "typed": "the receiver's class is known",
    "several": "one of several candidates",
    "passed": "the receiver is an argument",
    "callback": "passed to a library that calls it",
    "protocol": "called by the language",
    "any": "one of all functions with this name",
    "override": "overrides the called method",
    "guess": "the only one with this name",
    "unresolved": "no function with this name is known",
    "observed": "not seen in the code",
    "asked": "Claude's guess from the code",
}
STRONG = 0.75  # from this confidence on, edges are shown unasked and count as certain
UNRESOLVED_CONFIDENCE = 0.5

# An observation raises an edge's confidence by the share BOOST of its distance to CEILING. An edge known only
# from observations starts at DISCOVERED.
BOOST, CEILING, DISCOVERED = 0.15, 0.95, 0.6
# Confidence of Claude's answer about an unresolved call, until something confirms it.
ASKED, ASKED_CONFIDENCE = "asked", 0.3


def boosted(confidence: float, times: int = 1) -> float:
    """Return a confidence after `times` confirmations; each adds less than the one before."""
    return max(confidence, CEILING - (CEILING - confidence) * (1 - BOOST) ** times)
