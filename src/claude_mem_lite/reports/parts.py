"""Build the parts that sections of a page are made of."""

from collections.abc import Iterable, Sequence

from claude_mem_lite.reports import words
from claude_mem_lite.reports.element import Element, element
from claude_mem_lite.reports.model import CHANGES, Function
from claude_mem_lite.text import one_line


def section(key: str, title: str, *children: Element | str | Iterable[Element] | None) -> Element:
    """Return a section with its heading, which the navigation leads to by its key."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, *children, id=key, aria_labelledby=f"{key}-title")


def figure(
    drawing: Element, caption: str, entries: Iterable[tuple[str, str]] = (), *, phone: Element | None = None
) -> Element:
    """Return a drawing that can be moved aside where it is wider than the screen.

    `entries` are those of its legend: a name and the class that has its colour. `phone` takes the drawing's
    place on a narrow screen.
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
    """Return a table with a head; columns from `numbers_from` on are numbers."""
    cells = [
        element("th", name, scope="col", class_="number" if at >= numbers_from else None)
        for at, name in enumerate(heads)
    ]
    return _frame(element("table", element("thead", element("tr", cells)), element("tbody", rows)), said)


def chip(function: Function) -> Element:
    """Return a function's name in a list, with a sign and a colour for what became of it."""
    change = function.change if function.change in CHANGES else "unchanged"
    said = f"{words.SIGNS[change]} {one_line(function.name, 80)}"
    return element("li", element("code", said, class_=change, title=change))


def more(tag: str, number: int, shown: int, what: str = "") -> Element | None:
    """Return an element that says how many are left out, None where all are shown."""
    said = words.left_out(number, shown)
    return element(tag, f"{said} {what}".rstrip(), class_="more") if said else None


def _frame(child: Element, said: str, *, class_: str = "") -> Element:
    """Return what can be moved aside in its frame; a drawing with a width of its own may leave the column."""
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
