"""Split text into the words, stems and lemmas that both full-text search and ranking use.

Words and stems are those of SQLite's `porter unicode61 remove_diacritics 2`; `ranking` scores rows.
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache

from claude_mem_lite.search.other_languages import CYRILLIC, FOREIGN

# Function words, including pronouns: a fact is recorded with a name and asked for without it.
STOP_WORDS = frozenset(
    """a an and are as at be been by can did do does for from had has have he her hers herself him himself
    his how i in into is it its itself me my of on or our she should that the their them then there
    these they this to us was we were what when where which who why will with you your""".split()  # noqa: SIM905  (reads as words)
)
# Irregular verbs and nouns of everyday English, which no suffix rule can join, as "base: its forms". Forms
# that are more often another word are left out (a bit, the left side, a rose, live).
_IRREGULAR = """
    become: became; begin: began begun; bind: bound; blow: blew blown; break: broke broken; bring: brought;
    build: built; buy: bought; catch: caught; choose: chose chosen; come: came; deal: dealt; draw: drew
    drawn; drink: drank drunk; drive: drove driven; eat: ate eaten; fall: fell fallen; feel: felt; fight:
    fought; find: found; fly: flew flown; forget: forgot forgotten; freeze: froze frozen; get: got gotten;
    give: gave given; go: went gone goes; grow: grew grown; hang: hung; hear: heard; hide: hid hidden; hold:
    held; keep: kept; know: knew known; lead: led; lend: lent; lose: lost; make: made; mean: meant; meet:
    met; pay: paid; ride: rode ridden; ring: rang rung; rise: risen; run: ran; say: said; see: saw seen;
    seek: sought; sell: sold; send: sent; shake: shook shaken; shoot: shot; show: shown; shrink: shrank
    shrunk; sing: sang sung; sit: sat; sleep: slept; speak: spoke spoken; spend: spent; stand: stood; steal:
    stole stolen; stick: stuck; strike: struck; swim: swam swum; take: took taken; teach: taught; tell:
    told; think: thought; throw: threw thrown; understand: understood; wake: woke woken; wear: wore worn;
    win: won; write: wrote written; rewrite: rewrote rewritten; override: overrode overridden; rebuild:
    rebuilt; resend: resent; child: children; foot: feet; index: indices; man: men; matrix: matrices; mouse:
    mice; person: people; vertex: vertices; woman: women; bad: worse worst; good: better best
"""
# Programmers' abbreviations: a question may have the short form and its answer the long one.
_SHORT = """
    application: app apps; argument: arg args; asynchronous: async; attribute: attr attrs; authentication:
    auth authn; boolean: bool; character: char chars; command: cmd cmds; configuration: config configs;
    database: db dbs; dependency: dep deps; dictionary: dict dicts; directory: dir dirs; documentation: doc
    docs; environment: env envs; exception: exc; expression: expr exprs; function: func funcs fn;
    identifier: ident; implementation: impl impls; initialize: init; integer: int ints; kubernetes: k8s;
    library: lib libs; maximum: max; message: msg msgs; minimum: min; number: num nums; object: obj objs;
    package: pkg pkgs; parameter: param params; parenthesis: parentheses parens paren; performance: perf;
    postgresql: postgres; previous: prev; reference: ref refs; regex: regexp regexes; repository: repo
    repos; response: resp; statement: stmt stmts; synchronous: sync; temporary: temp tmp; value: val vals;
    variable: var vars; vulnerability: vuln
"""
_WORD = re.compile(r"[^\W_]+")
# Chinese, Japanese and Korean text is split into overlapping pairs of signs instead of words, without the
# hiragana between them.
_SIGNS, _HIRAGANA = "\u3005\u30a0-\u30ff\u3400-\u9fff\uac00-\ud7af", "\u3041-\u309f"
_SIGN, _UNPARTED = re.compile(f"[{_SIGNS}]"), re.compile(f"[{_SIGNS}{_HIRAGANA}]")
_RUN = re.compile(f"[{_SIGNS}]+|[^{_SIGNS}{_HIRAGANA}]+")
# Combining marks that are dropped, as bits from U+0300 on; every other mark ends a word.
# Source: sqlite3Fts5UnicodeIsdiacritic in SQLite's ext/fts5/fts5_unicode2.c.
_FIRST_MARK, _DROPPED_MARKS = 0x300, 0x000361F8_08029FDF
_VOWELS = frozenset("aeiou")
_STAY_DOUBLE = _VOWELS | frozenset("lsz")
_LONGEST_STEMMED = 64  # Source: FTS5_PORTER_MAX_TOKEN in SQLite's ext/fts5/fts5_tokenize.c
_SHORTEST_STEMMED = 3

# Source: M. F. Porter, An algorithm for suffix stripping, 1980, steps 2 to 4, as amended by him (logi, bli).
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
    "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split()  # noqa: SIM905
)


def words(text: str) -> list[str]:
    """Return the words of a text as the index has them: lower case, without diacritics, split at `_`.

    In scripts without spaces, the index has whole runs between punctuation; here they are pairs of signs.
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    found = _WORD.findall(text.translate(_FOLDED))
    return [part for word in found for part in _parts(word)] if _UNPARTED.search(text) else found


