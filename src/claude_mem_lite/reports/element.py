"""HTML and SVG as trees: text is escaped where they are written, so that nothing in it becomes a tag.

Captured text stands in the text of elements only; attributes hold numbers and words of ours.
"""

from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring  # written, never read

__all__ = ["Element", "document", "element"]

Child = Element | str | None


def element(tag: str, *children: Child | Iterable[Child], **attributes: object) -> Element:
    """Return an element; None is left out, `class_` is "class", `stroke_width` is "stroke-width"."""
    made = Element(
        tag,
        {
            name.rstrip("_").replace("_", "-"): _text(value)
            for name, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        _append(made, child)
    return made


def document(root: Element) -> str:
    """Return a page as text."""
    return f"<!doctype html>\n{tostring(root, encoding='unicode', method='html')}\n"


def _append(to: Element, child: Child | Iterable[Child]) -> None:
    if isinstance(child, Element):
        to.append(child)
    elif isinstance(child, str):
        if len(to):
            to[-1].tail = (to[-1].tail or "") + child
        else:
            to.text = (to.text or "") + child
    else:
        for each in child or ():
            _append(to, each)


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
