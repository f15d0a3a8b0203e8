"""The forms in which people state what is to hold from now on, and those that only look like it. Pure.

Each stands for the beginning of a sentence unless it is searched for; how they work together is
`statements`' business.
"""

from __future__ import annotations

import re
from typing import Literal

Category = Literal["architecture", "convention", "gotcha", "dependency", "pattern"]

# What may follow "always" and "never" in a standing order. "Always fails" and "always null" tell of a fault.
_VERBS = (
    "abort|accept|add|allow|annotate|answer|append|apply|ask|assert|assign|assume|attach|avoid|await|back"
    "|begin"
    "|break|bring|build|bump|cache|call|capitalize|catch|change|check|choose|clean|close|comment|commit"
    "|compare"
    "|compile|compute|configure|convert|copy|create|declare|decode|default|define|delete|deploy|derive"
    "|describe"
    "|disable|document|drop|edit|emit|enable|encode|end|ensure|escape|explain|export|expose|extend|fetch|fix"
    "|follow|force|format|freeze|generate|give|go|group|guard|handle|hard-?code|hash|hide|hold|ignore"
    "|implement"
    "|import|include|increment|indent|inherit|inject|inline|insert|install|invoke|keep|leave|let|limit|link"
    "|lint"
    "|list|load|lock|log|make|mark|match|measure|merge|migrate|mix|mock|modify|move|mutate|name|nest"
    "|normalize"
    "|omit|open|order|overwrite|parse|pass|patch|persist|pin|place|prefer|prefix|print|publish|pull|push|put"
    "|quote|raise|read|rebase|record|refer|register|release|rely|remove|rename|replace|report|return|reuse"
    "|review|round|run|sanitize|save|scope|send|separate|serialize|set|share|ship|show|sign|skip|sort|specify"
    "|spell|split|squash|stage|start|stick|stop|store|strip|suppress|swallow|tag|target|test|throw|touch|trim"
    "|trust|try|type|update|upgrade|use|validate|verify|version|wait|work|wrap|write"
)
_ADVERBS = r"(?:(?:ever|again|also|first|just|only|explicitly|directly|[a-z]{3,14}ly)\s+){0,2}"
_OBJECT = (
    r"(?!(?:it|this|that|them|these|those|so|too|as|any\s?more|more|one|me|your|my)\b|[.,!]|(?:the\s+)?"
    r"(?:first|second|third|last|other|old|new|same|former|latter)\b)"
)
_NAMED = (
    r"(?!(?:it|this|that|they|these|those|he|she|there|here|what|which|i|you|one|a|an|the|so|not|if|like)\b)"
)
_PLURAL = rf"{_NAMED}(?:[\w`./()-]+\s+){{1,6}}?"
_KEEPS = (
    r"(?:use|uses|using|prefer|prefers|deploy|run|write|store|build|test|format|lint|ship|publish|host|name"
    r"|indent|count|keep|log|call|sort|group|release|support|target|speak|say|quote|merge|rebase|squash)"
)
_IMPERATIVE = rf"{_ADVERBS}(?:{_VERBS})\b(?!\s+(?:it|this|that|them|so)(?:\s+(?:again|way))?\s*[.!]*$)"
_FULL = (
    r"(?:is|are|has|have|had|must|can|cannot|can't|uses?|needs?|runs?|lives?|lies?|takes?|goes|go"
    r"|stands?|starts?|listens?|belongs?|expects?|returns?|means?|comes?|keeps?|sends?|allows?|only|does"
    r"|do|don't|doesn't|should|will|won't|may|never|always|supports?|contains?|reads?|writes?|stays?"
    r"|requires?|begins?|ends?|hates?|likes?|wants?|prefers?|release|deploys?|ships?|works?|breaks?"
    r"|fails?|depends?)"
)

