"""Words by which a rule tells what it wants of commands and files, in English, German, French and Spanish.

Stems, because verbs are inflected. What holds for every kind of sentence stands in `distill.phrases`.
"""

from __future__ import annotations

import re

from claude_mem_lite.distill.phrases import INSTEAD, NOT

_FLAGS = re.IGNORECASE

EDIT = re.compile(
    r"(?<!\w)(?:(?:hand-?)?edit|modif|touch|chang|alter\b|overwrit|writ|creat|delet|remov|ge?änder"
    r"|änder|veränder"
    r"|bearbeit|anfass|fass|anrühr|rühr|lösch|édit|supprim|cambi|toqu|toc[ao]|modifi|borr|escrib)\w*",
    _FLAGS,
)
# Before the file that is run: "never run ./deploy.sh yourself".
RUN = re.compile(
    r"(?<!\w)(?:run|running|execut\w*|call|calling|launch\w*|start|starting|invok\w*|ausführ\w*"
    r"|führ\w*|start\w*"
    r"|aufruf\w*|ruf\w*|lanc\w*|exécut\w*|appel\w*|ejecut\w*|llam\w*|lanz\w*|corr\w*)(?:\W+\w+)?\W*$",
    _FLAGS,
)
# What is said of files that stay as they are. A source is not meant: "generated from api.proto".
KEPT = re.compile(
    r"(?<!\w)(?:hands off|off[- ]limits|read[- ]only|frozen|untouched|alone|as (?:it|they) (?:is|are)|as is"
    r"|(?:auto-?)?generated|only (?:ever )?\w+ (?:by|through|via)|finger weg|tabu|schreibgeschützt"
    r"|eingefroren"
    r"|unangetastet|in ruhe|(?:automatisch |auto)?generiert|bleib\w* wie|intouchables?|gelé\w*"
    r"|tel(?:le)?s? quel\w*|tranquilles?|générés?|générées?|lecture seule|generad[oa]s?"
    r"|solo lectura|intocables?"
    r"|en paz|congelad[oa]s?|como está\w*)(?!\w)",
    _FLAGS,
)
# What is left to the user.
ASK = re.compile(
    r"(?<!\w)(?:ask (?:me |us )?(?:first )?before|fragt? (?:mich )?(?:be)?vor|demande\S* avant"
    r"|pregunta\w* antes)(?!\w)"
    r"|(?<!\w)(?:without|unless|until|before) (?:asking|i|me|my|we|you|the user)(?!\w)",
    _FLAGS,
)
KEEP_OUT = re.compile(
    r"(?<!\w)(?:hands off|nobody|interdiction|verbot|prohibición|no one|niemand|personne|nadie"
    r"|stay (?:out|away)|keep (?:out|away"
    r"|(?:your )?hands)|finger (?:weg|von)|weg von|bas les pattes"
    r"|fuera de|lejos de|(?:auto-?)?generated(?! (?:from|by|with|using)))(?!\w)",
    _FLAGS,
)
IT = re.compile(
    r"(?<!\w)(?:it|them|this|that|these|those|there|sie|es|ihn|sie|daran|dran|da|le|la|les|l'|y|lo|los"
    r"|las|ahí)(?!\w)|(?<=\w)(?:l[oae]s?)(?!\w)|(?<!\w)n'y",
    _FLAGS,
)
FOLDER = re.compile(
    r"(?:director(?:y|ies)|folders?|dir|tree|ordner|verzeichnis(?:se)?|dossiers?|répertoires?|carpetas?"
    r"|directorios?)",
    _FLAGS,
)
FILES = re.compile(r"(?:files?|dateien|datei|fichiers?|archivos?|ficheros?)", _FLAGS)
ENDINGS = {"markdown": "*.md", "md": "*.md", "documentation": "*.md"}  # of kinds of files
# Before or after a folder's name they are none.
ANY_FOLDER = frozenset(
    """a al any au aux bare base current den der des die das del dem deine du entire every home in
    la le les main named
    new other own parent project repo root same source sub temp temporary this top whole working
    your my our""".split()  # noqa: SIM905
)
NEW = re.compile(
    r"(?<!\w)(?:new|create\w*|neue\w*|anleg\w*|erstell\w*|nouve\w+|cré\w+|nuev\w+|cre[ae]\w*)", _FLAGS
)
HOST = re.compile(
    r"(?<!\w)(?:hosts?|servers?|connect\w*|ssh|database|rechner|verbind\w*|serveur\w*|servidor\w*"
    r"|con[eé]ct\w*)(?!\w)",
    _FLAGS,
)
PIPED = re.compile(
    r"(?<!\w)pip(?:e\w*|ing|t)(?!\w).*(?<!\w)(?:shell|bash|sh)(?!\w)|\|\s*(?:ba|z)?sh(?!\w)", _FLAGS
)
# What git does, said without its name.
GIT = {
    "commit": re.compile(r"commit[a-zé]*", _FLAGS),
    "push": re.compile(r"push(?:e[nsd]?|ing|t|ear|ea|ees)?|pouss\w+|gepusht|sub(?:as|ir)", _FLAGS),
    "merge": re.compile(r"merg(?:e[nsd]?|ing)", _FLAGS),
    "rebase": re.compile(r"rebas(?:e[nsd]?|ing|ear)", _FLAGS),
    "commit --amend": re.compile(r"amend(?:s|ed|ing|en|er)?", _FLAGS),
}
# What a rule may call an option's work, and the command that does it.
IDIOMS = (
    ("git commit", "--no-verify",
     r"(?:skip|bypass|disabl|umgeh|überspring|contourn|saut|salt|omit)\w*.*\bhooks?\b"),
    ("git reset", "--hard", r"\bhard[ -]resets?\b"),
    ("git commit", "-s", r"\bsign(?:ed)?[ -]?off\b|\bDCO\b"),
    ("git commit", "-S",
     r"\bgpg[ -]sign\w*|\bsigned commits\b|\bcommits\b.*\b(?:signed|signiert|signés|firmados)\b"),
)  # fmt: skip
# After what another thing has taken the place of.
REPLACED = re.compile(
    r"(?:(?:is|was|has been|wird|wurde|ist|est|a été|fue|está)\W+(?:by|durch|par|por)?\W*"
    r"(?:replaced|ersetzt|remplacée?|reemplazad[oa]|deprecated|dead|veraltet|obsolète|obsolet[oa]"
    r"|no longer (?:used|in use)|not (?:used|in use) any ?more|gone|retired"
    r"|nicht mehr (?:verwendet|genutzt|benutzt)|n'est plus utilisée?)|n'est plus utilisée?|ya no se usa)",
    _FLAGS,
)
# What a branch is called after: "push to X".
TOWARDS = re.compile(
    r"\W+(?:(?:directly|straight|direkt|directement|directamente|nada|nichts|rien)\W+)*"
    r"(?:to|on|auf|nach|in|sur|vers|a)\W+(?:(?:the|a|la|le|den|branch|branche|rama)\W+)*$",
    _FLAGS,
)
PROTECTED = re.compile(
    r"(?<!\w)(main|master|develop|trunk)(?!\w).*(?:protected|geschützt|protégé|protegid)", _FLAGS
)
_PREFER = re.compile(
    r"(?<!\w)(?:prefer|préfèr|prefier)\w*\W+[^,;.]*(?<!\w)(?:over|to|à|a)(?!\w)"
    r"|(?<!\w)(?:switched|moved|migrated|changed|umgestiegen|gewechselt|passés?|migr[ée]s?|pasamos|migramos)"
    r"(?:\W+\w+)?\W+(?:from|von|de)(?!\w)",
    _FLAGS,
)
# Right before what is given up, and before what takes its place.
GIVES_UP = re.compile(
    r"(?<!\w)(?:replace|drop|ersetze|remplace[rz]?|reemplaza|n'\w+ plus(?: de)?|ne \w+ plus(?: de)?"
    r"|no longer use|stopped using|ya no us\w+|nicht mehr|niet meer)\W*$",
    _FLAGS,
)
TAKES = re.compile(
    r"(?<!\w)(?:use|using|take|run|by|with|nimm|nutze|verwende|durch|prends|utilise|par|usa|usar|por)\W*$",
    _FLAGS,
)
# What a program is to be run by: "bundle exec for rspec", "mvn only through ./mvnw".
RUN_BY = re.compile(
    r"(?<!\w)(?P<by>[a-z][\w-]* (?:exec|run|x)) (?:for|für|pour|para)"
    r" (?P<each>[\w-]+(?:(?:,| and| or| und| et| y) [\w-]+)*)"
    r"|(?<![\w./])(?P<only>[a-z][\w.-]+) (?:only|nur|seulement|solo)"
    r" (?:\w+ )?(?:through|via|with|by|über|mit|par|avec|con)"
    r"(?: (?:the|a|die|den|le|la|el))?(?: \w+,)? `?(?P<with>[./\w-]*\w(?: (?:exec|run))?)",
    _FLAGS,
)
OLD = re.compile(
    r"(?<!\w)(?:existing|applied|old|bestehende\w*|vorhandene\w*|existant\w*|existente\w*)", _FLAGS
)
# Text of code: between backticks or quotation marks, a directive, in capitals, a dotted name, a call, or a
# word right after what forbids its use.
CODE = re.compile(
    r"[`\"“](?P<given>[^`\"”]+)[`\"”]|(?<!\w)(?://|/\*|#)\s*(?P<directive>[\w-]{4,})"
    r"|(?<![\w-])(?P<capitals>[A-Z]{4,}(?:\s[A-Z]{3,})*(?:\s\*)?(?:\.{2,3}|…)?)(?![\w-])"
    r"|(?<![\w./-])(?P<dotted>[a-z][A-Za-z0-9_]*(?:\.[a-z][A-Za-z0-9_]+)+)|(?<![\w.])(?P<called>\w+)\(\)|(?<!\w)(?P<clause>[a-z]+:)(?=\s+in\b)"
    r"|(?<![\w-])(?:use|uses|usar|no|add|bare|plain|kein\w*|ohne|sans|sin|geen)\s+(?P<plain>[a-z]{3,})"
    r"(?=\s*(?:$|[,.;]|(?:in|en|im|dans|calls?|statements?)(?!\w)))"
)
EXCEPT = re.compile(r"(?<!\w)(?:outside|except (?:in|for)|außer\w*|fuera|hors|only in|nur in)(?!\w)", _FLAGS)
_IN_LANGUAGES = {
    "python": ("*.py",), "typescript": ("*.ts", "*.tsx"), "javascript": ("*.js", "*.jsx"),
    "java": ("*.java",),
    "ruby": ("*.rb",), "rust": ("*.rs",), "golang": ("*.go",), "sql": ("*.sql",), "kotlin": ("*.kt",),
    "php": ("*.php",),
}  # fmt: skip


