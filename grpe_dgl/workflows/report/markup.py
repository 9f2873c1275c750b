"""HTML from texts: every text is escaped, so that names in a dataset stay text."""

import math
from collections.abc import Iterable, Sequence

from grpe_dgl import html_page

SHORT = 24  # characters of a cell that is not broken into lines


class Markup(str):
    """HTML that may be put into the page as it is; any other text is escaped by `element`."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a text for HTML: its special characters as entities, control characters as escapes."""
    return Markup(html_page.text(value))


def element(name: str, *content: object, **attributes: object) -> Markup:
    """Return an element; a trailing ``_`` of an attribute is removed, other ``_`` become ``-``, None is left out.

    >>> element("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    return Markup(f"<{name}{_attributes(attributes)}>{join(content)}</{name}>")


def void(name: str, **attributes: object) -> Markup:
    """Return an element without content, such as ``<input>``."""
    return Markup(f"<{name}{_attributes(attributes)}>")


def join(parts: Iterable[object]) -> Markup:
    """Return parts one after the other; what is not `Markup` is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else text(part) for part in parts))


def number(value: float, shown: str) -> Markup:
    """Return a rounded number whose element has the whole one for programs."""
    return element("data", shown, value=repr(float(value)) if math.isfinite(value) else str(value))


def table(header: Sequence[object], rows: Sequence[Sequence[object]], *, marked: int | None = None) -> Markup:
    """Return a table that can be scrolled sideways on a narrow screen; the row numbered `marked` stands out."""
    head = element("tr", *(element("th", cell, scope="col") for cell in header)) if header else Markup("")
    body = [
        element(
            "tr",
            element("th", row[0], scope="row", class_=_width(row[0])),
            *(element("td", cell, class_=_width(cell)) for cell in row[1:]),
            class_="ours" if place == marked else None,
        )
        for place, row in enumerate(rows)
    ]
    kind = None if header else "facts"
    content = element("table", element("thead", head), element("tbody", *body), class_=kind)
    return element("div", content, class_="scroll", tabindex="0")


def facts(pairs: Sequence[tuple[str, object]]) -> Markup:
    """Return names and values in two columns; empty values are left out."""
    shown = [(name, value) for name, value in pairs if value not in (None, "", ())]
    return table((), shown) if shown else Markup("")


def card(title: str, *content: object, note: str = "", width: str = "") -> Markup:
    """Return a framed part of a section with its title; its width is ``""``, ``"double"`` or ``"wide"``."""
    below = element("p", note, class_="note") if note else Markup("")
    return element("figure", element("h4", title), *content, below, class_=f"card {width}".strip())


def _width(cell: object) -> str | None:
    """Return the class of a cell that stays on one line: short texts and numbers."""
    return "short" if not isinstance(cell, Markup) and len(str(cell)) <= SHORT else None


def _attributes(attributes: dict[str, object]) -> str:
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
