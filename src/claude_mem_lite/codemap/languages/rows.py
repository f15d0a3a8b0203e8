"""Describe a source's definitions: a row for each name, with signature, first docstring line and hash."""

import bisect
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from claude_mem_lite.codemap.extract import TYPES, Function
from claude_mem_lite.codemap.languages.tree import Named, Node, Parsed, body_of, merged
from claude_mem_lite.codemap.languages.walk import Definition

_BROKEN = 0.2  # largest share of a source that may be neither parsed nor in a definition
_HEAD_BYTES = 1_000  # read of a definition before its body, and of a comment
_MOST_COMMENTS = 50  # in one block
_LAST_COMMA = re.compile(rb",(?=\s*\n\s*[)\]}>])")
# Space matters only between two words or two operators.
_WORD, _OPERATOR = rb"[\w$\x80-\xff]", rb"[\-+&|<>=!*/%^~?:.]"
_NEEDLESS = re.compile(rb" (?!(?<=%b )%b|(?<=%b )%b)" % (_WORD, _WORD, _OPERATOR, _OPERATOR))
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+|//[/!]?|#+|\*+/?|--)[ \t]*|\s*\*+/\s*$")
_TAIL = re.compile(r"(?:=>|[\s={:;])+$")
_TAGS = re.compile(r"</?(?:summary|remarks|para|inheritdoc)\s*/?>")
# Comments for tools, not for readers: `@ts-ignore`, `nolint:errcheck`, `go:build`, `eslint-disable`.
_DIRECTIVE = re.compile(r"@|[a-z][\w-]*:\S|(?:eslint|prettier|tslint|istanbul|nolint|biome|deno)\b")


def describe(parsed: Parsed, found: Sequence[Definition], *, limit: int) -> tuple[Function, ...]:
    """Return a row for each name, at most `limit`; overloads of one name are one function.

    Raises: SyntaxError where too much of the source cannot be parsed.
    """
    _refuse_broken(parsed, found)
    hashes = _Hashes(parsed, found)
    rows: dict[str, Function] = {}
    for index, each in enumerate(found):
        earlier = rows.get(each.qualified_name)
        if earlier is None and len(rows) >= limit:
            break
        row = _row(parsed, each, hashes.of(index))
        if earlier is not None:
            both = hashlib.md5((earlier.body_hash + row.body_hash).encode(), usedforsecurity=False)
            row = replace(
                earlier,
                docstring=earlier.docstring or row.docstring,
                end_line=max(earlier.end_line, row.end_line),
                body_hash=both.hexdigest(),
                is_empty=earlier.is_empty and row.is_empty,
            )
        rows[each.qualified_name] = row
    return tuple(rows.values())


def _refuse_broken(parsed: Parsed, found: Sequence[Definition]) -> None:
    """Raise SyntaxError where too much of a source, not counting its definitions, cannot be parsed."""
    errors = merged((node.start_byte, node.end_byte) for node in parsed.captures().get("error", ()))
    if not errors:
        return
    understood = merged((each.start, each.end) for each in found)
    lost = sum(end - start for start, end in errors)
    lost -= sum(
        max(0, min(end, last) - max(start, first)) for start, end in errors for first, last in understood
    )
    if lost > _BROKEN * len(parsed.data):
        raise SyntaxError(f"{lost} of {len(parsed.data)} bytes are not valid {parsed.grammar.name}")


def _row(parsed: Parsed, each: Definition, body_hash: str) -> Function:
    body = body_of(each.named.head)
    return Function(
        qualified_name=each.qualified_name,
        kind=each.kind,
        signature=_signature(parsed, each.named, body),
        docstring=_said_above(parsed, each.start) or _said_above(parsed, each.lead),
        decorators=each.decorators,
        line=each.named.at.start_point[0] + 1,
        end_line=max(each.named.at.start_point[0], each.named.head.end_point[0]) + 1,
        body_hash=body_hash,
        is_empty=body is not None and body.named_child_count == 0 and body.child_count > 0,
    )


