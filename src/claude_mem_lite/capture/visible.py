"""Remove invisible characters from a text, for hooks and blocks. Standard library only, without `re`."""

from __future__ import annotations

TAG = "claude-mem"
# Printable but invisible characters, which could hide a text for the model alone: fillers and variation
# selectors. Also the angle brackets of a tag in other widths.
# Source: Unicode's DerivedCoreProperties, Default_Ignorable_Code_Point.
_UNSEEN = dict.fromkeys((
    *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0),
    *(*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
)) | {0xFE64: "<", 0xFE65: ">", 0xFF1C: "<", 0xFF1E: ">"}  # fmt: skip


def visible(text: str) -> str:
    """Return a text on one line, without control, bidirectional and other invisible characters."""
    line = " ".join(text.split())
    if not line.isascii():
        line = line.translate(_UNSEEN)
    return line if line.isprintable() else "".join(filter(str.isprintable, line))
