"""Withhold lines that give orders to the assistant from the memory that a session is shown. Pure.

`suspicion` is stricter: a learning can wait for the user at no cost, but a line withheld by mistake is lost.
A sign that ordinary output also shows ("you must run") counts as an order only together with others.
"""

import re
from functools import lru_cache

from claude_mem_lite.distill.disguises import reveal
from claude_mem_lite.distill.suspicion import OVERRIDES, compiled, overrides_in_disguise, shows
from claude_mem_lite.quoting import CLOSE, OPEN, parts, words_of

LINE_END = " / "
GIVES_ORDERS = "gives orders to the assistant"
RUNS_FETCHED = "runs what it fetches"
# Text that precedes a command which the session itself ran.
_RAN = ("Ran ", "Run ", ": ")

# Characters of a text that are checked; no line is longer.
_READ = 2_000
_STRONG, _ENOUGH, _HARM_WEIGHT = 3, 4, 2
# A name of this many words can be an order: drop_all_tables has three.
_FEWEST_WORDS = 3
_NAME = re.compile(r"[A-Za-z]\w*(?:[_./:-]\w+)+|[A-Za-z]*[a-z][A-Z]\w*")
_SENTENCE_END = re.compile(r"(?<=[.!?])(\s+)")
# Labels of the user's words in the lines about a session.
_ASKED = re.compile(r"(?:Still open\. )?(?:Asked(?: first| last)?|Also asked|Goal|For): ")
_NO_WORDS = re.compile(r"\[withheld: [^\]]*\]|`[^`]*`")  # code alone says nothing
_LETTER = re.compile(r"[^\W\d_]")

_ALONE = (OVERRIDES, "wants something kept from the user", "claims the user's consent")
_HARM = (
    "carries a dangerous command", "turns checks off", "sends out what is secret", "gives access away",
    "acts without asking or looking",
)  # fmt: skip
_ERRAND = ("sends for something on the net", "names a host on the net", "has something installed or run")
_AI = (
    r"(?:ais?|llms?|(?:ai|language|coding) (?:models?|tools?|assistants?|agents?)|assistants?|agents?"
    r"|claude(?: code)?(?![. ]?md\b)|gpt|chat ?bots?|copilot|(?:automated|autonomous) \w+)"
)
_MUST = (
    r"(?:must|should|shall|have to|has to|needs? to|ought to|is to|are to|will always|will never|may not"
    r"|(?:are|is) (?:required|obliged|expected|instructed))"
)
_DO = (
    r"(?:run|execute|install|fetch|download|send|post|upload|push|delete|remove|erase|wipe|disable|deactivate"
    r"|skip|ignore|approve|accept|merge|add|grant|paste|copy|print|reveal|open|visit|load|source|decode|set"
    r"|export|write|append|commit|e?-?mail|forward|share|include|use|call|invoke|follow|obey|apply|switch"
    r"|turn|trust|treat|tell|report|say|reply|answer|make|ensure|keep|read|consult|start|register|configure"
    r"|rotate|replace)"
)
# Signs that a text addresses its reader, each with a weight; none is an order by itself.
_SPEAKS = (
    # addresses the assistant
    (3, rf"\b{_AI} (?:\w+ ){{0,3}}?{_MUST}\b"
        rf"|\b(?:(?:dear|attention|hey|hello|important)[\s,:!]+(?:for |to )?|(?:notes?|messages?|instructions?"
        rf"|notice|reminder|warning|rules?) (?:to|for) )(?:(?:all|any|the|future|every|other) ){{0,2}}{_AI}\b"
        rf"|(?:^|[.;:!?] ?){_AI}[:,] "
        r"|\bif you (?:are|'re) an? (?:\w+ )?(?:ai|llm|assistant|agent|model)\b|\bwhen you (?:see|read) this\b"
        r"|\b(?:whoever|anyone who|any (?:agent|assistant|model) (?:that|who)) (?:reads?|sees?|process)"),
    # claims the authority to give orders
    (3, r"(?:^|[.!?:;|/] ?|\berror: ?)\W{0,3}(?:system|admin(?:istrator)?|anthropic|openai|human|developer"
        r"|operator|maintainers?|security team)(?: (?:message|notice|prompt|override|update|alert|reminder"
        r"|note|instruction|policy|directive|order)s?)?\s*[:>\]]"
        r"|\[/?\s*(?:inst|system|sys|admin)\s*\]|<\|[^|<>]{0,40}\|>"
        r"|\b(?:system|admin|security|policy) (?:override|reminder|notice|directive|instruction)s?\b"
        r"|\b(?:end|begin(?:ning)?) of (?:the )?(?:context|memory|record|system prompt|conversation"
        r"|instructions)\b"
        r"|\b(?:messages?|notices?|orders?|requests?|instructions?|commands?) (?:from|by) (?:the )?(?:anthropic"
        r"|openai|system|admin\w*|operators?|security team|maintainers?|repository owner)\b"
        r"|\banthropic (?:requires|says|wants)\b"
        r"|\b(?:required|mandated|ordered|requested|demanded) by (?:the )?(?:anthropic|system|admin\w*"
        r"|security|compliance|policy|maintainers?|owner)\b"),
    # holds from now on
    (2, r"\b(?:from now on|going forward|henceforth|immediately)\b"
        r"|\b(?:every|each|all|any|future|later|subsequent) (?:future |new |coding )?(?:sessions?"
        r"|conversations?|turns?)\b|\b(?:every|each) (?:task|run|commit|command|build)\b"
        r"|\b(?:at|in|on) the (?:start|beginning|end) of (?:every|each|all|any|your)\b"
        r"|\bbefore (?:doing anything|anything else|you (?:do|answer|continue|proceed|start|commit|run|read"
        r"|go)|answering|responding|replying|continuing|proceeding)\b"
        r"|(?:^|[.;:!?,] ?)(?:always|never)\b|\bmust (?:always|never|first|now)\b"
        r"|\bis (?:mandatory|required) (?:for|before|to)\b"),
    # addresses the reader
    (2, rf"\byou(?: \w+)? {_MUST}\b|\byou(?: \w+)? can(?:not|'t)\b"),
    # assigns a role
    (2, r"\byou(?: are|'re) (?:now|no longer)\b|\bpretend\b|\brole-?play\b|\b(?:developer|god|dan|maintenance"
        r"|admin|unrestricted) mode\b|\bjailbr(?:eak|oken)\b|(?:^|[.:;!?] |\bplease )act as\b"),
)  # fmt: skip
_RUN_FROM_NET = (
    r"\b(?:curl|wget|iwr|invoke-webrequest)\s[^|`]{0,200}\|\s*(?:sudo )?(?:(?:ba|z|da|k)?sh|python\d?|iex|node)\b"
    r"|\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)\b"
)
_IMPERATIVE = (
    rf"(?:^|[.;:!?,(\[\"'—–]\s*|\b(?:please|then|and|must|should|first|next|now|just|simply|also|always|never"
    rf"|to)\s+){_DO}\b(?!\s*[:=])"
)