@cache
def function_words() -> frozenset[str]:
    """Return the function words of a dozen languages, as `words` gives them."""
    return STOP_WORDS | frozenset(words(FOREIGN))


def is_part(word: str) -> bool:
    """Tell whether a word of `words` is only part of a longer one in the index."""
    return _SIGN.search(word) is not None


def is_prefix(name: str) -> bool:
    """Tell whether the index has to be asked for all words that begin with a lemma."""
    return CYRILLIC.fullmatch(name) is not None


def _parts(word: str) -> Iterator[str]:
    for run in _RUN.findall(word) if _UNPARTED.search(word) else [word]:
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1))) if is_part(run) else [run]


@lru_cache(maxsize=1 << 16)
def lemma(word: str) -> str:
    """Return the lemma of a word: its stem, or the base of its family in the tables above."""
    if cyrillic := CYRILLIC.fullmatch(word):
        return cyrillic[1]
    stemmed = stem(word)
    return _bases().get(stemmed, stemmed)


def forms(word: str) -> tuple[str, ...]:
    """Return the words that find all forms of `word` in the index, itself first."""
    return (word, *(form for form in _forms().get(lemma(word), ()) if form != word))


@cache
def _forms() -> dict[str, tuple[str, ...]]:
    entries = (entry.split(":") for entry in f"{_IRREGULAR};{_SHORT}".split(";"))
    return {stem(base.strip()): (base.strip(), *others.split()) for base, others in entries}


@cache
def _bases() -> dict[str, str]:
    return {stem(form): base for base, family in _forms().items() for form in family}


class _Folded(dict[int, str]):
    """Map a character to lower case, and a Latin letter to its form without diacritics.

    In other alphabets a mark like a diacritic makes a different letter, and SQLite keeps it.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character).startswith("M"):
            folded = "" if code >= _FIRST_MARK and _DROPPED_MARKS >> (code - _FIRST_MARK) & 1 else " "
        else:
            base = unicodedata.normalize("NFD", character)[0]
            folded = base.lower() if base.isascii() else character.casefold()
            folded = folded if len(folded) == 1 else character.lower()
        self[code] = folded
        return folded


_FOLDED = _Folded()


def stem(word: str) -> str:
    """Return the Porter stem of a word in lower case."""
    if not word.isascii():  # SQLite's stemmer works on bytes, none of which is a vowel
        as_bytes = word.encode("utf-8", "replace").decode("latin-1")
        return _stem(as_bytes).encode("latin-1").decode("utf-8", "replace")
    return _stem(word)


def _stem(word: str) -> str:
    if not _SHORTEST_STEMMED <= len(word) <= _LONGEST_STEMMED:
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for step in (_STEP_2, _STEP_3):
        suffix = _longest_suffix(word, step)
        if suffix and _measure(word[: -len(suffix)]) > 0:
            word = word[: -len(suffix)] + step[suffix]
    suffix = _longest_suffix(word, _STEP_4)
    rest = word[: -len(suffix)] if suffix else ""
    if _measure(rest) > 1 and (suffix != "ion" or rest.endswith(("s", "t"))):
        word = rest
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _without_plural(word: str) -> str:
    if word[1:].endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_ending(word: str) -> str:
    """Remove -ed and -ing (step 1b)."""
    if word[1:].endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    rest = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    if rest == word or not _has_vowel(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and rest[-1] not in _STAY_DOUBLE:
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _longest_suffix(word: str, suffixes: dict[str, str] | list[str]) -> str:
    return max((suffix for suffix in suffixes if word.endswith(suffix)), key=len, default="")


def _is_consonant(word: str, at: int) -> bool:
    if word[at] == "y":
        return at == 0 or not _is_consonant(word, at - 1)
    return word[at] not in _VOWELS


def _has_vowel(word: str) -> bool:
    return any(not _is_consonant(word, at) for at in range(len(word)))


def _measure(word: str) -> int:
    """Return how often a consonant follows a vowel: Porter's measure m."""
    kinds = [_is_consonant(word, at) for at in range(len(word))]
    return sum(after and not before for before, after in itertools.pairwise(kinds))


def _ends_short(word: str) -> bool:
    """Tell whether the word ends consonant, vowel, consonant, the last not w, x or y."""
    kinds = [_is_consonant(word, at) for at in range(len(word))]
    return kinds[-3:] == [True, False, True] and word[-1] not in "wxy"