def _signature(parsed: Parsed, named: Named, body: Node | None) -> str:
    """Return name, parameters and result on one line; a type's bases; the whole of an alias."""
    head, at = named.head, named.at
    end = body.start_byte if body is not None else head.end_byte
    if head.start_byte <= at.start_byte < head.end_byte:
        first = [at]
        if parsed.grammar.syntax.is_type_first:
            first += filter(None, map(head.child_by_field_name, ("type_parameters", "type", "returns")))
        start = min(node.start_byte for node in first)
        said = parsed.one_line(start, min(max(end, at.end_byte), start + _HEAD_BYTES))
    else:
        parts = list(
            filter(None, map(head.child_by_field_name, ("type_parameters", "parameters", "parameter")))
        )
        start = min((node.start_byte for node in parts), default=end)
        rest = parsed.one_line(start, min(end, start + _HEAD_BYTES)).removesuffix("=>").strip()
        is_bare = parts and parts[0].type == "identifier"
        said = f"{named.name.rpartition('.')[2]}{f'({rest})' if is_bare else rest}"
    if body is None and (named.kind in TYPES or head.child_by_field_name("parameters") is None):
        said = said.partition("{")[0]
    return _TAIL.sub("", said)


def _said_above(parsed: Parsed, at: int) -> str | None:
    """Return the first line of the comment right above a place, without comment marks; None if none."""
    comments = parsed.comments
    index = bisect.bisect_right(comments, (at, at)) - 1
    block: list[str] = []
    while index >= 0:
        start, end = comments[index]
        between = parsed.data[end:at]
        line = parsed.data[parsed.data.rfind(b"\n", 0, start) + 1 : start]
        if between.strip() or between.count(b"\n") > 1 or line.strip():
            break
        block.insert(0, parsed.data[start : min(end, start + _HEAD_BYTES)].decode("utf-8", "replace"))
        at, index = start, index - 1
        if block[0].startswith("/*") or len(block) > _MOST_COMMENTS:
            break
    lines = (_TAGS.sub("", _COMMENT_MARKS.sub("", line)).strip() for line in "\n".join(block).splitlines())
    return next((line for line in lines if any(map(str.isalpha, line)) and not _DIRECTIVE.match(line)), None)


class _Hashes:
    """The MD5 of definitions: of their source without comments, redundant space and their own name.

    For a type, the functions and types in it are left out. The source is cut where definitions, names and
    literals begin and end; the hash covers the pieces.
    """

    def __init__(self, parsed: Parsed, found: Sequence[Definition]) -> None:
        self._found = found
        literals = merged((node.start_byte, node.end_byte) for node in parsed.captures().get("literal", ()))
        cuts = {0, len(parsed.data), *itertools.chain.from_iterable(literals)}
        for each in found:
            cuts |= {each.start, each.end, each.named.at.start_byte, each.named.at.end_byte}
        self._cuts = sorted(cuts)
        starts = [start for start, _ in literals]
        self._pieces = []
        for start, end in itertools.pairwise(self._cuts):
            at = bisect.bisect_right(starts, start) - 1
            is_literal = at >= 0 and end <= literals[at][1]
            self._pieces.append(parsed.data[start:end] if is_literal else _bare(parsed.code(start, end)))

    def of(self, index: int) -> str:
        """Return the hash of one of the definitions, 32 hex digits."""
        each = self._found[index]
        own = each.named.at
        left_out = [(own.start_byte, own.end_byte)]
        if each.kind in TYPES:
            inside = itertools.takewhile(lambda other: other.start < each.end, self._found[index + 1 :])
            left_out += [(other.start, other.end) for other in inside]
        digest = hashlib.md5(each.kind.encode(), usedforsecurity=False)
        at = each.start
        for start, end in [*merged(left_out), (each.end, each.end)]:
            for piece in self._pieces[
                bisect.bisect_left(self._cuts, at) : bisect.bisect_left(self._cuts, start)
            ]:
                if piece:
                    digest.update(piece + b"\0")
            at = max(at, end)
        return digest.hexdigest()


def _bare(code: bytes) -> bytes:
    """Return code without redundant space and trailing commas of lists that span lines."""
    words = code.split()
    if len(words) < 2:
        return b"".join(words)
    if b"," in code and b"\n" in code:
        words = _LAST_COMMA.sub(b"", code).split()
    return _NEEDLESS.sub(b"", b" ".join(words))
