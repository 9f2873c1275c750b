"""The whole page of a report: its style, its script and its footer around the content."""

from collections.abc import Sequence
from importlib.resources import files

from grpe_dgl.html_page import html_page
from grpe_dgl.version import __version__
from grpe_dgl.workflows.report.markup import Markup, element, join


def assemble(title: str, content: Sequence[object]) -> str:
    """Return the HTML of a page with a title and its parts, in order."""
    foot = element(
        "footer", f"Made by grpe-dgl {__version__} from the folders of the runs. Point at a chart for its values."
    )
    own = files("grpe_dgl.workflows.report")
    return html_page(
        title=title,
        style=(own / "style.css").read_text(encoding="utf-8"),
        script=(own / "script.js").read_text(encoding="utf-8"),
        body=join([element("main", *content, foot), element("div", id="tip", role="status")]),
    )


def headline(boxes: Sequence[tuple[object, str]]) -> Markup:
    """Return a row of boxes, each a value over its name."""
    return element(
        "div", *(element("div", element("b", value), element("span", name)) for value, name in boxes), class_="big"
    )
