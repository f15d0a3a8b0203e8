"""Find tokens of known services by their fixed parts (marks), and private keys by their BEGIN and END lines.

`marks` lists the marks. Only an event that needs redaction loads this module.
"""

from __future__ import annotations

import binascii
import re

from claude_mem_lite.redaction.marks import PRIVATE_KEYS, TOKENS
from claude_mem_lite.redaction.vocabulary import AT_WORD
from claude_mem_lite.redaction.weights import MIXED, QUOTED_LEAST, RANDOM, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from claude_mem_lite.redaction.vocabulary import Looks, Span

_BY_MARK = {mark: (kind, rest) for kind, marks, rest in TOKENS for mark in marks.split()}
# Patterns of the part of a token that precedes its mark.
_LEADS = {
    "azure secret": r"[\w~.-]{3}[0-9]", "terraform token": "[A-Za-z0-9]{14}", "mailchimp key": "[0-9a-f]{32}",
}  # fmt: skip
_LABEL_LENGTH = 24  # characters before a token that are searched for its label
_PROVED = {  # minimum weight of the rest, for kinds whose mark alone proves too little
    **dict.fromkeys(("api key", "service token", "vault token", "azure key", "resend key"), RANDOM),
    "slack token": MIXED,
}
# What may end right before a token: an escape of C, JSON, a URL or quoted-printable, or a colour code.
_ESCAPES = (
    r"\\[abfnrtv0]", "[%=][0-9A-Fa-f]{2}", r"\\x[0-9A-Fa-f]{2}", r"\\[0-7]{3}", r"\\u[0-9A-Fa-f]{4}",
    r"[\[;0-9]m",
)  # fmt: skip


def _edge(behind: str = "", inside: str = "A-Za-z0-9") -> str:
    """Return the pattern of a token's left edge: nothing `inside` one, unless that ends an escape.

    The edge lies before the characters that match `behind`: `re` finds a literal fast, so patterns begin
    with one and check the edge after it.
    """
    ends = "".join(f"|(?<={escape}{behind})" for escape in _ESCAPES)
    return rf"(?:(?<![{inside}]{behind}){ends})"


_LABEL = r"(?:[A-Z0-9]{1,20}(?: |%20|\+)){0,4}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)? ?-{4,5}"
_FRAME = rf"(?:-{{4,5}} ?BEGIN|(?P<end>END))(?: |%20|\+){_LABEL}"
# Text allowed between two lines of a key: line ends (also escaped), quotes, margins of diffs and listings,
# line numbers, terminal colours and the `FILE:12:` of grep.
_MARGIN = (
    r"(?>(?:(?:\x1b|\\+u001b|\\+x1b)\[[0-9;]{0,8}m|(?:(?<=\n)|(?<=\\n))[\w./@+-]{1,200}+[:-][0-9]{1,6}[:-]"
    r"|\\+[nrt]|[\s\"'+,>|#*/→:.\\-]|[0-9]{1,6}(?=[\t→:| ]))*)"
)
_HEADERS = ("Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: ")
_HEADER = rf"(?:{'|'.join(_HEADERS)})[^\n\\\"]{{0,200}}"
_BASE64 = r"[A-Za-z0-9+/]{16,}+={0,2}"
_LINE = rf"(?:{_BASE64}|{_HEADER})"
_SHAPE = bytes(97 if chr(byte).isalnum() or byte in b"+/" else 32 for byte in range(128)) + 128 * b" "
_LINE_SHAPE = 16 * b"a"
_SHORT_LINE = r"[A-Za-z0-9+/]{1,15}={0,2}"
# A block of such lines is a key if it has a BEGIN or an END line. Without an END line, a short last line
# belongs to it if it looks like base64. Blocks are consumed, key or not, so any text takes one pass.
_KEY = (
    rf"(-{{4,5}} ?BEGIN {_LABEL}{_MARGIN})?{_LINE}(?>(?:{_MARGIN}{_LINE})*)"
    rf"(?:(?:{_MARGIN}(?P<rest>{_SHORT_LINE}))?{_MARGIN}(?P<end>END {_LABEL})"
    rf"|{_MARGIN}(?=[A-Za-z+/]{{0,15}}[0-9=])[A-Za-z0-9+/]{{4}}{_SHORT_LINE}(?![\w+/=.]))?"
)
# Of a key with other text between its lines, such as the prefixes of a log: characters from BEGIN to END, the
# most between two lines if either is missing, of a line, and of the shortest piece of one.
_BLOCK, _GAP, _WHOLE_LINE, _SHORTEST_LINE = 65_536, 160, 40, 16
_PIECE = r"[A-Za-z0-9+/]{10,}+={0,2}"
_ARMOUR = "LS0tLS1CRUdJTi"  # base64 of -----BEGIN
# Patterns of whole tokens that do not begin with their mark. If a pattern has a group, only that is redacted.
_WHOLE = {
    "/webhooks/": r"/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/([\w-]{60,})",
    ":AA": r"(?<![0-9])[0-9]{8,10}:AA[\w-]{33}(?![\w-])",
    ".": "[MNO]" + _edge("[MNO]") + r"[\w-]{22,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])",
    "key-": "key-" + _edge("key-") + r"[0-9a-f]{32}(?![\w-])",
    "AC": "AC" + _edge("AC") + r"[0-9a-f]{32}[\\\"',:\s]{1,8}([0-9a-f]{32})(?![0-9a-f])",
    "APA91b": _edge() + r"[\w-]{11}:APA91b[\w-]{100,}",
    # 64 bytes in base64: the key of an Azure storage account
    "==": _edge(inside=r"\w+/=-") + r"[A-Za-z0-9+/]{86}==(?![\w+/=])",
    "Private-Lines:": (
        rf"Private-Lines: [0-9]{{1,4}}{_MARGIN}({_BASE64}(?>(?:{_MARGIN}{_BASE64})*)"
        rf"(?:{_MARGIN}{_SHORT_LINE}(?={_MARGIN}Private-))?)"
    ),
    # An armoured key encoded in base64 again, as in a Kubernetes secret
    _ARMOUR: rf"{_ARMOUR}[\w+/=-]{{20,}}+(?>(?:\s{{1,40}}+[A-Za-z0-9+/]{{60,}}+={{0,2}})*)",
}


