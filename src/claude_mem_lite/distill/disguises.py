"""Reveal text that is hidden from the eye or from a plain search. Pure.

`suspicion` decides what is suspicious.
"""

import base64
import binascii
import codecs
import re
import unicodedata

_SHORTEST_DISGUISED_WORD = 3
_SHORTEST_DECODED = 8
_FEWEST_STYLED = 4
_PRINTABLE_SHARE = 0.9
_LONGEST_BLOB_READ = 4_000
_OPAQUE_BLOB = 60

# Letters that look like Latin ones. Source: Unicode Technical Standard 39, confusables.txt; the common ones.
_LOOKALIKES = {
    **dict(zip("аᴀеоорсухіјѕһԁԛԝвкмнтӏґԍьгп", "aaeoopcyxijshdqwbkmhtligbrn", strict=True)),
    **dict(zip("αβεικνορτυχωγηδμσζ", "abeikvoptuxwyndmoz", strict=True)),
    **dict(zip("օսոհցզյգ", "ounhgqjq", strict=True)),
    **dict(zip("ɑɡɩʟɴʀꜱʏᴅᴇɪᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢıłøđħŧ", "agilnrsydeijkmoptuvwzilodht", strict=True)),
}  # fmt: skip
_MAP = {ord(letter): latin for letter, latin in _LOOKALIKES.items()}
_DIGITS_AS_LETTERS = str.maketrans("013457@$!|+", "oieastasiit")
_ONE_AS_L = {**_DIGITS_AS_LETTERS, **str.maketrans("1|!", "lll")}
_NO_LETTERS = re.compile(r"[\W_]+")
_LEET = re.compile(r"(?=\S{0,40}[a-z])(?=\S{0,40}[0-9@$!|+])[\w@$!|+]{2,40}")
_STYLED = re.compile(
    "[\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u24b6-\u24e9\U0001f130-\U0001f189\U0001f1e6-\U0001f1ff]"
)
_SPELLED = re.compile(r"(?<![^\W_])(?:[^\W\d_][\s.\-_*·|/,]{1,3}){8,}[^\W_](?![^\W_])")
_ESCAPED = re.compile(
    r"(?:&#x?[0-9a-fA-F]{2,6};\s?){3,}|(?:%[0-9a-fA-F]{2}){4,}|(?:\\x[0-9a-fA-F]{2}){3,}"
    r"|(?:\\u\{?[0-9a-fA-F]{4}\}?){3,}"
    r"|(?:\b[01]{8}\s?){4,}"
)
_BASE64 = re.compile(r"(?<![\w+/=])[\w+/-]{16,}={0,2}(?![\w+/=])")
_HEX = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}[ :]?){12,}(?!\w)")
_INVISIBLE = frozenset("\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0\ufeff")
_JOINERS = frozenset("\u200c\u200d")
_EMOJI_STYLE = "\ufe0f"


class Revealed:
    """A text in the forms to search for words: all in lower case, without invisible characters.

    `plain` is NFKC with line breaks; `letters` is one line with look-alikes replaced by Latin letters;
    `guessed` is `letters` with digits read as letters; `squeezed` holds every reading (also backwards and
    rot13) as letters alone; `unaccented` is `plain` without diacritics.
    """

    # Not a dataclass: importing `dataclasses` takes longer than a hook may.
    __slots__ = ("guessed", "letters", "plain", "squeezed", "unaccented")

    def __init__(
        self, plain: str, letters: str, guessed: tuple[str, ...], squeezed: tuple[str, ...], unaccented: str
    ) -> None:
        self.plain, self.letters, self.guessed = plain, letters, guessed
        self.squeezed, self.unaccented = squeezed, unaccented


def reveal(text: str) -> Revealed:
    """Return the forms of a text with its disguises undone."""
    plain = unaccented = text.lower()
    if not (text.isascii() and text.isprintable()):
        kept = (" " if each in "\t\r" else each for each in text if not _is_hidden(each))
        seen = unicodedata.normalize("NFKC", _regional("".join(kept)))
        plain = seen.casefold().replace("’", "'")
        bare = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", plain))
        unaccented = unicodedata.normalize("NFC", bare)
    letters = " ".join((plain if plain.isascii() else plain.translate(_MAP)).split())
    guessed = [
        _LEET.sub(lambda word: word[0].translate(table), letters)  # noqa: B023  (used at once)
        for table in (_DIGITS_AS_LETTERS, _ONE_AS_L)
    ]
    squeezed = tuple(dict.fromkeys(_NO_LETTERS.sub("", form) for form in (letters, *guessed)))
    return Revealed(
        plain,
        letters,
        tuple(form for form in dict.fromkeys(guessed) if form != letters),
        (*squeezed, squeezed[0][::-1], codecs.encode(squeezed[0], "rot13")),
        unaccented,
    )