LEAD = re.compile(
    r"(?:(?:and|also|plus|but|so|okay|ok|alright|right|well|thanks|thank you|great|good|nice|perfect|please"
    r"|pls"
    r"|btw|by the way|oh|hey|hi|note|fyi|important|nb|one more thing|another thing|one thing|last thing|yes"
    r"|yeah|ah|hm+|looks good|i want you to|i'd like you to|just|claude|reminder|again|p\.?s\.?"
    r"|finally)(?:\s*[,.:!–—-]+\s*|\s+))",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"(?:maybe|perhaps|i (?:think|guess|believe|suppose|wonder|feel|doubt)|not sure|it (?:would|might) be"
    r"|what if|if\b|suppose|imagine|ideally|i heard|apparently|somebody|someone|people|they)\b",
    re.IGNORECASE,
)
ONCE = re.compile(
    r"\b(?:yet|today|tonight|tomorrow|this (?:time|once|week|morning|afternoon)|for (?:now|the moment)"
    r"|right now|at the moment|until (?:i|you|we|further|then|tomorrow|monday|friday)"
    r"|(?:in|on|for|at|with) (?:this|that) (?:pr|commit|change|branch|task|session|case|test|file|function"
    r"|method|class|query|one|step|round|run|bug|fix|issue|line|page|screen|button|ticket)|on line \d+"
    r"|(?:this|that) (?:function|method|class|file|test|endpoint|script|page|message|answer)"
    r"|(?:this|that) reply|the following"
    r"|when you(?:'re| are)"
    r" (?:done|finished))\b",
    re.IGNORECASE,
)
NOW = re.compile(r"(?<![.\w])now\b(?!\()", re.IGNORECASE)
FAULT = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|broken?|breaks|hangs|hung|bugs?|still|wrong|missing"
    r"|stuck|not work\w*|doesn't work|won't|exit code|empty|red|gone|fine|okay|ok|good|correct|done|ready"
    r"|undefined|slow)\b",
    re.IGNORECASE,
)
GENERAL = re.compile(
    r"\b(?:we|our|(?:in|for|of) (?:this|our|the) (?:project|repo|repository|code ?base|code|team)|anywhere"
    r"|ever"
    r"|in general|because|since|instead|not allowed|in (?:tests|production|commit messages|comments|docs))\b",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    r"\b(?:instead of|rather than|no longer|over|in favou?r of)\b|,\s*(?:never|and never)\b"
    r"|(?<!do )(?<!is )(?<!did )(?<!are )(?<!does )(?<!was )(?<!can )(?<!has )(?<!have )(?<!could )(?<!would"
    r" )"
    r"(?<!should )(?<!will )\bnot\s+(?!(?:work\w*|sure|yet|only|all|really|always|just|enough|able|have|be"
    r"|get|been|because|so|even|the case)\b)",
    re.IGNORECASE,
)
CODE_OF_A_CHECK = re.compile(r"[A-Z]{1,4}\d{2,}\b")
DENIAL = re.compile(
    r"(?:no+|nope|wrong|incorrect|(?:that|this|it)(?:'s| is) (?:wrong|incorrect|not (?:right|true|correct)))",
    re.IGNORECASE,
)
REPAIR = re.compile(
    r"[,;]\s*(?:please |so )?(?:fix|change|correct|adjust|update|revert|undo|try|redo)\b",
    re.IGNORECASE,
)
TRAILING = re.compile(
    r"[,\s]+(?:(?:from now on|from here on|going forward|in (?:the )?future|henceforth)(?:,?\s*please)?"
    r"|please)\s*"
    r"(?=[.!,:]*$)",
    re.IGNORECASE,
)
STANDING = re.compile(
    r"(?P<lead>(?:from (?:now|here|today|this point) on(?:wards?)?|starting (?:now|today)|going forward"
    r"|henceforth|in (?:the )?future|in all (?:future|later) sessions|for (?:the )?future)(?:\s*[,:–—-]\s*"
    r"|\s+)(?:please\s+)?)"
    r"(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
UNSURE_FUTURE = re.compile(
    r"i\b|"
    r"(?:we|you|it|they|i|this|that|the [\w ]{1,30}?) (?:might|may|could|will|would|can|want|plan|hope"
    r"|'ll)\b",
    re.IGNORECASE,
)
FUTURE_ORDER = re.compile(
    rf"(?:please|always|never|don't|do not|no|we|only|{_VERBS})\b(?!\s+(?:might|may|could|will|would))",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"(?P<lead>(?:no+|nope|wrong|incorrect|not quite|(?:that|this|it)(?:'s| is) (?:wrong|incorrect"
    r"|not (?:right|true"
    r"|correct|so))|you (?:got|have|had) (?:it|that|this) wrong)\s*[,:;–—-]+\s*|actually,?\s+)(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
FACT = re.compile(
    rf"{_NAMED}(?:\S+\s+){{1,8}}?{_FULL}\b|(?:the|our|a|an)\s+(?:\S+\s+){{1,8}}?{_FULL}\b|we {_KEEPS}\b",
    re.IGNORECASE,
)
THING = re.compile(rf"(?:the|our|a|an|we)\s+\S+\s+\S|{_NAMED}\S+\s+\S+\s+\S", re.IGNORECASE)
NOT_A_FACT = re.compile(r"(?:when|how|what|where|who|me|to|i'm|you're|it's|that's)\b", re.IGNORECASE)
REMEMBER = re.compile(
    r"(?P<lead>(?:(?:always )?(?:remember|keep in mind|bear in mind)|don't forget|do not forget|never forget"
    r"|for (?:future|later) reference|for (?:the record|later|later sessions)|mind you)\s*"
    r"(?:(?:,?\s*that\b|[:,–—-])\s*|to (?=(?:always|never)\b)|(?=(?:we|our|the|all|this project)\s)))"
    r"(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
RULE_LEAD = re.compile(
    r"(?P<lead>(?:as a (?:general )?rule(?: of thumb)?|by convention|in general|generally|(?:our|the|my|a"
    r"|house)"
    r"(?: \w+)? (?:convention|rule|policy|preference)(?: here)?(?: is)?(?: that| to)?)(?:\s*[,:–—-]\s*|\s+))"
    r"(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
JOINED_RULE = re.compile(
    r"(?:,|\s[–—-])\s+(?:(?:and|but|also|so)\s+)?"
    r"(?=(?:as a (?:general )?rule|from now on|by convention|going forward|remember that"
    r"|keep in mind that)\b|remember:)",
    re.IGNORECASE,
)
SIGNS = re.compile(
    r"\b(?P<one>[a-z]{3,20}) (?P<a>positive|negative|singular|plural|uppercase|lowercase|first|last|camelcase"
    r"|snake_case|public|private), (?P<two>[a-z]{3,20}) (?P<b>positive|negative|singular|plural|uppercase"
    r"|lowercase|camelcase|snake_case|public|private)\b",
    re.IGNORECASE,
)

# Each stands at the beginning of a sentence.
ORDERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:let's\s+)?(?:(?:you|we|i)\s+(?:(?:should|must|shall|need to|have to|want you to"
        rf"|want to)\s+)?)?(?:always|never)(?:, ever)?\s+{_IMPERATIVE}",
        r"i (?:always|never) want\s+(?!to\s+(?:know|see|find))",
        r"never\s+`",
        r"never\s+(?!\w+(?:s|ed|en)\b)(?:\S+\s){1,4}?(?:outside|except|unless)\b",
        rf"{_PLURAL}(?:must|should|shall|may|have to|has to)\s+(?:always|never)\s+\S",
        rf"{_PLURAL}(?:is|are)\s+(?:forbidden|banned|not allowed|only allowed|never allowed|off[- ]limits"
        rf"|taboo)\b",
        rf"{_PLURAL}(?:may|must|should|can)\s+only\s+be\s+\S",
    )
)
BANS = re.compile(
    rf"(?:please\s+)?(?:don't|do not|dont|don’t|stop|avoid|no more)\s+{_ADVERBS}"
    rf"(?:use|using|import|importing|rely(?:ing)? on|depend(?:ing)? on|mock|mocking|hard-?code)\s+{_OBJECT}",
    re.IGNORECASE,
)
OWN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:we|our team|this project|the team)\s+(?:never|don't|do not|no longer|stopped"
        rf"|dropped)\s+(?:ever\s+)?{_KEEPS}\s+{_OBJECT}",
        r"we(?:'ve| have)? (?:switched|moved|migrated|changed|went) (?:[\w ]{0,30})?from \S.{0,80}? to\s",
        r"(?:in|for|across|throughout) (?:this|our|the whole) (?:project|repo|repository|code ?base|code"
        r"|team|package)[,:]?\s+"
        r"(?:please\s+)?(?:we (?!have a|got|get|see|had)|use|prefer|avoid|keep|write|name|put|all|every|only"
        r"|never|always)",
    )
)
CONTRASTED = re.compile(
    rf"(?:(?:we|i|our \w+(?: \w+)?|this project|the (?:team|project))(?:\s+(?:always|only|all)|'re"
    rf"|\s+are)?\s+{_KEEPS})"
    rf"\s+{_OBJECT}(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
PREFERENCE = re.compile(
    r"(?:we|i)\s+(?:always\s+)?prefer\s+(?!(?:the|this|that|it|your)\b)\S+(?:\s\S+){0,6}?\s+(?:to|over)\s+\S",
    re.IGNORECASE,
)
NONE = re.compile(
    r"no\s+(?!(?:errors?|warnings?|output|changes?|luck|ideas?|results?|need|problems?|differences?|one"
    r"|longer|more|way|matter|idea|clue|effect|tests?|files?|rush|worries|hurry"
    r"|thanks)\b)(?P<what>[\w`.()/'-]+(?:\s[\w`.()/'-]+){0,4}?)"
    r"\s+(?:outside|except|unless|without|anywhere|in\s+(?:code|tests|views|models|templates|comments"
    r"|docstrings|docs|commit messages|names|production|controllers|migrations|public \w+))\b",
    re.IGNORECASE,
)
WHENEVER = re.compile(
    r"(?:whenever|every time|each time|any ?time|if ever)\s+you\s+(?:[^\s,]+\s+){0,25}?[^\s,]+,"
    r"\s*(?!(?:it|this|that|there|i|they|he|she)\b)\S"
    r"|always when you\s",
    re.IGNORECASE,
)
REPLACED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:instead of|rather than)\s+(?P<old>[^,;:!]{1,80})",
        r",\s*(?:and |but )?not\s+(?:in |on |with |by |to |for |into |from )?(?P<old>[^,;:!]{1,80})",
        r"\b(?:switched|moved|migrated|changed|went)\s(?:[\w ]{0,30})?from\s+(?P<old>\S.{0,60}?)\s+to\s",
        rf"\bno longer\s+(?:{_KEEPS}\s+)?(?P<old>[^,;:!]{1, 80})",
        r"\bnot\s+(?P<old>[^\s,;:!]{1,60})[.!]?$",
    )
)
OLD_END = re.compile(
    r"\s+(?:from now on|any ?more|now|here|because|since|as|so|for|in|when)\b.*|[.\s]+$", re.DOTALL
)
NEGATIVE = re.compile(
    r"\b(?:never|no|not|don't|do not|dont|avoid|stop|without|forbidden|banned|no longer|stopped|dropped)\b"
    r"|n't\b",
    re.IGNORECASE,
)
POSITIVE = re.compile(rf"\b(?:always|only allowed|{_VERBS}|is|are|uses|using)\b", re.IGNORECASE)
CATEGORIES: tuple[tuple[Category, re.Pattern[str]], ...] = (
    ("convention", re.compile(r"\b(?:commit messages?|naming|names|docstrings?|indent\w*)\b", re.IGNORECASE)),
    (
        "dependency",
        re.compile(
            r"\b(?:dependenc(?:y|ies)|packages?|librar(?:y|ies)|versions?|pin(?:ned)?|lock ?file|pip|npm"
            r"|pnpm|yarn|poetry"
            r"|uv|cargo|requirements\.txt|pyproject|support\w* python|python \d|node \d+|upgrade\w*)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "gotcha",
        re.compile(
            r"\b(?:crash\w*|breaks?|fails?|hangs?|silently|flaky|careful|beware|gotcha|rate[- ]limit\w*"
            r"|only \d|read-only|keep in mind|locked|deadlocks?|legacy|otherwise)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "pattern",
        re.compile(
            r"\b(?:whenever|every time|each time|before you|after you|workflow|deploy|release)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "architecture",
        re.compile(
            r"\b(?:database|schemas?|layers?|modules?|services?|queues?|tables?|primary key|endpoints?"
            r"|live in|lives in|listens|port|storage|stored|server|workers?|architecture|backend|vault"
            r"|config(?:uration)? is)\b",
            re.IGNORECASE,
        ),
    ),
)  # fmt: skip