def find_tokens(text: str, mark: str, looks: Looks) -> tuple[list[Span], dict[str, str]]:
    """Return the spans of tokens with `mark`, in order, and the kind of each string to redact everywhere.

    Raises: TooMuchError.
    """
    if mark in PRIVATE_KEYS:
        return _private_keys(text)
    spans = list(_tokens(text, mark, looks))
    known = {text[start:end]: kind for start, end, kind in spans}
    for start, end, kind in spans:
        if kind == "private key":  # each of its lines may be a string of its own elsewhere
            known.update(dict.fromkeys(re.findall(_BASE64, text[start:end]), kind))
    return spans, known


def _private_keys(text: str) -> tuple[list[Span], dict[str, str]]:
    blocks = (
        [block for block in re.finditer(_KEY, text) if block[1] or block["end"]] if _has_line(text) else []
    )
    lines = {line for block in blocks for line in re.findall(_BASE64, block[0])}
    ends = {block["rest"] or "" for block in blocks}  # the last lines
    lines |= {end for end in ends if len(end) >= QUOTED_LEAST and weigh(end) >= MIXED}
    framed = list(_framed(text))
    lines |= {
        piece for start, end in framed for piece in re.findall(_PIECE, text[start:end]) if _is_line(piece)
    }
    places = sorted({*(block.span() for block in blocks), *framed})
    return [(*place, "private key") for place in places], dict.fromkeys(lines, "private key")


def _framed(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each key stands that has a BEGIN or an END line, whatever stands between its lines."""
    frames = [(*frame.span(), frame["end"] is None) for frame in re.finditer(_FRAME, text)]
    before = (0, 0, False)
    for frame, after in zip(frames, [*frames, (len(text), 0, True)][1:], strict=True):
        start, end, begins = frame
        if begins and not after[2] and after[0] - end <= _BLOCK:
            size = sum(len(piece) for piece in re.findall(_PIECE, text[end : after[0]]) if _is_piece(piece))
            if size >= max(_WHOLE_LINE, (after[0] - end) // 4):
                yield start, after[1]
        elif begins:
            stop = _lines_end(text, end, after[0])
            if stop > end:
                yield start, stop
        elif not before[2]:
            first = _lines_start(text, max(before[1], start - _BLOCK), start)
            if first < start:
                yield first, end
        before = frame


def _is_piece(piece: str) -> bool:
    return len(piece) >= _WHOLE_LINE or weigh(piece) == RANDOM


def _lines_end(text: str, at: int, limit: int) -> int:
    """Return where the lines of a key without END end that begin near `at`; `at` if there are none."""
    for piece in re.compile(_PIECE).finditer(text, at, min(limit, at + _BLOCK)):
        if piece.start() > at + _GAP:
            break
        at = piece.end() if _is_line(piece[0]) else at
    return at


def _lines_start(text: str, first: int, at: int) -> int:
    """Return where the lines of a key without BEGIN begin that end near `at`; `at` if there are none."""
    for piece in reversed(list(re.compile(_PIECE).finditer(text, first, at))):
        if piece.end() < at - _GAP:
            break
        at = piece.start() if _is_line(piece[0]) else at
    return at


def _is_line(piece: str) -> bool:
    """Tell whether a piece is a line of a key, rather than a word or a path."""
    return _is_piece(piece) and len(piece) >= _SHORTEST_LINE and 8 * piece.count("/") <= len(piece)


def _has_line(text: str) -> bool:
    """Tell whether `text` may contain a line of a key; far cheaper than matching `_KEY` at each position."""
    shape = text.encode("utf-8", "replace").translate(_SHAPE)
    return _LINE_SHAPE in shape or any(header in text for header in _HEADERS)


def _tokens(text: str, mark: str, looks: Looks) -> Iterator[Span]:
    kind, rest = _BY_MARK[mark]
    start = _LEADS.get(kind, "") + re.escape(mark)
    for match in re.compile(_WHOLE.get(mark, start + _edge(start) + rest), re.ASCII).finditer(text):
        looks.spend(AT_WORD)
        body = match[0].removeprefix(mark)
        if _is_proved(match, kind, mark) and body.strip("xX*.0_-") and body.strip("ACGT"):
            is_address = mark.endswith(("=", "/")) and match[0].startswith(mark) and not match.lastindex
            begin, end = match.span(match.lastindex or 0)
            yield begin + len(mark) * is_address, end, kind


def _is_proved(match: re.Match[str], kind: str, mark: str) -> bool:
    """Tell whether a match is a real token; some kinds need more proof than the form."""
    if mark == _ARMOUR:  # an armoured certificate is no secret
        label = re.sub(r"[^A-Za-z0-9+/]", "", match[0][: _LABEL_LENGTH * 4])
        return b"PRIVATE KEY" in binascii.a2b_base64(label[: len(label) // 4 * 4])
    body = match[0].removeprefix(mark)
    if kind == "jwt":
        return "." in body
    before = match.string[max(0, match.start() - _LABEL_LENGTH) : match.start()].lower()
    if kind == "azure key" and "sha" in before:  # the base64 of a SHA-512 is as long
        return False
    return kind not in _PROVED or weigh(body) >= _PROVED[kind]
