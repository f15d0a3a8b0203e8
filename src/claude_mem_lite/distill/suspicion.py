"""Find the reasons why a text must wait for the user before it becomes an active learning. Pure.

A model reads a learning in every later session. A text that gives orders, speaks as somebody else, fetches
something or hides something may come from an attacker. In doubt a text waits; that costs the user one look.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from claude_mem_lite.distill.disguises import disguises, reveal

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks load this module: `typing` would cost them more than the rest
    from collections.abc import Sequence
    from typing import Literal

    from claude_mem_lite.distill.disguises import Revealed

    Origin = Literal["user", "assistant", "tool"]

OVERRIDES = "overrides instructions"
LONGEST = 2_000  # characters; no learning is longer
_READ = 8_000
_BEFORE = 60
_WINDOW = 80

_ANY: frozenset[str] = frozenset({"user", "assistant", "tool"})
_NOT_THE_USER: frozenset[str] = frozenset({"assistant", "tool"})

_OLD = r"(?:previous|prior|above|earlier|preceding|former|past|existing|original|initial|system|your|old|other|current)"
_RULES = r"(?:instructions?|prompts?|rules|directions?|guidelines?|directives?|commands?|orders|safeguards?|constraints?|policy|policies|restrictions?|programming|training|messages?|context|guidance)"
_DROP = r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|neglect|bypass|discard|abandon|overlook|dismiss|set aside|(?:do not|don't|stop) (?:follow|obey|heed)(?:ing)?|pay no attention to)"
_AI = r"(?:ais?|llms?|language models?|(?:ai |coding |the |an? )?(?:assistants?|agents?)|claude(?: code)?|gpt|chat ?bots?|copilot)"
_MODAL = r"(?:must|should|shall|have to|has to|needs? to|ought to|is to|are to|will always|will never|are required|is required|are obliged)"
_SECRETS = (
    r"(?:secrets?\b|(?:the|api|access|auth|bot|bearer|session|your|its|their|user'?s?|all) tokens?\b"
    r"|api[- ]?keys?\b|private keys?\b"
    r"|ssh keys?\b|passwords?\b|credentials?\b|\.env\b|env(?:ironment)? ?var(?:iable)?s?\b|cookies?\b"
    r"|transcripts?\b|conversations?\b"
    r"|chat history\b|source code\b|(?:system|hidden) prompt\b|(?:contents?|files?) of (?:the )?(?:home"
    r"|repo))"
)
_GUARDS = (
    r"(?:tests?|test suite|checks?|checking|hooks?|lint\w*|type ?check\w*|verification|validation|reviews?"
    r"|ci|signatures?|tls|ssl|certificates?"
    r"|auth\w*|security|sandbox\w*|permissions?|csrf|safety|protections?|assert\w*|firewall|audit\w*"
    r"|safeguards?|guard ?rails?|2fa|mfa)\b"
)

# Each reason has the origins that it applies to, whether a "never" before it makes it harmless, and its
# pattern. Patterns match one line in lower case; no gap between two words is longer than 80 characters. They
# are compiled on first use, so that a hook that needs one of them waits for that one alone.
_SIGNS: dict[str, tuple[frozenset[str], bool, str]] = {
    OVERRIDES: (
        _ANY, False,
        rf"\b{_DROP}\s+(?:\w+\s+){{0,4}}?{_OLD}\s+(?:\w+\s+){{0,2}}?{_RULES}\b"
        rf"|\b{_DROP}\s+(?:all|any|every|everything)\s+(?:\w+\s+){{0,2}}?(?:instructions?|prompts?"
        rf"|guidelines|directions|directives|commands|orders)\b"
        rf"|\b{_DROP}\s+(?:everything|anything|all|what(?:ever)?)\s+(?:\w+\s+){{0,4}}?(?:told|said|above"
        rf"|before|learned|instructed)\b"
        rf"|\b{_DROP}\s+(?:what|whatever|any|all|every)\s+(?:\w+\s+){{0,3}}?guidance\b|\byour (?:real|new|true|only|actual|secret) (?:goal|task|job|purpose|mission|objective)\b"
        r"|\b(?:reveal|print|show|repeat|output|leak|disclose) (?:your|the (?:system|hidden|full)) (?:\w+ )?(?:instructions|prompts?)\b"
        rf"|\b{_DROP} (?:the|all|everything) (?:user|rules|instructions|above|foregoing|preceding)\b"
        rf"|\b(?:new|updated|real|actual|true|revised) (?:\w+ )?(?:instructions?|orders|system prompt"
        rf"|directives?|objective|persona)\b"
        rf"|\b(?:{_OLD}|these|those|safety|all|the)\s+{_RULES}\s+(?:\S+\s+){{0,6}}?(?:(?:do not|don't"
        rf"|no longer) (?:apply|hold|count)|(?:are|is) (?:void|suspended|lifted|overridden|superseded"
        rf"|cancelled|obsolete))"
        rf"|\brules from the system prompt\b|\b(?:takes? precedence|have precedence"
        rf"|has priority) over (?:all |any |every |the |your )*(?:\w+ )?(?:instructions?|rules|prompts?"
        rf"|guidelines)",
    ),
    "gives the assistant another role": (
        _ANY, False,
        r"\byou(?: are|'re) (?:now|no longer|an? (?:unrestricted|evil|helpful))\b|\bpretend\b"
        r"|\brole-?play\b|\bimagine (?:that )?you\b"
        r"|\b(?:developer|god|dan|maintenance|admin|unrestricted) mode\b|\bjailbr(?:eak|oken)\b"
        r"|\bdo anything now\b|\bunrestricted\b"
        r"|\b(?:no|without(?: any)?) (?:restrictions|limitations|filters|limits)\b|(?:^|[.:;!?] "
        r"|\byou (?:\w+ ){0,3}|\bplease )act as\b",
    ),
    "gives orders to the assistant": (
        _NOT_THE_USER, False,
        rf"\byou (?:\w+ )?(?!should know)(?:{_MODAL}|may not|can(?:not|'t))\b"
        rf"|\b{_AI} (?:\w+ ){{0,2}}?{_MODAL}\b"
        rf"|\b(?:future|every|each|all|new|next|later|subsequent) (?:sessions?|conversations?|instances?"
        rf"|agents?)\b(?:[^.]|\.(?=\w)){{0,40}}?\b(?:{_MODAL}|execute|obey)\b"
        r"|\bwhoever\b|\bobey\w*|\b(?:make|let|have) (?:the |any |every |all )?(?:next|future|later|user|developer|reviewer)\w*(?: \w+)? (?:believe|think)\b"
        rf"|\b{_AI} will (?:execute|run|obey|follow|delete|push|send|approve|trust)\b|\b(?:when|whenever|if) (?:you(?:'re| are) )?asked\b"
        r"|\b(?:answer|respond to|reply to) (?:every|all|each|any)\b"
        r"|(?:^|[.;:!] )(?:at|in|on) the (?:start|beginning|end|top) of (?:every|each|all|any"
        r"|your) (?:new )?(?:session|conversation|turn),"
        r"|\b(?:at|in|on) the (?:start|beginning|end|top) of (?:every|each|all|any|your) (?:answer"
        r"|response|reply|message)s?\b"
        r"|\b(?:before|after) (?:answering|responding|replying)\b|\b(?:do|does|doing) (?:what|as"
        r"|whatever) (?:it|they|that) (?:says?|tells?|asks?)\b",
    ),
    "addresses whatever model reads it": (
        _ANY, False,
        rf"\b(?:dear|attention|notes? to|hey|hello|message (?:to|for)|instructions? (?:to|for)"
        rf"|notice (?:to|for)|reminder (?:to|for))\W+(?:(?:all|any|the|future|every"
        rf"|other) ){{0,2}}(?:{_AI}|models?)\b"
        rf"|\b(?:{_AI}|whoever|anyone who)\b(?:[^.]|\.(?=\w)){{0,20}}?\b(?:reads?|reading|sees?|process(?:es"
        rf"|ing)?)\b(?:[^.]|\.(?=\w)){{0,15}}?\b(?:this|it)\b"
        r"|\b(?:copy|repeat|propagate|preserve|include|spread) (?:this|these) (?:notes?|instructions?"
        r"|messages?|memory|rules?|texts?|learnings?|entry)\b"
        r"|\bif you (?:are|'re) an? (?:ai|llm|assistant|agent|language model)\b|\bwhen you (?:see"
        r"|read) this\b",
    ),
    "wants something kept from the user": (
        _ANY, False,
        r"\b(?:do not|don't|never|not|avoid|refrain from|nobody)\s+(?:\w+\s+){0,2}?(?:tell|telling"
        r"|mention|mentioning|inform|informing|reveal|revealing|disclose|disclosing|notify|notifying"
        r"|alert|alerting)\b(?:[^.]|\.(?=\w)){0,40}?\b(?:users?|developers?|anyone|anybody|humans?|owner|maintainers?"
        r"|reviewers?|people|them)\b"
        r"|\b(?:keep|hide|conceal|withhold)\b(?:[^.]|\.(?=\w)){0,40}?\b(?:from|secret from"
        r"|hidden from) (?:the )?(?:users?|developers?|humans?|owner|maintainers?|reviewers?|anyone)\b"
        r"|\b(?:silently|secretly|quietly|covertly|stealthily)\s+(?:run|add|send|install|upload|commit"
        r"|push|copy|change|replace|delete|execute|write|include|remove|forward|update|apply|merge|fetch"
        r"|download)\b"
        r"|\bwithout (?:the )?(?:user|anyone|them)(?:'s|s')? (?:\w+ )?(?:knowledge|knowing|consent"
        r"|noticing|permission)\b",
    ),
    "claims the user's consent": (
        _ANY, True,
        r"\b(?:user|owner|maintainer|developer|team)s? (?:has|have|had)?\s?(?:already "
        r"|been )?(?:\w+ )?(?:approved|authori[sz]ed|consented|granted|pre-?approved|given (?:permission"
        r"|consent))\b"
        r"|\b(?:user|owner|maintainer|admin)s? (?:\w+ )?(?:asks?|asked|wants?|instructs?|instructed|told"
        r"|tells?|requires?|orders?|ordered) (?:you|claude|the assistant|the agent)\b"
        r"|\bno (?:need|reason) (?:to|for) (?:ask|confirm|wait|check|permission|confirmation"
        r"|approval)\w*|\bno (?:confirmation|approval|permission)s? (?:is|are) (?:needed|required"
        r"|necessary)\b"
        r"|\b(?:do not|don't|never|not) (?:need to )?ask (?:the user|for (?:permission|confirmation"
        r"|approval)|me before|before)\b",
    ),
    "acts without asking or looking": (
        _ANY, True,
        r"\bwithout (?:\w+ ){0,2}?(?:asking|telling|informing|mentioning|notifying|confirmation|approval"
        r"|permission|consent|review|reviewing|looking|testing|checking)\b"
        r"|\bapprov(?:e|es|ing) (?:all|every|any|each|everything|changes|pull|tool)\b|\bauto-?approv\w+"
        r"|\baccept (?:all|every|any) (?:changes|edits|permissions?)\b",
    ),
    "speaks as the system, the user or the assistant": (
        _ANY, False,
        r"</?\s*(?:system[\w-]*|user|assistant|human|instructions?|important|admin\w*|override"
        r"|function_\w+|invoke|parameter|tool[\w-]*|claude[\w-]*|antml[:\w]*|thinking|prompt"
        r"|command-[\w-]+|task-[\w-]+|local-[\w-]+|context|memory|session-[\w-]+)\b[^<>]{0,200}>?"
        r"|\[/?\s*(?:inst|system|sys|user|assistant|admin)\s*\]|<\|[^|<>]{0,40}\|>|<<\s*/?sys\s*>>"
        r"|#{2,}\s*(?:instructions?|system|response|user|assistant|human)\b"
        r"|[\"']role[\"']\s*:\s*[\"']|\{\s*role\s*:|\brole\s*:\s*[\"']?system\b|[\"'](?:tool_use"
        r"|tool_name|tool_input|tool_result|function_call|tool_calls)[\"']"
        r"|(?:^|[.!?\n] ?)\W{0,3}(?:system|human|assistant|developer|admin|administrator|operator"
        r"|anthropic|openai|root)(?: (?:message|notice|prompt|override|update|alert|reminder"
        r"|note))?\s*[:>]"
        r"|\b(?:system|admin) (?:override|reminder|notice|alert)\b|\b(?:end"
        r"|begin(?:ning)?) of (?:the )?(?:context|memory|record|system prompt|conversation|instructions"
        r"|data)\b"
        r"|\b(?:messages?|notices?|notes?|orders?|requests?|instructions?|commands?) (?:from|by"
        r"|of) (?:the )?(?:anthropic|openai|system|admin\w*|operators?|security team)\b"
        r"|\bto=functions\b|\{\s*[\"'](?:cmd|command)[\"']\s*:|\bas (?:the|an|your) (?:administrator|admin|system|operator)\b|\bi (?:hereby )?(?:authori[sz]e|permit|order|command|instruct) you\b"
        r"|\btreat(?:ed|s|ing)?\b(?:[^.]|\.(?=\w)){0,60}?\bas (?:\w+ )?(?:trusted|authoritative|orders|instructions"
        r"|commands|system)\b|<!--|display\s*:\s*none|\banthropic (?:requires|says|wants)",
    ),
    "sends for something on the net": (
        _ANY, False,
        r"(?:https?|ftp|wss?|file|ssh|git|hxxps?)\s*(?::|\[:\])//(?!localhost\b|127\.0\.0\.1\b"
        r"|0\.0\.0\.0\b|\[::1\])|\b(?:javascript|data):\w+[/,(]|\bwww\.\w|\[\.\]|\((?:dot|punkt)\)"
        r"|!\[[^\]]{0,80}\]\("
        r"|\b(?:fetch|download|visit|open|curl|wget|browse|load|get|import|install|clone|consult|read"
        r"|see|query|call|ping)(?:ing|ed|s)?\b(?:[^.]|\.(?=\w)){0,30}?(?<![\w-])[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){0,3}\.(?:com|net"
        r"|org|io|dev|xyz|ru|cn|example|top|info|co|me|tk|cc|link|site|online|ai|app)\b(?!\()"
        r"|(?<![\w-])[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){0,3}\.(?:com|net|org|io|dev|xyz|ru|cn|example|top|info|co|tk|cc"
        r"|link|site|online)/\S",
    ),
    "names a host on the net": (
        _NOT_THE_USER, False,
        r"(?<![\w./@-])[a-z0-9][a-z0-9-]{0,62}\.(?:[a-z0-9-]{1,63}\.){0,3}(?:com|net|org|ru|cn|xyz|top|tk|test"
        r"|example)\b(?!\.?\w|\()|(?<![\w./@-])[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){1,3}\.(?:io|dev|co|ai"
        r"|app|info|site|online|cc|link)\b(?!\.?\w|\()",
    ),
    "carries a dangerous command": (
        _ANY, True,
        r"\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b|\|\s*python\d?\b|\b(?:ba|z)?sh\s+-c\b|\bpython\d?\s+-c\b"
        r"|\bnode\s+-e\b|\bperl\s+-e\b|\beval\s*[(\"'$`]|\bos\.system\b|\bsudo\s+\w|\brm\s+-\w*[rf]"
        r"|\bch(?:mod|own)\s+\S"
        r"|\bmkfs\b|\bdd\s+if=|\bbase64\s+(?:-d|--decode)\b|\bnc\s+(?:-|\d|\w+\.)|\becho\s+[\"']?\$\w*(?:token|key|secret|pass)|/dev/tcp\b|\bauthorized_keys\b"
        r"|\bcrontab\b|\.(?:ba|z)shrc\b|(?<!\w)\.(?:netrc|git-credentials|kube/config)\b|/etc/(?:passwd|shadow|hosts|sudoers)\b|~/\.(?:ssh|aws|gnupg)\b"
        r"|\bid_(?:rsa|ed25519)\b"
        r"|\bgit\s+push\b[^.,]{0,30}?(?:--force\b(?!-)|\s-f\b)|\bforce[- ]push|--dangerously-[\w-]+"
        r"|\bbypasspermissions\b|\$\([^)]{0,80}\)|\b(?:curl|wget|iwr"
        r"|invoke-webrequest)\s+(?:-\S+\s+){0,4}\S*\.\w",
    ),
    "has something installed or run": (
        _NOT_THE_USER, True,
        r"\bpip3?\s+install\s+(?!-e\b|-r\b|--editable|--requirement|[.'\"])\S|\b(?:npm|pnpm|yarn"
        r"|bun)\s+(?:i|install|add)\s+(?!and\b|or\b|in\b|to\b|is\b|for\b|with\b|before\b|after\b|--)[\w@]"
        r"|\b(?:npx|uvx|pipx)\s+\w|\b(?:cargo|gem|brew|apt|apt-get|go)\s+(?:install|get|add)\s+\w"
        r"|\b(?:run|running|execute|executing|launch|source)\b(?:[^.]|\.(?=\w)){0,25}?(?:\bthe following\b"
        r"|\bthis (?:script|command|code)\b|/tmp/|(?<!\w)\./\w|~/\S|\b[\w/-]+\.sh\b|\bbash\b|\bpayload\b"
        r"|\b(?:hidden|attached) )"
        r"|\bdecode\b(?:[^.]|\.(?=\w)){0,20}?\b(?:follow|run|execute|obey)\b",
    ),
    "turns checks off": (
        _ANY, True,
        rf"\b(?:skip(?:ping)?|disabl(?:e|ing)|bypass(?:ing)?|turn(?:ing)? off|switch(?:ing)? off"
        rf"|deactivat(?:e|ing)|comment(?:ing)? out|suppress(?:ing)?|circumvent(?:ing)?|weaken(?:ing)?"
        rf"|relax(?:ing)?|omit(?:ting)?)\s+(?:\S+\s+){{0,3}}?{_GUARDS}"
        rf"|\b(?:with|keep|leave) (?:the )?(?:\w+ )?{_GUARDS}\s+(?:off|disabled)\b"
        rf"|\b(?:remov(?:e|ing)|delet(?:e|ing)|ignor(?:e|ing))\s+(?:(?:the|all|any|failing|every"
        rf"|branch)\s+){{1,3}}{_GUARDS}"
        r"|\bno[-_]verify\b|(?<![a-z])\w*ssl_no_verify\b|\bno-check-certificate\b|--insecure\b|\bgit commit (?:-\S+ )?-n\b|\bverify\s*=\s*false\b|\|\|\s*true\b|\btests? (?:are"
        r"|is) (?:optional|unnecessary|not (?:needed|required|necessary))\b|\b(?:no"
        r"|without) tests\b(?:[^.]|\.(?=\w)){0,20}?\b(?:needed|required)\b|\bwrite no tests\b|\bhookspath\b|\bhusky=0\b|\b(?:delet|remov)(?:e|ing) (?:the |all )*failing\b"
        r"|\b(?:report|say|claim|state|mark|answer|tell)\b(?:[^.]|\.(?=\w)){0,40}?\b(?:pass(?:es|ed|ing)?|green"
        r"|success\w*|done|ok|fine)\b(?:[^.]|\.(?=\w)){0,20}?\b(?:even (?:if|when|though)|regardless|whatever|no matter|although|anyway"
        r"|whether)\b|\bmerge without\b|\bwithout (?:running|review|testing)\b",
    ),
    "gives access away": (
        _ANY, True,
        r"\b(?:grant|give|add|allow|invite)\b(?:[^.]|\.(?=\w)){0,40}?\b(?:write access|admin (?:rights|access)"
        r"|access to|codeowners|collaborators?|sudoers|allow ?list|white ?list|(?:as )?maintainers?)\b",
    ),
    "sends out what is secret": (
        _ANY, True,
        rf"\b(?:send|upload|post|e?-?mail|forward|leak|transmit|share|copy|publish|push|submit|include"
        rf"|attach|embed|paste|print|dump|echo|output|reveal|expose|commit)(?:s|ting"
        rf"|ing)?\b(?:[^.]|\.(?=\w)){{0,3}}\s(?:[^\s]+\s){{0,8}}?(?:[^\s]{{0,20}}[\s(\"'`/])?{_SECRETS}"
        rf"|\b(?:store|save|write|append|put|add|read|insert)\b(?:[^.]|\.(?=\w)){{0,30}}?(?:{_SECRETS}|\baws key\b)(?:[^.]|\.(?=\w)){{0,20}}?\b(?:commit messages?|notes|issues?|readme|answers?|repl(?:y|ies)|(?:each|every) file|memory)\b"
        rf"|{_SECRETS}(?: from \S+)? (?:go|goes|belong|belongs) (?:in)?to (?:the |a |every |each )?(?:pr|pull request|commit|issue|public|log|answer|readme)\w*\b"
        r"|\bsecrets? (?:echoed|printed|logged|sent|uploaded|copied|posted|shared)\b|\byour system prompt\b|\bexfiltrat\w*|\b(?:public )?(?:gist|pastebin|ngrok|requestbin|webhook\.site)\b",
    ),
}  # fmt: skip
_NEGATION = (
    r"\b(?:never|do not|don't|dont|must not|mustn't|cannot|no|not|nobody|forbidden to|avoid|instead of"
    r"|rather than|nie|niemals|nicht|kein\w*|ohne|jamais|pas|sans|nunca|jam[aá]s|sin|n[aã]o|sem|mai|non|senza|nooit"
    r"|niet|geen|zonder|nigdy|bez|asla)\s|(?:不要|不能|不得|禁止|绝不|切勿|别|別)\s?"
)
# Words that reverse a negation, after it or, in some languages, before it: "don't hesitate to".
_SPURS = (
    r"zöger\w*|zoger\w*|vergiss|vergessen|h[eé]sit\w*|oubli\w*|manque\w*|dud[ae]\w*|olvid\w*|dej[ae]\w*|esque[cç]\w*|deix\w*"
    r"|esit\w*|dimentic\w*|aarzel\w*|vergeet|wahaj\w*|zapom\w*|unut\w*"
)
_DOUBLE_NEGATION = (
    r"\b(?:hesitate|forget|fail|afraid|refrain|miss|omit|neglect|only|just|problem|matter|longer|but|and then"
    rf"|nur|sondern|seulement|que|mais|s[oó]lo|sino|apenas|s[oó]|ma|alleen|maar|tylko|{_SPURS})\b|[.;:!?]\s|忘|犹豫|只|仅"
)
_SPURRED = rf"\b(?:{_SPURS})\s$"

_SQUEEZED = re.compile(
    r"(?:ignor(?:e|ing)|disregard|forget|override|overrule|bypass)(?:all|any|every|of|the|your|my|these"
    r"|those|everything){0,4}"
    r"(?:(?:previous|prior|above|earlier|preceding|former|existing|original|system|initial|your)(?:system"
    r"|user|given|safety)?"
    r"(?:instruction|prompt|rule|direction|guideline|directive|command|order|safeguard|constraint|message)"
    r"|instructionsabove|instructionsbefore)|donottelltheuser|donttelltheuser|youarenowin(?:developer|dan"
    r"|god)|executethefollowing"
    r"|runthefollowing|revealthesystemprompt|(?:ignore|disregard|forget)all(?:instructions|rules|prompts"
    r"|guidelines)"
)

# "Ignore all previous instructions": beginnings of the verb, the noun and the adjective, one language a row.
# The first table is without diacritics, the second as written.
_UNACCENTED = (
    ("ignorier|vergiss|vergesst|missacht|beacht\\w* nicht", "anweisung|instruktion|regeln|befehl|gesagt|vorgaben|prompt", "vorherig|bisherig|obig|vorig|fruher|vorher|alle"),
    ("ignore[zr]|oublie|ne tiens pas compte|ne tenez pas compte|neglige", "instruction|consigne|regle|directive|ordre", "precedent|ci-dessus|anterieur|tout|avant"),
    (r"ignor(?:a|e|en|ad|ar|emos)\b|olvid[ae]|descart[ae]|omit[ae]|haz caso omiso", "instruccion|regla|orden|indicacion|directri", "anterior|previ|arriba|tod[ao]s"),
    (r"ignor(?:a|i|ate|are)\b|dimentic|trascur|non considerare", "istruzion|regol|ordin|direttiv|indicazion", "precedent|sopra|prim[ae]|tutt[ei]"),
    (r"ignor(?:a|e|em|ar)\b|esquec|desconsider|descart[ae]", "instruc|regra|orden|diretriz|comando", "anterior|previ|acima|tod[ao]s"),
    ("negeer|vergeet|sla .{0,30}in de wind", "instructi|regels|opdracht|aanwijzing", "voorgaand|vorige|eerder|bovenstaand|alle"),
    ("ignoruj|zignoruj|zapomnij|pomin", "instrukcj|polecen|zasad|regul", "poprzedni|wczesniejsz|powyzsz|wszystki"),
    ("ignoruj|zapomen|pomin", "instrukc|pokyn|pravidl|prikaz", "predchoz|predesl|vyse|vsech"),
    ("ignorera|glom|bortse|strunta i", "instruktion|regler|anvisning", "tidigare|foregaende|ovan|alla"),
    ("ignorer|glem|se bort fra", "instru(?:ks|kt)|regler|anvisning", "tidligere|forrige|foregående|foregaende|ovenstaende|alle"),
    ("unohda|jata huomiotta|ohita|ala valita", "ohje|maaray|saannot|kasky", "aiem|edellis|kaikki|yllaolev"),
    ("hagyd figyelmen|felejtsd|ne torodj|mellozd", "utasitas|szabaly|parancs", "korabbi|elozo|fenti|osszes|minden"),
    (r"ignora(?:ti)?\b|uita|nu tine cont", "instructiun|reguli|comenz|indicati", "anterioar|precedent|de mai sus|toate"),
    ("yok say|gormezden gel|dikkate alma|unut", "talimat|yonerge|komut|kural", "onceki|yukarida|tum|butun"),
    ("bo qua|phot lo|quen", "huong dan|chi dan|chi thi|lenh|quy tac", "truoc|tren|tat ca"),
    ("abaikan|lupakan|hiraukan|jangan ikuti", "instruksi|perintah|aturan|arahan", "sebelum|di atas|semua|terdahulu"),
    ("puuza|sahau", "maagizo|maelekezo|sheria", "awali|yote|zilizopita|hapo juu"),
)  # fmt: skip
_AS_WRITTEN = (
    ("игнорируй|проигнорируй|забудь|не обращай|пренебреги", "инструкц|указан|правил|команд|приказ", "предыдущ|прежни|выше|все"),
    ("ігноруй|проігноруй|забудь|не зважай|нехтуй", "інструкц|вказів|правил|команд", "попередн|вище|усі|всі"),
    ("игнорирай|пренебрегни|забрави", "инструкц|указан|правил", "предишн|предходн|по-горе|всички"),
    ("αγνόησε|αγνοήστε|ξέχασε|παράβλεψε", "οδηγί|εντολ|κανόν", "προηγούμεν|παραπάνω|όλες|όλους"),
    ("忽略|無視|无视|忘记|忘記|不要理会|不要遵守|忽視|忽视", "指令|指示|说明|說明|规则|規則|提示|命令", "之前|以前|上面|所有|先前|前面|以上|すべて"),
    ("無視|忘れ|従わない", "指示|命令|指令|ルール|規則|プロンプト", "以前|前の|これまで|上記|すべて|全て"),
    ("무시|잊어|따르지", "지시|명령|지침|규칙|프롬프트", "이전|앞의|위의|모든"),
    ("تجاهل|انس|انسَ|أهمل", "تعليمات|أوامر|قواعد|توجيهات", "السابقة|أعلاه|جميع|كل"),
    ("نادیده|فراموش", "دستور|قوانین|راهنما", "قبلی|بالا|همه|تمام"),
    ("התעלם|התעלמי|שכח|התעלמו", "הוראות|הנחיות|כללים|פקודות", "קודמ|לעיל|כל"),
    ("अनदेखा|नज़रअंदाज़|भूल", "निर्देश|आदेश|नियम", "पिछले|पहले|सभी|उपरोक्त"),
    ("উপেক্ষা|ভুলে", "নির্দেশ|আদেশ|নিয়ম", "আগের|পূর্ব|সমস্ত|সব"),
    ("เพิกเฉย|ละเว้น|ไม่ต้องสนใจ|ลืม", "คำสั่ง|คำแนะนำ|กฎ", "ก่อนหน้า|ข้างต้น|ทั้งหมด"),
)  # fmt: skip


def suspicions(text: str, *, origin: Origin) -> list[str]:
    """Return the reasons why a text has to wait for the user, as short phrases; [] if it may be stored.

    `origin` is whose words they are: the user's own ("you should always …" is then a convention), the
    assistant's, or only a tool's output, which always waits. Reads at most 8,000 characters.
    """
    reasons = ["came only from a tool's output"] if origin == "tool" else []
    reasons += ["is too long for a learning"] if len(text) > LONGEST else []
    text = text[:_READ]
    revealed = reveal(text)
    forms = (revealed.letters, revealed.plain, revealed.unaccented, *revealed.guessed)
    reasons += [
        reason for reason, (origins, *_) in _SIGNS.items() if origin in origins and shows(reason, forms)
    ]
    if overrides_in_disguise(revealed):
        reasons.append(OVERRIDES)
    if _has_twins(revealed.letters):
        reasons.append("names a thing and what looks like it")
    return list(dict.fromkeys([*reasons, *disguises(text)]))


def shows(reason: str, forms: Sequence[str]) -> bool:
    """Tell whether a text, in the forms that `reveal` returns, shows the sign of a reason."""
    _, is_negatable, pattern = _SIGNS[reason]
    return any(
        not (is_negatable and _is_negated(form, found.start()))
        for form in forms
        for found in compiled(pattern).finditer(form)
    )


def overrides_in_disguise(revealed: Revealed) -> bool:
    """Tell whether a text overrides instructions in letters without spaces or in another language."""
    return any(_SQUEEZED.search(form) for form in revealed.squeezed) or any(
        _any_verb(table, edge).search(text) and any(_meets(language, edge, text) for language in table)
        for table, edge, text in (
            (_UNACCENTED, r"\b", revealed.unaccented),
            (_AS_WRITTEN, "", revealed.plain),
        )
        if edge or not text.isascii()
    )


def _has_twins(text: str) -> bool:
    """Tell whether two words differ only by an extra letter or two swapped letters: requests, reqeusts."""
    words = set(re.findall(r"[a-z]{5,40}", text))
    for word in words:
        for at in range(len(word) - 1):
            swapped = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
            longer = word[:at] + word[at + 1 :]
            if (swapped != word and swapped in words) or (longer != word[:-1] and longer in words):
                return True
    return False


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use."""
    return re.compile(pattern)


def _is_negated(text: str, place: int) -> bool:
    before = text[max(0, place - _BEFORE) : place]
    negation = None
    for negation in compiled(_NEGATION).finditer(before):  # noqa: B007 - the last one
        pass
    return not (
        negation is None
        or compiled(_DOUBLE_NEGATION).search(before[negation.start() :])
        or compiled(_SPURRED).search(before[: negation.start()])
    )


@cache
def _any_verb(table: tuple[tuple[str, str, str], ...], edge: str) -> re.Pattern[str]:
    return _words("|".join(verbs for verbs, *_ in table), edge)


@cache
def _words(words: str, edge: str) -> re.Pattern[str]:
    return re.compile(unicodedata.normalize("NFKC", f"{edge}(?:{words})"))


def _meets(language: tuple[str, str, str], edge: str, text: str) -> bool:
    verb, *others = (_words(words, edge) for words in language)
    for found in verb.finditer(text):
        window = text[max(0, found.start() - _WINDOW) : found.end() + _WINDOW]
        if all(other.search(window) for other in others):
            return True
    return False
