"""Find the sentences in a prompt that the user typed, not pasted or quoted, and those that say how. Pure.

`learnings` decides which of them are rules.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from claude_mem_lite.distill import phrases
from claude_mem_lite.distill.sameness import terms
from claude_mem_lite.text import ORDINAL, SIGNS

CONTENT_CHARS = 300
# Limits of `ways`: a longer prompt describes a task or has a paste in it; a shorter sentence says little.
_PROMPT_CHARS, _LEAST_CHARS = 400, 25

_READ = 50_000
_WRAPPED = 60  # characters; a line this long may continue on the next
_SHORT_HEADER = 100
_MOST_WORDS, _MOST_LEADS = 30, 3
_CHARS_A_WORD = 3  # in scripts without spaces
_MARKS = " ,;:-"
WORD, SIGN = re.compile(r"[^\s,:;.!?]+"), re.compile(f"[{SIGNS}]")


@dataclass(frozen=True)
class Sentence:
    """A sentence, or the part before or after a semicolon, without its full stop.

    `is_rule` is set under a heading like "Rules:"; `prefix` is what such a heading adds to each item
    ("never "); `asks` is set if the sentence ends as a question.
    """

    text: str
    is_rule: bool
    prefix: str
    asks: bool


_FROM_THE_CLIENT = re.compile(
    r"\s*(?:<(?:task-notification|teammate-message|local-command|command-|bash-|system-reminder)"
    r"|\[Request interrupted|/[\w:-]+(?:\s|\Z)|Caveat: The messages below|This session is being continued"
    r"|Operation stopped by hook|\w+ operation blocked by hook"
    r"|Implement the plan as specified, it is attached)"  # Cursor's, when a plan is accepted
)
# Text between such tags was not typed; an unclosed tag extends to the end.
_TAGGED = re.compile(
    r"<(private|system(?:-reminder)?|task-notification|document|file|paste|pasted|log|output|code|pre|quote"
    r"|blockquote|example|claude-mem|context|command-[a-z]+|bash-[a-z]+|local-command[a-z-]*|tool_result|result)"
    r"(?:\s[^<>]{0,300})?>.*?(?:</\1>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_BULLET = re.compile(r"\s{0,12}(?:[-*•–]\s|\d{1,2}[.)]\s)\s?(?=\S)")
_PASTED = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d(?::\d\d)?\]?\s|Traceback|\s*File \"|\s*at \S+ ?\(|(?:npm"
    r"|pip) (?:ERR|WARN)"
    r"|(?:\[\s*)?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|CRITICAL|TRACE)\b|[A-Z]\w*(?:Error|Exception)\b"
    r"|E\s{2,}|(?:FAILED|PASSED|FAIL|PASS)\s|[$%#>]\s*(?:git|npm|pip|python|cd|ls|cat|make|docker)\s|@@ "
    r"|diff --git|[+-](?:\s{2,}|[^\s\w-])|[+-](?=\w+[(=:])|(?:import|from) \w+(?:\.\w+)*(?: import|$)|(?:def"
    r"|class) \w+.*:$"
    r"|(?:const|let|var) \w+ =|[\w.]+\([^)]{0,200}\);?$|[{}\[\]]|//|/\*|<[!?/a-z]|\|.*\|$|={3,}|-{3,}"
)
_HEADING = re.compile(r"#{1,6}\s+(?P<title>\S.*)")
# The first line of a mail, a ticket or a thread, whose end cannot be found.
_DOCUMENT = re.compile(
    r"(?:\*\*|#{1,6}\s+)?(?:From|To|Cc|Subject|Sent|Date|Title|Author|Reporter|Reported by|Assignee|Labels?"
    r"|Milestone|Severity|Environment|Description|Describe the bug|Screenshots?"
    r"|(?:Steps to )?Reproduc(?:e|tion)|(?:Expected|Actual|Current)(?: (?:behaviou?r|results?|outcome))"
    r"|Acceptance criteria|Additional context)\s*(?:\*\*)?\s*(?::|\Z)"
    r"|\S.{0,80}\b(?:commented|opened|wrote|replied|posted|reported|requested|mentioned|said)\b.{0,60}?"
    r"(?:\b\d+ \w+ ago\b|\bon [A-Z][a-z]{2,8} \d|\byesterday\b|\blast (?:week|month|year)\b)",
    re.IGNORECASE,
)
# A chat line with the name of a speaker and a time.
_SAID_AT = re.compile(
    r"^\W{0,3}[\w.@-]+(?: [\w.@-]+){0,2},? [\[(]?\d{1,2}:\d\d(?::\d\d)?(?: ?[ap]m)?[\])]?:?$", re.IGNORECASE
)
# A pasted text follows a question about it: "what does this message want?"
_POINTS = re.compile(
    r"\b(?:this|that|these|the following)\b[^.:]{0,30}?\b(?:messages?|e-?mails?|mails?|tickets?|issues?"
    r"|comments?|reviews?|posts?|threads?|requests?|stor(?:y|ies)|proposals?|texts?|letters?|notes?|articles?|reports?)\b"
    r"[^:]{0,30}\Z",
    re.IGNORECASE,
)
# Announces somebody else's words or a text to work on.
_ANNOUNCES = re.compile(
    r"\b(?:says?|said|tells?|told|wrote|writes|comments?|commented|review|docs?|documentation|readme|logs?|output"
    r"|error|message|e?-?mail|ticket|issue|report(?:s|ed)?|prints?|printed|shows?|quot(?:e|es|ed)|article|post|blog"
    r"|changelog|guide|standup|transcript|snippet|excerpt|text|paste[ds]?|translate|summarize|explain|read|fix"
    r"|implement|handle|solve|resolve|close|address|reply|respond|answer|draft|consider|triage|investigate)\b",
    re.IGNORECASE,
)
# A heading of a list of rules; `each` is the word that applies to every item ("never").
_RULES = re.compile(
    r"(?:[\w'-]+ ){0,3}?(?:rules|conventions?|guidelines|standards|principles|polic(?:y|ies)|(?:\w+ )?style"
    r"|dos|remember|(?:keep|bear) in mind|from now on|regeln|konventionen|règles|reglas|regras|regole|regels"
    r"|zasady|правила|kurallar)(?:(?: and|,)? don'ts)?"
    r"(?: (?:for|in|of|about|when|here|from|at|für|pour|para|per|voor|dla|для|de|di)(?: [\w'-]+){0,4})?"
    r"|(?:(?:and|a|one|more|another|new|et|une|autre|nouvelle|und|eine|noch|neue|y|una|otra|nueva|e|uma|outra"
    r"|nova) ){0,3}(?:rule|règle|regel|regla|regra|regola)"
    r"|(?P<each>always|never)|[^\W\d]{0,6}(?:规则|規則|规范|ルール|규칙)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:why|what(?:'s)?|when (?:do|does|should|is|are|did|will)|where|who|whose|which|how|should|shall|can"
    r"|could|would|do|does|did|is|are|was|were|am|isn't|aren't|shouldn't|don't (?:we|you|i|they)|doesn't"
    r"|didn't|can't|couldn't|won't|has|have|had|will|may"
    r"|any(?:one)? (?:idea|chance|reason|way|news|other|thoughts))\b(?! not\b)",
    re.IGNORECASE,
)
_BREAK = re.compile(
    # "git add . from now on" continues
    rf"(?!(?<=\s)\.\s+[a-z])[.!?]+(?!{ORDINAL})"
    r"(?=[\"')\]]{0,3}(?:\s|\Z))|[\u3002\uff01\uff1f\uff1b]|;(?=\s|\Z)|[()\"`“”]"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|z\.b|bzw)|\b[A-Za-z])\.$", re.IGNORECASE
)
# The ending of a question in Chinese, Japanese and Korean, with or without a question mark.
_ASKS = re.compile(  # 吗 嗎 呢 か っけ だろう 까 나요
    r"(?:\u5417|\u55ce|\u5462|\u304b|\u3063\u3051|\u3060\u308d\u3046|\uae4c|\ub098\uc694)\Z"
)
_INLINE_HEADER = re.compile(r"(?P<header>[^:\uff1a\n]{3,100})(?::\s+|\uff1a\s*)(?P<rest>\S.*)", re.DOTALL)


def sentences(prompt: str) -> list[Sentence]:
    """Return the typed sentences in order; a linear pass over at most 50,000 characters."""
    if _FROM_THE_CLIENT.match(prompt[:200]):
        return []
    text = _TAGGED.sub(" ", prompt[:_READ].replace("\r\n", "\n").replace("\u2019", "'"))
    return list(_walk(text.split("\n")))


def ways(prompt: str) -> list[str]:
    """Return the sentences of a brief prompt that say how things are done; no questions, no tasks."""
    told = sentences(prompt) if len(prompt) <= _PROMPT_CHARS else ()
    said = (without_lead(f"{each.prefix}{each.text}") for each in told if not each.asks)
    return [
        each
        for each in said
        if len(each) >= _LEAST_CHARS
        and is_how(each)
        and not phrases.DEED.match(each)
        and not phrases.ONCE.search(each)
    ]


def without_lead(text: str) -> str:
    """Return a sentence without lead-in words and without parentheses around it."""
    text = " ".join(text.split()).strip(_MARKS)
    for _ in range(_MOST_LEADS):
        lead = phrases.LEAD.match(text)
        text = text[lead.end() :].lstrip(".)").strip(_MARKS) if lead else text
    return text[1:-1] if text.startswith("(") and text.find(")") == len(text) - 1 else text


def is_short(content: str, words: int = _MOST_WORDS) -> bool:
    """Tell whether a text is short enough for a rule and has at least one term."""
    size = len(WORD.findall(content)) + len(SIGN.findall(content)) // _CHARS_A_WORD
    return size <= words and len(content) <= CONTENT_CHARS and len(terms(content)) > 0


def is_how(content: str) -> bool:
    """Tell whether a sentence says how things are done, rather than what to do."""
    is_told = any(
        each.match(content) for each in (phrases.TOLD_OF, phrases.THE, phrases.HEDGES)
    ) or is_question(content)
    return not is_told and is_short(content) and phrases.HOW.search(content) is not None


def is_question(text: str) -> bool:
    """Tell whether a sentence begins like a question."""
    return bool(_QUESTION.match(text))


def _walk(lines: list[str]) -> Iterator[Sentence]:  # noqa: C901 - one branch a kind of line
    """Yield the sentences line by line; the kind of a line depends on the lines above it."""
    is_fenced = is_paste = is_pointing = False
    prefix: str | None = None  # that of a list of rules; None outside of one
    listed_by = ""  # its items are "bullets", or "lines" right below the heading; "" until known
    for line in _joined(lines):
        stripped = line.strip()
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        if is_pointing and not stripped:
            return
        if is_fenced or not stripped:
            is_paste = False
            listed_by = listed_by or "bullets"
            prefix = None if listed_by == "lines" else prefix
            continue
        bullet = _BULLET.match(line)
        if _SAID_AT.search(stripped) or (not bullet and _DOCUMENT.match(stripped)):
            return
        if not bullet and (line.startswith(("    ", "\t", ">")) or _PASTED.match(line)):
            is_paste = True
        if is_paste:
            continue
        title = _HEADING.match(stripped)
        header = title["title"] if title else stripped
        if stripped.endswith(":") or title:
            prefix, listed_by = _rules_prefix(header), ""
            if prefix is None and _ANNOUNCES.search(header) and not title and not bullet:
                return
            continue
        if bullet:
            listed_by = "bullets"
            yield from _split(line[bullet.end() :], prefix)
            continue
        prefix = None if listed_by == "bullets" or len(stripped) > _SHORT_HEADER else prefix
        listed_by, is_pointing = "lines", bool(_POINTS.search(stripped))
        for sentence in _split(stripped, prefix):
            if _quotes_on(sentence.text):
                yield replace(sentence, text=sentence.text.partition(": ")[0])
                is_paste = True
                break
            yield sentence


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield the lines, with wrapped lines joined."""
    held: list[str] = []
    for line in lines:
        goes_on = held and line[:1].isalnum() and not _BULLET.match(line)
        if held and not goes_on:
            yield " ".join(held)
            held = []
        if (
            len(line) >= _WRAPPED
            and not line.rstrip().endswith((".", "!", "?", ":", ";"))
            and not _PASTED.match(line)
        ):
            held.append(line)
        else:
            yield " ".join([*held, line])
            held = []
    if held:
        yield " ".join(held)


