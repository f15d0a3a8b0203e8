"""Mask secrets inside the tokens of a Python source, so that the rest can be parsed.

`redaction` decides what is secret; it cuts out text, which may be half an expression.
"""

import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

_MARK = re.compile(r"\[redacted: [\w -]+\]")
_QUOTES = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')")
_LEAST = 4  # characters; anything shorter is not a secret


class _Span(NamedTuple):
    """Position of a secret in a source, and the mark that replaces it in the redacted text."""

    start: int
    end: int
    mark: str


def masked(source: str, redacted: str) -> str:
    """Return a source with its secrets masked inside literals, names and comments; the line count stays.

    Returns `redacted`, which lacks the secrets, if the source is no valid Python or a secret would remain.
    """
    source = source.encode("utf-8", "replace").decode()
    spans = _spans(source, redacted)
    secrets = {source[span.start : span.end].strip() for span in spans}
    try:
        text = "".join(_parts(source, spans))
    except (tokenize.TokenError, SyntaxError):
        return redacted
    is_left = any(len(secret) >= _LEAST and _is_literal(secret) and secret in text for secret in secrets)
    return text if spans and not is_left else redacted


def _is_literal(secret: str) -> bool:
    """Tell whether a text is more than a keyword or punctuation, which are not masked."""
    return not keyword.iskeyword(secret) and any(map(str.isalnum, secret))


def _spans(source: str, redacted: str) -> list[_Span]:
    """Return the spans that were cut out of a source, [] where the two texts do not fit together.

    All text outside of the spans is also in the redacted text.
    """
    kept, marks = _MARK.split(redacted), _MARK.findall(redacted)
    *middle, last = kept
    at, found = 0, []
    for index, text in enumerate(middle):
        start = source.find(text, at) if index else (0 if source.startswith(text) else -1)
        if start < 0:
            return []
        if index:
            found.append(_Span(at, start, marks[index - 1]))
        at = start + len(text)
    end = len(source) - len(last)
    if not marks or end < at or not source.endswith(last):
        return []
    return [each for each in (*found, _Span(at, end, marks[-1])) if each.start < each.end]


def _parts(source: str, spans: list[_Span]) -> Iterator[str]:
    """Yield a source in parts, masking each token that a span touches. Raises: TokenError, SyntaxError."""
    starts = [0]
    for line in io.StringIO(source):
        starts.append(starts[-1] + len(line))
    done, waiting = 0, iter(spans)
    span = next(waiting, None)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
        touching = []
        while span is not None and span.start < end:
            if span.end > start:
                touching.append(span)
            if span.end > end:
                break
            span = next(waiting, None)
        if touching and start < end:
            yield source[done:start]
            yield _masked_token(token, start, touching)
            done = end
    yield source[done:]


def _masked_token(token: tokenize.TokenInfo, at: int, spans: list[_Span]) -> str:
    """Return a token with the spans that touch it masked; `at` is the token's offset in the source."""
    text = token.string
    if token.type == tokenize.COMMENT:
        return "#"
    if token.type == tokenize.NUMBER:
        return "0"
    if token.type == tokenize.NAME:
        return text if keyword.iskeyword(text) else "redacted"
    if token.type == tokenize.ERRORTOKEN:
        raise SyntaxError(text)
    match = _QUOTES.match(text) if token.type == tokenize.STRING else None
    if match is None:
        is_part = token.type == getattr(tokenize, "FSTRING_MIDDLE", -1)  # Python 3.12
        return spans[0].mark + "\n" * text.count("\n") if is_part else text
    quotes = match[2]
    content = text[match.end() : -len(quotes)]
    if "\\" in content or "f" in match[1].lower():  # an escape or expression cut in half would not parse
        newline = "\n" if len(quotes) > 1 else "\\\n"
        return f"{match[0]}{spans[0].mark}{newline * content.count(chr(10))}{quotes}"
    shown, done = "", 0
    at += match.end()
    for span in spans:
        start, end = max(span.start - at, done), min(span.end - at, len(content))
        if start < end:
            shown += content[done:start] + span.mark + "\n" * content.count("\n", start, end)
            done = end
    return f"{match[0]}{shown}{content[done:]}{quotes}"
