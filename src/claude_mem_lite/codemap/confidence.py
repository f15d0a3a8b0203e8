"""Say how sure an edge is: by the evidence in the code, and by what was observed."""

# Share of a level's edges that ran where their caller ran, in the test suites of huey 3.5.4, starlette 1.10.0
# and sqlparse 0.6.1 together: `benchmarks/codemap.py --executed`. A callback runs, but a library calls it.
CONFIDENCE = {
    "direct": 0.95, "typed": 0.93, "several": 0.93, "passed": 0.93, "callback": 0.8, "protocol": 0.93,
    "any": 0.35, "override": 0.37, "guess": 0.8,
}  # fmt: skip
# The same beyond Python: share that TypeScript's compiler resolves so, too, in rxjs, zod, @reduxjs/toolkit,
# immer, @tanstack/query-core, mobx and ajv together, of several one: `benchmarks/typescript_calls.py`.
CALL_CONFIDENCE = {"direct": 0.99, "typed": 0.98, "several": 0.42, "guess": 0.62}
EVIDENCE = {
    "direct": "the name is bound to it",
    "typed": "the receiver's class is known",
    "several": "one of several that the receiver may have",
    "passed": "the receiver came as an argument",
    "callback": "handed to a library that calls it",
    "protocol": "called by the language",
    "any": "one of all that have the name",
    "override": "overrides what is called",
    "guess": "the only one of that name",
    "unresolved": "nothing of that name is known",
    "observed": "not seen in the code",
    "asked": "Claude's guess from the code",
}
STRONG = 0.75  # a confidence from which on edges are told without asking
UNRESOLVED_CONFIDENCE = 0.5  # Source: unified PRD 8

# What an observation adds to an edge's confidence: a share of what is missing to the ceiling; and that of an
# edge which only observations know. Source: phase 6 document 2.6.
BOOST, CEILING, DISCOVERED = 0.15, 0.95, 0.6
# Of what Claude was asked for, until something confirms it.
ASKED, ASKED_CONFIDENCE = "asked", 0.3


def boosted(confidence: float, times: int = 1) -> float:
    """Return a confidence after so many confirmations; each adds less than the one before."""
    return max(confidence, CEILING - (CEILING - confidence) * (1 - BOOST) ** times)