def _split(text: str, prefix: str | None) -> Iterator[Sentence]:
    carried: str | None = None  # a heading on the line applies until the sentence ends, across semicolons
    for part, end in _parts(text):
        own, told = prefix if prefix is not None else carried, part
        inline = _INLINE_HEADER.match(part) if own is None else None
        if inline and (headed := _rules_prefix(inline["header"])) is not None:
            own, told = headed, inline["rest"]
        carried = own if end == ";" else None
        asks = "?" in end or "\uff1f" in end or _ASKS.search(told) is not None
        yield Sentence(told, own is not None, own or "", asks)


def _parts(text: str) -> list[tuple[str, str]]:
    """Return the sentences of a line, each with its end mark; never splits inside parentheses or quotes."""
    found: list[tuple[str, str]] = []
    start, depth, quoted = 0, 0, ""
    for mark in _BREAK.finditer(text):
        sign = mark[0]
        if sign in "()":
            depth = max(0, depth + (1 if sign == "(" else -1))
        elif sign in '"`“”':
            quoted = "" if quoted else sign
        elif not (depth or quoted) and not _ABBREVIATION.search(
            text[max(start, mark.start() - 6) : mark.start() + 1]
        ):
            found.append((text[start : mark.start()].strip(), sign))
            start = mark.end()
    if text[start:].strip():
        found.append((text[start:].strip(), "?" if text.rstrip().endswith("?") else ""))
    return [(" ".join(part.split()), end) for part, end in found if part and not _is_quoted(part)]


def _is_quoted(part: str) -> bool:
    return part[0] in "\"“'" and part[-1] in "\"”'"


def _quotes_on(text: str) -> bool:
    """Tell whether the words before a sentence's colon announce somebody else's words."""
    head, colon, _ = text.partition(": ")
    return (
        bool(colon)
        and len(head) <= _SHORT_HEADER
        and bool(_ANNOUNCES.search(head))
        and _rules_prefix(head) is None
        and not phrases.SAID_BEFORE.match(head)
        and not phrases.FROM_NOW_ON.search(head)
    )


def _rules_prefix(header: str) -> str | None:
    """Return the prefix that a heading gives to each item, "" for plain rules; None if it heads no rules."""
    rules = _RULES.fullmatch(header.strip().rstrip(":\uff1a").strip(" *_"))
    is_for_now = phrases.NOW.search(phrases.FROM_NOW_ON.sub("", header))  # "now rules: …" is a task
    if not rules or len(header) > _SHORT_HEADER or _ANNOUNCES.search(header) or is_for_now:
        return None
    return f"{rules['each'].casefold()} " if rules["each"] else ""