def fetches_and_runs(command: str) -> bool:
    """Tell whether a command runs what it downloads: `curl … | sh`."""
    return compiled(_RUN_FROM_NET).search(command) is not None


@lru_cache(maxsize=4096)
def order(text: str) -> str:
    """Return why a text counts as an order to the assistant; "" if it does not."""
    text = text[:_READ]
    revealed = reveal(text)
    forms = list(dict.fromkeys((revealed.letters, revealed.unaccented, *revealed.guessed, *_names(text))))
    for reason in _ALONE:
        if shows(reason, forms):
            return reason
    if overrides_in_disguise(revealed):
        return OVERRIDES
    return GIVES_ORDERS if any(map(_is_order, forms)) else ""


def withhold(text: str, *, is_users: bool = False) -> tuple[str, str]:
    """Return a line without the orders in it, and why something was withheld ("" for nothing).

    Withholds whole quotations, commands and sentences; the line is "" if nothing else is left. What the user
    asks for is never withheld as an order: if `is_users`, that is all text that is not quoted.
    """
    why = ""
    told: list[str] = []
    for is_apart, part in parts(text):
        for piece in [part] if is_apart else _SENTENCE_END.split(part):
            is_asked = is_users or (not is_apart and _ASKED.match(piece))
            # A quotation joins lines that have nothing to do with each other; check each by itself.
            lines = () if is_asked and piece[:1] != OPEN else piece.strip(f"{OPEN}{CLOSE}` ").split(LINE_END)
            reason = next(filter(None, map(order, lines)), "")
            is_told = piece[:1] == "`" and not is_users and not "".join(told).endswith(_RAN)
            if is_told and fetches_and_runs(piece):
                reason = RUNS_FETCHED
            why = why or reason
            told.append(f"[withheld: {reason}]{' ' * piece[-1:].isspace()}" if reason else piece)
    if not why:
        return text, ""
    line = "".join(told)
    return (line if _LETTER.search(_NO_WORDS.sub("", line)) else ""), why


def _is_order(form: str) -> bool:
    """Tell whether the signs make an order: a strong one and another, or weak ones and an instruction."""

    def shown(pattern: str) -> bool:
        return compiled(pattern).search(form) is not None

    if shown(_RUN_FROM_NET) and shown(_IMPERATIVE):
        return True
    weights = [weight for weight, pattern in _SPEAKS if shown(pattern)]
    if not weights:
        return False
    harm = _HARM_WEIGHT * any(shows(reason, [form]) for reason in _HARM)
    says = shown(_IMPERATIVE) + any(shows(reason, [form]) for reason in _ERRAND)
    if max(weights) < _STRONG:
        return bool(says + harm) and sum(weights) + harm >= _ENOUGH
    return sum(weights) + says + harm >= _ENOUGH


def _names(text: str) -> list[str]:
    """Return the text with its long names split into words, if any: "run npx evil" for run-npx-evil."""
    spelled = _NAME.sub(_spelled, text)
    return [" ".join(spelled.casefold().split())] if spelled != text else []


def _spelled(name: re.Match[str]) -> str:
    words = words_of(name[0])
    return " ".join(words) if len(words) >= _FEWEST_WORDS else name[0]