def disguises(text: str) -> list[str]:
    """Return the ways in which a text hides something, each as a short phrase; [] for none."""
    checks = {
        "hides characters that nobody sees": _has_hidden(text),
        "mixes letters of other alphabets into words": _mixes_alphabets(text),
        "writes in styled letters": len(_STYLED.findall(text)) >= _FEWEST_STYLED,
        "spells words out letter by letter": bool(_SPELLED.search(text)),
        "carries an encoded text": bool(_ESCAPED.search(text)) or _has_blob(text),
    }
    return [reason for reason, holds in checks.items() if holds]


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return character < " " and character not in "\n\t\r"
    return (
        character in _INVISIBLE
        or unicodedata.category(character) in {"Cf", "Cc", "Co", "Cn", "Cs"}
        or "\ufe00" <= character <= "\ufe0f"  # variation selectors
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _has_hidden(text: str) -> bool:
    """Tell whether a text has invisible characters other than those that join emoji or Persian letters."""
    for place, character in enumerate(text):
        if not _is_hidden(character):
            continue
        before, after = text[place - 1 : place], text[place + 1 : place + 2]
        if character == _EMOJI_STYLE and before and unicodedata.category(before) in {"So", "Sm", "Po", "Nd"}:
            continue
        joins = before and after and not (before.isascii() or after.isascii())
        if character in _JOINERS and joins and not before.isspace():
            continue
        return True
    return False


def _mixes_alphabets(text: str) -> bool:
    """Tell whether a word of three letters or more mixes Latin letters with foreign look-alikes."""
    for word in re.findall(r"[^\W\d_]+", text.casefold()[:20_000]):
        if len(word) >= _SHORTEST_DISGUISED_WORD and not word.isascii():
            has_latin = any("a" <= letter <= "z" for letter in word)
            alike = (unicodedata.name(letter, "") for letter in word if letter in _LOOKALIKES)
            if has_latin and any(name.startswith(("CYRILLIC", "GREEK", "ARMENIAN")) for name in alike):
                return True
    return False


def _regional(text: str) -> str:
    """Replace regional indicators and squared letters, which NFKC leaves alone, by plain letters."""
    return "".join(
        chr(ord(character) - 0x1F1E6 + 97)
        if "\U0001f1e6" <= character <= "\U0001f1ff"
        else chr((ord(character) - 0x1F130) % 32 % 26 + 97)
        if "\U0001f130" <= character <= "\U0001f189"
        else character
        for character in text
    )


def _has_blob(text: str) -> bool:
    for blob in _HEX.finditer(text):
        digits = re.sub(r"^0x|[ :]", "", blob[0][:_LONGEST_BLOB_READ])
        if _is_text(bytes.fromhex(digits[: len(digits) // 2 * 2])):
            return True
    return any(_is_base64_text(blob[0][:_LONGEST_BLOB_READ]) for blob in _BASE64.finditer(text))


def _is_base64_text(blob: str) -> bool:
    body = blob.rstrip("=").replace("-", "+").replace("_", "/")
    has_mix = (
        any(c.isdigit() for c in body) and any(c.islower() for c in body) and any(c.isupper() for c in body)
    )
    if has_mix and len(body) >= _OPAQUE_BLOB and not set(blob) & set("/-_."):
        return True
    try:
        return _is_text(base64.b64decode(body[: len(body) // 4 * 4], validate=True))
    except (binascii.Error, ValueError):
        return False


def _is_text(raw: bytes) -> bool:
    if len(raw) < _SHORTEST_DECODED:
        return False
    printable = sum(byte in b"\n\t" or 32 <= byte < 127 for byte in raw)  # noqa: PLR2004 - ASCII
    return printable / len(raw) >= _PRINTABLE_SHARE
