"""Build HTML and SVG as trees; text is escaped on output, so no captured text becomes a tag.

Captured text is only ever the text of elements; attributes hold numbers and our own words. The building
blocks of a page's sections are here, too.
"""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring  # written, never read

from claude_mem_lite.reports import words
from claude_mem_lite.reports.model import CHANGES, Function
from claude_mem_lite.text import one_line

__all__ = ["Element", "chip", "document", "element", "figure", "more", "section", "table"]

Child = Element | str | None


def element(tag: str, *children: Child | Iterable[Child], **attributes: object) -> Element:
    """Return an element; None is left out, `class_` becomes "class", `stroke_width` "stroke-width"."""
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
    """Return a page as HTML text."""
    return f"<!doctype html>\n{tostring(root, encoding='unicode', method='html')}\n"


def section(key: str, title: str, *children: Element | str | Iterable[Element] | None) -> Element:
    """Return a section with a heading; `key` is the id that the navigation links to."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, *children, id=key, aria_labelledby=f"{key}-title")


def figure(
    drawing: Element, caption: str, entries: Iterable[tuple[str, str]] = (), *, phone: Element | None = None
) -> Element:
    """Return a drawing that can be scrolled sideways if it is wider than the screen.

    `entries` are the legend's (name, class with its colour). `phone` replaces the drawing on a narrow screen.
    """
    legend = [element("li", element("i", class_=class_), name) for name, class_ in entries]
    return element(
        "figure",
        element("figcaption", caption) if caption else None,
        element("ul", legend, class_="legend") if legend else None,
        _frame(drawing, caption or "Chart", class_="" if phone is None else " screen"),
        element("div", phone, class_="phone") if phone is not None else None,
    )


def table(heads: Sequence[str], rows: Sequence[Element], *, said: str, numbers_from: int) -> Element:
    """Return a table with a head; the columns from index `numbers_from` on hold numbers."""
    cells = [
        element("th", name, scope="col", class_="number" if at >= numbers_from else None)
        for at, name in enumerate(heads)
    ]
    return _frame(element("table", element("thead", element("tr", cells)), element("tbody", rows)), said)


def chip(function: Function) -> Element:
    """Return a list item with a function's name, and a sign and a colour for its change."""
    change = function.change if function.change in CHANGES else "unchanged"
    said = f"{words.SIGNS[change]} {one_line(function.name, 80)}"
    return element("li", element("code", said, class_=change, title=change))


def more(tag: str, number: int, shown: int, what: str = "") -> Element | None:
    """Return an element that says how many are left out, None if all are shown."""
    said = words.left_out(number, shown)
    return element(tag, f"{said} {what}".rstrip(), class_="more") if said else None


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


def _frame(child: Element, said: str, *, class_: str = "") -> Element:
    """Return a frame that scrolls sideways; one for a drawing with a width may exceed the text column."""
    width = child.get("width")
    return element(
        "div",
        child,
        class_=f"frame{' wide' if width else ''}{class_}",
        style=f"--natural:{width}px" if width else None,
        tabindex=0,
        role="group",
        aria_label=said,
    )
