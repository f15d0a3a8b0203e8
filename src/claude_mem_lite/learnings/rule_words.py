"""Find the things in a rule that tool calls can show (commands, options, files, code), and what it forbids.

Pure. Evidence is text marked as code, and the programs that the project has run. Most words that forbid are
in `distill.phrases`; `guarding` makes the guard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from claude_mem_lite.capture.simple_commands import LONG_OPTIONS
from claude_mem_lite.distill.phrases import ALWAYS, IN_PROJECT, INSTEAD, NOT
from claude_mem_lite.learnings.programs import LANGUAGES, SUBS, USUAL, Seen
from claude_mem_lite.search.words import STOP_WORDS

# "deed": a git command written as a verb.
Kind = Literal["command", "deed", "option", "file", "text"]

_WORDS = STOP_WORDS | {"git", "go", "make", "find", "head", "tail", "less", "kill"}  # not programs if alone
_LITTLE = STOP_WORDS | set(
    """add again al any anymore anything au auf aux avec because binary bitte command con das de dem den der
    des die du el en es et ever flag give here il im into la las le les los mit new no not nur oder only or
    out over par para per please por pour sans sin since sur tool un una und une von weil when""".split()  # noqa: SIM905
)


def _any_of(words: str, *, end: str = r"(?!\w)") -> re.Pattern[str]:
    """Return a pattern for comma-separated words and phrases; "*" after a stem matches any ending."""
    spelled = " ".join(words.split()).replace(", ", "|").replace(" ", r"\s+").replace("*", r"\w*")
    return re.compile(rf"(?<!\w)(?:{spelled}){end}", re.IGNORECASE)


EDIT = _any_of(
    """edit*, modif*, touch*, chang*, alter, overwrit*, writ*, creat*, delet*, remov*, patch*, änder*,
    geänder*, veränder*, bearbeit*, anfass*, anrühr*, rühr*, lösch*, édit*, supprim*, cambi*, toqu*,
    toc*, borr*, escrib*, fass*, schreib*, geschrieb*, меня*, измен*, трога*, *[改写动碰删]*"""
)
# `KEPT`: words after files that must not change; `KEEP_OUT`: words before such files.
KEPT = _any_of(
    """off limits, off-limits, immutable, read-only, read only, frozen, untouched, alone, as is, as it is,
    as they are, generated, tabu, schreibgeschützt, eingefroren, unangetastet, in ruhe, generiert,
    intouchable*, gelé*, tranquille*, bleib*, généré*, lecture seule, solo lectura, intocable*, generad*,
    en paz, congelad*"""
)
KEEP_OUT = _any_of(
    """hands off, keep out, stay out, stay away, keep away, nobody, no one, finger weg, finger von, niemand,
    verbot, bas les pattes, personne, interdiction, nadie, prohibición"""
)
WITHOUT = _any_of("without, unless, until, before, ohne, bevor, sans, avant, sin, antes")
ASK = _any_of(
    """ask me, ask us, ask first, ask before, asking, without my, without me, unless i, until i, permission,
    approval, my ok, my okay, frag*, rückfrage, ohne mein*, demand*, sans mon, pregunt*, permiso, sin mi"""
)
USE = _any_of(
    """use, using, take, run, prefer, nimm, nutz*, benutz*, verwend*, prends, utilis*, usa, usar, utiliza*,
    gebruik*"""
)
RUN = _any_of("run, running, execute, call, start, invoke, ausführ*, führ*, lanc*, exécut*, ejecut*, corr*")
BARE = _any_of("bare, raw, nacktes, nackte", end=r"\W*$")
BY = _any_of("with, via, through, using, in, mit, über, avec, par, con, por, per", end=r"\W*$")
_GIVES_UP = _any_of(
    """replace, replaces, over, drop, dropped, (?:switch|mov|migrat|chang)* (?:away )?from, no longer use,
    stopped using, left, ersetze, von, nicht mehr, remplac*, plus, reemplaza*, ya no us*, niet meer"""
)
# Words that may stand between a denial or a demand and the name of a thing.
_MANNER = _any_of(
    """bare, plain, raw, use, uses, using, run, running, call, calling, the, any, via, with, mit, met,
    par, con, mehr, import, to, auf, direct*, direkt*, das, le, la, el, de""",
    end=r"\W*$",
)
_IN = _any_of("in, im, en, dans", end=r"\W+$")
# Follows a thing that another has replaced.
_REPLACED = re.compile(
    r"\W*(?:is|was|has been|wird|wurde|ist|est|a été|fue|está|n'est|ya no)\W+(?:by|durch|par|por)?\W*"
    r"(?:replaced|ersetzt|remplac|reemplazad|deprecated|dead|veraltet|obsol|no longer|not (?:used|in use) any"
    r"|gone|retired|nicht mehr|plus|se usa)",
    re.IGNORECASE,
)
# Git commands as verbs, without the word "git".
_DEEDS = {
    "commit": r"commit[a-zé]*", "push": r"push(?:e[nsd]?|ing|t|ear|ea|ees)?|pouss\w+|gepusht",
    "merge": r"merg(?:e[nsd]?|ing)", "rebase": r"rebas(?:e[nsd]?|ing|ear)",
    "commit --amend": r"amend(?:s|ed|ing)?",
}  # fmt: skip
_OF_PULL_REQUESTS = re.compile(
    r"(?i)(?:merge|create|close) (?:(?:the|a|any|my) )?(?:prs?|pull[ -]requests?)\b"
)
# Files that rules name by a general word.
_FILES_OF = {
    "migrations": ("migrations", "migration"), "node_modules": ("node_modules",),
    "lockfile": ("*.lock", "*-lock.*"),
}  # fmt: skip

_SENTENCE, _SCRIPTS = re.compile(r"(?<=[^\s.][.!?;])\s+"), r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_FULL_WIDTH = {ord(mark): f"{told} " for mark, told in zip("，、：。；！？", ",,:.;!?", strict=True)}
_TOKEN = re.compile(
    r"`(?P<code>[^`]+)`|[\"“”](?P<quoted>[^\"“”]+)[\"“”]"
    r"|(?P<capitals>\b(?:TODO|FIXME|HACK|XXX|(?:SELECT|DROP|ALTER|DELETE|INSERT)(?:\s(?:[A-Z]{3,}\b|\*))+"
    r"|INSERT|UPDATE|DELETE|DROP|ALTER|TRUNCATE|any(?= types?\b)|(?<=tipo )any|(?<=type )any"
    r"|[A-Z]{4,}(?=\.{3}|…))(?:\.{3}|…|s?(?![\w-]|\.\w)))|(?P<word>(?!/[A-Z]{4})(?:[^\s`\"“”,;()]|(?<=\w)\(\))+)"
)
_JOINS = re.compile(
    r"[\s,/&(]*(?:and|or|nor|und|oder|noch|et|ou|ni|nem|y|o|e|en|of|i|&|/|,)(?: d[eu])?[\s,(]*", re.IGNORECASE
)
# `_LISTED` follows a thing at the end or in a list, `_WITHIN` leads to a scope, `BREAK` separates clauses.
_LISTED = re.compile(
    rf"(?:\s+(?:dire[ck]t\w*|yourself|\w*here|please|pls|bitte))?\W*(?:$|[,.;)]|(?:{_JOINS.pattern})(?!\w))",
    re.IGNORECASE,
)
_WITHIN = re.compile(r"\s+(?:in|im|en|dans|under|inside|for|für|pour|para)(?!\w)", re.IGNORECASE)
BREAK = re.compile(r"[,;:–](?=\s|$)|(?<!\w)(?:but|aber|sondern|mais|pero)(?!\w)", re.IGNORECASE)
_DENIAL, _NEAR = _any_of("never, no, not, don't, do not, dont, cannot, can't, mustn't"), 3  # words
_INSTALLS = re.compile(r"i|install(?:ier\w*|er|ez|es|ing)|instal(?:ar|es|a)")
_SUB = re.compile(r"\.|\||--|\d+|[a-z][\w-]*(?::[a-z][\w-]*)+")  # 777, db:reset
_GROUPS = frozenset("stash volume system image network migrate db remote submodule worktree pr mod".split())  # noqa: SIM905
_VALUED = frozenset({"--context", "--profile", "--namespace", "--region", "--project", "--env", "--platform"})
_OPTION, _PLAIN = re.compile(r"--?[A-Za-z\d][\w-]*(?:=\S+)?"), re.compile(r"[a-z][a-z0-9_-]+")
_FILE = re.compile(
    r"[\w@.*-]*\.(?:json|ya?ml|toml|lock|md|sql|proto|ini|cfg|txt|xml|csv|sum|mod|tf|tfvars|snap|svg|html|css|py"
    r"|go|rs|rb|java|kt|swift|php|tsx?|jsx?|sh|prisma|graphql|gradle|ipynb|vue|svelte|scss|cs|cpp|hpp|[ch])|\.[a-z][\w.*-]+"
    r"|Makefile|Dockerfile|README|LICENSE|CHANGELOG"
)
_PATH = re.compile(r"(?=.*\w)(?:~|\.{1,2})?/?[\w@.*-]+(?:/[\w@.*-]+)*/?")
_FOLDER = _any_of("director*, folder*, dir, ordner, verzeichnis*, dossier*, répertoire*, carpeta*", end="$")
# Unmarked code: a dotted name, a call, an address, a trailer, a word that begins with an at sign.
_CODE = re.compile(
    r"[A-Za-z]\w+(?:\.[A-Za-z]\w+)+(?:\(\))?|\.?\w+\(\)|[a-z]+[A-Z]\w+|[a-z]\w*_\w+|[@!][A-Za-z][\w/-]+"
    r"|https?://\S*|\w+=[\w{]+|(?:eslint|prettier|pylint|ts|biome)-\w+|noqa|nolint|(?i:[a-z-]+-by:?)"
)


class Thing(NamedTuple):
    """A thing that a rule names, with the words up to the things beside it, and whether it is forbidden.

    `joined`: it continues a list with the thing before; `is_end`: no narrowing words follow directly.
    """

    kind: Kind
    words: tuple[str, ...]
    before: str
    after: str = ""
    is_forbidden: bool = False
    joined: bool = False
    is_end: bool = False


def sentences(text: str) -> list[str]:
    """Split a rule into sentences; put spaces around Latin words in a script without spaces."""
    text = re.sub(rf"(?<=[!-~])(?=[{_SCRIPTS}])|(?<=[{_SCRIPTS}])(?=[!-~])", " ", text.translate(_FULL_WIDTH))
    return _SENTENCE.split(text.strip())


def things(sentence: str, seen: Seen, program: str = "") -> list[Thing]:
    """Return the things that a sentence names, in order; `program` is the one that the text named last."""
    tokens = list(_TOKEN.finditer(sentence))
    found: list[Thing] = []
    at = end = 0
    while at < len(tokens):
        before = sentence[end : tokens[at].start()]
        kind, words, taken = _named(sentence, tokens[at : at + 6], seen)
        program = found[-1].words[0] if found and found[-1].kind == "command" else program
        is_list = _JOINS.fullmatch(before) is not None
        is_sub = words[0] in seen.programs.get(program, ()) and not RUN.fullmatch(words[0])
        if not kind and is_sub and (is_list or forbids(before)):
            kind, words = "command", (program, words[0])  # "apply or destroy"
        if not kind and is_list and found and found[-1].kind == "text" and _is_name(words[0]):
            kind = "text"  # "console.log or debugger"
        if kind:
            end = tokens[at + taken - 1].end()
            rest = IN_PROJECT.sub("", sentence[end:])
            is_end = _LISTED.match(rest) is not None
            joined = bool(found) and is_list and (before.strip() != "," or is_end)
            found.append(Thing(kind, words, before, joined=joined, is_end=is_end))
        at += taken
    afters = [*(each.before for each in found[1:]), sentence[end:]]
    return _judged([each._replace(after=after) for each, after in zip(found, afters, strict=False)])


def replaced(sentence: str) -> tuple[list[str], bool]:
    """Return the words (programs, libraries) that a sentence rejects, and whether others replace them."""
    down: list[str] = []
    is_replaced = False
    for token in re.finditer(r"(?<![\w./-])[a-z][a-z0-9_-]+(?![\w/-]|[.:]\w)", sentence):
        word, before, after = token[0], sentence[: token.start()], sentence[token.end() :]
        if not _is_name(word) or BARE.search(before) or NOT.fullmatch(f"not {word}"):
            continue
        is_end = any(each.match(after) for each in (_LISTED, _WITHIN))
        between = before.rpartition(down[-1])[2] if down else ","
        is_joined = between.strip() != "," and _JOINS.fullmatch(between) is not None
        is_left = _REPLACED.match(after) or any(_ends_with(each, before) for each in (INSTEAD, _GIVES_UP))
        if is_left or is_joined or (is_end and _ends_with(NOT, before) and not _ends_with(WITHOUT, before)):
            down.append(word)
            is_replaced |= bool(is_left) or RUN.search(before[-12:]) is not None
        else:
            is_replaced |= _ends_with(USE, before)
    return down, is_replaced


def forbids(clause: str) -> bool:
    """Tell whether a clause forbids the thing after it; "never without X" demands X."""
    denials = NOT.findall(clause)
    if denials and WITHOUT.fullmatch(denials[-1]):
        return False
    return bool(denials) or any(each.search(clause) for each in (ASK, KEEP_OUT)) or turned_down(clause)


def turned_down(before: str) -> bool:
    """Tell whether the words directly before a thing reject it: "instead of", "no longer use"."""
    return any(_ends_with(each, before) for each in (INSTEAD, NOT, _GIVES_UP, BARE))


def _ends_with(pattern: re.Pattern[str], before: str) -> bool:
    """Tell whether a text ends with a pattern, possibly before words like "the" and "directly"."""
    said = before.rstrip()
    ends = {len(said), len(_MANNER.sub("", before).rstrip())}
    return any(match.end() in ends for match in pattern.finditer(said))


def _judged(found: list[Thing]) -> list[Thing]:
    """Return the things of a sentence with `is_forbidden` set; the things of a list share it."""
    judged: list[Thing] = []
    for number, thing in enumerate(found):
        rest = found[number + 1 :]
        while rest and (rest[0].joined or _is_part(rest[0])):
            rest = rest[1:]
        last = found[len(found) - len(rest) - 1]
        before = judged[-1] if judged else None
        if before and (thing.joined or (before.is_forbidden and _is_part(thing))):
            is_forbidden = before.is_forbidden
        else:
            is_open = bool(rest) and _ends_with(NOT, last.after)  # this denies the next thing
            is_forbidden = not is_open and _is_forbidden_after(last, is_last=not rest)
            clause = BREAK.split(thing.before)[-1]
            is_forbidden |= forbids(clause) and not (thing.kind in {"command", "deed"} and _is_vague(clause))
        judged.append(thing._replace(is_forbidden=is_forbidden))
    return judged


def _is_vague(clause: str) -> bool:
    """Tell whether a denial is about another verb than running the program: "never mix npm and …"."""
    between = _DENIAL.split(clause)[-1].split() if _DENIAL.search(clause) else []
    is_sure = clause.endswith("(") or any(each.search(clause) for each in (USE, RUN, ASK, KEEP_OUT, BY))
    return bool(between) and not is_sure and _is_name(between[0].lower())


def _is_part(thing: Thing) -> bool:
    """Tell whether a thing narrows the one before it: "git push with --force", "ssh to prod-*"."""
    is_object = thing.kind in {"option", "file", "text"}
    return is_object and not any(each.search(thing.before) for each in (BREAK, NOT, WITHOUT))


def _is_forbidden_after(thing: Thing, *, is_last: bool) -> bool:
    """Tell whether the words after a thing forbid it: "… is not allowed", "… wird nicht geändert"."""
    head, *clauses = BREAK.split(thing.after)
    if _REPLACED.match(thing.after) or (thing.kind == "command" and ASK.search(head)):
        return True
    denial = NOT.search(head)
    if denial and not INSTEAD.match(head, denial.start()):
        between = head[: denial.start()]
        if len(between.split()) <= _NEAR and not re.search(r"(?<!\w)(?:and|und|et|y)\s*$", between):
            return True
    said = thing.after if is_last else ",".join([head, *clauses[:-1]])  # the last belongs to the next thing
    is_kept = any(each.search(said) for each in (KEPT, KEEP_OUT))
    return thing.kind == "file" and bool(is_kept or (NOT.search(said) and EDIT.search(said)))


def _named(
    sentence: str, tokens: Sequence[re.Match[str]], seen: Seen
) -> tuple[Kind | None, tuple[str, ...], int]:
    """Return the kind (None for nothing) and words of the thing in the first tokens, and their number."""
    token, before = tokens[0], sentence[: tokens[0].start()]
    if code := token["code"] or token["quoted"]:
        return *_in_quotes(tuple(code.split()), seen, is_code=token["code"] is not None), 1
    word, *following = [_bare(each[0]) for each in _in_a_row(tokens)]
    after = following[0] if following else ""
    is_run = RUN.search(before[-12:]) is not None
    words = _with_subs(word, following, seen, is_run=is_run) if not _IN.search(before) else ()
    is_alone = word not in _WORDS or (turned_down(before) and _LISTED.match(sentence, token.end()))
    if len(words) > 1 or (words and is_alone):
        # "no npm scripts" is ambiguous.
        said = BREAK.split(before)[-1]
        is_vague = len(words) == 1 and _is_name(after) and forbids(said) and not BARE.search(said)
        return None if is_vague else "command", words, len(" ".join(words).split())
    option, dash, verb = word.lower().partition("-")
    told = _deed(verb or after) if option in LONG_OPTIONS["git"] else ()
    told = (*told, f"--{option}") if told else ()  # force-push, force push
    if _OF_PULL_REQUESTS.match(" ".join([word, *following[:3]])):
        told, dash = ("gh", "pr", word.lower()), "-"
    if told:
        return "command", told, 1 if dash else 2
    for name, folder in ((word, after), (after, word)):
        if _FOLDER.match(folder) and _PATH.fullmatch(name) and name.lower() not in _LITTLE:
            return "file", (name,), 2
    is_valued = word in _VALUED
    if (is_valued or word in {"//", "#"}) and _PATH.fullmatch(after) and after not in _LITTLE:
        return ("option", (f"{word} {after}",), 2) if is_valued else ("text", (after,), 2)
    return *_alone(word, seen, is_code=token["capitals"] is not None, is_run=is_run), 1


def _alone(word: str, seen: Seen, *, is_code: bool, is_run: bool) -> tuple[Kind | None, tuple[str, ...]]:
    """Return the kind (None for nothing) and words of the thing that a single word names."""
    kind: Kind | None = None
    if _OPTION.fullmatch(word):
        kind = "option"
    elif is_run and (word.startswith("./") or word.endswith((".sh", ".py", ".js", ".rb"))):
        kind = "command"
    elif _is_file(word, seen):
        is_ending = word.startswith(".") and _FILE.fullmatch(f"x{word}")
        kind, word = "file", f"*{word}" if is_ending else f"{word}*" if word.isupper() else word
    elif named := _FILES_OF.get(word.lower()):
        return "file", named
    elif told := _deed(word):
        return "command" if told[2:] else "deed", told
    elif is_code or _CODE.fullmatch(word):
        kind, word = "text", word.removesuffix("s" if is_code else ")")
    return kind, (word,)


def _in_quotes(words: tuple[str, ...], seen: Seen, *, is_code: bool) -> tuple[Kind | None, tuple[str, ...]]:
    """Return the kind (None for nothing) and words of the thing in backticks or quotation marks."""
    if not words:
        return None, ("",)
    if _OPTION.fullmatch(words[0]):
        return "option", (" ".join(words[:2]),)
    if len(words) == 1 and _is_file(words[0], seen):
        return "file", words
    is_command = words[0] in seen.programs or any(map(_OPTION.fullmatch, words[1:]))
    if not is_command or not re.fullmatch(r"[\w./~+-]+", words[0]) or (len(words) == 1 and not is_code):
        return "text", (" ".join(words).removesuffix("()") + "(" * words[-1].endswith("()"),)
    # A placeholder ends the command.
    others = (at for at, word in enumerate(words) if not word.isascii() or word[0] in "<[{$" or word == "...")
    return "command", words[: next(others, None)]


def _bare(word: str) -> str:
    return word if word in {".", "//", "#"} or word.endswith("...") else word.strip("'’").rstrip(".:!?'’")


def _in_a_row(tokens: Sequence[re.Match[str]]) -> Sequence[re.Match[str]]:
    """Return the leading tokens separated by single spaces only: of "grep, grep is slow" the first "grep"."""
    parted = (at for at, (one, next_) in enumerate(pairwise(tokens), 1) if next_.start() - one.end() > 1)
    return tokens[: next(parted, None)]


def _with_subs(program: str, following: Sequence[str], seen: Seen, *, is_run: bool) -> tuple[str, ...]:
    """Return a program's name with its sub-commands and options; () if the word is no known program."""
    words = [program] if program in seen.programs else []
    following = ["install" if _INSTALLS.fullmatch(each) else each for each in following]
    for word, then in pairwise([*following, ""] if words else ()):
        is_script = words[-1] in {"run", "exec"} and _is_name(word)
        is_usual = len(words) == 1 and word in SUBS and program not in USUAL
        known = word in seen.programs[program] or is_usual or is_script or words[-1] in _VALUED
        is_own = _SUB.fullmatch(word) or (is_run and _is_name(word) and _OPTION.fullmatch(then))
        is_group = words[-1] in _GROUPS or words[-1].endswith(".py")
        known |= words[-1] == "|" or bool(is_own) or (is_group and _is_name(word))
        known |= word in seen.programs and word not in _WORDS
        if not _OPTION.fullmatch(word) and not (known and len(words) <= _NEAR):
            break
        if words[-1] in _VALUED:
            words[-1] += f" {word}"
        else:
            words.append(word)
    own = (
        following[:1] if following[1:2] == ["is"] else following if is_run and len(following) < _NEAR else ()
    )
    if len(words) == 1 and all(map(_is_name, own)):
        words += own
    return tuple(words)


def _is_name(word: str) -> bool:
    """Tell whether a plain word may be a name: it is not a common word."""
    patterns = (ALWAYS, NOT, WITHOUT, EDIT, ASK, USE, RUN, _MANNER)
    is_common = word in _LITTLE or word in LANGUAGES or any(each.fullmatch(word) for each in patterns)
    return not is_common and _PLAIN.fullmatch(word) is not None


def _is_file(word: str, seen: Seen) -> bool:
    """Tell whether a word is a file name or a path, other than the project's own folder."""
    if not _PATH.fullmatch(word) or f"{seen.root}/".startswith(f"{word.rstrip('/')}/"):
        return False
    if _FILE.fullmatch(word.rpartition("/")[2]) or "*" in word[1:] or word.endswith("/"):
        return True
    return "/" in word and STOP_WORDS.isdisjoint(word.split("/"))


def _deed(word: str) -> tuple[str, ...]:
    """Return the words of the git command that a verb stands for; () for none."""
    found = (name for name, verb in _DEEDS.items() if re.fullmatch(verb, word, re.IGNORECASE))
    return next((("git", *name.split()) for name in found), ())