def files_of(text: str) -> list[str]:
    """Return the globs of the languages that a rule names."""
    words = re.findall(r"[a-z]+", text.lower())
    return [glob for word in dict.fromkeys(words) for glob in _IN_LANGUAGES.get(word, ())]


WITHOUT = re.compile(r"(?<!\w)(?:without|ohne|sans|sin)(?!\w)", _FLAGS)
# Between what turns a program down and its name.
_MANNER = re.compile(
    r"\W+(?:bare|plain|raw|calling|using|running|the|via|with|mit|par|con|direct\w*|das|le|el|de)\W*$", _FLAGS
)


def forbids(clause: str) -> bool:
    """Tell whether a clause forbids what comes after it; "never without X" asks for X."""
    found = list(NOT.finditer(clause))
    if len(found) > 1 and WITHOUT.fullmatch(found[-1][0]):
        return False
    return bool(found) or any(each.search(clause) for each in (KEEP_OUT, ASK, _PREFER))


def turns_down(before: str, *, softly: bool = False) -> bool:
    """Tell whether the words right before something turn it down; "not" alone does so only `softly`."""
    said = _MANNER.sub("", before).rstrip()
    patterns = (INSTEAD, _PREFER, GIVES_UP, *((NOT,) if softly else ()))
    return any(match.end() == len(said) for each in patterns for match in each.finditer(said))


def spoken(word: str) -> tuple[str, ...]:
    """Return the git command that a verb stands for, () for none."""
    return next((("git", *name.split()) for name, verb in GIT.items() if verb.fullmatch(word)), ())
